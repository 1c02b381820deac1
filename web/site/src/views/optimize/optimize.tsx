// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Optimize(): JSX.Element {
  return <h1>Optimize</h1>;
}
