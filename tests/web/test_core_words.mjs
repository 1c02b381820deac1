// SPDX-License-Identifier: Apache-2.0
//
// The core's English lines in Chinese: hundreds of questions, every note, verdict and refusal must be known to
// src/app/core_words.ts, and every number of a line must stand in its Chinese.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./lib.mjs";

const CORE = process.env.ECO_CORE ?? join(root, "build/wasm/ecocompute_core.wasm");
const { build } = createRequire(join(root, "web/site/package.json"))("esbuild");

async function load() {
  globalThis.location = { search: "" };
  Object.defineProperty(globalThis, "navigator", { value: { language: "zh" }, configurable: true });
  const made = await build({
    stdin: { contents: 'export { toChinese } from "./core_words.ts"', resolveDir: join(root, "web/site/src/app"), loader: "ts" },
    bundle: true,
    format: "esm",
    write: false,
  });
  const { toChinese } = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
  const { instance } = await WebAssembly.instantiate(readFileSync(CORE), {});
  const core = instance.exports;
  core._initialize();
  const put = (text) => {
    const bytes = new TextEncoder().encode(text);
    const at = core.eco_allocate(bytes.length + 1);
    const view = new Uint8Array(core.memory.buffer, at, bytes.length + 1);
    view.set(bytes);
    view[bytes.length] = 0;
    return [at, bytes.length];
  };
  const call = (job, request) => {
    const [name] = put(job);
    const [at, length] = put(JSON.stringify(request));
    const answer = core.eco_call(name, at, length);
    const memory = new Uint8Array(core.memory.buffer);
    const text = new TextDecoder().decode(memory.subarray(answer, memory.indexOf(0, answer)));
    for (const one of [name, at, answer]) {
      core.eco_release(one);
    }
    return JSON.parse(text);
  };
  return { toChinese, call };
}

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
      const answer = call("optimize", { params_b: 7, arch, objective, max_vram_gb: 12 });
      (answer.error === undefined ? answer.notes : [answer.error]).forEach((line) => lines.add(line));
    }
  }
  assert.ok(lines.size > 200, `${lines.size} lines`);
  const numbers = (text) => (text.match(/\d+(\.\d+)?/g) ?? []).filter((one) => one !== "1000");
  const unknown = [];
  const lost = [];
  for (const line of lines) {
    const chinese = toChinese(line);
    if (!/[\u4e00-\u9fff]/.test(chinese)) {
      unknown.push(line);
    } else if (numbers(line).some((one) => !chinese.includes(one)) && !/A shorter|data-sheet|batch 1/.test(line)) {
      lost.push(`${line}\n  ${chinese}`);
    }
  }
  assert.deepEqual(unknown.slice(0, 20), [], "lines without Chinese");
  assert.deepEqual(lost.slice(0, 20), [], "lines that lost a number");
});
