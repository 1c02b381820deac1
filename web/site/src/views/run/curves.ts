// SPDX-License-Identifier: Apache-2.0
//
// The curves behind the reader's points: one a class and precision, each as the core answers it.

import { ask, type CurveAnchor, type EstimateCurve, type EstimatePoint } from "../../app/core.js";
import type { Layer } from "../../charts/types.js";
import { formatColour } from "../../app/palette.js";
import type { Point } from "./read.js";

export type CurvePoint = Extract<EstimatePoint, { delta_pct: number }>;

export interface Group {
  key: string;
  /** null: a card of no known class. */
  arch: string | null;
  precision: string;
  points: number;
  curve: { ok: true; points: CurvePoint[]; range: [number, number] | null; anchors: readonly CurveAnchor[] } | { ok: false; error: string };
}

export const CURVE_ENGINE = "transformers";
const SAMPLES = 48;
const [LEAST_B, MOST_B] = [0.4, 16];

export const groupKey = (of: { arch: string | null; precision: string }): string => `${of.arch ?? ""}|${of.precision}`;

/** The axis: sizes of the published data, and of the reader's points. */
export function sizeDomain(points: readonly Point[]): [number, number] {
  let [lo, hi] = [LEAST_B, MOST_B];
  for (const { params_b } of points) {
    lo = Math.min(lo, params_b / 1.3);
    hi = Math.max(hi, params_b * 1.3);
  }
  return [lo, hi];
}

/** Steps of equal ratio; none is a size that was measured, where the core answers with the measurement. */
function sizes([lo, hi]: readonly [number, number]): number[] {
  return Array.from({ length: SAMPLES }, (_, i) => Number((lo * (hi / lo) ** (i / (SAMPLES - 1)) * 1.00013).toPrecision(6)));
}

function curveOf(arch: string | null, precision: string, domain: readonly [number, number], size: number): Group["curve"] {
  if (arch === null) {
    return { ok: false, error: "" };
  }
  const answer = ask("estimate_curve", { arch, precision, sizes: sizes(domain) });
  if (!answer.ok) {
    return answer;
  }
  const points = (answer.value as EstimateCurve).points.filter((one): one is CurvePoint => "delta_pct" in one);
  if (points.length === 0) {
    const first = answer.value.points[0];
    return { ok: false, error: first !== undefined && "error" in first ? first.error : "" };
  }
  const range = answer.value.measured_range_b;
  const one = range === null ? null : ask("estimate", { arch, precision, params_b: size }); // else anchors are another class's
  return { ok: true, points, range, anchors: one?.ok === true ? one.value.anchors : [] };
}

/** One a class and precision among the points, in the order in which they came. */
export function groupsOf(points: readonly Point[], domain: readonly [number, number]): Group[] {
  const groups = new Map<string, Group>();
  for (const point of points) {
    const key = groupKey(point);
    const known = groups.get(key);
    if (known === undefined) {
      const { arch, precision } = point;
      groups.set(key, { key, arch, precision, points: 1, curve: curveOf(arch, precision, domain, point.params_b) });
    } else {
      known.points++;
    }
  }
  return [...groups.values()];
}

/** A line is dashed beyond the measured sizes and where no curve but the energy model answers. */
export function curveLayers(group: Group, strong: boolean, label: string): Layer[] {
  if (!group.curve.ok) {
    return [];
  }
  const { points, range } = group.curve;
  const colour = formatColour(group.precision);
  const guessed = (p: CurvePoint): boolean => range === null || p.params_b < range[0] || p.params_b > range[1];
  const runs: CurvePoint[][] = [];
  for (const point of points) {
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined && guessed(last) === guessed(point) && last.source === point.source) {
      runs.at(-1)?.push(point);
    } else {
      runs.push([point]);
    }
  }
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a));
  return runs.flatMap((run): Layer[] => {
    const line: Layer = {
      kind: "line",
      colour,
      points: run.map((p) => ({ x: p.params_b, y: p.delta_pct })),
      dashed: run.every(guessed),
      faded: !strong,
      ...(run === longest ? { label } : {}),
    };
    const band: Layer = { kind: "band", colour, points: run.map((p) => ({ x: p.params_b, lo: p.ci[0], hi: p.ci[1] })) };
    return strong ? [band, line] : [line];
  });
}
