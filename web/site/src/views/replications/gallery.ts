// SPDX-License-Identifier: Apache-2.0
//
// What build.mjs takes from the committed reports (data/h200 and the like), a row a report and arm under test. No number
// is computed there: members of energy.json under shorter names.

import type { Basis } from "../../app/core.js";

export interface GalleryRow {
  /** Path of the report in the repository. */
  report: string;
  /** Experiments that ran in one sitting have one session. */
  session: string;
  date: string;
  gpu: string;
  arch: string;
  model: string;
  params_b: number;
  precision: string;
  engine: string;
  engine_version: string;
  weights: string;
  protocol: string;
  window: string;
  batch: number;
  /** Prompt and generated tokens. */
  context: number | null;
  basis: Basis;
  delta_pct: number;
  /** 95 % interval over the blocks of this run. */
  ci95_repeat_pct: [number, number] | null;
  /** u_expanded of the energy ratio: ± this much that repetition does not see. */
  expanded_pct: number | null;
  n_blocks: number | null;
  energy_mj: number;
  energy_fp16_mj: number;
  warnings: string[];
}

export interface Gallery {
  rows: GalleryRow[];
}
