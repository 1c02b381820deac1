// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Estimate(): JSX.Element {
  return <h1>Estimate</h1>;
}
