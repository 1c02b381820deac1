// SPDX-License-Identifier: Apache-2.0
//
// An energy.json as the page shows it. The core reads it first, so that what arrives here is strict JSON with an object at
// its top; here members are looked up by their path and their type is asked for. No number is made.

import { ask, type Basis, type SharedPoint } from "../../app/core.js";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The member at a path like "trials.arms[].precision", of the first entry of each list; undefined where there is none. */
export function member(root: Json, path: string): Json | undefined {
  let at: Json | undefined = root;
  for (const step of path.split(".")) {
    const list = step.endsWith("[]");
    const name = list ? step.slice(0, -2) : step;
    if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, name)) {
      return undefined;
    }
    at = at[name];
    if (list) {
      at = Array.isArray(at) ? at[0] : undefined;
    }
  }
  return at;
}

const NAME_MAX = 127; // as in a link
const SENTENCE_MAX = 1000;

const text = (root: Json, path: string, most = NAME_MAX): string | null => {
  const value = member(root, path);
  return typeof value !== "string" || value === "" ? null : value.length > most ? `${value.slice(0, most)}…` : value;
};
const numeric = (root: Json, path: string): number | null => {
  const value = member(root, path);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
};
const list = (root: Json, path: string): Json[] => {
  const value = member(root, path);
  return Array.isArray(value) ? value : [];
};

const BASES: readonly Basis[] = ["measured", "replayed", "computed", "interpolated", "extrapolated", "estimated", "modelled", "unavailable"];

/** One result, from a file or from a link. */
export interface Point {
  model: string;
  params_b: number;
  /** Class that the core knows, from what the report calls its card; null where it knows none. */
  arch: string | null;
  gpu: string | null;
  precision: string;
  /** The source names none, so the published default was taken. */
  precisionAssumed: boolean;
  delta_pct: number;
  /** 95 % over the repeats of this run. */
  ci95_pct: [number, number] | null;
  /** Repeats behind the interval; null where the source does not say. */
  n: number | null;
  basis: Basis;
  engine: string;
  stack: string | null;
  synthetic: boolean;
  /** "saves", "costs", "no difference" or "inconclusive", by the report's own interval; null where it says none. */
  verdict: Verdict | null;
}

const VERDICTS = ["saves", "costs", "no difference", "inconclusive"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Why a file is no point on the chart. `field` is its path in the report. */
export interface Missing {
  field: string;
  reason: "absent" | "not_a_number" | "no_size" | "baseline" | "out_of_range";
}

export interface Warning {
  code: string;
  text: string;
  advice: string;
  detail: string;
  invalidates: boolean;
}

export interface TraceFile {
  file: string;
  precision: string | null;
  sha256: string | null;
}

export interface Report {
  text: string;
  json: Json;
  /** Findings of the schema, a line each. */
  findings: readonly string[];
  point: { ok: true; value: Point } | { ok: false; missing: Missing };
  warnings: readonly Warning[];
  traces: readonly TraceFile[];
}

const CLASS_PROBE = { params_b: 7, precision: "NF4" }; // every class that the core knows answers this

/** The class of a card, by the class's or the card's name. */
export function classOf(...names: (string | null)[]): string | null {
  for (const name of names) {
    if (name !== null) {
      const outcome = ask("estimate", { ...CLASS_PROBE, arch: name });
      if (outcome.ok) {
        return outcome.value.input.arch;
      }
    }
  }
  return null;
}

/** In the report, or in the model's name as the core reads it. */
function sizeOf(json: Json): number | null {
  const size = numeric(json, "workload.params_b");
  if (size !== null) {
    return size;
  }
  const name = text(json, "workload.model_name");
  const outcome = name === null ? null : ask("query", { text: name.slice(0, 200) });
  return outcome?.ok === true ? outcome.value.request.params_b : null;
}

function stackOf(json: Json): string | null {
  const library = text(json, "software.packages.bitsandbytes");
  const tool = [text(json, "software.tool"), text(json, "software.commit")].filter((one) => one !== null).join(" ");
  return library === null ? tool || null : `bitsandbytes ${library}`;
}

/** What the estimator takes as a size, and what a chart can still show as a change. */
const [SIZE_MIN_B, SIZE_MAX_B, CHANGE_MAX_PCT] = [0.01, 10_000, 100_000];

function missing(json: Json): Missing | null {
  const change = member(json, "results.vs_fp16_energy_pct");
  if (change === undefined || change === null) {
    return { field: "results.vs_fp16_energy_pct", reason: "absent" };
  }
  if (typeof change !== "number" || !Number.isFinite(change)) {
    return { field: "results.vs_fp16_energy_pct", reason: "not_a_number" };
  }
  if (change <= -100 || change > CHANGE_MAX_PCT) {
    return { field: "results.vs_fp16_energy_pct", reason: "out_of_range" };
  }
  const size = sizeOf(json);
  if (size === null) {
    return { field: "workload.params_b", reason: "no_size" };
  }
  if (size < SIZE_MIN_B || size > SIZE_MAX_B) {
    return { field: "workload.params_b", reason: "out_of_range" };
  }
  return text(json, "workload.precision") === "FP16" ? { field: "workload.precision", reason: "baseline" } : null;
}

function pointOf(json: Json): Report["point"] {
  const gap = missing(json);
  if (gap !== null) {
    return { ok: false, missing: gap };
  }
  const [lo, hi] = [numeric(json, "uncertainty.ci95_repeat.lo_pct"), numeric(json, "uncertainty.ci95_repeat.hi_pct")];
  const change = member(json, "results.vs_fp16_energy_pct") as number;
  const n = numeric(json, "uncertainty.ci95_repeat.n");
  const gpu = text(json, "system_under_test.gpu");
  const precision = text(json, "workload.precision");
  return {
    ok: true,
    value: {
      model: text(json, "workload.model_name") ?? "?",
      params_b: sizeOf(json) as number,
      arch: classOf(text(json, "system_under_test.gpu_arch"), gpu),
      gpu,
      precision: precision ?? "NF4",
      precisionAssumed: precision === null,
      delta_pct: change,
      ci95_pct: lo === null || hi === null || !(lo <= change && change <= hi && hi - lo <= CHANGE_MAX_PCT) ? null : [lo, hi],
      n: n !== null && Number.isInteger(n) && n >= 1 ? n : null,
      basis: BASES.find((one) => one === text(json, "results.basis")) ?? "unavailable",
      engine: text(json, "workload.engine") ?? "transformers",
      stack: stackOf(json),
      synthetic: text(json, "workload.weights") === "synthetic",
      verdict: VERDICTS.find((one) => one === text(json, "results.verdict")) ?? null,
    },
  };
}

const WARNINGS_MAX = 64;
const TRACES_MAX = 16;

function warningsOf(json: Json): Warning[] {
  return list(json, "warnings")
    .slice(0, WARNINGS_MAX)
    .map((one) => ({
      code: text(one, "code") ?? "",
      text: text(one, "text", SENTENCE_MAX) ?? "",
      advice: text(one, "advice", SENTENCE_MAX) ?? "",
      detail: text(one, "detail", SENTENCE_MAX) ?? "",
      invalidates: member(one, "invalidates") === true,
    }));
}

function tracesOf(json: Json): TraceFile[] {
  return list(json, "power_trace.files")
    .slice(0, TRACES_MAX)
    .flatMap((one) => {
      const file = text(one, "file", SENTENCE_MAX);
      return file === null ? [] : [{ file, precision: text(one, "precision"), sha256: text(one, "sha256") }];
    });
}

export type ReportOutcome = { ok: true; report: Report } | { ok: false; error: string };

const NAME = "report";

/** A message of the core without the name that it was given. */
function ownLine(line: string): string {
  return line.startsWith(`${NAME}:`) ? line.slice(NAME.length + 1).trim() : line;
}

/** Reads a report. What the core refuses, another version and text that is no report are errors; findings are not. */
export function readReport(source: string): ReportOutcome {
  const checked = ask("validate", { report: source, name: NAME });
  if (!checked.ok) {
    return { ok: false, error: ownLine(checked.error) };
  }
  const json = JSON.parse(source) as Json;
  const version = member(json, "schema_version");
  const finding = checked.value.findings.find((line) => line.startsWith("schema_version:"));
  if (typeof version === "string" && finding !== undefined) {
    return { ok: false, error: finding };
  }
  if (member(json, "results") === undefined) {
    return { ok: false, error: checked.value.findings.find((line) => line.startsWith("results:")) ?? "results" };
  }
  const findings = checked.value.findings.map(ownLine);
  return { ok: true, report: { text: source, json, findings, point: pointOf(json), warnings: warningsOf(json), traces: tracesOf(json) } };
}

/** What a link claims, as a point. */
export function pointOfLink(one: SharedPoint): Point {
  return {
    model: one.model,
    params_b: one.params_b,
    arch: classOf(one.arch, one.gpu),
    gpu: one.gpu,
    precision: one.precision,
    precisionAssumed: false,
    delta_pct: one.delta_pct,
    ci95_pct: null,
    n: null,
    basis: one.basis,
    engine: one.engine ?? "transformers",
    stack: null,
    synthetic: one.weights === "synthetic",
    verdict: null,
  };
}
