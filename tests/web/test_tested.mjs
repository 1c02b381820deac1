// SPDX-License-Identifier: Apache-2.0
//
// Tested models: published links arrive, energies and changes are those of the table, sessions and engines stay apart.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { axe, fits, openPage, plain, root } from "./lib.mjs";

const main = async (page) => plain(await page.locator("main").innerText());
const value = (page, label) => page.getByLabel(label, { exact: true }).inputValue();

/** A row of data/anchors.csv by its id; none of those asked for has quotes before its energies. */
function anchor(id) {
  const [head, ...lines] = readFileSync(join(root, "data/anchors.csv"), "utf8").split("\n");
  const cells = lines.find((line) => line.startsWith(`${id},`)).split(",");
  return Object.fromEntries(head.split(",").map((name, i) => [name, cells[i]]));
}

for (const [query, gpu, model] of [
  ["gpu=RTX%205090&m=Qwen2.5-3B", "RTX 5090", "Qwen2.5-3B"],
  ["gpu=rtx4090d&m=TinyLlama-1.1B", "RTX 4090D", "TinyLlama-1.1B"],
  ["gpu=4090&m=Qwen/Qwen2-7B", "RTX 4090", "Qwen2-7B"],
  ["tab=tested&gpu=t4&m=qwen2-1.5b", "T4", "Qwen2-1.5B"],
  ["tab=tested", "RTX 5090", "Qwen2.5-3B"],
]) {
  test(`a published link arrives: ?${query}`, async () => {
    const { page, close } = await openPage({ query });
    assert.equal(await value(page, "Card"), gpu);
    assert.equal(await value(page, "Model"), model);
    assert.equal(await page.getByRole("alert").count(), 0);
    await close();
  });
}

test("energies per 1M tokens and changes are those of the table", async () => {
  const { page, close } = await openPage({ query: "gpu=A800&m=Qwen2.5-14B" });
  const nf4 = anchor("a800-main-qwen2.5-14b-nf4");
  const text = await main(page);
  const megajoules = (j1k) => `${(Number(j1k) / 1000).toFixed(2)} MJ`;
  assert.ok(text.includes(megajoules(nf4.energy_fp16_j1k)), text);
  assert.ok(text.includes(megajoules(nf4.energy_quant_j1k)), text);
  const change = 100 * (nf4.energy_quant_j1k / nf4.energy_fp16_j1k - 1);
  assert.ok(text.includes(`+${change.toFixed(1)} % · n = ${nf4.n_trials}`), text);
  assert.match(text, /The larger model costs again: in session main-a800 the smaller Mistral-7B had -4\.1 %/);
  await close();
});

test("n = 1 is hatched and hollow, n = 2 is neither", async () => {
  const { page, close } = await openPage({ query: "gpu=RTX 5090&m=Qwen2.5-3B" });
  const group = (session) => page.locator(".group").filter({ hasText: session });
  assert.equal(await group("main-5090").locator(".bar.hatched").count(), 0);
  assert.equal(await group("main-5090").locator(".bar").count(), 2);
  assert.equal(await group("5090-2026-09-20-a").locator(".bar:not(.hatched)").count(), 0);
  assert.ok(plain(await group("5090-2026-09-20-a").innerText()).includes("n = 1, spread unknown"));
  const hollow = (id) => page.locator(`[data-mark="${id}"] .point`).evaluate((node) => node.classList.contains("hollow"));
  assert.equal(await hollow("5090-main-qwen2.5-3b-nf4"), false);
  assert.equal(await hollow("5090-sep20a-qwen2.5-3b-nf4"), true);
  await close();
});

test("bars of the panel share one scale", async () => {
  const { page, close } = await openPage({ query: "gpu=RTX 4090&m=Qwen2-7B" });
  const width = async (session, i) => (await page.locator(".group").filter({ hasText: session }).locator(".bar").nth(i).boundingBox()).width;
  const [a, b] = [await width("4090-2026-07-24", 0), await width("4090-2026-07-24", 1)];
  const row = anchor("4090-jul24-qwen2-7b-nf4");
  assert.ok(Math.abs(b / a - row.energy_quant_j1k / row.energy_fp16_j1k) < 0.02, `${b / a}`);
  await close();
});

test("every group of bars is of one session and one engine, and says which", async () => {
  const { page, close } = await openPage({ query: "tab=tested&gpu=H200&m=TinyLlama-1.1B" });
  await page.locator("summary").filter({ hasText: "more sessions" }).click();
  for (const text of await page.locator(".group").allInnerTexts()) {
    assert.match(plain(text), /Stack: native · commit [0-9a-f]{7}/);
    assert.equal((text.match(/\d{8}T\d{6}Z-[0-9a-f]{6}/g) ?? []).length, 1, text);
    assert.match(text, /synthetic weights/);
  }
  const text = await main(page);
  assert.match(text, /-40\.2 % · n = 1, spread unknown · 95 % repeat -40\.6 … -39\.9 %/);
  assert.match(text, /batch 64/);
  const related = await page.locator("table.related tbody tr").allInnerTexts();
  assert.ok(related.length >= 10 && related.every((row) => !row.includes("native")), "published rows stand apart from ours");
  await close();
});

test("a point of the chart chooses its model, by key as well", async () => {
  const { page, close } = await openPage({ query: "tab=tested&gpu=T4&m=Qwen2-7B" });
  await page.locator("[data-mark]").first().focus();
  await page.keyboard.press("Enter");
  assert.equal(await value(page, "Model"), "TinyLlama-1.1B");
  assert.match(page.url(), /gpu=T4&m=TinyLlama-1\.1B/);
  await close();
});

test("the decision brief has the changes, what is unknown, sources and a link that leads back", async () => {
  const { page, close } = await openPage({ query: "gpu=RTX 4090&m=Qwen2-7B" });
  await page.getByRole("button", { name: "Copy decision brief" }).click();
  await page.getByText("Copied").waitFor();
  const brief = plain(await page.evaluate(() => navigator.clipboard.readText()));
  assert.match(brief, /NF4 saves 28\.5 % \(n = 1, spread unknown\)/);
  assert.match(brief, /INT8 costs 105\.9 % more \(n = 3\)/);
  assert.match(brief, /bitsandbytes 0\.43\.3/);
  assert.match(brief, /doi\.org\/10\.5281\/zenodo\.22037483/);
  const link = /Link: (\S+)/.exec(brief)[1];
  await close();
  const back = await openPage({ query: new URL(link).search.slice(1) });
  assert.equal(await value(back.page, "Card"), "RTX 4090");
  assert.equal(await value(back.page, "Model"), "Qwen2-7B");
  await back.close();
});

test("what nobody measured is said, and something is shown all the same", async () => {
  const { page, close } = await openPage({ query: "tab=tested&gpu=%3Cimg%20src%3Dx%3E&m=GPT-9" });
  assert.match(await page.getByRole("alert").innerText(), /<img src=x>, GPT-9, which nobody measured/);
  assert.equal(await value(page, "Card"), "RTX 5090");
  await close();
});

test("all precisions at once, in Chinese, at 360 px and in the dark", async () => {
  const { page, close } = await openPage({ query: "tab=tested&gpu=RTX 4090&m=Qwen2-7B&prec=all", lang: "zh", theme: "dark", width: 360 });
  await fits(page, "tested at 360");
  await axe(page, "tested, all precisions, dark");
  assert.match(await main(page), /n = 1，离散程度未知/);
  await close();
});
