// SPDX-License-Identifier: Apache-2.0
//
// Replications: what is said of the sessions is in the table and the reports, disagreement first; a submission is built from
// a file.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readGallery } from "../../web/site/pack/gallery.mjs";
import { axe, fits, LANGS, openPage, plain, root, shot } from "./lib.mjs";

const REPORT = join(root, "data/h200/study-2/02-tinyllama-1.1b-b1/energy.nf4.json");
const FLAGS = ["sessions disagree on the sign", "sessions disagree", "farther apart than stated", "sessions agree", "one session"];

async function openAll(query) {
  const opened = await openPage({ query: `tab=replications&${query}` });
  const unfold = opened.page.getByRole("button", { name: "Unfold all" });
  if ((await unfold.count()) > 0) {
    await unfold.click();
  }
  return opened;
}

const flagsOf = (page) => page.locator(".case .flag").allInnerTexts();

test("disagreement stands first, and the counts are those of the gallery", async () => {
  const { page, close } = await openAll("show=all");
  const flags = await flagsOf(page);
  assert.ok(flags.every((one) => FLAGS.includes(one)), [...new Set(flags)].join());
  assert.deepEqual(flags, [...flags].sort((a, b) => FLAGS.indexOf(a) - FLAGS.indexOf(b)));
  const counts = (await page.locator(".count b").allInnerTexts()).map(Number);
  const is = (flag) => flags.filter((one) => one === flag).length;
  assert.deepEqual(counts, [flags.length - is("one session"), ...FLAGS.slice(0, 4).map(is)]);
  assert.ok(counts.every((n) => n > 0), counts.join());
  await close();
});

test("a case of the table: its sessions are the rows, and a stack tells them apart", async () => {
  const { page, close } = await openAll("show=sign&gpu=RTX+4090&prec=NF4");
  const one = plain(await page.locator(".case", { hasText: "RTX 4090 · Qwen2.5-3B · NF4" }).innerText());
  assert.match(one, /5 sessions: -15\.1 … \+3\.5 %, 18\.5 points apart\./);
  assert.match(one, /No two sessions state an interval/);
  assert.match(one, /Sessions of one stack agree\./);
  const table = readFileSync(join(root, "data/anchors.csv"), "utf8").split("\n");
  const sessions = table.filter((line) => /^[^,]*,RTX 4090,ada,24,Qwen2\.5-3B,3,NF4,transformers/.test(line));
  assert.equal(sessions.length, 5);
  for (const [session, stack, change] of [["4090-2026-07-24", "bitsandbytes 0.45.5", "+0.8 %"], ["4090-2026-08-19", "bitsandbytes 0.43.3", "-15.1 %"]]) {
    assert.ok(one.includes(`${stack} ${session} ${change} n = 1, spread unknown`), `${session}: ${one}`);
  }
  await close();
});

/** The same rule in other words: two half-widths in the logarithm of the ratio, and both expanded uncertainties. */
function beyond(reports) {
  const of = reports.map(({ session, delta_pct, ci95_repeat_pct, expanded_pct }) => {
    const [x, lo, hi] = [delta_pct, ...ci95_repeat_pct].map((pct) => Math.log(1 + pct / 100));
    return { session, x, variance: ((hi - lo) / 2) ** 2 + (expanded_pct / 100) ** 2 };
  });
  const pairs = of.flatMap((a, i) => of.slice(i + 1).flatMap((b) => (a.session === b.session ? [] : [[a, b]])));
  return [pairs.length, pairs.filter(([a, b]) => Math.abs(a.x - b.x) > Math.sqrt(a.variance + b.variance)).length];
}

test("cases of the reports: every report is shown once, and pairs are held against what they state", async () => {
  const { rows } = readGallery(root);
  const { page, close } = await openAll("show=all&gpu=H200&engine=native");
  const cases = await page.locator(".case").evaluateAll((list) => list.map((one) => one.innerText));
  const links = await page.locator(".dots-label a").evaluateAll((list) => list.map((one) => one.getAttribute("href")));
  const paths = links.map((one) => one.replace(/^https:\/\/github\.com\/[\w-]+\/[\w-]+\/blob\/main\//, ""));
  assert.deepEqual([...paths].sort(), rows.map((one) => one.report).sort());
  const of = (model, precision, batch, context) => rows.filter((one) => one.model.startsWith(model) && one.precision === precision && one.batch === batch && one.context === context && one.window === "decode");
  for (const [model, precision, batch, flag] of [["TinyLlama-1.1B", "NF4", 1, "sessions disagree"], ["TinyLlama-1.1B", "NF4", 64, "sessions disagree on the sign"], ["Qwen2-7B", "FP8", 1, "farther apart than stated"]]) {
    const mine = of(model, precision, batch, 384);
    const [pairs, apart] = beyond(mine);
    const text = plain(cases.find((one) => one.startsWith(`H200 · ${model} · ${precision}\n`) && plain(one).includes(`batch ${batch} · context 384 tokens · decode`)));
    assert.ok(text.includes(flag), text);
    assert.ok(text.includes(`Of ${pairs} pair`) && text.includes(apart === 1 ? " 1 is " : ` ${apart} are `), `${pairs} ${apart}: ${text}`);
    assert.ok(mine.every((one) => text.includes(plain(`${one.delta_pct > 0 ? "+" : ""}${one.delta_pct.toFixed(1)} %`))), text);
  }
  const long = [4352, 16640, 32768].map((context) => of("Qwen2-7B", "NF4", 1, context));
  assert.deepEqual(long.map((one) => one.length), [1, 1, 1], "three contexts of one session");
  for (const context of ["4,352", "16,640", "32,768"]) {
    assert.equal(cases.filter((one) => one.includes(`context ${context} tokens`)).length, 1, context);
  }
  await close();
});

test("filters narrow, stand in the address, work by key, and an empty answer is said", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  await page.getByRole("button", { name: /^Agree/ }).focus();
  await page.keyboard.press("Enter");
  assert.equal(new URL(page.url()).searchParams.get("show"), "agree");
  assert.deepEqual([...new Set(await flagsOf(page))], ["sessions agree"]);
  await page.getByLabel("Show", { exact: true }).selectOption("disagree");
  await page.getByLabel("Precision", { exact: true }).selectOption("FP8");
  await page.getByLabel("Engine", { exact: true }).selectOption("native");
  assert.deepEqual([...new Set(await flagsOf(page))], ["farther apart than stated"]);
  const titles = await page.locator(".case h3").allInnerTexts();
  assert.ok(titles.length > 0 && titles.every((one) => one.endsWith("FP8")));
  const again = await openPage({ query: new URL(page.url()).search.slice(1) });
  assert.deepEqual(await again.page.locator(".case h3").allInnerTexts(), titles);
  await again.close();
  await page.getByLabel("Engine", { exact: true }).selectOption("transformers");
  assert.match(await page.locator("main").innerText(), /No case of this kind/);
  await close();
});

test("a session measured once is hollow, and no number stands without what says how sure it is", async () => {
  const { page, close } = await openAll("show=all");
  const rows = await page.locator(".dots li").evaluateAll((list) => list.map((one) => ({ hollow: one.querySelector(".dot.hollow") !== null, text: one.querySelector(".dots-text").innerText })));
  assert.ok(rows.length > 100);
  for (const { hollow, text } of rows) {
    assert.match(plain(text), /^[+-]?[\d.]+ % (n = \d+|n = 1, spread unknown|n not stated|95 %: [+-]?[\d.]+ … [+-]?[\d.]+ % \d+ blocks of 1 run)$/);
    assert.equal(hollow, !/n = (?!1)\d/.test(plain(text)), text);
  }
  await close();
});

test("folded groups say how many they hold and how far apart; agreement weighs no more than disagreement", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  const heads = page.locator(".case-group > summary");
  const groups = await page.locator(".case-group").evaluateAll((list) => list.map((one) => ({ open: one.open, n: one.querySelectorAll(".case").length, spreads: [...one.querySelectorAll(".case p")].flatMap((p) => /([\d.]+) points? apart/.exec(p.textContent)?.[1] ?? []).map(Number) })));
  assert.equal(await page.locator(".case-group[open]").count(), 0);
  const said = (await heads.allInnerTexts()).map(plain);
  assert.deepEqual(said.map((one) => FLAGS.find((flag) => one.startsWith(`${flag} ${parseInt(one.slice(flag.length), 10)}`))), FLAGS.slice(0, 4));
  for (const [i, { n, spreads }] of groups.entries()) {
    assert.ok(said[i].includes(` ${n} cases · `), said[i]);
    assert.ok(n === spreads.length && said[i].includes(`${Math.min(...spreads)} to ${Math.max(...spreads)} points apart`), `${said[i]}: ${spreads}`);
  }
  const sizes = await heads.evaluateAll((list) => list.map((one) => getComputedStyle(one.querySelector(".flag")).fontSize + getComputedStyle(one.querySelector(".flag")).fontWeight));
  assert.equal(new Set(sizes).size, 1);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height < 2600, `${height} px`);
  await close();
});

test("what is folded is found by the browser's search and stands in print; filters stay in sight", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  const title = page.locator(".case h3").last();
  assert.equal(await title.isVisible(), false);
  await page.emulateMedia({ media: "print" });
  assert.equal(await title.isVisible(), true);
  await page.emulateMedia({ media: "screen" });
  const text = await title.innerText();
  assert.ok(await page.evaluate((wanted) => window.find(wanted), await title.textContent()), text);
  await page.getByRole("button", { name: "Unfold all" }).click();
  await page.locator(".case").nth(12).scrollIntoViewIfNeeded();
  const box = await page.locator(".filters").boundingBox();
  assert.ok(box.y >= 0 && box.y + box.height < 200, JSON.stringify(box));
  await page.keyboard.press("Tab");
  await axe(page, "replications, unfolded and scrolled");
  await close();
});

test("change and interval stand before the workload in the table of reports", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  await page.getByText(/^All \d+ reports$/).click();
  const heads = await page.locator(".reports th").allInnerTexts();
  assert.deepEqual(heads.slice(0, 6), ["session", "card and model", "precision", "ΔE", "how sure", "engine and workload"]);
  const all = readGallery(root).rows;
  const at = all.findIndex((one) => one.ci95_repeat_pct !== null);
  const row = all[at];
  const cells = (await page.locator(".reports tbody tr").nth(at).locator("td").allInnerTexts()).map(plain);
  assert.equal(cells[3], `${row.delta_pct > 0 ? "+" : ""}${row.delta_pct.toFixed(1)} %`);
  assert.match(cells[4], /95 %/);
  assert.match(cells[5], /batch/);
  await close();
});

async function fill(page, sender) {
  for (const [label, value] of Object.entries(sender)) {
    await page.getByLabel(label).fill(value);
  }
  await page.getByLabel("This was a real run").check();
  await page.getByLabel("This may be published").check();
}

test("a submission is built from the file, and only when it is whole", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  const copy = page.getByRole("button", { name: "Copy the submission" });
  await page.locator('input[type="file"]').first().setInputFiles(REPORT);
  await page.locator(".facts").waitFor();
  const report = JSON.parse(readFileSync(REPORT, "utf8"));
  const change = `${report.results.vs_fp16_energy_pct.toFixed(2)} %`;
  const said = plain(await page.locator(".facts").innerText());
  assert.ok(said.includes(change) && said.includes("native · ") && said.includes("synthetic weights"), said);
  assert.equal(await page.locator(".facts input, .facts select, .facts textarea").count(), 0, "facts cannot be typed over");
  assert.equal(await copy.count(), 0);
  await fill(page, { "Handle or name": "a|b <script>alert(1)</script>", "Link to raw data": "https://example.org/a_b|c" });
  await copy.click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(text.includes("\\<script\\>"), "markup in a name is escaped");
  assert.ok(text.includes("a\\|b"), "a name cannot break the table");
  assert.ok(text.includes("| <https://example.org/a_b%7Cc> |"), text);
  assert.ok(text.includes(`| ${change} |`), text);
  assert.ok(text.includes("workload.engine"), "why it cannot be held against the published data");
  await page.getByRole("button", { name: "Copy one line" }).click();
  assert.match(plain(await page.evaluate(() => navigator.clipboard.readText())), /NVIDIA H200 · TinyLlama-1\.1B \(shape only\) · NF4 · native · -38\.4 %$/);
  const issue = page.getByRole("link", { name: "Open an empty issue" });
  assert.match(await issue.getAttribute("href"), /^https:\/\/github\.com\/[\w-]+\/[\w-]+\/issues\/new$/);
  assert.match(await issue.getAttribute("rel"), /noopener/);
  for (const [label, wrong, right] of [["Independent trials", "100", "3"], ["Independent trials", "0", "1"], ["Independent trials", "1.5", "99"], ["Link to raw data", "javascript:alert(1)", ""], ["Link to raw data", "example.org", "http://example.org"], ["Handle or name", " ", "a"]]) {
    await page.getByLabel(label).fill(wrong);
    assert.equal(await copy.count(), 0, `${label}: ${wrong}`);
    await page.getByLabel(label).fill(right);
    assert.equal(await copy.count(), 1, `${label}: ${right}`);
  }
  await axe(page, "replications with a report");
  await close();
});

test("a report that is not measured, or no report, cannot be sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "eco-"));
  const report = JSON.parse(readFileSync(REPORT, "utf8"));
  report.results.basis = "interpolated";
  report.workload.model_name = "<img src=x onerror=alert(1)>";
  writeFileSync(join(folder, "energy.json"), JSON.stringify(report));
  delete report.results.vs_fp16_energy_pct;
  writeFileSync(join(folder, "bare.json"), JSON.stringify(report));
  writeFileSync(join(folder, "broken.json"), "{");
  const { page, close } = await openPage({ query: "tab=replications" });
  await page.locator('input[type="file"]').first().setInputFiles(["broken.json", "bare.json", "energy.json"].map((name) => join(folder, name)));
  await page.getByText("Only a report whose basis is measured").waitFor();
  assert.match(await page.locator("main").innerText(), /broken\.json/);
  assert.equal(await page.locator("main img").count(), 0);
  await fill(page, { "Handle or name": "someone" });
  assert.equal(await page.getByRole("button", { name: "Copy the submission" }).count(), 0);
  await page.getByLabel("Report to send").selectOption({ label: "bare.json" });
  await page.getByText("This report states no change against FP16").waitFor();
  await close();
});

const SAYS = {
  en: { empty: "Nobody has sent a replication through this page yet.", policy: "never moderated" },
  zh: { empty: "还没有人通过本页提交过复现结果。", policy: "不因内容而受审查" },
};

for (const lang of LANGS) {
  test(`${lang}: the empty state and the policies are said; it fits a narrow screen, dark and light`, async () => {
    for (const [width, theme] of [[1280, "light"], [360, "dark"]]) {
      const { page, close } = await openPage({ query: `tab=replications&lang=${lang}`, lang, width, theme });
      const text = await page.locator("main").innerText();
      assert.ok(text.includes(SAYS[lang].empty) && text.includes(SAYS[lang].policy), text);
      await page.locator('input[type="file"]').first().setInputFiles(REPORT);
      await page.locator(".facts").waitFor();
      await fits(page, `${lang} ${width}`);
      await axe(page, `${lang} ${width} ${theme}`);
      await shot(page, `replications-report-${lang}-${width}`);
      await close();
    }
  });
}
