// SPDX-License-Identifier: Apache-2.0
//
// run_node.mjs SOURCE_DIR BUILD_DIR
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { allCases } from "./cases.mjs";
import { compare, nativeAnswers } from "./native.mjs";
import { compareProgram } from "./program.mjs";

const [source, build] = process.argv.slice(2);
const { Core, CoreError } = await import(pathToFileURL(join(build, "wasm/web/core.js")).href);
const core = await Core.load(readFileSync(join(build, "wasm/ecocompute_core.wasm")));

const cases = allCases(source);
const native = nativeAnswers(join(build, "tests/run_jobs"), cases);
const answers = cases.map(({ job, request }) => core.callText(job, request));
compare(cases, native, answers, "node");
const asked = compareProgram(join(build, "ecocompute"), cases, answers);
console.log(`program --json, byte for byte: ${JSON.stringify(asked)}`);
for (const [job, least] of Object.entries({ estimate: 300, optimize: 200, architectures: 1, fit: 4, check: 20, explain: 20 })) {
  assert.ok(asked[job] >= least, `${job}: only ${asked[job]} cases were asked of the program`);
}

// Every job has cases, and every job is in the list of types.
const jobs = core.call("jobs", {}).map(({ name }) => name);
const types = readFileSync(join(source, "web/core/src/jobs.ts"), "utf8");
const typed = [...types.slice(types.indexOf("export interface Jobs")).matchAll(/^ {2}(\w+): \{ request/gm)];
assert.deepEqual(typed.map((match) => match[1]).sort(), [...jobs].sort());
for (const job of jobs) {
  const good = cases.filter((one, i) => one.job === job && !native[i].startsWith('{\n  "error"'));
  assert.ok(good.length > 0, `no case of ${job} is answered`);
}

// The wrapper: a refusal is an exception with its code.
assert.throws(
  () => core.call("validate", { report: "{]" }),
  (error) => error instanceof CoreError && error.code === "ECO_E_PARSE" && /^energy\.json:1:2: /.test(error.message),
);
// A changed digit of a trace is found, and so is a number that its traces do not give.
const report = readFileSync(join(source, "data/h200/first/20261130T150901Z-92de83/energy.json"), "utf8");
const traces = ["fp16", "nf4"].map((arm) => ({
  file: `power_trace_${arm}.csv`,
  text: readFileSync(join(source, `data/h200/first/20261130T150901Z-92de83/power_trace_${arm}.csv`), "utf8"),
}));
assert.deepEqual(core.call("recompute", { report, traces }), { follows: true, findings: [] });
const changed = report.replace('"lo_pct": -23.898', '"lo_pct": -23.998');
assert.ok(changed !== report);
const verdict = core.call("recompute", { report: changed, traces });
assert.equal(verdict.follows, false);
assert.match(verdict.findings.join("\n"), /lo_pct/);
// The curves are the published ones, parameter for parameter.
const published = JSON.parse(readFileSync(join(source, "data/published/curves.json"), "utf8")).curves;
const { curves } = core.call("curves", {});
assert.deepEqual(Object.keys(curves).sort(), Object.keys(published).sort());
const parameters = ({ A, S, Nstar, resid_std, crossover_b, loo_mae }) => [A, S, Nstar, resid_std, crossover_b, loo_mae];
for (const [arch, precisions] of Object.entries(published)) {
  for (const [precision, curve] of Object.entries(precisions)) {
    assert.deepEqual(parameters(curves[arch][precision]), parameters(curve), `${arch} ${precision}`);
  }
}
// A question in words becomes the members of an estimate.
const { request } = core.call("query", { text: "7b on a 4090", rules: "published-1.1" });
assert.equal(core.call("estimate", { ...request, rules: "published-1.1" }).delta_pct, -28.5);

console.log("wrapper: errors, recompute, curves and types as expected");
