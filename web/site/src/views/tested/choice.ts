// SPDX-License-Identifier: Apache-2.0
//
// Card and model of the view, from the published parameters `gpu` and `m`, however a link spells them; and the rows of a
// case, in groups that may be compared: one session, one engine, one batch, one context, one window.

import { param } from "../../app/route.js";
import { measuredRows, plainName, type Row } from "../../app/rows.js";

const DEFAULT = { gpu: "RTX 5090", model: "Qwen2.5-3B" };
const FORMATS = ["NF4", "NF4-DQ", "Q4_0", "INT8", "W8A16", "Q8_0", "FP8"];

export interface Choice {
  gpu: string;
  model: string;
  /** What the link asked for and nobody measured. */
  unknown: string[];
}

export function gpus(): string[] {
  return [...new Set(measuredRows().map((row) => row.gpu))];
}

export function modelsOf(gpu: string): string[] {
  const sizes = new Map(measuredRows().flatMap((row) => (row.gpu === gpu ? [[row.model, row.params_b] as const] : [])));
  return [...sizes].sort((a, b) => a[1] - b[1] || a[0].localeCompare(b[0])).map(([name]) => name);
}

/** "rtx4090d", "4090D" and "NVIDIA RTX 4090D" are one card; "Qwen/Qwen2.5-3B-Instruct" is Qwen2.5-3B. */
function find(names: readonly string[], asked: string): string | undefined {
  const key = plainName(asked.split("/").at(-1) ?? asked);
  if (key === "") {
    return undefined;
  }
  const plain = names.map((name) => [name, plainName(name)] as const);
  return (
    plain.find(([, name]) => name === key) ??
    plain.find(([, name]) => name.endsWith(key) || key.endsWith(name)) ??
    plain.find(([, name]) => key.startsWith(name))
  )?.[0];
}

export function choice(): Choice {
  const unknown: string[] = [];
  const pick = (asked: string | null, names: readonly string[], fallback: string): string => {
    const found = asked === null ? undefined : find(names, asked);
    if (asked !== null && found === undefined) {
      unknown.push(asked);
    }
    return found ?? (names.includes(fallback) ? fallback : (names[0] ?? ""));
  };
  const gpu = pick(param("gpu"), gpus(), DEFAULT.gpu);
  return { gpu, model: pick(param("m"), modelsOf(gpu), DEFAULT.model), unknown };
}

/** Rows of one sitting that share engine, batch and window: only these stand in one group of bars. */
export interface Group {
  key: string;
  session: string;
  engine: string;
  stack: string;
  window: string;
  batch: number | null;
  /** Of reports: prompt and generated tokens. */
  context: number | null;
  synthetic: boolean;
  rows: Row[];
}

/** The table has the mean position, which is another number. */
export const contextOf = (row: Row): number | null => (row.report === null ? null : row.context);

const order = (precision: string): number => (FORMATS.indexOf(precision) + FORMATS.length) % FORMATS.length;

/** Batch 1 first, then what has most formats, then the newest name of a session. */
export function groupsOf(rows: readonly Row[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const context = contextOf(row);
    const key = [row.session, row.engine, row.batch, row.window, context].join("|");
    const group = groups.get(key) ?? { key, session: row.session, engine: row.engine, stack: row.stack, window: row.window, batch: row.batch, context, synthetic: row.synthetic, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  for (const group of groups.values()) {
    group.rows.sort((a, b) => order(a.precision) - order(b.precision));
  }
  return [...groups.values()].sort(
    (a, b) => (a.batch ?? 1) - (b.batch ?? 1) || b.rows.length - a.rows.length || b.session.localeCompare(a.session),
  );
}

export function precisionsOf(rows: readonly Row[]): string[] {
  const known = new Set(rows.map((row) => row.precision));
  return FORMATS.filter((one) => known.has(one));
}
