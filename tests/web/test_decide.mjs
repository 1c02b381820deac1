// SPDX-License-Identifier: Apache-2.0
//
// The first screen: it says what the command line says, for every stack; controls, links and keys work.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { axe, openPage, plain, program, root } from "./lib.mjs";

const CASES = [
  { query: "", args: ["--arch", "RTX 4090", "--model", "Qwen2-7B", "--precision", "NF4"] },
  { query: "prec=INT8&stack=bitsandbytes+0.43.3", args: ["--arch", "RTX 4090", "--model", "Qwen2-7B", "--precision", "INT8", "--stack", "bitsandbytes 0.43.3"] },
  { query: "model=TinyLlama-1.1B&card=H200&stack=native", args: ["--arch", "H200", "--model", "TinyLlama-1.1B", "--precision", "NF4", "--engine", "native"] },
  { query: "model=Llama-3.1-8B&prec=Q4_0&stack=llama.cpp", args: ["--arch", "RTX 4090", "--model", "Llama-3.1-8B", "--precision", "Q4_0", "--engine", "llama.cpp"] },
  { query: "model=70B&card=A100", args: ["--params-b", "70", "--arch", "A100", "--precision", "NF4"] },
];
const fixed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
const answer = async (page) => plain(await page.locator(".answer").innerText());

for (const { query, args } of CASES) {
  test(`says what the command line says: ${args.join(" ")}`, async () => {
    const truth = JSON.parse(program("estimate", "--json", ...args));
    const { page, close } = await openPage({ query });
    assert.equal(plain(await page.locator(".answer .big").innerText()), `${fixed(truth.delta_pct)} %`);
    const text = await answer(page);
    assert.ok(text.includes(`${fixed(truth.ci[0])} … ${fixed(truth.ci[1])} %`), text);
    assert.ok(text.includes(truth.basis), text);
    assert.ok(text.includes(`${truth.confidence} confidence`), text);
    const said = truth.delta_pct < 0 ? /saves [\d.]+ % of the energy/ : /costs [\d.]+ % more energy/;
    assert.match(text, truth.recommendation === "depends" ? /may save or cost energy/ : said);
    assert.match(text, { quantize: /Quantize\./, do_not_quantize: /Keep FP16/, depends: /undecided/ }[truth.recommendation]);
    assert.ok(text.includes(truth.input.engine ?? "transformers"), text);
    await close();
  });
}

test("the number of sessions is that of the table, and n = 1 says that the spread is unknown", async () => {
  const two = await openPage();
  assert.match(await answer(two.page), /2 sessions, n = 1 each/);
  await two.close();
  const one = await openPage({ query: "stack=bitsandbytes+0.43.3" });
  assert.match(await answer(one.page), /n = 1 · spread unknown/);
  await one.close();
});

test("each basis says which number it is of", async () => {
  const { page, close } = await openPage();
  const truth = JSON.parse(program("estimate", "--json", ...CASES[0].args));
  assert.notEqual(truth.basis, truth.energy.basis, "else this case shows nothing");
  const text = await answer(page);
  assert.ok(text.includes(`ΔE%: ● ${truth.basis}`), text);
  assert.ok(text.includes(`Energy per 1M tokens (${truth.energy.basis}): FP16 `), text);
  await close();
});

test("the stack turns the answer; a format nobody measured there gives way, and that is said", async () => {
  const { page, close } = await openPage();
  await page.getByLabel("Stack", { exact: true }).selectOption("llama.cpp");
  assert.equal(await page.getByLabel("Precision", { exact: true }).inputValue(), "Q4_0");
  assert.match(await page.locator(".ask [role=status]").innerText(), /Nobody measured NF4 with llama\.cpp/);
  assert.match(page.url(), /stack=llama\.cpp/);
  await page.getByLabel("Stack", { exact: true }).selectOption("transformers");
  assert.equal(await page.getByLabel("Precision", { exact: true }).inputValue(), "NF4");
  assert.equal(new URL(page.url()).search, "", "the first question has the plain address");
  await close();
});

test("a link brings all four choices back", async () => {
  const first = await openPage();
  await first.page.getByLabel("Model", { exact: true }).selectOption("Mistral-7B");
  await first.page.getByLabel("Card", { exact: true }).selectOption("A800");
  await first.page.getByLabel("Precision", { exact: true }).selectOption("INT8");
  const query = new URL(first.page.url()).search.slice(1);
  const said = await answer(first.page);
  await first.close();
  const second = await openPage({ query });
  assert.equal(await answer(second.page), said);
  await second.close();
});

test("where nobody measured, the core's line stands and leads to what was measured", async () => {
  const { page, close } = await openPage({ query: "card=T4&prec=INT8" });
  assert.match(await page.getByRole("alert").innerText(), /'INT8' was not measured on turing cards/);
  assert.equal(await page.locator(".answer .big").count(), 0);
  await page.locator(".answer li a").first().click();
  assert.equal(await page.locator(".answer .big").count(), 1);
  await axe(page, "after the way out");
  await close();
  const zh = await openPage({ query: "card=T4&prec=INT8", lang: "zh" });
  assert.match(await zh.page.getByRole("alert").innerText(), /没有测过/);
  await zh.close();
});

test("a model that is none is said to be none", async () => {
  const { page, close } = await openPage({ query: "model=%3Cb%3Ex" });
  assert.ok((await page.getByRole("alert").innerText()).includes('"<b>x"'));
  assert.match(await answer(page), /-34\.0 %/);
  await close();
});

test("points are reached by key, say what they are, and ask for their model", async () => {
  const { page, close } = await openPage();
  const marks = page.locator(".chart [data-mark]");
  const rows = JSON.parse(program("estimate", "--json", ...CASES[0].args)).anchors;
  assert.ok((await marks.count()) > rows.length, "sessions beyond the published anchors are drawn");
  await marks.first().focus();
  assert.match(await page.locator(".tip").innerText(), /Qwen2-0\.5B/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "Qwen2-0.5B");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tip").count(), 0);
  await close();
});

test("the rows under 'the engine decides the sign' have both signs, and none is of a long context", async () => {
  for (const query of ["", "prec=INT8", "model=TinyLlama-1.1B"]) {
    const { page, close } = await openPage({ query });
    const values = (await page.locator(".diverging .num").allInnerTexts()).map((one) => parseFloat(plain(one)));
    assert.ok(values.some((v) => v < 0) && values.some((v) => v > 0), `${query}: ${values}`);
    assert.ok(values.length < 30, `${values.length} rows`);
    await close();
  }
});

test("an explanation lies inside the window, wherever its word stands", async () => {
  for (const [width, height] of [[1280, 720], [360, 740]]) {
    const { page, close } = await openPage({ width, height });
    for (const button of await page.locator("main .card .term > button").all()) {
      await button.focus();
      const box = await page.locator(".term-tip").boundingBox();
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${await button.innerText()}: ${JSON.stringify(box)}`);
    }
    await close();
  }
});

test("every stack is listed beside the others with its own number; none is pooled", async () => {
  const { page, close } = await openPage();
  const text = plain(await page.locator("table.stacks").innerText());
  for (const [stack, args] of [["bitsandbytes 0.43.3", ["--stack", "bitsandbytes 0.43.3"]], ["native", ["--engine", "native"]]]) {
    const truth = JSON.parse(program("estimate", "--json", ...CASES[0].args, ...args));
    assert.ok(text.includes(`${stack} ${fixed(truth.delta_pct)} %`), `${stack}: ${text}`);
  }
  const signs = await page.locator(".diverging li").allInnerTexts();
  assert.ok(signs.some((one) => one.includes("native")) && signs.some((one) => one.includes("transformers")));
  await close();
});

test("the three links and the counts stand below; the counts are those of the table", async () => {
  const { page, close } = await openPage();
  assert.deepEqual((await page.locator(".onward a").allInnerTexts()).map(plain), ["How sure is this?", "Measure it on your card (one command)", "Drop your energy.json here"]);
  const box = await page.locator(".onward").boundingBox();
  assert.ok(box.y + box.height <= 720, `the links end at ${box.y + box.height}`);
  const committed = execFileSync("git", ["-C", root, "ls-files", "data/h200/*/energy*.json"], { encoding: "utf8" }).trim().split("\n");
  const stated = committed.filter((path) => JSON.parse(readFileSync(join(root, path), "utf8")).results.vs_fp16_energy_pct !== null);
  const said = plain(await page.locator("main").innerText());
  assert.ok(said.includes(`154 rows of 21 sessions on 7 cards with 3 engines, and ${stated.length} results`), `${stated.length} reports state a change`);
  await page.locator(".onward a").first().click();
  assert.equal(new URL(page.url()).hash, "#sure");
  await close();
});

test("Chinese is whole", async () => {
  const { page, close } = await openPage({ lang: "zh" });
  const text = await answer(page);
  assert.match(text, /每个 token 的能耗减少 34\.0 %（相对 FP16）/);
  assert.match(text, /2 个场次，各 n = 1/);
  assert.doesNotMatch(text, /confidence|session|spread/);
  await close();
});
