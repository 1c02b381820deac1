// SPDX-License-Identifier: Apache-2.0
//
// Chinese as Chinese: one term a thing, punctuation of its own width, in the sources and in what the views show; and what a
// printed page shows instead of controls.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LANGS, openPage, plain, root, VIEWS } from "./lib.mjs";

const CJK = "\u4e00-\u9fff";
/** ASCII punctuation after or before a Chinese character, or a bracket beside one. */
const HALF = new RegExp(`[${CJK}][,;?!](?!//)|[${CJK}]:(?!//)|[${CJK}]\\.(?=\\s|$|[${CJK}])|[,;:?!] ?[${CJK}]|[${CJK}]\\(|\\)[${CJK}]`, "g");

/** For each thing one term; the others must not come back. */
const TERMS = [
  ["power meter", "功率计", /电表|计量器|计量表|仪表|电能表/],
  ["power trace", "功率轨迹", /功率记录|功率曲线|(?<!功率)轨迹/],
  ["memory traffic", "访存量", /内存流量|显存流量|存储流量/],
];

function files(folder, ends) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => ends.test(name))
    .map((name) => `${folder}/${name}`);
}

const SOURCES = [...files("docs/site/zh", /\.(md|txt)$/), ...files("web/site/src", /\.tsx?$/)];

test("one Chinese term for each of meter, trace and memory traffic", () => {
  assert.ok(SOURCES.length > 80);
  const all = SOURCES.map((path) => [path, readFileSync(join(root, path), "utf8")]);
  for (const [thing, term, others] of TERMS) {
    assert.ok(all.some(([, text]) => text.includes(term)), `${term} is used for ${thing}`);
    assert.deepEqual(all.filter(([, text]) => others.test(text)).map(([path, text]) => `${path}: ${others.exec(text)[0]}`), [], thing);
  }
});

/** Prose of a page: without front matter's keys, code, addresses and anchors. */
function prose(markdown) {
  return markdown
    .replace(/^---\n[\s\S]*?\n---\n/, (head) => head.replace(/^\w+: /gm, ""))
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/`[^`]*`/g, "X")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/\{#[^}]*\}/g, "");
}

test("punctuation in the Chinese text pages is full-width", () => {
  const found = files("docs/site/zh", /\.md$/).flatMap((path) => [...prose(readFileSync(join(root, path), "utf8")).matchAll(HALF)].map((one) => `${path}: …${one.input.slice(Math.max(0, one.index - 12), one.index + 12)}…`));
  assert.deepEqual(found, []);
});

/** What a reader of the view sees, hears and finds in tables, element by element; code and English apart. */
function shown(page) {
  return page.evaluate(() => {
    const apart = "pre, code, .file-name, select, [lang=en], .plot svg .axes";
    document.querySelectorAll("details").forEach((one) => (one.open = true));
    const blocks = [...document.querySelectorAll("main p, main li, main td, main th, main h1, main h2, main h3, main figcaption, main summary, main label, main button, main .tile, main .source, main dd")];
    const texts = blocks.filter((one) => one.closest(apart) === null).map((one) => {
      const copy = one.cloneNode(true);
      copy.querySelectorAll(apart).forEach((inner) => inner.replaceWith("X"));
      copy.querySelectorAll("p, li, td, dt, dd, div, summary, br").forEach((inner) => inner.before("\n"));
      return copy.textContent;
    });
    const labels = [...document.querySelectorAll("main [aria-label]")].map((one) => one.getAttribute("aria-label"));
    const options = [...document.querySelectorAll("main option")].map((one) => one.textContent);
    return [...texts, ...labels, ...options].flatMap((one) => one.split("\n"));
  });
}

const QUERIES = [...VIEWS.map((view) => (view === "decide" ? "" : `tab=${view}`)), "gpu=RTX 4090&m=Qwen2-7B&prec=all", "card=T4&prec=INT8", "tab=estimate&size=30&arch=A100&prec=INT8&batch=8", "tab=estimate&size=-1", "tab=replications&show=all", "tab=optimize&lat=0.001", "tab=optimize&size=x"];

for (const query of QUERIES) {
  test(`punctuation beside Chinese is full-width in ?${query}`, async () => {
    const { page, close } = await openPage({ query: `${query}${query === "" ? "" : "&"}lang=zh`, lang: "zh" });
    if (query === "tab=run") {
      await page.getByRole("button", { name: "看一个示例" }).click();
      await page.getByText("所有主要数字都能由给出的功率轨迹推出").waitFor();
    }
    const lines = await shown(page);
    assert.ok(lines.some((one) => new RegExp(`[${CJK}]`).test(one)));
    assert.deepEqual([...new Set(lines.flatMap((one) => [...one.matchAll(HALF)].map((m) => one.slice(Math.max(0, m.index - 20), m.index + 20))))], []);
    await close();
  });
}

for (const lang of LANGS) {
  test(`${lang}: print has no controls, and the chosen values stand as text`, async () => {
    for (const view of VIEWS) {
      const { page, close } = await openPage({ query: `${view === "decide" ? "" : `tab=${view}&`}lang=${lang}`, lang });
      const chosen = await page.locator("main .field select").evaluateAll((all) => all.map((one) => one.selectedOptions[0].label));
      const typed = await page.locator("main .field input[type=number]").evaluateAll((all) => all.map((one) => one.value));
      await page.emulateMedia({ media: "print" });
      const seen = await page.locator("select, input, textarea, .drop, button:not(.count, .pick, .term > button)").evaluateAll((all) => all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0).map((one) => one.outerHTML.slice(0, 80)));
      assert.deepEqual(seen, [], view);
      const printed = (await page.locator(".printed").allInnerTexts()).map(plain);
      for (const value of [...chosen, ...typed.filter((one) => one !== "")]) {
        assert.ok(printed.includes(plain(value)), `${view}: ${value} in ${printed}`);
      }
      await close();
    }
  });
}
