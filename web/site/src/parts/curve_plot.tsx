// SPDX-License-Identifier: Apache-2.0
//
// The change of energy by model size for one card, precision, engine and stack: what the core answers at sizes along the
// axis, its band, the measurements that carry it, and the reader's point. Beyond the measured sizes it is dashed and shaded.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.js";
import { spanWithZero } from "../charts/scale.js";
import type { Layer, Mark } from "../charts/types.js";
import { ask, type CurveAnchor, type Estimate, type EstimatePoint, type EstimateRequest } from "../app/core.js";
import { change, range, sizeB } from "../app/format.js";
import { formatColour } from "../app/palette.js";
import { strings } from "../app/text.js";
import { basisWord } from "./tags.js";

const words = strings({
  en: {
    title: (precision: string, place: string) => `${precision} against FP16 on ${place}, by model size`,
    subtitle: (engine: string) => `Line and band: the estimator's answer under engine ${engine}. Points: measurements, filled n ≥ 2, hollow n = 1.`,
    x: "Model size (billions of parameters, log scale)",
    y: "ΔE: change of energy per token against FP16 (%)",
    costs: "costs energy",
    saves: "saves energy",
    beyond: "beyond the measured sizes",
    yours: "Your model",
    band: "band",
    crossover: "crossover",
    n: (n: number | undefined) => (n === undefined ? "n not stated" : n === 1 ? "n = 1, spread unknown" : `n = ${n}`),
    columns: ["kind", "size (B)", "model", "card", "ΔE (%)", "band from (%)", "band to (%)", "basis", "n"],
    curve: "curve",
    measurement: "measurement",
    source: "published EcoCompute measurements (CC BY 4.0) and this repository's reports; curve by the core of this page",
  },
  zh: {
    title: (precision: string, place: string) => `${place} 上 ${precision} 相对 FP16 的能耗变化，按模型规模`,
    subtitle: (engine: string) => `曲线与带：估计器在 ${engine} 引擎下的回答。数据点：实测，实心 n ≥ 2，空心 n = 1。`,
    x: "模型规模（十亿参数，对数刻度）",
    y: "ΔE：每个 token 能耗相对 FP16 的变化（%）",
    costs: "费电",
    saves: "省电",
    beyond: "超出实测规模",
    yours: "你的模型",
    band: "带",
    crossover: "交叉点",
    n: (n: number | undefined) => (n === undefined ? "未说明 n" : n === 1 ? "n = 1，离散程度未知" : `n = ${n}`),
    columns: ["类别", "规模（B）", "模型", "显卡", "ΔE（%）", "带下限（%）", "带上限（%）", "依据", "n"],
    curve: "曲线",
    measurement: "实测",
    source: "已发布的 EcoCompute 测量（CC BY 4.0）与本仓库的报告；曲线由本页的计算核心给出",
  },
});

const SAMPLES = 64;
/** Sizes in steps of equal ratio; none is a size that was measured, where the core would answer with the measurement. */
function sizes(lo: number, hi: number): number[] {
  return Array.from({ length: SAMPLES }, (_, i) => Number((lo * (hi / lo) ** (i / (SAMPLES - 1)) * 1.00013).toPrecision(6)));
}

export interface CurvePlotProps {
  /** Everything but the size. */
  request: Omit<EstimateRequest, "params_b">;
  /** The reader's point. */
  estimate: Estimate | null;
  height?: number;
  name?: string;
  /** A result of the reader's own. */
  own?: { params_b: number; delta_pct: number; ci95_pct: [number, number] | null; model: string; gpu: string | null };
}

type Point = EstimatePoint;
type Answered = Extract<Point, { delta_pct: number }>;

function answered(point: Point): point is Answered {
  return "delta_pct" in point;
}

function sameBasis(points: readonly Answered[], beyond: (x: number) => boolean): Answered[][] {
  const runs: Answered[][] = [];
  for (const point of points) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && beyond(last.params_b) === beyond(point.params_b) && last.source === point.source) {
      run.push(point);
    } else {
      runs.push([point]);
    }
  }
  return runs;
}

/** The measurements behind an answer of this size. */
function anchorsOf(request: CurvePlotProps["request"], params_b: number): readonly CurveAnchor[] {
  const outcome = ask("estimate", { ...request, params_b });
  return outcome.ok ? outcome.value.anchors : [];
}

export function CurvePlot({ request, estimate, height, name, own }: CurvePlotProps): JSX.Element | null {
  const t = words();
  const engine = request.engine ?? "transformers";
  const place = estimate?.input.card ?? request.arch;
  const precision = request.precision ?? "NF4";
  const n = estimate?.input.params_b ?? own?.params_b;
  const key = JSON.stringify([request, n]);
  const drawn = useMemo(() => {
    const hi = Math.max(16, ...(n === undefined ? [] : [n * 1.5]));
    const lo = Math.min(0.4, ...(n === undefined ? [] : [n / 1.5]));
    const outcome = ask("estimate_curve", { ...request, sizes: sizes(lo, hi) });
    return { lo, hi, curve: outcome.ok ? outcome.value : null };
  }, [key]);
  const { curve, lo, hi } = drawn;
  if (curve === null) {
    return null;
  }
  const points = curve.points.filter(answered);
  const [from, to] = curve.measured_range_b ?? [hi, hi];
  const beyond = (x: number): boolean => x < from || x > to;
  const anchors = estimate?.anchors ?? (own === undefined ? [] : anchorsOf(request, own.params_b));
  const colour = formatColour(precision);
  const marks: Mark[] = anchors.map((one, i) => ({
    id: `a${i}`,
    x: one.N,
    y: one.dE,
    colour,
    filled: (one.n ?? 1) >= 2,
    label: `${one.model} (${sizeB(one.N)})\n${one.gpu}\nΔE ${change(one.dE)} · ${t.n(one.n)}`,
  }));
  if (estimate !== null) {
    marks.push({
      id: "yours",
      x: estimate.input.params_b,
      y: estimate.delta_pct,
      lo: estimate.ci[0],
      hi: estimate.ci[1],
      colour,
      shape: "diamond",
      filled: estimate.basis === "measured",
      ringed: true,
      label: `${t.yours}: ${sizeB(estimate.input.params_b)}\nΔE ${change(estimate.delta_pct)} (${range(estimate.ci)})\n${basisWord(estimate.basis)}`,
    });
  }
  if (own !== undefined) {
    marks.push({
      id: "own",
      x: own.params_b,
      y: own.delta_pct,
      ...(own.ci95_pct === null ? {} : { lo: own.ci95_pct[0], hi: own.ci95_pct[1] }),
      colour,
      shape: "diamond",
      filled: false,
      ringed: true,
      label: `${own.model} (${sizeB(own.params_b)})\n${own.gpu ?? ""}\nΔE ${change(own.delta_pct)}`,
    });
  }
  // Bands beyond the data reach far; the axis holds curve, measurements and the reader's interval, not every band.
  const [low, high] = spanWithZero([...points.map((p) => p.delta_pct), ...marks.flatMap((m) => [m.y, m.lo ?? m.y, m.hi ?? m.y])]);
  const fit = (v: number): number => Math.min(Math.max(v, low), high);
  const runs = sameBasis(points, beyond);
  const layers: Layer[] = [
    { kind: "zone", y0: 0, tone: "costs", label: t.costs },
    { kind: "zone", y1: 0, tone: "saves", label: t.saves },
    ...(to < hi ? [{ kind: "zone", x0: to, tone: "beyond", label: t.beyond } as const] : []),
    ...(from > lo ? [{ kind: "zone", x1: from, tone: "beyond" } as const] : []),
    ...runs.map((run) => ({ kind: "band", colour, points: run.map((p) => ({ x: p.params_b, lo: fit(p.ci[0]), hi: fit(p.ci[1]) })) }) as const),
    ...runs.map(
      (run) =>
        ({ kind: "line", colour, dashed: run.some((p) => beyond(p.params_b)), points: run.map((p) => ({ x: p.params_b, y: p.delta_pct })) }) as const,
    ),
    ...(estimate?.crossover_b != null ? [{ kind: "rule", x: estimate.crossover_b, label: `${t.crossover} ${sizeB(estimate.crossover_b)}` } as const] : []),
  ];
  return (
    <Chart
      name={name ?? `energy-change-${precision}-${place}`.toLowerCase().replace(/[^\w.-]+/g, "-")}
      title={t.title(precision, place)}
      subtitle={t.subtitle(engine)}
      x={{ label: t.x, scale: "log", domain: [lo, hi] }}
      y={{ label: t.y, scale: "linear", domain: [low, high] }}
      layers={layers}
      marks={marks}
      height={height ?? 340}
      source={t.source}
      table={{
        columns: t.columns,
        rows: [
          ...anchors.map((one) => [t.measurement, one.N, one.model, one.gpu, one.dE, null, null, basisWord("measured"), one.n ?? null]),
          ...points.map((p) => [t.curve, p.params_b, null, null, p.delta_pct, p.ci[0], p.ci[1], basisWord(p.basis), null]),
        ],
      }}
    />
  );
}
