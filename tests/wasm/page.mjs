// SPDX-License-Identifier: Apache-2.0
//
// In the browser: runs every case and sends the answers back to run_browser.mjs.
import { Core } from "./core/core.js";

async function answers() {
  const core = await Core.load(await (await fetch("core.wasm")).arrayBuffer());
  const cases = await (await fetch("cases.json")).json();
  return cases.map(({ job, request }) => core.callText(job, request));
}

let outcome;
try {
  outcome = { answers: await answers(), agent: navigator.userAgent };
} catch (error) {
  outcome = { error: String(error?.stack ?? error) };
}
await fetch("outcome", { method: "POST", body: JSON.stringify(outcome) });
