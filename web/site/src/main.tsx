// SPDX-License-Identifier: Apache-2.0

import { render } from "preact";
import { App } from "./app/app.js";
import { startCore } from "./app/core.js";

const root = document.getElementById("app");
if (root !== null) {
  startCore().then(
    () => {
      root.replaceChildren();
      render(<App />, root);
    },
    (error: unknown) => {
      root.textContent = `This page needs WebAssembly and DecompressionStream (any browser since 2023): ${String(error)}`;
    },
  );
}
