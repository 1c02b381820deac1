// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";

export function Replications(): JSX.Element {
  return <h1>Replications</h1>;
}
