// SPDX-License-Identifier: Apache-2.0
//
// Requests of every job: { name, job, request }, the request as the text that goes in. Built from the golden files and
// the reports of the repository, and from what a job must refuse.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const PROFILES = ["v1.1-core", "paired-1"];
const RULES = ["published-1.1", "current"];

function text(...parts) {
  return readFileSync(join(...parts), "utf8");
}

function reports(root) {
  const golden = readdirSync(join(root, "tests/golden"))
    .filter((file) => /^energy_.*\.json$/.test(file))
    .map((file) => join(root, "tests/golden", file));
  const measured = readdirSync(join(root, "data/h200"), { recursive: true })
    .filter((file) => /(^|\/)energy[^/]*\.json$/.test(file))
    .map((file) => join(root, "data/h200", file));
  return [...golden, ...measured].sort();
}

function tracesOf(path, report) {
  return (JSON.parse(report).power_trace?.files ?? [])
    .filter((entry) => entry.file && existsSync(join(dirname(path), basename(entry.file))))
    .map((entry) => ({ file: entry.file, text: text(dirname(path), basename(entry.file)) }));
}

function* reportCases(root) {
  const first = text(root, "data/h200/first/20261130T150901Z-92de83/energy.json");
  for (const path of reports(root)) {
    const report = text(path);
    const name = path.slice(root.length + 1);
    yield { job: "validate", name, request: { report, name } };
    for (const profile of PROFILES) {
      yield { job: "validate", name: `${name} ${profile}`, request: { report, profile } };
    }
    yield { job: "summary", name, request: { report } };
    yield { job: "explain", name, request: { report } };
    yield { job: "share_encode", name, request: { report, name, site: "http://localhost:8000" } };
    for (const across_stacks of [false, true]) {
      const pair = [report, first].map((one, i) => ({ report: one, name: `${name} ${i}` }));
      yield { job: "compare", name: `${name} ${across_stacks}`, request: { reports: pair, across_stacks } };
    }
    for (const rules of RULES) {
      for (const across_stacks of [false, true]) {
        yield { job: "check", name: `${name} ${rules} ${across_stacks}`, request: { report, name, rules, across_stacks, k: 1.5 } };
      }
    }
    const traces = tracesOf(path, report);
    yield { job: "recompute", name, request: { report, traces } };
    if (traces.length > 0) {
      // A digit of a power changed: the hash no longer agrees.
      const bad = traces.map((one) => ({ ...one, text: one.text.replace(/\.(\d)/, ".9$1") }));
      yield { job: "recompute", name: `${name} changed trace`, request: { report, traces: bad } };
    }
  }
}

/** A golden case's input has one batch and one context where the job takes lists. */
function optimizeRequest({ batch, context, ...rest }) {
  return {
    ...rest,
    ...(batch === undefined ? {} : { batches: [batch] }),
    ...(context === undefined ? {} : { contexts: [context] }),
  };
}

function* fitCases(root) {
  const tables = ["data/published/measured.csv", "data/anchors.csv"].map((file) => ({ name: file, csv: text(root, file) }));
  for (const { name, csv } of tables) {
    for (const rules of RULES) {
      yield { job: "fit", name: `${name} ${rules}`, request: { csv, name, rules } };
    }
  }
  const native = { rows: "all", engine: "native", seed: 7, bootstraps: 500 };
  yield { job: "fit", name: "native engine", request: native };
  // Curves of a file stand in for the published ones.
  const curves = text(root, "data/published/curves.json");
  yield { job: "estimate", name: "curves.json", request: { params_b: 7, arch: "ada", precision: "NF4", curves } };
  yield { job: "optimize", name: "curves.json", request: { params_b: 7, arch: "ada", curves } };
}

function* estimateCases(root) {
  const golden = JSON.parse(text(root, "tests/golden/published_cases.json"));
  for (const rules of RULES) {
    for (const { in: asked } of golden.estimate) {
      yield { job: "estimate", name: `${rules} ${JSON.stringify(asked)}`, request: { ...asked, rules } };
    }
    for (const { in: asked } of golden.optimize) {
      yield { job: "optimize", name: `${rules} ${JSON.stringify(asked)}`, request: { ...optimizeRequest(asked), rules } };
    }
    for (const { q } of JSON.parse(text(root, "tests/golden/published_queries.json"))) {
      yield { job: "query", name: `${rules} ${q}`, request: { text: q, rules } };
    }
  }
}

/** Engines, stacks, and curves over sizes. */
function* engineCases(root) {
  const sizes = [0.02, 0.5, 1.1, 3, 7, 13.5, 70, 5000];
  const curves = text(root, "data/published/curves.json");
  const asked = [
    { arch: "ada" },
    { arch: "ada", rules: "published-1.1" },
    { arch: "ampere", precision: "INT8", curves },
    { arch: "RTX 4090", precision: "INT8", stack: "bitsandbytes 0.43.3" },
    { arch: "RTX 4090", precision: "INT8", engine: "transformers", batch: 8, ctx: 8192 },
    { arch: "RTX 3090", model: "Qwen2-7B" },
    ...["NF4", "INT8", "W8A16", "Q4_0", "FP8"].map((precision) => ({ arch: "H200", engine: "native", precision })),
    { arch: "RTX 4090", engine: "native", precision: "Q4_0", batch: 16 },
    { arch: "ada", engine: "llama.cpp", precision: "Q4_0" },
    { arch: "ada", engine: "llama.cpp", precision: "NF4" },
    { arch: "ada", engine: "vllm" },
    { arch: "H200", engine: "native", stack: "bitsandbytes 0.45.5" },
  ];
  for (const one of asked) {
    yield { job: "estimate_curve", name: JSON.stringify({ ...one, curves: undefined }), request: { ...one, sizes } };
    for (const params_b of one.model ? [] : [7, 8]) { // a command takes one of them
      yield { job: "estimate", name: JSON.stringify({ ...one, params_b, curves: undefined }), request: { ...one, params_b } };
    }
  }
  for (const question of ["7B on H200 native W8A16", "8B on RTX 4090 q4_0 llama.cpp", "7B on ada transformers"]) {
    yield { job: "query", name: question, request: { text: question } };
  }
}

/** Numbers in [0, 1), the same on every machine: Park and Miller's generator, exact in doubles. */
function* sequence(seed) {
  for (let state = seed; ; ) {
    state = (state * 48271) % 2147483647;
    yield state / 2147483647;
  }
}

/** Questions that no golden file holds: odd sizes, batches and contexts, every class and some that are none. */
function* randomCases() {
  const numbers = sequence(20261130);
  const next = () => numbers.next().value;
  const pick = (list) => list[Math.floor(next() * list.length)];
  const arches = ["turing", "ampere", "ada", "hopper", "blackwell", "volta", "RTX 3090", "L4", "H200", "gtx"];
  for (let i = 0; i < 400; i++) {
    const request = {
      params_b: Number((0.1 * 1500 ** next()).toPrecision(1 + Math.floor(next() * 6))),
      arch: pick(arches),
      rules: pick(RULES),
    };
    if (i % 4 === 3) {
      yield {
        job: "optimize",
        name: `random ${i}`,
        request: {
          ...request,
          objective: pick(["min_energy", "min_latency", "max_throughput", "min_vram", "cheapest"]),
          max_latency_ms: next() < 0.5 ? next() * 100 : null,
          max_vram_gb: next() < 0.5 ? next() * 100 : null,
          min_throughput: next() < 0.3 ? next() * 500 : null,
        },
      };
    } else {
      const precision = pick(["NF4", "INT8", "nf4", "FP8"]);
      const batch = pick([1, 1, 2, 7, 32, 64, 0]);
      yield {
        job: "estimate",
        name: `random ${i}`,
        request: { ...request, precision, batch, ctx: pick([2048, 2048, 100, 4096, 32768, 5000.5]) },
      };
    }
  }
}

/** The links of the fuzzer's corpus: of the published page, of ours, and of nobody. */
function* linkCases(root) {
  const folder = join(root, "tests/fuzz/corpus/share");
  for (const file of readdirSync(folder).sort()) {
    yield { job: "share_decode", name: file, request: { url: text(folder, file) } };
  }
}

function* refusedCases() {
  const refused = [
    ["jobs", "[]"],
    ["jobs", '{"x": 1}'],
    ["nothing", "{}"],
    ["explian", "{}"],
    ["validate", ""],
    ["validate", '{"report": 1}'],
    ["validate", '{"report": "{}", "profil": "paired-1"}'],
    ["validate", '{"report": "{}", "profile": "paired-2"}'],
    ["validate", '{"report": "{]"}'],
    ["validate", '{"report": "{}", "report": "{}"}'],
    ["validate", `${"[".repeat(100)}`],
    ["summary", '{"report": "[]"}'],
    ["check", '{"report": "{}", "k": 0}'],
    ["check", '{"report": "{}", "across_stacks": "yes"}'],
    ["explain", '{"report": "{}"}'],
    ["estimate", '{"params_b": "7", "arch": "ada"}'],
    ["estimate", '{"params_b": 7, "arch": "ada", "rules": "published"}'],
    ["estimate", '{"params_b": -7, "arch": "ada"}'],
    ["estimate", '{"params_b": 7, "arch": "ada", "curves": "{}"}'],
    ["estimate_curve", '{"params_b": 7, "arch": "ada"}'],
    ["estimate_curve", '{"sizes": [1, "2"], "arch": "ada"}'],
    ["estimate_curve", '{"sizes": [1], "arch": "gtx"}'],
    ["optimize", '{"params_b": 7, "arch": "ada", "batches": [1, "2"]}'],
    ["optimize", '{"params_b": 7, "arch": "ada", "precisions": ["NF4", "NF4\\u0000"]}'],
    ["query", '{"text": 7}'],
    ["fit", '{"csv": "a,b\\n1,2\\n"}'],
    ["fit", '{"csv": ""}'],
    ["fit", '{"rows": "some"}'],
    ["fit", '{"bootstraps": 2001}'],
    ["fit", '{"seed": -1}'],
    ["fit", '{"engine": "nothing"}'],
    ["share_encode", '{"report": "{}", "site": 7}'],
    ["share_encode", '{"report": "[1]"}'],
    ["share_decode", '{"link": ""}'],
    ["compare", '{"reports": [{"report": "{}"}]}'],
    ["compare", '{"reports": [{"report": "{}"}, {"report": "{]"}]}'],
    ["recompute", '{"report": "{}", "traces": [1]}'],
    ["recompute", '{"report": "{}", "traces": [{"file": "a"}]}'],
    ["recompute", '{"report": "{}", "traces": [{"file": "a\\u0000b", "text": ""}]}'],
  ];
  for (const [job, request] of refused) {
    yield { job, name: `refused: ${request.slice(0, 60)}`, request };
  }
}

/** The measured reports as results, whole and in odd pieces. */
function sessionCases(root) {
  const results = reports(root)
    .map((path) => ({ path, report: JSON.parse(text(path)) }))
    .filter(({ report }) => report.results?.basis === "measured" && typeof report.results.vs_fp16_energy_pct === "number" && typeof report.session === "string")
    .map(({ path, report: { workload, system_under_test: system, measurement, uncertainty, session, results: of, software } }) => ({
      id: path.slice(root.length + 1),
      gpu: system.gpu,
      model: workload.model_name,
      params_b: workload.params_b,
      precision: workload.precision,
      engine: workload.engine,
      stack: software?.commit ?? null,
      session,
      window: measurement.window,
      batch: workload.batch_size,
      context: workload.context_length,
      delta_pct: of.vs_fp16_energy_pct,
      ci95_pct: typeof uncertainty?.ci95_repeat?.lo_pct === "number" ? [uncertainty.ci95_repeat.lo_pct, uncertainty.ci95_repeat.hi_pct] : null,
      expanded_pct: uncertainty?.u_expanded?.ratio_pct ?? null,
    }));
  return [
    { job: "cases", name: "reports", request: { results } },
    { job: "cases", name: "none", request: { results: [] } },
    { job: "cases", name: "no context told", request: { results: results.map(({ context, stack, ...rest }) => rest) } },
    { job: "cases", name: "backwards", request: { results: results.map((one) => ({ ...one, ci95_pct: [5, -5] })) } },
    { job: "cases", name: "too many", request: { results: Array(1025).fill(results[0]) } },
  ];
}

export function allCases(root) {
  const cases = [
    ...["jobs", "models", "cards", "anchors", "stacks", "cases", "architectures", "curves", "fit"].map((job) => ({ job, name: "", request: {} })),
    ...reportCases(root),
    ...linkCases(root),
    ...sessionCases(root),
    ...fitCases(root),
    ...estimateCases(root),
    ...engineCases(root),
    ...randomCases(),
    ...refusedCases(),
  ];
  return cases.map(({ job, name, request }) => ({
    job,
    name: `${job} ${name}`,
    request: typeof request === "string" ? request : JSON.stringify(request),
  }));
}
