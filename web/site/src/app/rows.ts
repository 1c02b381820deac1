// SPDX-License-Identifier: Apache-2.0
//
// What was measured, in one shape: the rows of the tidy table (job `anchors`) and the committed reports (the gallery).
// Nothing is computed here: energies of the table are in J per 1000 tokens, which is the same number as mJ per token.

import gallery from "ecocompute-gallery";
import type { GalleryRow } from "../views/replications/gallery.js";
import { must, type Anchor } from "./core.js";

export interface Row {
  id: string;
  gpu: string;
  arch: string;
  model: string;
  params_b: number;
  precision: string;
  engine: string;
  /** As the source has it; "" where it names none. */
  stack: string;
  session: string;
  window: string;
  batch: number | null;
  /** Tokens: the mean position as the table has it, or of a report prompt and generated ones. */
  context: number | null;
  /** Independent trials; 0 where the source does not say. */
  n: number;
  fp16_mj: number | null;
  mj: number | null;
  /** Standard deviations, over trials or, in reports, over blocks: `note` says which. */
  fp16_sd_mj: number | null;
  sd_mj: number | null;
  delta_pct: number;
  /** 95 % interval over the blocks of one run; only reports have one. */
  ci95_pct: [number, number] | null;
  blocks: number | null;
  /** u_expanded of the energy ratio; of reports. */
  expanded_pct: number | null;
  synthetic: boolean;
  doi: string;
  licence: string;
  note: string;
  /** Path of the report in the repository; null for what is published elsewhere. */
  report: string | null;
}

const PLAIN = /[^a-z0-9]+/g;

/** Letters and digits alone: names in links are spelt in many ways. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(PLAIN, "");
}

/** One result, wherever it is told. A session may measure one workload at several contexts, so the energy counts, too. */
const sameAs = (row: Row): string => [row.session, row.model, row.precision, row.batch, row.mj].join("|");

function fromTable(row: Anchor, delta_pct: number): Row {
  return {
    id: row.id,
    gpu: row.gpu,
    arch: row.arch,
    model: row.model,
    params_b: row.params_b,
    precision: row.precision,
    engine: row.engine,
    stack: row.stack,
    session: row.session,
    window: row.window,
    batch: row.batch,
    context: row.context,
    n: row.n_trials,
    fp16_mj: row.energy_fp16_j1k,
    mj: row.energy_quant_j1k,
    fp16_sd_mj: row.energy_fp16_sd_j1k,
    sd_mj: row.energy_quant_sd_j1k,
    delta_pct,
    ci95_pct: null,
    blocks: null,
    expanded_pct: null,
    synthetic: row.engine === "native",
    doi: row.doi,
    licence: row.licence,
    note: row.note,
    report: null,
  };
}

function fromReport(row: GalleryRow): Row {
  return {
    id: row.report,
    gpu: row.gpu.replace(/^NVIDIA (GeForce )?/, ""),
    arch: row.arch,
    model: row.model.replace(/ \(shape only\)$/, ""),
    params_b: row.params_b,
    precision: row.precision,
    engine: row.engine,
    stack: row.engine_version,
    session: row.session,
    window: row.window,
    batch: row.batch,
    context: row.context,
    n: 1,
    fp16_mj: row.energy_fp16_mj,
    mj: row.energy_mj,
    fp16_sd_mj: null,
    sd_mj: null,
    delta_pct: row.delta_pct,
    ci95_pct: row.ci95_repeat_pct,
    blocks: row.n_blocks,
    expanded_pct: row.expanded_pct,
    synthetic: row.weights === "synthetic",
    doi: "",
    licence: "Apache-2.0",
    note: "",
    report: row.report,
  };
}

let table: readonly Row[] | null = null;
let all: readonly Row[] | null = null;

/** The tidy table, which is what the core answers from. Rows that state no change are left out. */
export function tableRows(): readonly Row[] {
  table ??= must("anchors", {}).flatMap((row) => (row.delta_pct === null ? [] : [fromTable(row, row.delta_pct)]));
  return table;
}

/** The table and the reports. A result that is in both is one row, with what only the report says. */
export function measuredRows(): readonly Row[] {
  if (all === null) {
    const reports = new Map<string, Row>(gallery.rows.map((one: GalleryRow) => fromReport(one)).map((row: Row) => [sameAs(row), row]));
    const known = tableRows().map((row): Row => {
      const report = row.engine === "native" ? reports.get(sameAs(row)) : undefined;
      reports.delete(sameAs(row));
      const { ci95_pct, blocks, expanded_pct, context } = report ?? row;
      return report === undefined ? row : { ...row, ci95_pct, blocks, expanded_pct, context, report: report.report };
    });
    all = [...known, ...reports.values()];
  }
  return all;
}

const BITSANDBYTES = /bitsandbytes [\w.]+/;

/** The part of a stack that decides: the library of the kernels and its version. null: the source names none. */
export function stackName(engine: string, stack: string): string | null {
  if (engine === "transformers") {
    return BITSANDBYTES.exec(stack)?.[0] ?? null;
  }
  return stack === "" ? null : (/commit [0-9a-f]{7}/.exec(stack)?.[0] ?? stack);
}
