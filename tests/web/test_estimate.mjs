// SPDX-License-Identifier: Apache-2.0
//
// "Your model": what the page says is what the program says; links, words and wrong input.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, openPage, plain, program } from "./lib.mjs";

const CASES = [
  { query: "size=7&arch=ada&prec=NF4", args: ["--params-b", "7", "--arch", "ada"] },
  { query: "size=3&arch=RTX+5090&prec=INT8", args: ["--params-b", "3", "--arch", "RTX 5090", "--precision", "INT8"] },
  { query: "size=30&arch=A100&prec=NF4&batch=8&ctx=8192", args: ["--params-b", "30", "--arch", "A100", "--batch", "8", "--ctx", "8192"] },
  { query: "size=7&arch=H200&prec=Q4_0&engine=native", args: ["--params-b", "7", "--arch", "H200", "--precision", "Q4_0", "--engine", "native"] },
  { query: "size=7&arch=RTX+4090&prec=INT8&stack=bitsandbytes+0.43.3", args: ["--params-b", "7", "--arch", "RTX 4090", "--precision", "INT8", "--stack", "bitsandbytes 0.43.3"] },
];

for (const { query, args } of CASES) {
  test(`the answer to ${query} is the program's, in both languages`, async () => {
    const expected = JSON.parse(program("estimate", "--json", ...args));
    for (const lang of ["en", "zh"]) {
      const { page, close } = await openPage({ query: `tab=estimate&${query}&lang=${lang}` });
      const card = plain(await page.locator("main .card").first().innerText());
      const signed = (v) => `${v > 0 ? "+" : ""}${v.toFixed(1)}`;
      assert.ok(card.includes(`${signed(expected.delta_pct)} %`), `${card} has ${expected.delta_pct}`);
      assert.ok(card.includes(`${signed(expected.ci[0])} … ${signed(expected.ci[1])} %`), `${card} has ${expected.ci}`);
      const json = await page.locator("details pre").last().textContent();
      assert.deepEqual(JSON.parse(json), expected);
      const shown = await page.locator(".notes-list li").allInnerTexts();
      assert.equal(shown.length, expected.notes.length);
      if (lang === "en") {
        const set = (line) => plain(line).replace(/(\d)%/g, "$1 %"); // as the page sets percentages
        assert.deepEqual(shown.map(plain), expected.notes.map(set));
      } else {
        shown.forEach((line) => assert.match(line, /[\u4e00-\u9fff]/));
      }
      await close();
    }
  });
}

test("where the range holds zero no sign is told, in either view and language", async () => {
  const asked = JSON.parse(program("estimate", "--json", "--arch", "A800", "--params-b", "7", "--precision", "NF4"));
  assert.equal(asked.recommendation, "depends");
  const signs = { en: /saves \d|costs \d/, zh: /能耗减少 |能耗增加 / };
  const open = { en: /may save or cost energy per token/, zh: /可能减少，也可能增加/ };
  for (const lang of ["en", "zh"]) {
    for (const query of ["tab=estimate&size=7&arch=A800&prec=NF4", "model=Qwen2-7B&card=A800&prec=NF4"]) {
      const { page, close } = await openPage({ query: `${query}&lang=${lang}` });
      const card = plain(await page.locator("main .card").first().innerText());
      assert.match(card, open[lang], query);
      assert.doesNotMatch(card, signs[lang], query);
      await close();
    }
  }
});

test("controls, address and answer go together", async () => {
  const { page, close } = await openPage({ query: "tab=estimate" });
  await page.getByLabel("Card or class").selectOption("RTX 4090");
  await page.getByRole("spinbutton", { name: "Size" }).fill("1.1");
  await page.getByLabel("Precision").selectOption("INT8");
  const url = new URL(page.url());
  assert.deepEqual(
    ["size", "arch", "prec"].map((name) => url.searchParams.get(name)),
    ["1.1", "RTX 4090", "INT8"],
  );
  const answer = JSON.parse(program("estimate", "--json", "--params-b", "1.1", "--arch", "RTX 4090", "--precision", "INT8"));
  assert.ok(plain(await page.locator("main .card").first().innerText()).includes(`+${answer.delta_pct.toFixed(1)} %`));
  await page.getByLabel("Stack").selectOption("native|");
  assert.ok((await page.getByLabel("Precision").locator("option").allInnerTexts()).includes("W8A16"));
  await page.getByLabel("Model", { exact: true }).selectOption("Qwen2-7B");
  assert.equal(await page.getByRole("spinbutton", { name: "Size" }).inputValue(), "7");
  await close();
});

test("the chart says what its lines, tints and points are, and why the line changes", async () => {
  const { page, close } = await openPage({ query: "tab=estimate&size=7&arch=ada&prec=NF4" });
  const legend = (await page.locator(".chart .legend li").allInnerTexts()).map(plain);
  for (const one of ["curve fitted to this class", "energy model, beyond what was measured", "band", "measurement, n ≥ 2", "hollow: n = 1 or not stated", "your point"]) {
    assert.ok(legend.includes(one), `${one}: ${legend}`);
  }
  assert.match(await page.locator(".chart .note").innerText(), /another source answers: the class's curve .* the energy model elsewhere/);
  const lines = await page.locator(".plot .line path").evaluateAll((all) => all.map((one) => ({ dash: one.getAttribute("stroke-dasharray"), d: one.getAttribute("d") })));
  assert.equal(lines.length, 3);
  assert.deepEqual(lines.map((one) => one.dash === null), [false, true, false], "the curve between is solid");
  const ends = lines.map(({ d }) => [/^M([-\d. ]+)/.exec(d)[1], /L([-\d. ]+)$/.exec(d)[1]]);
  assert.equal(ends[0][1], ends[1][0], "the line goes on where its source changes");
  assert.equal(ends[1][1], ends[2][0]);
  await close();
});

test("where a case is refused there is the reason and no empty chart", async () => {
  for (const [query, reason] of [["size=7&arch=ada&prec=Q4_0", /Q4_0/], ["size=7&arch=RTX+9090&prec=NF4", /'RTX 9090'/], ["size=7&arch=turing&prec=INT8", /'INT8' was not measured on turing/]]) {
    const { page, close } = await openPage({ query: `tab=estimate&${query}` });
    assert.equal(await page.locator("main figure.chart").count(), 0, query);
    assert.match(plain(await page.locator(".no-chart").innerText()), reason);
    await close();
  }
});

test("the permalink is copied and leads back to the same case", async () => {
  const { page, close } = await openPage({ query: "tab=estimate&size=13&arch=T4&prec=NF4&batch=4" });
  await page.getByRole("button", { name: "Copy permalink" }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.deepEqual(Object.fromEntries(new URL(link).searchParams), { tab: "estimate", size: "13", arch: "T4", prec: "NF4", batch: "4" });
  await close();
});

test("a question in words sets the controls", async () => {
  const { page, close } = await openPage({ query: "tab=estimate" });
  await page.getByLabel("Ask in plain words").fill("13B on RTX 3090 int8 batch 8");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByRole("spinbutton", { name: "Size" }).inputValue(), "13");
  assert.equal(await page.getByLabel("Card or class").inputValue(), "RTX 3090");
  assert.equal(await page.getByLabel("Batch", { exact: true }).inputValue(), "8");
  await page.getByLabel("Ask in plain words").fill("should I quantize llama 3.1 8b on my 3060?"); // names no precision
  await page.keyboard.press("Enter");
  const asked = JSON.parse(program("estimate", "--json", "should I quantize llama 3.1 8b on my 3060?"));
  assert.equal(await page.getByLabel("Precision").inputValue(), asked.input.precision);
  assert.ok(plain(await page.locator("main .card .big").innerText()).startsWith(asked.delta_pct.toFixed(1)));
  await close();
});

test("the gate says what the verdict says, at every size and card", async () => {
  for (const arch of ["RTX 4090D", "RTX 5090", "ada"]) {
    for (const size of [1, 3, 7]) {
      const one = JSON.parse(program("estimate", "--json", "--arch", arch, "--params-b", String(size)));
      assert.equal(one.gate.zone, { quantize: "allow_quant", do_not_quantize: "lock_fp16", depends: "undecided" }[one.recommendation], `${arch} ${size}`);
    }
  }
});

test("what is no number or out of range is refused with the core's line, and the view stays", async () => {
  const wrong = [
    ["size=-1&arch=ada&prec=NF4", /params_b: -1 is not usable/],
    ["size=abc&arch=ada&prec=NF4", /params_b/],
    ["size=7&arch=ada&prec=NF4&batch=abc", /batch: 'abc' is no number/],
    ["size=7&arch=ada&prec=NF4&ctx=0x10", /ctx: '0x10' is no number/],
    ["size=7&arch=RTX+9090&prec=NF4", /'RTX 9090'/],
    ["size=7&arch=ada&prec=Q4_0", /Q4_0/],
    ["size=7&arch=ada&prec=%3Cimg%20src=x%20onerror=alert(1)%3E", /precision/],
  ];
  for (const [query, message] of wrong) {
    const { page, close } = await openPage({ query: `tab=estimate&${query}` });
    assert.match(plain(await page.getByRole("alert").innerText()), message);
    assert.equal(await page.locator("main img").count(), 0);
    await axe(page, query);
    await close();
  }
});

test("terms explain themselves on focus, and Escape closes them", async () => {
  const { page, close } = await openPage({ query: "tab=estimate" });
  await page.getByRole("button", { name: "ΔE%" }).first().focus();
  assert.match(await page.getByRole("tooltip").innerText(), /change in energy per generated token/i);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("tooltip").count(), 0);
  await close();
});

test("points are reached by arrow keys in reading order, and the table holds what the chart shows", async () => {
  const { page, close } = await openPage({ query: "tab=estimate&size=7&arch=ada&prec=NF4" });
  const marks = page.locator("[data-mark]");
  const n = await marks.count();
  assert.ok(n > 5);
  await marks.first().focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement === document.querySelectorAll("[data-mark]")[1]), true);
  assert.match(await page.locator(".tip").innerText(), /n [=≥]|n not/);
  await page.keyboard.press("End");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tip").count(), 0);
  await page.getByRole("button", { name: "Show table" }).click();
  assert.equal(await page.locator(".chart table tbody tr").filter({ hasText: "measurement" }).count(), n - 1);
  await close();
});

test("a chart is saved as CSV and PNG, with title and source", async () => {
  const { page, close } = await openPage({ query: "tab=estimate&size=7&arch=ada&prec=NF4" });
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(await csv.path(), "utf8");
  assert.match(text, /^"?# NF4 against FP16 on ada/);
  assert.match(text, /Source: published EcoCompute measurements/);
  assert.match(text, /measurement,0\.5,Qwen2-0\.5B,RTX 4090D,56\.09/);
  const [png] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download PNG" }).click()]);
  const bytes = readFileSync(await png.path());
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.length > 20_000, `${bytes.length} bytes`);
  await close();
});
