// SPDX-License-Identifier: Apache-2.0
//
// "Run it yourself": reports, traces and links in; their chart, checks and words out; and what bad input gets.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { axe, fits, openPage, plain, program, root, shot } from "./lib.mjs";

const folder = mkdtempSync(join(tmpdir(), "eco-run-"));
after(() => rmSync(folder, { recursive: true }));
const EXAMPLE = join(root, "examples/measured-h200");
const exampleText = readFileSync(join(EXAMPLE, "energy.json"), "utf8");
const PUBLISHED = join(root, "tests/golden/published_1_3.json");

const open = (rest = {}) => openPage({ ...rest, query: `tab=run${rest.query ?? ""}` });
const input = (page) => page.locator("input[type=file][multiple]");

/** A report of the example's shape with other members; `members` by their path. */
function report(name, members) {
  const json = JSON.parse(exampleText);
  for (const [path, value] of Object.entries(members)) {
    const steps = path.split(".");
    const last = steps.pop();
    steps.reduce((at, step) => (at[step] ??= {}), json)[last] = value;
  }
  return file(name, JSON.stringify(json));
}

function file(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const blob = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const rows = (page) => page.locator("table.results tbody tr");
const pick = (page, name) => page.locator("button.pick", { hasText: name });
const points = (page) => page.locator(".marks [data-mark^=d]");
const text = async (locator) => plain(await locator.innerText());

/** Drops files as the pointer would. */
async function drop(page, files) {
  const data = await page.evaluateHandle(
    (list) => {
      const transfer = new DataTransfer();
      list.forEach(([name, content]) => transfer.items.add(new File([content], name)));
      return transfer;
    },
    files.map(([name, path]) => [name, readFileSync(path, "utf8")]),
  );
  await page.locator("button.drop").dispatchEvent("drop", { dataTransfer: data });
}

/** Drops what is on disk, as a person does: folders arrive as folders. */
async function dropPaths(page, files) {
  const session = await page.context().newCDPSession(page);
  const box = await page.locator("button.drop").boundingBox();
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: box.x + 20, y: box.y + 20, data: { items: [], files, dragOperationsMask: 1 } });
  }
}

test("a report with its traces: numbers of the command line, every number follows, warnings as advice", async () => {
  const { page, close } = await open();
  await drop(page, ["energy.json", "power_trace_nf4.csv", "power_trace_fp16.csv"].map((name) => [name, join(EXAMPLE, name)]));
  await rows(page).first().waitFor();
  assert.equal(await points(page).count(), 1);
  const details = await text(page.locator("section[aria-labelledby=details]"));
  for (const said of ["energy per token -32.4 %, not settled", "ΔE -32.4 %", "n = 1, spread unknown", "Every headline number follows", "few_blocks", "use the default of five blocks or more", "native", "inconclusive", "2,016 mJ"]) {
    assert.ok(details.includes(said), `${said}: ${details.slice(0, 1500)}`);
  }
  const [{ explanation }] = JSON.parse(program("explain", "--json", join(EXAMPLE, "energy.json")));
  assert.ok(details.includes(plain(explanation.why)), "the reason is the core's");
  assert.equal(await page.locator("figure.chart .zone.phase").count(), 2, "one window an arm is shaded");
  await axe(page, "run with a report");
  await shot(page, "run-report");
  await page.setViewportSize({ width: 360, height: 800 });
  await fits(page, "run with a report at 360");
  await shot(page, "run-report-360");
  await close();
});

test("without its traces they are asked for by name; an altered trace is found", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles(join(EXAMPLE, "energy.json"));
  await page.getByText("Drop these files too: power_trace_nf4.csv, power_trace_fp16.csv").waitFor();
  const altered = readFileSync(join(EXAMPLE, "power_trace_nf4.csv"), "utf8").replace("18.846704,613.966", "18.846704,613.967");
  await input(page).setInputFiles([file("power_trace_nf4.csv", altered), join(EXAMPLE, "power_trace_fp16.csv")]);
  await page.getByText("Not every number follows").waitFor();
  assert.match(await text(page.locator("section[aria-labelledby=details]")), /sha256/i);
  await close();
});

test("each point has the curve of its own class and precision; another engine has a dashed ring", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles([
    report("ada.json", { "system_under_test.gpu_arch": "ada", "system_under_test.gpu": "NVIDIA GeForce RTX 4090", "workload.engine": "transformers", "results.vs_fp16_energy_pct": -25 }),
    report("ampere.json", { "system_under_test.gpu_arch": "NVIDIA A800", "system_under_test.gpu": "NVIDIA A800", "workload.engine": "transformers", "workload.precision": "INT8", "workload.params_b": 13, "results.vs_fp16_energy_pct": 40 }),
    report("turing.json", { "system_under_test.gpu_arch": "turing", "system_under_test.gpu": "Tesla T4", "workload.engine": "transformers", "workload.precision": "INT8" }),
    report("native.json", { "system_under_test.gpu_arch": "ada" }),
  ]);
  await points(page).nth(3).waitFor();
  const labels = await page.locator(".line text.direct").allTextContents();
  assert.ok(labels.includes("ada NF4") && labels.includes("ampere INT8") && !labels.includes("turing INT8"), labels.join());
  assert.match(await text(page.locator(".no-curves")), /No curve for INT8 on turing \(1\): .*was not measured on turing cards/);
  assert.equal(await page.locator(".marks .ring.dashed").count(), 1);
  const at = { ada: ["7", "ada", "NF4"], ampere: ["13", "ampere", "INT8"] };
  for (const [name, [size, arch, precision]] of Object.entries(at)) {
    await pick(page, `${name}.json`).click();
    const estimate = JSON.parse(program("estimate", "--json", "--params-b", size, "--arch", arch, "--precision", precision));
    const said = await text(page.locator("section[aria-labelledby=details] .card"));
    const number = `${estimate.delta_pct > 0 ? "+" : ""}${estimate.delta_pct.toFixed(1)} %`;
    assert.ok(said.includes(`${arch} ${precision}, transformers): ${number}`), `${number}: ${said}`);
  }
  await pick(page, "native.json").click();
  const own = JSON.parse(program("estimate", "--json", "--params-b", "7", "--arch", "ada", "--precision", "NF4", "--engine", "native"));
  assert.match(await text(page.locator("section[aria-labelledby=details] .card")), new RegExp(`engine native: the curve is of transformers\\. What was measured with engine native: ${own.delta_pct.toFixed(1)} %`));
  await shot(page, "run-many");
  await close();
});

test("a thinned trace keeps every extreme; its phases are runs of rows", async () => {
  const { transformSync } = createRequire(join(root, "web/site/package.json"))("esbuild");
  const source = readFileSync(join(root, "web/site/src/views/run/trace.ts"), "utf8");
  const module = `data:text/javascript;base64,${Buffer.from(transformSync(source, { loader: "ts" }).code).toString("base64")}`;
  const { parseTrace, drawn, extremes, isWindow } = await import(module);
  const lines = Array.from({ length: 100_000 }, (_, i) => `${(i / 20).toFixed(2)},${i === 12_345 ? "999.5" : i === 54_321 ? "1.5" : i % 7 === 0 ? "" : 300 + (i % 11)},,,,1,${i < 50_000 ? "ramp" : "decode"}`);
  const { trace } = parseTrace(`t_s,power_w,energy_j,tokens,temp_c,block,phase\n${lines.join("\n")}\n`);
  const points = drawn(trace, 3000).flat();
  assert.ok(points.length <= 3004, `${points.length} points`);
  assert.ok(points.some((p) => p.y === 999.5 && p.x === 617.25) && points.some((p) => p.y === 1.5 && p.x === 2716.05));
  assert.ok(points.every((p, i) => i === 0 || p.x >= points[i - 1].x), "in order of time");
  assert.deepEqual(trace.phases.map((one) => [one.name, one.from, one.to, isWindow(one)]), [["ramp", 0, 50_000, false], ["decode", 50_000, 100_000, true]]);
  assert.deepEqual(extremes(trace, 50_000, 100_000), [1.5, 310]);
});

test("a trace alone is drawn, a published one without phases too", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles([join(EXAMPLE, "power_trace_nf4.csv"), file("published.csv", "t_s,power_w\n0.000,50.000\n0.100,250.000\n0.200,75.000\n")]);
  await page.getByRole("heading", { name: "Traces without a report here" }).waitFor();
  const charts = page.locator("section[aria-labelledby=details] figure.chart");
  assert.equal(await charts.count(), 2);
  await charts.nth(1).getByRole("button", { name: "Show table" }).click();
  assert.match(await text(charts.nth(1).locator("table")), /published\.csv – – 0 0\.2 3 50 250/);
  await close();
});

test("two reports are compared as the command does it", async () => {
  const { page, close } = await open();
  const other = report("other.json", { "workload.batch_size": 4, run_id: "x" });
  await input(page).setInputFiles([join(EXAMPLE, "energy.json"), other]);
  const section = page.locator("section[aria-labelledby=compare]");
  await section.waitFor();
  assert.match(await text(section), /not sound/);
  assert.match(await text(section), /workload: workload\.batch_size: 1 against 4/);
  await close();
});

test("validation names fields, schema and profile", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles(report("bad.json", { "workload.batch_size": "one" }));
  const section = page.locator("section[aria-labelledby=details]");
  await section.getByText('workload.batch_size: expected an integer, found "one"').waitFor();
  await section.getByRole("combobox").selectOption("paired-1");
  await section.getByText('paired-1 window: measurement.window: is "generation", expected "decode"').waitFor();
  await close();
});

test("keyboard: Enter and Space open the picker, arrows move between points, a row is chosen", async () => {
  const { page, close } = await open();
  const zone = page.locator("button.drop");
  page.on("filechooser", () => {}); // from here on the browser hands pickers over
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  for (const key of ["Enter", "Space"]) {
    await zone.focus();
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press(key)]);
    assert.ok(chooser.isMultiple());
    await chooser.setFiles(key === "Enter" ? [PUBLISHED] : [join(EXAMPLE, "energy.json")]);
    await rows(page).nth(key === "Enter" ? 0 : 1).waitFor();
  }
  const first = pick(page, "published_1_3.json");
  await first.focus();
  await page.keyboard.press("Enter");
  assert.equal(await first.getAttribute("aria-pressed"), "true");
  await page.locator(".marks [data-mark][tabindex='0']").first().focus();
  const before = await page.evaluate(() => document.activeElement.dataset.mark);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.evaluate(() => document.activeElement.dataset.mark), before);
  await close();
});

const TWO = `&overlay=${blob({ m: "Qwen2-7B", N: 7, a: "ada", p: "NF4", e: -20.5, b: "measured", g: "RTX 4090" })}&overlay=${blob({ model: "m", params_b: 3, gpu_arch: "turing", precision: "INT8", vs_fp16_energy_pct: 41, basis: "interpolated", source: "a notebook" })}`;

test("links: several points, short and long keys, a bad one is said and the others stay; Clear empties and the address follows", async () => {
  const { page, close } = await open({ query: `${TWO}&overlay=%21%21&overlay=${blob({ N: 7, e: "x" })}` });
  await points(page).nth(1).waitFor();
  assert.equal(await points(page).count(), 2);
  const problems = await text(page.locator(".file-problems"));
  assert.match(problems, /Link, overlay 3 skipped: .*base64url/);
  assert.match(problems, /Link, overlay 4 skipped: link: e: a number is expected/);
  assert.match(await text(rows(page).first()), /a claim, not signed/);
  assert.match(await text(page.locator("section[aria-labelledby=details]")), /a notebook/);
  await page.getByRole("button", { name: "Clear" }).click();
  assert.equal(await points(page).count(), 0);
  assert.equal(await rows(page).count(), 0);
  assert.equal(await page.locator(".file-problems li").count(), 0);
  assert.equal(new URL(page.url()).searchParams.get("overlay"), null);
  await close();
});

test("the old address /run/?overlay= keeps its points", async () => {
  const { page, close } = await openPage({ file: "run/index.html", query: TWO.slice(1) });
  await points(page).nth(1).waitFor();
  assert.equal(new URL(page.url()).searchParams.getAll("overlay").length, 2);
  await close();
});

test("no sign is told that the report's own interval or verdict leaves open", async () => {
  const { page, close } = await open();
  const members = (verdict, lo, hi) => ({ "results.vs_fp16_energy_pct": -2.3, "results.verdict": verdict, "uncertainty.ci95_repeat": { lo_pct: lo, hi_pct: hi, n: 5 } });
  for (const [name, verdict, lo, hi, settled] of [["wide", undefined, -9, 4.5, false], ["none", "no difference", -2.5, -0.5, false], ["clear", "saves", -3, -1.6, true]]) {
    await input(page).setInputFiles(report(`${name}.json`, members(verdict, lo, hi)));
    await rows(page).filter({ hasText: `${name}.json` }).waitFor();
    const headline = await text(page.locator("section[aria-labelledby=details] .lead").first());
    assert.equal(/saves 2\.3 %/.test(headline), settled, `${name}: ${headline}`);
    assert.equal(/-2\.3 %, not settled/.test(headline), !settled, `${name}: ${headline}`);
  }
  await close();
});

test("an absurd change leaves the others legible: it stands at the edge with an arrow and its value, and is reached by key", async () => {
  const { page, close } = await open();
  const members = (change) => ({ "system_under_test.gpu_arch": "ada", "workload.engine": "transformers", "results.vs_fp16_energy_pct": change, "uncertainty.ci95_repeat": null });
  await input(page).setInputFiles([report("usual.json", members(-25)), report("low.json", members(12)), report("absurd.json", { ...members(99_000), "workload.params_b": 3 })]);
  await points(page).nth(2).waitFor();
  const plot = page.locator("figure.chart .plot svg").first();
  const ticks = (await plot.locator(".axes text[text-anchor=end]:not(.label)").allTextContents()).map((one) => Number(one.replace("\u2212", "-")));
  assert.ok(Math.max(...ticks) < 400 && ticks.length >= 3, ticks.join());
  const at = async (name) => (await page.locator(`.marks [data-mark][aria-label*="${name}"] .point`).boundingBox()).y;
  assert.ok(Math.abs((await at("usual.json")) - (await at("low.json"))) > 20, "37 points are seen");
  const frame = await plot.boundingBox();
  const far = page.locator('.marks [data-mark][aria-label*="absurd.json"]');
  assert.ok((await far.locator(".point").boundingBox()).y - frame.y < 30, "at the upper edge");
  assert.equal(plain(await far.locator(".beyond-axis text").textContent()), "+99,000 %");
  assert.equal(await page.locator(".beyond-axis").count(), 1);
  await page.locator(".marks [data-mark]").first().focus();
  await page.keyboard.press("End");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label").includes("absurd.json")), true);
  assert.match(plain(await page.locator(".tip").innerText()), /\+99,000 %/);
  await axe(page, "run with a far point");
  await shot(page, "run-far");
  await close();
});

test("bulk and far values: the axis holds what lies near", async () => {
  const { buildSync } = createRequire(join(root, "web/site/package.json"))("esbuild");
  const made = buildSync({ entryPoints: [join(root, "web/site/src/charts/scale.ts")], bundle: true, format: "esm", write: false });
  const { spanOfBulk } = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
  const holds = ([lo, hi], v) => v >= lo && v <= hi;
  const curve = [-30, 0, 56];
  assert.ok(holds(spanOfBulk(curve, [250]), 250), "a costly format is no outlier");
  assert.ok(!holds(spanOfBulk(curve, [1e5]), 1e5) && spanOfBulk(curve, [1e5])[1] < 100);
  assert.ok(!holds(spanOfBulk(curve, [-25, 1e5, 400]), 400));
  const many = Array.from({ length: 100 }, (_, i) => 500 + i);
  assert.ok(holds(spanOfBulk(curve, many), 599), "many far ones are the bulk");
  assert.ok(!holds(spanOfBulk(curve, [...many, 1e5]), 1e5));
});

test("a folder: every .json and .csv in it is read, the rest is named as left out", async () => {
  const nested = join(folder, "run", "deep");
  mkdirSync(join(folder, "run", "journal"), { recursive: true });
  mkdirSync(nested);
  for (const name of ["energy.json", "power_trace_nf4.csv"]) {
    copyFileSync(join(EXAMPLE, name), join(nested, name));
  }
  copyFileSync(join(EXAMPLE, "power_trace_fp16.csv"), join(folder, "run", "power_trace_fp16.csv"));
  file("run/notes.txt", "x");
  file("run/deep/plot.png", "x");
  file("run/journal/1.json", "{}");
  const named = async (page) => {
    await rows(page).first().waitFor();
    assert.equal(await rows(page).count(), 1);
    assert.match(await text(rows(page).first()), /run\/deep\/energy\.json/);
    assert.match(await text(page.locator(".drop-tools [role=status]")), /1 result, 2 traces/);
    const left = await text(page.locator(".file-problems"));
    for (const name of ["run/notes.txt", "run/deep/plot.png", "run/journal/"]) {
      assert.ok(left.includes(name), left);
    }
    assert.equal(await page.locator(".file-problems .problem").count(), 0);
  };
  const picked = await open();
  await picked.page.locator("input[type=file]:not([multiple])").setInputFiles(join(folder, "run"));
  await named(picked.page);
  await picked.close();
  const { page, close } = await open();
  await dropPaths(page, [join(folder, "run")]);
  await named(page);
  await dropPaths(page, [join(EXAMPLE, "energy.json"), PUBLISHED]);
  await rows(page).nth(2).waitFor();
  assert.match(await text(rows(page).first()), /^published_1_3\.json/);
  await page.getByRole("button", { name: "Choose a folder" }).waitFor();
  await close();
});

test("a copied link is the command's, and opens to the same point", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles(join(EXAMPLE, "energy.json"));
  await page.getByRole("button", { name: "Copy link to this point" }).click();
  await page.getByRole("status").getByText("Copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, program("share", join(EXAMPLE, "energy.json")).trim());
  await close();
  const again = await open({ query: `&${new URL(link).searchParams.toString().replace("tab=run&", "")}` });
  await points(again.page).first().waitFor();
  assert.match(await text(rows(again.page).first()), /Qwen2-7B \(shape only\) · 7B NVIDIA H200 hopper NF4 -32\.4 %/);
  await again.close();
});

const BAD = {
  "prose.json": ["hello", /line 1, column 1: expected a value/],
  "empty.json": ["", /line 1, column 1: expected a value, found the end/],
  "list.json": ["[1]", /expected an object, found array/],
  "nan.json": [exampleText.replace("-32.435", "NaN"), /line 66, column 27: expected a value/],
  "deep.json": ["[".repeat(100_000), /nested deeper than 64 levels/],
  "version.json": [exampleText.replace("ecocompute-energy/1.3", "other/9"), /schema_version: expected one of .*found "other\/9"/],
  "next.json": [exampleText.replace("ecocompute-energy/1.3", "ecocompute-energy/9.0"), /schema_version: expected one of/],
  "twice.json": ['{"results":{},"results":{}}', /line 1, column 27: duplicate key "results"/],
  "package.json": ['{"name":"x"}', /results: expected an object, found no such key/],
  "latin.json": [Buffer.from([0x7b, 0xff, 0x7d]), /is not UTF-8 text/],
  "other.csv": ["a,b\n1,2\n", /a first line "t_s,power_w" is expected/],
  "words.csv": ["t_s,power_w\n0,x\n", /line 2: numbers are expected/],
  "back.csv": ["t_s,power_w\n2,1\n1,1\n", /line 3: the time goes back/],
  "none.csv": ["t_s,power_w\n", /has no rows/],
};

test("bad files: a message beside each name, earlier points stay", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles(join(EXAMPLE, "energy.json"));
  await points(page).first().waitFor();
  await input(page).setInputFiles(Object.entries(BAD).map(([name, [content]]) => file(name, content)));
  await page.locator(".file-problems li").nth(Object.keys(BAD).length - 1).waitFor();
  const lines = (await page.locator(".file-problems li").allInnerTexts()).map(plain);
  Object.entries(BAD).forEach(([name, [, expected]], i) => {
    assert.ok(lines[i].startsWith(name), `${name}: ${lines[i]}`);
    assert.match(lines[i], expected, name);
  });
  assert.equal(await points(page).count(), 1);
  await axe(page, "run with problems");
  await shot(page, "run-problems", { fullPage: false });
  await close();
});

test("a file of 200 MB is refused before it is read", async () => {
  const { page, close } = await open();
  const path = file("huge.json", "");
  truncateSync(path, 200 * 1024 * 1024);
  await page.evaluate(() => {
    const read = Blob.prototype.arrayBuffer;
    Blob.prototype.arrayBuffer = function arrayBuffer() {
      window.reads = (window.reads ?? 0) + 1;
      return read.call(this);
    };
  });
  await input(page).setInputFiles(path);
  await page.getByText("has 200 MiB; at most 64 MiB are read").waitFor();
  assert.equal(await page.evaluate(() => window.reads ?? 0), 0);
  await close();
});

const MISSING = {
  "no-change.json": [{ "results.vs_fp16_energy_pct": null }, /results\.vs_fp16_energy_pct: no number here/],
  "text-change.json": [{ "results.vs_fp16_energy_pct": "-3" }, /results\.vs_fp16_energy_pct: a number is expected/],
  "no-size.json": [{ "workload.params_b": null, "workload.model_name": "mine" }, /workload\.params_b: no size here/],
  "baseline.json": [{ "workload.precision": "FP16", "results.vs_fp16_energy_pct": 0 }, /workload\.precision: FP16 is what others are compared with/],
  "below.json": [{ "results.vs_fp16_energy_pct": -120 }, /results\.vs_fp16_energy_pct: out of range/],
};

test("a report without a point names the field, and is validated all the same; a size in the name will do", async () => {
  const { page, close } = await open();
  await input(page).setInputFiles([...Object.entries(MISSING).map(([name, [members]]) => report(name, members)), report("named.json", { "workload.params_b": null, "workload.model_name": "acme/Thing-3B" })]);
  await rows(page).nth(5).waitFor();
  const all = (await rows(page).allInnerTexts()).map(plain);
  for (const [name, [, expected]] of Object.entries(MISSING)) {
    assert.match(all.find((row) => row.startsWith(name)) ?? "", expected);
  }
  assert.match(all.find((row) => row.startsWith("named.json")) ?? "", /acme\/Thing-3B · 3B/);
  assert.equal(await points(page).count(), 1);
  await close();
});

const HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)", "${alert(1)}", "{{constructor.constructor('alert(1)')()}}", "__proto__", "\u202egnp.exe", "=HYPERLINK(\"http://x\")", "'\"><svg/onload=alert(1)>", "x".repeat(5000)];

/** Every string of the report becomes `text`, but those that decide whether it is read at all. */
function poisoned(value, hostile, path = "") {
  if (typeof value === "string") {
    return ["schema_version", "power_trace.files.0.file"].includes(path) ? value : hostile;
  }
  if (Array.isArray(value)) {
    return value.map((one, i) => poisoned(one, hostile, `${path}.${i}`));
  }
  return value !== null && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, hostile, path === "" ? name : `${path}.${name}`)])) : value;
}

test("a hostile string in every field is text and nothing else", async () => {
  const { page, close } = await open();
  const before = await page.evaluate(() => document.querySelectorAll("img, script, iframe, object").length);
  await input(page).setInputFiles(HOSTILE.map((one, i) => file(`hostile-${i}.json`, JSON.stringify(poisoned(JSON.parse(exampleText), one)))));
  await rows(page).nth(HOSTILE.length - 1).waitFor();
  for (let i = 0; i < HOSTILE.length; i++) {
    await pick(page, `hostile-${i}.json`).click();
    await page.getByRole("button", { name: "Show table" }).first().click();
    await page.getByRole("button", { name: "Hide table" }).first().click();
  }
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, script, iframe, object").length), before);
  assert.match(await page.locator("table.results").innerText(), /<img src=x onerror=alert\(1\)>/);
  await page.setViewportSize({ width: 360, height: 800 });
  await fits(page, "run with hostile reports at 360");
  await close();
});

test("a hostile link is text and nothing else", async () => {
  const points = HOSTILE.filter((one) => one.length < 100).map((one) => blob({ m: one, N: 7, a: one, p: one, e: 3, g: one, x: one, w: one, s: one }));
  const query = [...points, "javascript:alert(1)", "%3Cscript%3Ealert(1)%3C/script%3E", "A".repeat(20_000), blob("[".repeat(5000)), blob('{"N":7,"e":1e999}'), blob({ N: -1, e: 0 })].map((one) => `&overlay=${one}`).join("");
  const { page, close } = await open({ query });
  await rows(page).first().waitFor();
  assert.equal(await rows(page).count(), points.length);
  assert.equal(await page.locator(".file-problems li").count(), 6);
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object").length), 0);
  await close();
});

test("every command and option that the view shows exists", async () => {
  const { page, close } = await open();
  const blocks = await page.locator(".ways pre").allInnerTexts();
  const lines = blocks.flatMap((one) => one.replaceAll("\\\n", " ").split("\n")).filter((line) => line.startsWith("ecocompute "));
  assert.ok(lines.length >= 7, lines.join("\n"));
  const commands = program("--help");
  for (const line of lines) {
    const [, command, ...words] = line.replace(/'[^']*'/g, "X").split(/\s+/);
    assert.match(commands, new RegExp(`^  ${command} `, "m"), line);
    const help = program(command, "--help");
    const end = words.indexOf("--");
    for (const option of words.slice(0, end < 0 ? words.length : end).filter((one) => one.startsWith("-"))) {
      assert.ok(new RegExp(`(^|[\\s,])${option}(?![\\w-])`, "m").test(help), `${command} has no ${option}`);
    }
  }
  await close();
});

test("the table of fields is the schema's, with the values of the report at hand", async () => {
  const { page, close } = await open();
  await page.getByText("Every field, from the schema").click();
  const table = page.locator("table.schema");
  const row = table.locator("tr", { hasText: "results.energy_per_token_mj" }).first();
  assert.match(await text(row), /^results\.energy_per_token_mj number mJ\/token yes .* 2016\.202$/);
  const documented = readFileSync(join(root, "docs/schema.md"), "utf8").matchAll(/^\| `([^`]+)` \|/gm);
  const shown = new Set(await table.locator("tbody th code").allTextContents());
  assert.deepEqual([...documented].map((one) => one[1]).filter((path) => !shown.has(path)), []);
  await page.getByLabel("Filter fields").fill("launch_us");
  assert.equal(await table.locator("tbody tr").count(), 1);
  await close();
});

test("Chinese: words, warnings and messages", async () => {
  const { page, close } = await open({ query: "&lang=zh", lang: "zh" });
  await page.getByRole("button", { name: "看一个示例" }).click();
  await page.getByText("所有主要数字都能由给出的功率轨迹推出").waitFor();
  const said = plain(await page.locator("main").innerText());
  for (const one of ["每个 token 的能耗 -32.4 %，尚无定论", "少于五个区组", "合成权重", "无法判定", "无法评定", "NF4 读取的字节比 FP16 少 66 %，用时少 19 %，功率低 17 %：能耗下降 32.4 %", "software.packages.torch：缺失"]) {
    assert.ok(said.includes(one), one);
  }
  await input(page).setInputFiles(file("坏.json", "{"));
  assert.match(await text(page.locator(".file-problems li").first()), /坏\.json 第 1 行第 2 列：/);
  await axe(page, "run in Chinese");
  await shot(page, "run-report-zh");
  await close();
});

test("a verdict against the sign of its change, an impossible interval and an absurd trace are not repeated", async () => {
  const { page, close } = await open();
  const report = JSON.parse(readFileSync(join(root, "examples/measured-h200/energy.json"), "utf8"));
  report.results.vs_fp16_energy_pct = 40;
  report.results.verdict = "saves";
  report.uncertainty.ci95_repeat = { ...report.uncertainty.ci95_repeat, lo_pct: 50, hi_pct: -90, n: -3 };
  await input(page).setInputFiles([file("odd.json", JSON.stringify(report)), file("trace.csv", "t_s,power_w\n-1e308,-50\n1e308,1e308\n")]);
  await page.getByText("contradicts its change").waitFor();
  const said = plain(await page.locator("main").innerText());
  assert.match(said, /costs/);
  assert.ok(!/\+50\.0 … -90\.0/.test(said) && !/n = -3/.test(said), "the interval is not shown");
  assert.match(said, /trace\.csv/);
  await close();
});

test("every warning code has Chinese words", () => {
  const codes = [...readFileSync(join(root, "include/ecocompute/warnings.def"), "utf8").matchAll(/^ECO_WARNING\(\w+, "(\w+)"/gm)].map((one) => one[1]);
  const chinese = readFileSync(join(root, "web/site/src/views/run/warnings_zh.ts"), "utf8");
  assert.ok(codes.length > 25);
  assert.deepEqual(codes.filter((code) => !new RegExp(`^  ${code}: `, "m").test(chinese)), []);
});
