// SPDX-License-Identifier: Apache-2.0
//
// bench_wasm.mjs BUILD_DIR: what the module costs a page, under node: compiling it, its first call, and one estimate, one
// default optimization and one explanation through the typed wrapper, JSON in and out included. Medians; prints, judges
// nothing. BUILD_DIR is the folder in which tests/wasm/test_build.sh has built wasm/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const build = process.argv[2];
const source = new URL("../..", import.meta.url).pathname;
const { Core } = await import(pathToFileURL(join(build, "wasm/web/core.js")).href);
const bytes = readFileSync(join(build, "wasm/ecocompute_core.wasm"));
const report = readFileSync(join(source, "tests/golden/energy_1_3_ours.json"), "utf8");

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

async function time(name, repeats, work) {
  const times = [];
  for (let i = 0; i < repeats; i++) {
    const begin = process.hrtime.bigint();
    await work(i);
    times.push(Number(process.hrtime.bigint() - begin) / 1e3);
  }
  console.log(`${name.padEnd(40)} ${median(times).toFixed(1).padStart(10)} us  (median of ${repeats})`);
}

await time("compile and start", 20, () => Core.load(bytes));
const core = await Core.load(bytes);
const sizes = [0.5, 1.1, 3, 7, 9, 13, 32, 70];
await time("estimate", 5000, (i) =>
  core.call("estimate", { params_b: sizes[i % sizes.length], arch: "ada", precision: "NF4" }),
);
await time("optimize, 90 candidates", 1000, (i) =>
  core.call("optimize", { params_b: sizes[i % sizes.length], arch: "ada", max_vram_gb: 24 }),
);
await time(`explain, a report of ${report.length} bytes`, 500, () => core.call("explain", { report }));
