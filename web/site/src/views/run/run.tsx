// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Run(): JSX.Element {
  return <h1>Run</h1>;
}
