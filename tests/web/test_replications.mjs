// SPDX-License-Identifier: Apache-2.0
//
// Replications: what is said of the sessions is in the table, disagreement first; a submission is built from a file.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { axe, openPage, plain, root } from "./lib.mjs";

const REPORT = join(root, "data/h200/study-2/02-tinyllama-1.1b-b1/energy.nf4.json");

test("disagreement stands first, and a case's sessions are the rows of the table", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  const flags = await page.locator(".case .tag").allInnerTexts();
  const rank = (flag) => ["sessions disagree on the sign", "sessions disagree", "sessions agree"].indexOf(flag);
  assert.ok(flags.length >= 20);
  assert.deepEqual(flags, [...flags].sort((a, b) => rank(a) - rank(b)));
  const one = plain(await page.locator(".case", { hasText: "RTX 4090 · 3B · NF4" }).innerText());
  assert.match(one, /5 sessions, 18\.5 points apart/);
  const table = readFileSync(join(root, "data/anchors.csv"), "utf8").split("\n");
  const sessions = table.filter((line) => /^[^,]*,RTX 4090,ada,24,Qwen2\.5-3B,3,NF4,transformers/.test(line));
  assert.equal(sessions.length, 5);
  for (const [session, change] of [["4090-2026-07-24", "+0.8 %"], ["4090-2026-08-19", "-15.1 %"]]) {
    assert.ok(one.includes(session) && one.includes(change), `${session} ${change}`);
  }
  await close();
});

test("filters narrow, stand in the address, and an empty answer is said", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  await page.getByLabel("Show").selectOption("agree");
  assert.equal(new URL(page.url()).searchParams.get("show"), "agree");
  assert.deepEqual([...new Set(await page.locator(".case .tag").allInnerTexts())], ["sessions agree"]);
  await page.getByLabel("Engine").selectOption("native");
  assert.match(await page.locator("main").innerText(), /No case of this kind/);
  await close();
});

test("a submission is built from the file, and only when it is whole", async () => {
  const { page, close } = await openPage({ query: "tab=replications" });
  const copy = page.getByRole("button", { name: "Copy the submission" });
  await page.locator('input[type="file"]').first().setInputFiles(REPORT);
  await page.locator(".facts").waitFor();
  const report = JSON.parse(readFileSync(REPORT, "utf8"));
  const said = plain(await page.locator(".facts").innerText());
  assert.ok(said.includes(`${report.results.vs_fp16_energy_pct.toFixed(2)} %`), said);
  assert.equal(await copy.count(), 0);
  await page.getByLabel("Handle or name").fill("a|b <script>alert(1)</script>");
  await page.getByLabel("This was a real run").check();
  await page.getByLabel("This may be published").check();
  await copy.click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(text.includes("\\<script\\>"), "markup in a name is escaped");
  assert.ok(text.includes("a\\|b"), "a name cannot break the table");
  assert.ok(plain(text).includes(`| ${report.results.vs_fp16_energy_pct.toFixed(2).replace("-", "\\-")} % |`) || plain(text).includes(`${report.results.vs_fp16_energy_pct.toFixed(2)} %`), text);
  await page.getByLabel("Independent trials").fill("100");
  assert.equal(await copy.count(), 0, "trials are 1 to 99");
  await axe(page, "replications with a report");
  await close();
});

test("a report that is not measured, or no report, cannot be sent", async () => {
  const folder = mkdtempSync(join(tmpdir(), "eco-"));
  const report = JSON.parse(readFileSync(REPORT, "utf8"));
  report.results.basis = "interpolated";
  report.workload.model_name = "<img src=x onerror=alert(1)>";
  writeFileSync(join(folder, "energy.json"), JSON.stringify(report));
  writeFileSync(join(folder, "broken.json"), "{");
  const { page, close } = await openPage({ query: "tab=replications" });
  await page.locator('input[type="file"]').first().setInputFiles([join(folder, "broken.json"), join(folder, "energy.json")]);
  await page.getByText("Only a report whose basis is measured").waitFor();
  assert.match(await page.locator("main").innerText(), /broken\.json/);
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.getByRole("button", { name: "Copy the submission" }).count(), 0);
  await close();
});
