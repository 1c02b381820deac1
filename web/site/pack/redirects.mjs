// SPDX-License-Identifier: Apache-2.0
//
// The published site's addresses: each leads to the view of today and takes its query along (`/run/?overlay=…`). Without
// JavaScript there is a link.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { documentHtml } from "./html.mjs";

const OLD = { estimate: "estimate", optimize: "optimize", run: "run", measured: "tested", replications: "replications" };

export function redirects(out, css) {
  for (const [folder, tab] of Object.entries(OLD)) {
    const script =
      `const q=new URLSearchParams(location.search);q.delete("tab");const r=q.toString();` +
      `location.replace("../index.html?tab=${tab}"+(r===""?"":"&"+r)+location.hash)`;
    mkdirSync(join(out, folder), { recursive: true });
    writeFileSync(
      join(out, folder, "index.html"),
      documentHtml({
        title: "ecocompute",
        description: "Moved.",
        css,
        scripts: [script],
        body: `<main><p><a href="../index.html?tab=${tab}">This view is here now.</a></p></main>`,
      }),
    );
  }
}
