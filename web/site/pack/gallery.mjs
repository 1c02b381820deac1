// SPDX-License-Identifier: Apache-2.0
//
// The committed reports as rows of the gallery (src/views/replications/gallery.ts). Members are copied, none is computed.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Written as the tidy table writes it. */
function stack(software) {
  const tool = [software?.tool, software?.commit && `commit ${software.commit}`].filter(Boolean).join(" ");
  return [tool, software?.nvidia_driver && `driver ${software.nvidia_driver}`].filter(Boolean).join("; ");
}

function row(path, report) {
  const { workload, results, measurement, uncertainty, system_under_test: system, software, session } = report;
  const repeat = uncertainty?.ci95_repeat;
  const expanded = uncertainty?.u_expanded;
  return {
    report: path,
    session: typeof session === "string" ? session : (session?.id ?? report.run_id ?? path),
    date: report.timestamp_utc?.replace(/\.\d+Z$/, "Z"), // to the second
    gpu: system.gpu,
    arch: system.gpu_arch,
    model: workload.model_name,
    params_b: workload.params_b,
    precision: workload.precision,
    engine: workload.engine,
    engine_version: stack(software),
    weights: workload.weights,
    protocol: measurement.protocol,
    window: measurement.window,
    batch: workload.batch_size,
    context: workload.context_length ?? null,
    basis: results.basis,
    delta_pct: results.vs_fp16_energy_pct,
    ci95_repeat_pct: repeat?.lo_pct === undefined || repeat.lo_pct === null ? null : [repeat.lo_pct, repeat.hi_pct],
    expanded_pct: expanded?.ratio_pct ?? null,
    n_blocks: repeat?.n ?? null,
    energy_mj: results.energy_per_token_mj,
    energy_fp16_mj: results.fp16_energy_per_token_mj,
    warnings: (report.warnings ?? []).map((one) => one.code ?? String(one)),
  };
}

const text = (v) => typeof v === "string" && v !== "";
const number = (v) => typeof v === "number" && Number.isFinite(v);
const orNull = (is) => (v) => v === null || is(v);
const list = (is) => (v) => Array.isArray(v) && v.every(is);
const two = (v) => list(number)(v) && v.length === 2;

/** What the page's type says of each member, in its order; a report that lacks one ends the build. */
const SHAPE = {
  report: text,
  session: text,
  date: text,
  gpu: text,
  arch: text,
  model: text,
  params_b: number,
  precision: text,
  engine: text,
  engine_version: text,
  weights: text,
  protocol: text,
  window: text,
  batch: number,
  context: orNull(number),
  basis: text,
  delta_pct: number,
  ci95_repeat_pct: orNull(two),
  expanded_pct: orNull(number),
  n_blocks: orNull(number),
  energy_mj: number,
  energy_fp16_mj: number,
  warnings: list(text),
};

function checked(one) {
  for (const name of Object.keys({ ...SHAPE, ...one })) {
    if (SHAPE[name]?.(one[name]) !== true) {
      throw new Error(`${one.report}: the gallery cannot take its ${name}: ${JSON.stringify(one[name])}`);
    }
  }
  return one;
}

export function readGallery(root) {
  const listed = execFileSync("git", ["-C", root, "ls-files", "data/h200"], { encoding: "utf8" });
  const rows = listed
    .split("\n")
    .filter((path) => /\/energy[^/]*\.json$/.test(path))
    .map((path) => row(path, JSON.parse(readFileSync(join(root, path), "utf8"))))
    .filter((one) => one.basis === "measured" && one.delta_pct !== null && one.delta_pct !== undefined)
    .map(checked);
  return { rows };
}
