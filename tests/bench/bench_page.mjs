// SPDX-License-Identifier: Apache-2.0
//
// node bench_page.mjs [PAGE_FOLDER]: how long the first view keeps the main thread busy, with Chromium's CPU throttle at 4
// (goal: under 300 ms). Five loads, each in a fresh context; median and range, beside the same of an empty page, which the
// browser itself takes. To be run on a quiet machine. tests/web/bench has the frames of many points.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const site = process.argv[2] ?? join(root, "web/dist");
const { chromium } = createRequire(join(root, "web/site/package.json"))("playwright-core");
const LOADS = 5;
const THROTTLE = 4;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });

const EMPTY = "data:text/html,<!doctype html><title>empty</title><main class=chart><div class=chart><svg width=10 height=10></svg></div></main>";

async function load(address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: "en-US" });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.setTimeDomain", { timeDomain: "threadTicks" }); // its own time, whoever else computes
  await devtools.send("Performance.enable");
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: THROTTLE });
  const metric = async () => Object.fromEntries((await devtools.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
  const before = await metric();
  await page.goto(address);
  await page.locator(".chart svg").first().waitFor();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const after = await metric();
  const shown = await page.evaluate(() => performance.now());
  await context.close();
  const ms = (name) => 1000 * (after[name] - before[name]);
  return { task: ms("TaskDuration"), script: ms("ScriptDuration"), layout: ms("LayoutDuration") + ms("RecalcStyleDuration"), shown };
}

for (const [page, address] of [
  ["empty page", EMPTY],
  ["first view", pathToFileURL(join(site, "index.html")).href],
]) {
  const loads = [];
  for (let i = 0; i < LOADS; i++) {
    loads.push(await load(address));
  }
  for (const [name, what] of [
    ["task", "main thread busy"],
    ["script", "of it script"],
    ["layout", "of it style and layout"],
    ["shown", "shown after"],
  ]) {
    const values = loads.map((one) => one[name]).sort((a, b) => a - b);
    console.log(`${page}, ${what}: ${values[2].toFixed(0)} ms (${values[0].toFixed(0)} to ${values[4].toFixed(0)}, n = ${LOADS}, CPU throttle ${THROTTLE})`);
  }
}
await browser.close();
