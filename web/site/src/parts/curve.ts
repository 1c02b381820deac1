// SPDX-License-Identifier: Apache-2.0
//
// The change of energy over the model's size as the core answers it: a line whose style says what carries it, and its band.

import { ask, type EstimatePoint, type EstimateRequest } from "../app/core.js";
import { strings } from "../app/text.js";
import type { Layer, LegendItem, Stroke } from "../charts/types.js";

const words = strings({
  en: {
    curve: "curve fitted to this class",
    class: "curve of the class, measured on other cards",
    within: "energy model, between measured sizes",
    model: "energy model, beyond what was measured",
  },
  zh: {
    curve: "此类显卡的拟合曲线",
    class: "同类其他显卡实测得出的曲线",
    within: "能量模型（实测规模之间）",
    model: "能量模型（超出实测）",
  },
});

export type CurvePoint = Exclude<EstimatePoint, { error: string }>;
export type CurveRequest = Omit<EstimateRequest, "params_b">;

/** What carries a stretch of the line. */
type Carrier = "curve" | "class" | "within" | "model";
const STROKES: Record<Carrier, Stroke> = { curve: "solid", class: "dashed", within: "dashed", model: "dotted" };

function carrier({ source, basis }: CurvePoint): Carrier {
  const between = basis === "interpolated" || basis === "measured";
  return source === "energy_model" ? (between ? "within" : "model") : between ? "curve" : "class";
}

/** Sizes in steps of equal ratio; none is a size that was measured, where the core would answer with the measurement. */
function sizes([lo, hi]: readonly [number, number], n: number): number[] {
  return Array.from({ length: n }, (_, i) => Number((lo * (hi / lo) ** (i / (n - 1)) * 1.00013).toPrecision(6)));
}

export interface Curve {
  /** Empty where no size is answered; then `error` is the core's line. */
  points: readonly CurvePoint[];
  range: readonly [number, number] | null;
  error: string | null;
}

export function curveAlong(request: CurveRequest, domain: readonly [number, number], samples: number): Curve {
  const answer = ask("estimate_curve", { ...request, sizes: sizes(domain, samples) });
  if (!answer.ok) {
    return { points: [], range: null, error: answer.error };
  }
  const points = answer.value.points.filter((one): one is CurvePoint => !("error" in one));
  const refused = answer.value.points.find((one) => "error" in one);
  return { points, range: answer.value.measured_range_b, error: points.length === 0 && refused !== undefined && "error" in refused ? refused.error : null };
}

/** Stretches of one carrier. Neighbours share a point, so that the line goes on: the less sure one reaches over. */
function stretches(points: readonly CurvePoint[]): { by: Carrier; points: CurvePoint[] }[] {
  const parts: { by: Carrier; points: CurvePoint[] }[] = [];
  for (const point of points) {
    const by = carrier(point);
    const last = parts.at(-1);
    if (last?.by === by) {
      last.points.push(point);
    } else if (last !== undefined && by === "curve") {
      last.points.push(point);
      parts.push({ by, points: [point] });
    } else {
      parts.push({ by, points: [...(last?.points.slice(-1) ?? []), point] });
    }
  }
  return parts;
}

export interface CurveStyle {
  colour: string;
  band: boolean;
  faded?: boolean;
  /** Written at the end of the longest stretch. */
  label?: string;
}

export function curveLayers(points: readonly CurvePoint[], { colour, band, faded, label }: CurveStyle): Layer[] {
  const parts = stretches(points);
  const longest = parts.reduce((a, b) => (b.points.length > a.points.length ? b : a), parts[0] ?? { points: [] });
  return parts.flatMap((part): Layer[] => [
    ...(band ? [{ kind: "band", colour, points: part.points.map((p) => ({ x: p.params_b, lo: p.ci[0], hi: p.ci[1] })) } as const] : []),
    {
      kind: "line",
      colour,
      stroke: STROKES[part.by],
      points: part.points.map((p) => ({ x: p.params_b, y: p.delta_pct })),
      ...(faded === true ? { faded } : {}),
      ...(part === longest && label !== undefined ? { label } : {}),
    },
  ]);
}

/** The styles that occur, in words. */
export function curveKeys(points: readonly CurvePoint[], colour: string): LegendItem[] {
  const t = words();
  const known = new Set(points.map(carrier));
  return (["curve", "class", "within", "model"] as const).flatMap((by): LegendItem[] => (known.has(by) ? [{ stroke: STROKES[by], colour, label: t[by] }] : []));
}

/** More than one carrier answers. */
export const isMixed = (points: readonly CurvePoint[]): boolean => new Set(points.map(carrier)).size > 1;
