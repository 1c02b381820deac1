// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Tested(): JSX.Element {
  return <h1>Tested</h1>;
}
