// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Decide(): JSX.Element {
  return <h1>Decide</h1>;
}
