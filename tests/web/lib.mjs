// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the page share: a browser a file, pages that fail their test on any console message, error, dialog or
// request, axe, and pictures. ECO_PAGE names the folder of the built page, ECO_PAGE_SHOTS where pictures go (none without).

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const site = process.env.ECO_PAGE ?? join(root, "web/dist");
const require = createRequire(join(root, "web/site/package.json"));
const { chromium } = require("playwright-core");
const AxeBuilder = require("@axe-core/playwright").default;

export const VIEWS = ["decide", "tested", "estimate", "optimize", "run", "replications"];
export const LANGS = ["en", "zh"];

let starting;
function browser() {
  starting ??= chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage"
      .split(" ")
      .concat("--host-resolver-rules=MAP * ~NOTFOUND"),
  });
  return starting;
}
after(async () => (await starting)?.close());

/**
 * Opens a page from disk. `query` without "?"; `file` inside the site; `ready`: once the page answers, and not only shows
 * what was drawn beforehand. `close()` asserts that nothing was said on the console, nothing was thrown and nothing was asked
 * of a network.
 */
export async function openPage({
  file = "index.html",
  query = "",
  lang = "en",
  theme = "light",
  width = 1280,
  height = 720,
  reducedMotion = "reduce",
  permissions = ["clipboard-read", "clipboard-write"],
  javaScriptEnabled = true,
  ready = javaScriptEnabled && file === "index.html",
  before = async () => {},
} = {}) {
  const context = await (
    await browser()
  ).newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion, locale: lang === "zh" ? "zh-CN" : "en-US", permissions, javaScriptEnabled });
  context.setDefaultTimeout(90_000); // a crowded machine is slow, not wrong
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    said.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) {
      said.push(`request: ${request.url()}`);
    }
  });
  await before(page);
  await page.goto(`${pathToFileURL(join(site, file))}${query === "" ? "" : `?${query}`}`);
  await page.locator(ready ? "html[data-ready] main" : "main").waitFor();
  return {
    page,
    said,
    async close() {
      await context.close();
      assert.deepEqual(said, []);
    },
  };
}

/** Findings of axe at WCAG 2.2 A and AA, best practices of headings and landmarks included; none is expected. */
export async function axe(page, what) {
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .analyze();
  const found = violations.map((one) => `${one.id}: ${one.help}\n    ${one.nodes.map((node) => `${node.target} ${node.failureSummary?.split("\n")[1]?.trim() ?? ""}`).join("\n    ")}`);
  assert.deepEqual(found, [], `axe, ${what}`);
}

/** Nothing is wider than the window. */
export async function fits(page, what) {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const inScroller = (node) => node.closest(".scroll, pre, .term-tip, .visually-hidden, .skip") !== null;
    const found = [...document.querySelectorAll("body *")]
      .filter((node) => !inScroller(node) && node.getBoundingClientRect().right > width + 1)
      .map((node) => `${node.tagName}.${node.getAttribute("class") ?? ""} ends at ${Math.round(node.getBoundingClientRect().right)} of ${width}`);
    return document.documentElement.scrollWidth > width ? ["the page scrolls sideways", ...found.slice(0, 5)] : [];
  });
  assert.deepEqual(wide, [], what);
}

/** A picture of the whole page, where pictures are wanted. */
export async function shot(page, name, { fullPage = true } = {}) {
  const folder = process.env.ECO_PAGE_SHOTS;
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage, animations: "disabled" });
  }
}

/** What the command line answers, to be compared with the page. */
export function program(...args) {
  return execFileSync(process.env.ECOCOMPUTE ?? join(root, "build/release/ecocompute"), args, { encoding: "utf8" });
}

/** Text as a reader sees it: one kind of space, plain minus. */
export function plain(text) {
  return text.replace(/[\u202f\u00a0\s]+/g, " ").replaceAll("\u2212", "-").trim();
}
