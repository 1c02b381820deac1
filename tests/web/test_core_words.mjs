// SPDX-License-Identifier: Apache-2.0
//
// The core's English lines in Chinese: hundreds of questions, every note, verdict and refusal must be known to
// src/app/core_words.ts, and every number of a line must stand in its Chinese. And every message that the sources of the
// core can write about what a reader asks or drops must be known to it or to src/views/run/lines.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./lib.mjs";

const CORE = process.env.ECO_CORE ?? join(root, "build/wasm/ecocompute_core.wasm");
const { build } = createRequire(join(root, "web/site/package.json"))("esbuild");

const ENTRY = `
export { toChinese } from "./src/app/core_words.ts";
export { lineWords } from "./src/views/run/lines.ts";
export { lang } from "./src/app/text.ts";
export { Core } from "../core/src/core.ts";
`;

let loading;
function load() {
  loading ??= (async () => {
    globalThis.location ??= { search: "" };
    Object.defineProperty(globalThis, "navigator", { value: { language: "zh" }, configurable: true });
    const made = await build({
      stdin: { contents: ENTRY, resolveDir: join(root, "web/site"), loader: "ts" },
      bundle: true,
      format: "esm",
      write: false,
      external: ["ecocompute-*"],
    });
    const page = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
    page.lang.value = "zh";
    const core = await page.Core.load(readFileSync(CORE));
    return { ...page, call: (job, request) => JSON.parse(core.callText(job, JSON.stringify(request))) };
  })();
  return loading;
}

const isChinese = (text) => /[\u4e00-\u9fff]/.test(text);
/** Punctuation of the width of Chinese: none of ASCII between a character and another, nor after one. */
const HALF = /[\u4e00-\u9fff][,;:?!](?!\/\/)|[\u4e00-\u9fff]\.(?:\s|$|[\u4e00-\u9fff])|[,;:] ?[\u4e00-\u9fff]/;

function* estimates(cards) {
  const stacks = [{}, { stack: "bitsandbytes 0.43.3" }, { stack: "bitsandbytes 0.45.5" }, { stack: "bitsandbytes 9.9" }, { engine: "native" }, { engine: "llama.cpp" }];
  for (const arch of ["ada", "blackwell", "turing", "ampere", "hopper", "RTX 4090", "RTX 3090", "L4", "H200", "A100", ...cards.slice(0, 6)]) {
    for (const precision of ["NF4", "INT8", "Q4_0", "W8A16"]) {
      for (const more of stacks) {
        for (const [params_b, batch, ctx] of [[0.5, 1, 2048], [7, 1, 2048], [70, 8, 8192], [2.2, 32, 4096]]) {
          yield { arch, precision, params_b, batch, ctx, ...more };
        }
      }
    }
  }
  yield { arch: "ada", params_b: -1 };
  yield { arch: "ada", params_b: 1e9 };
  yield { arch: "RTX 9090", params_b: 7 };
  yield { arch: "ada", params_b: 7, batch: 0 };
  yield { arch: "ada", params_b: 7, ctx: -4 };
  yield { arch: "ada", params_b: 7, precision: "FP16" };
  yield { arch: "ada", params_b: 7, precision: "NF5" };
  yield { arch: "ada", params_b: 7, model: "Qwen2-7C" };
  yield { arch: "ada", params_b: 7, engine: "natve" };
  yield { arch: "ada", params_b: 7, engine: "native", stack: "bitsandbytes 0.45.5" };
  yield { arch: "ada", params_b: 7, stack: "latest" };
}

test("every line of estimate and optimize has its Chinese, with the same numbers", async () => {
  const { toChinese, call } = await load();
  const cards = call("cards", {}).map((one) => one.name);
  const lines = new Set();
  for (const request of estimates(cards)) {
    const answer = call("estimate", request);
    (answer.error === undefined ? [answer.verdict, ...answer.notes] : [answer.error]).forEach((line) => lines.add(line));
  }
  for (const arch of ["ada", "turing", "hopper", "RTX 3090", "H200", "RTX 9090"]) {
    for (const objective of ["min_energy", "min_vram", "min_enegy"]) {
      for (const rules of ["current", "published-1.1"]) {
        const answer = call("optimize", { params_b: 7, arch, objective, max_vram_gb: 12, rules });
        (answer.error === undefined ? answer.notes : [answer.error]).forEach((line) => lines.add(line));
      }
    }
  }
  assert.ok(lines.size > 200, `${lines.size} lines`);
  const numbers = (text) => (text.match(/\d+(\.\d+)?/g) ?? []).filter((one) => one !== "1000");
  const unknown = [];
  const lost = [];
  const half = [];
  for (const line of lines) {
    const chinese = toChinese(line);
    if (!isChinese(chinese)) {
      unknown.push(line);
    } else if (numbers(line).some((one) => !chinese.includes(one)) && !/A shorter|data-sheet|batch 1/.test(line)) {
      lost.push(`${line}\n  ${chinese}`);
    }
    if (HALF.test(chinese)) {
      half.push(chinese);
    }
  }
  assert.deepEqual(unknown.slice(0, 20), [], "lines without Chinese");
  assert.deepEqual(lost.slice(0, 20), [], "lines that lost a number");
  assert.deepEqual(half.slice(0, 20), [], "half-width punctuation");
});

/** What stands before and after a message of a file when it arrives at the page. */
const whole = (text) => text;
const SOURCES = {
  "src/core/json_read.c": whole,
  "src/record/trace.c": (text) => (text.startsWith("%s") ? text : `trace.csv:3: ${text.startsWith(": ") ? `power_w${text}` : text}`),
  "src/model/estimate.c": whole,
  "src/model/cell.c": whole,
  "src/model/place.c": whole,
  "src/model/optimize.c": whole,
  "src/model/optimize_grid.c": whole,
  "src/model/check.c": (text) => (/^(warnings|system_under_test)/.test(text) ? text : `workload.engine: ${text}`),
  "src/report/report.c": whole,
  "src/report/schema_check.c": whole,
  "src/report/profiles.c": (text) => (/^how many/.test(text) ? text : `paired-1 window: measurement.window: ${text}`),
  "src/report/recompute.c": whole,
  "src/report/recompute_compare.c": whole,
  "src/report/recompute_explain.c": whole,
  "src/report/recompute_uncertainty.c": whole,
  "src/report/trace_match.c": whole,
  "src/report/compare.c": whole,
  "src/report/explain.c": (text) => (text.startsWith("no ") ? text : `NF4 ${text}`),
  "src/report/explain_report.c": whole,
  "src/report/share.c": whole,
  "src/report/share_decode.c": whole,
  "src/jobs/jobs_report.c": whole,
  "src/jobs/jobs_share.c": whole,
};

/** Literals that are no line of their own, each with its reason. */
const NO_LINE = [
  [/^(an?|true or) [a-z ]+$|^no such key$|^not a number$|^measured$/, "what fills a line: held below"],
  [/^, did you mean '$|^; (expected NF4 or INT8|`ecocompute models` lists what is)$|^, (which means|but the trace holds it) ?$|^another session$|^not shown to be|^the (first|second)$/, "a part of a line"],
  [/^(billions of parameters|a whole number of)/, "a part of a line; asked above"],
  [/^duplicate key \\"$|^\\" in the object/, "two parts of one line, which is held below"],
  [/^(anchors of this size|within the band|OUTSIDE the band|not gradable: |across stacks: |curve %s|mean of the|band ±|The band is a multiple)|^ *%? ?at this size|^ % at/, "what the command line prints"],
  [/^%-10s|^ *%s B parameters|^your model$|^ \(shape only\)$|^bits|^%s:%zu: %s|^%s:%zu:%zu: %s$|^\.\.\./, "a frame, or no message"],
  [/^( ?bytes a token than |%s reads ?$|%s, takes |time and draws |: energy | *%% of| *%%\.|, %s is)/, "parts of the explanation, which test_run.mjs reads whole"],
  [/^(recompute: traces|compare: reports)$/, "the name of a member, which goes before a message"],
  [/^how many sessions and cards/, "the job gives findings, not this note"],
];

function literals(file) {
  const source = readFileSync(join(root, file), "utf8").replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*#.*$/gm, "").replace(/" *PRI\w+ *"/g, "d");
  return [...source.matchAll(/(?:"(?:[^"\\\n]|\\.)*"\s*)+/g)].map(([all]) => [...all.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map((one) => one[1]).join(""));
}

/** A format with something in each place. */
const filled = (format) =>
  format
    .replace(/\\"/g, '"')
    .replace(/\\\\/g, "\\")
    .replace(/\\n$/, "")
    .replace(/%%/g, "%")
    .replace(/%s%s%s/g, ", did you mean 'y'?")
    .replace(/%s%s$/, "")
    .replace(/ columns $/, " columns t_s,power_w")
    .replace(/%[-+ 0#]*\d*(?:\.\d+)?(?:ll|l|z|h)*[diuf]/g, "3")
    .replace(/%[-+ 0#]*\d*(?:\.\d+)?s/g, "x")
    .replace(/%g/g, "3");

test("every message in the sources about a question, a report, a trace or a link has its Chinese", async () => {
  const { lineWords } = await load();
  const without = [];
  const half = [];
  let held = 0;
  for (const [file, arrives] of Object.entries(SOURCES)) {
    for (const literal of literals(file)) {
      if (!literal.trim().includes(" ") || !/[a-z]{2}/.test(literal) || NO_LINE.some(([pattern]) => pattern.test(literal))) {
        continue;
      }
      const line = filled(arrives(literal));
      const chinese = lineWords(line);
      held++;
      if (!isChinese(chinese)) {
        without.push(`${file}: ${line}`);
      } else if (HALF.test(chinese)) {
        half.push(chinese);
      }
    }
  }
  assert.ok(held > 150, `${held} messages`);
  assert.deepEqual(without, [], "messages without Chinese");
  assert.deepEqual(half, [], "half-width punctuation");
});

test("what a field should be and is stands in Chinese, too", async () => {
  const { lineWords } = await load();
  for (const [line, chinese] of [
    ["measurement.window: expected one of decode|generation, found \"x\"", "measurement.window：应为decode、generation 之一，实际为 \"x\"。"],
    ["workload.batch_size: expected 1 or more, found 0", "workload.batch_size：应为1 或更大，实际为 0。"],
    ["software.packages: expected an object of strings, found array", "software.packages：应为字符串对象，实际为 数组。"],
    ["3:7: duplicate key \"a\" in the object that ends here", "第 3 行第 7 列：到此结束的对象里键 \"a\" 重复。"],
    ["trace.csv:3: power_w: expected a number or nothing", "trace.csv:3:power_w：应为数字或空。"],
  ]) {
    assert.equal(lineWords(line).replaceAll(" ", ""), chinese.replaceAll(" ", ""));
  }
});

test("every field of the schema has a meaning in Chinese, and one that lacks it ends the build", async () => {
  const { readSchema } = await import("../../web/site/pack/schema.mjs");
  const rows = readSchema(root);
  assert.ok(rows.length > 250);
  for (const [path, , , , english, chinese] of rows) {
    assert.ok(isChinese(chinese) && !HALF.test(chinese), `${path}: ${english}: ${chinese}`);
  }
});
