// SPDX-License-Identifier: Apache-2.0
//
// The same questions to the program itself: its --json is what the page shows, byte for byte.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Members of a request that are options of the command of the same name; lists are joined by commas. */
const OPTIONS = {
  params_b: "--params-b",
  arch: "--arch",
  precision: "--precision",
  batch: "--batch",
  ctx: "--ctx",
  model: "--model",
  objective: "--objective",
  max_latency_ms: "--max-latency-ms",
  max_vram_gb: "--max-vram-gb",
  min_throughput: "--min-throughput",
  precisions: "--precisions",
  batches: "--batches",
  contexts: "--contexts",
  rules: "--rules",
  k: "--k",
  engine: "--engine",
  stack: "--stack",
  rows: "--rows",
  seed: "--seed",
  bootstraps: "--bootstraps",
};

/** The command line of a request, texts as files in `folder`; null where no command does the same. */
function commandLine({ job, request }, folder) {
  const members = JSON.parse(request);
  if (!["estimate", "optimize", "architectures", "fit", "check", "explain"].includes(job)) {
    return null;
  }
  if ("curves" in members || (job === "fit" && members.csv === undefined)) {
    return null;
  }
  const words = [job, "--json"];
  for (const [key, value] of Object.entries(members)) {
    if (key in OPTIONS && value !== null) {
      words.push(`${OPTIONS[key]}=${value}`);
    }
  }
  if (members.across_stacks) {
    words.push("--across-stacks");
  }
  for (const key of ["report", "csv"]) {
    if (members[key] !== undefined) {
      const file = join(folder, `${key}.txt`);
      writeFileSync(file, members[key]);
      words.push(file);
    }
  }
  return words;
}

/** Without what explain --json puts round an explanation. */
function body(job, printed) {
  return job === "explain" ? printed.replace(/^\[\n\{"report": "[^"]*", "explanation": /, "").replace(/\}\n\]\n$/, "\n") : printed;
}

/** Every case that was answered and that a command can ask; how many, by job. */
export function compareProgram(program, cases, answers) {
  const folder = mkdtempSync(join(tmpdir(), "eco-program-"));
  const count = {};
  try {
    cases.forEach((one, i) => {
      const refused = answers[i].startsWith('{\n  "error"');
      const words = refused ? null : commandLine(one, folder);
      if (words === null) {
        return;
      }
      const env = { ...process.env, XDG_CACHE_HOME: folder }; // no probe's rate is lent
      const run = spawnSync(program, words, { encoding: "utf8", env, maxBuffer: 1 << 26 });
      assert.equal(run.error, undefined);
      if (body(one.job, run.stdout) !== answers[i]) {
        assert.fail(`${words.join(" ")}: status ${run.status} ${run.stderr}\nprogram: ${run.stdout.slice(0, 500)}\nmodule: ${answers[i].slice(0, 500)}`);
      }
      count[one.job] = (count[one.job] ?? 0) + 1;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
  return count;
}
