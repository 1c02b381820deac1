// SPDX-License-Identifier: Apache-2.0
//
// The curves behind the reader's points: one a class and precision, each as the core answers it.

import { ask, type CurveAnchor } from "../../app/core.js";
import { curveAlong, type CurvePoint } from "../../parts/curve.js";
import type { Point } from "./read.js";

export interface Group {
  key: string;
  /** null: a card of no known class. */
  arch: string | null;
  precision: string;
  points: number;
  curve: { ok: true; points: readonly CurvePoint[]; range: readonly [number, number] | null; anchors: readonly CurveAnchor[] } | { ok: false; error: string };
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

function curveOf(arch: string | null, precision: string, domain: readonly [number, number], size: number): Group["curve"] {
  if (arch === null) {
    return { ok: false, error: "" };
  }
  const { points, range, error } = curveAlong({ arch, precision }, domain, SAMPLES);
  if (error !== null || points.length === 0) {
    return { ok: false, error: error ?? "" };
  }
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
