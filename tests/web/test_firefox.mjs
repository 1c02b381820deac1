// SPDX-License-Identifier: Apache-2.0
//
// The page in a second engine, Debian's Firefox, from disk: it comes up by itself, answers as the program does, follows its
// links and reads a file, and says nothing on the console. Everything else is driven in Chromium.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { LANGS, plain, program, root, site, VIEWS } from "./lib.mjs";

const FIREFOX = "/usr/bin/firefox-esr";
const puppeteer = createRequire(join(root, "web/site/package.json"))("puppeteer-core");
const PATIENCE = 90_000; // a crowded machine is slow, not wrong
const missing = existsSync(FIREFOX) ? false : "firefox-esr is not installed (Debian: firefox-esr)";
const skip = process.env.ECO_WASM_REQUIRED === "1" ? false : missing;

let starting;
const browser = () => (starting ??= puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true, timeout: PATIENCE, protocolTimeout: PATIENCE }));
after(async () => (await starting)?.close());

/** Opens the page with a query and waits until it answers; `close()` asserts that nothing was said or forbidden. */
async function open(query = "") {
  const page = await (await browser()).newPage();
  const said = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.setDefaultTimeout(PATIENCE);
  await page.setViewport({ width: 1280, height: 720 });
  await page.evaluateOnNewDocument(() => {
    window.forbidden = [];
    addEventListener("securitypolicyviolation", (event) => window.forbidden.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(`${pathToFileURL(join(site, "index.html"))}?${query}`);
  await page.waitForSelector("html[data-ready] main");
  return {
    page,
    async close() {
      said.push(...(await page.evaluate(() => window.forbidden)));
      await page.close();
      assert.deepEqual(said, []);
    },
  };
}

const big = async (page) => plain(await page.$eval(".answer .big", (node) => node.textContent));
const fixed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)} %`;
const truth = (...args) => fixed(JSON.parse(program("estimate", "--json", "--arch", "RTX 4090", "--model", "Qwen2-7B", ...args)).delta_pct);

test("Firefox: the first view comes up by itself, and a control changes the answer to the program's", { skip }, async () => {
  const { page, close } = await open();
  assert.equal(await big(page), truth("--precision", "NF4"));
  await (await page.$$(".ask-controls select"))[3].select("llama.cpp");
  await page.waitForFunction(() => location.search.includes("stack=llama.cpp"));
  assert.equal(await big(page), truth("--precision", "Q4_0", "--engine", "llama.cpp"));
  await close();
});

test("Firefox: every view by its link, in both languages, with what it draws", { skip }, async () => {
  const drawn = { decide: ".marks .mark", tested: ".marks .mark", estimate: ".marks .mark", optimize: "figure.chart svg", run: "button.drop", replications: ".marks .mark" };
  for (const view of VIEWS) {
    for (const lang of LANGS) {
      const { page, close } = await open(`tab=${view}&lang=${lang}`);
      const title = await page.$eval("h1", (node) => node.textContent);
      assert.equal(/[\u4e00-\u9fff]/.test(title), lang === "zh", title);
      await page.waitForSelector(drawn[view]);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${view} is no wider than its window`);
      await close();
    }
  }
});

test("Firefox: a report becomes a point over the curves", { skip }, async () => {
  const { page, close } = await open("tab=run");
  await (await page.$("input[type=file]")).uploadFile(join(root, "tests/golden/published_1_3.json"));
  const label = await (await page.waitForSelector(".marks [data-mark^=d]")).evaluate((node) => node.getAttribute("aria-label"));
  assert.match(plain(label), /ΔE \+22\.3 %/);
  assert.match(label, /published_1_3\.json/);
  await close();
});
