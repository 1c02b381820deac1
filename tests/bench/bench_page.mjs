// SPDX-License-Identifier: Apache-2.0
//
// node bench_page.mjs [PAGE_FOLDER [LOADS]]: how long the page keeps the main thread busy, with Chromium's CPU throttle at 4:
// until the first view is painted with its answer (goal: under 300 ms), until the page answers (everything loaded, all of the
// view drawn), and for the first change of a control. Beside it an empty page, which the browser itself takes. Each load in
// a fresh context, the address from disk; medians and ranges.
//
// Time is what the tasks of the page's main thread and the microtasks behind them used of a processor, by the thread clock of
// a trace. The throttle itself goes by the clock on the wall: on a busy machine all figures grow. tests/web/bench has the
// frames of many points.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const site = process.argv[2] ?? join(root, "web/dist");
const LOADS = Number(process.argv[3] ?? 7);
const { chromium } = createRequire(join(root, "web/site/package.json"))("playwright-core");
const THROTTLE = 4;
const SETTLE_MS = 1500;

const EMPTY = "data:text/html,<!doctype html><html data-ready><title>empty</title><main class=chart><div class=chart><svg width=10 height=10></svg></div></main>";

/** In the page: a mark in the frame after each stage is reached. It looks only when the document changes. */
function watch() {
  const stages = {
    painted: () => document.querySelector(".chart svg"),
    ready: () => document.querySelector("html[data-ready]") && (document.querySelector("#sign") || document.title === "empty"),
  };
  const look = () => {
    for (const [name, reached] of Object.entries(stages)) {
      if (reached()) {
        delete stages[name];
        requestAnimationFrame(() => setTimeout(() => performance.mark(`bench-${name}`), 0));
      }
    }
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-ready"] });
}

/** In the page: a reader chooses another model; marks before it and after the frame that shows its answer. */
async function change() {
  const select = document.querySelector(".ask-controls select");
  if (select === null) {
    return;
  }
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  await frame();
  performance.mark("bench-change");
  select.value = [...select.options].find((one) => !one.selected).value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  await frame();
  performance.mark("bench-changed");
}

const TASK = "ThreadControllerImpl::RunTask";
const MICROTASKS = "BlinkScheduler_PerformMicrotaskCheckpoint"; // those of a task run right behind it

/** The tasks of a thread: begin on the clock in us, and thread milliseconds with the microtasks behind. */
function tasksOf(events) {
  const tasks = [];
  let end = 0;
  for (const one of events.filter(({ name, ph, tdur }) => (name === TASK || name === MICROTASKS) && ph === "X" && tdur !== undefined).sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    if (one.ts < end) {
      continue; // within the one before
    }
    end = one.ts + one.dur;
    if (one.name === TASK) {
      tasks.push({ ts: one.ts, ms: one.tdur / 1000 });
    } else if (tasks.length > 0) {
      tasks.at(-1).ms += one.tdur / 1000;
    }
  }
  return tasks;
}

/** Main-thread milliseconds of the stages of one load, and of the longest task. */
function stages(events, address) {
  const navigated = events.filter((one) => one.name === "navigationStart" && one.args.data?.documentLoaderURL === address).at(-1);
  const mine = events.filter((one) => one.pid === navigated.pid && one.tid === navigated.tid);
  const at = (name) => mine.find((one) => one.name === `bench-${name}`)?.ts;
  const tasks = tasksOf(mine);
  const busy = (from, to) => {
    const each = tasks.filter((one) => one.ts >= from && one.ts < to).map((one) => one.ms);
    return { total: each.reduce((a, b) => a + b, 0), longest: Math.max(...each) };
  };
  const start = navigated.ts;
  const [painted, ready, from, to] = ["painted", "ready", "change", "changed"].map(at);
  const [first, all] = [busy(start, painted), busy(start, ready)];
  return {
    painted: first.total,
    paintedLongest: first.longest,
    shown: (painted - start) / 1000,
    ready: all.total,
    readyLongest: all.longest,
    change: from === undefined ? null : busy(from, to).total,
  };
}

async function load(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: "en-US" });
  const page = await context.newPage();
  await page.addInitScript(watch);
  const devtools = await context.newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: THROTTLE });
  const tracer = await browser.newBrowserCDPSession();
  const events = [];
  tracer.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await tracer.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel", "blink.user_timing"], excludedCategories: ["*"] } });
  await page.goto(address);
  await page.waitForTimeout(SETTLE_MS);
  await page.evaluate(change);
  const complete = new Promise((done) => tracer.once("Tracing.tracingComplete", done));
  await tracer.send("Tracing.end");
  await complete;
  await context.close();
  return stages(events, address);
}

const ROWS = [
  ["painted", "main thread until the first view is painted"],
  ["paintedLongest", "  longest task until then"],
  ["shown", "  on the clock (others' work counts)"],
  ["ready", "main thread until the page answers"],
  ["readyLongest", "  longest task until then"],
  ["change", "main thread of the first change of a control"],
];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
const loads = { "empty page": [], "first view": [] };
for (let i = 0; i <= LOADS; i++) {
  for (const [page, address] of [
    ["empty page", EMPTY],
    ["first view", pathToFileURL(join(site, "index.html")).href],
  ]) {
    const one = await load(browser, address);
    if (i > 0) {
      loads[page].push(one); // the first warms the browser's own caches
    }
  }
}
for (const [page, list] of Object.entries(loads)) {
  for (const [name, what] of ROWS) {
    const values = list.map((one) => one[name]).filter((one) => one !== null).sort((a, b) => a - b);
    if (values.length > 0) {
      console.log(`${page}, ${what}: ${values[values.length >> 1].toFixed(0)} ms (${values[0].toFixed(0)} to ${values.at(-1).toFixed(0)}, n = ${values.length}, CPU throttle ${THROTTLE})`);
    }
  }
}
await browser.close();
