// SPDX-License-Identifier: Apache-2.0
//
// The change of energy by model size for one card, precision, engine and stack: what the core answers along the sizes, the
// measurements beside it, and the reader's point. Where no size is answered, the core's reason stands instead.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.js";
import { spanOfBulk } from "../charts/scale.js";
import type { Layer, LegendItem, Mark } from "../charts/types.js";
import { ask, type CurveAnchor, type Estimate } from "../app/core.js";
import { coreLine } from "../app/core_words.js";
import { change, range, sizeB } from "../app/format.js";
import { formatColour } from "../app/palette.js";
import { lang, strings } from "../app/text.js";
import { curveAlong, curveKeys, curveLayers, isMixed, type Curve, type CurveRequest } from "./curve.js";
import { basisWord, trialsText } from "./tags.js";

const words = strings({
  en: {
    title: (precision: string, place: string) => `${precision} against FP16 on ${place}, by model size`,
    x: "Model size (billions of parameters, log scale)",
    y: "ΔE%: change of energy per token against FP16 (%)",
    costs: "costs energy",
    saves: "saves energy",
    beyond: "beyond the measured sizes",
    nothing: "not measured on this card",
    yours: "your point",
    own: "your result",
    band: "band",
    crossover: "crossover",
    colon: ": ",
    replicated: "measurement, n ≥ 2",
    once: "hollow: n = 1 or not stated",
    noChart: "No chart",
    changes: "The line changes its style where another source answers: the class's curve within the sizes that it was fitted to, the energy model elsewhere. The two are fitted apart and need not meet.",
    ends: "The line changes its style at the ends of the measured sizes: beyond them the energy model extrapolates.",
    kinds: { anchors: "sessions", curve: "curve", energy_model: "energy model" },
    columns: ["kind", "size (B)", "model", "card", "ΔE% (%)", "from (%)", "to (%)", "basis", "n", "stack", "session"],
    measurement: "measurement",
    source: "published EcoCompute measurements (CC BY 4.0) and this repository's reports (Apache-2.0); curve by the core of this page",
  },
  zh: {
    title: (precision: string, place: string) => `${place} 上 ${precision} 相对 FP16 的能耗变化，按模型规模`,
    x: "模型规模（十亿参数，对数刻度）",
    y: "ΔE%：每个 token 能耗相对 FP16 的变化（%）",
    costs: "费电",
    saves: "省电",
    beyond: "超出实测规模",
    nothing: "这块显卡没有实测",
    yours: "你的点",
    own: "你的结果",
    band: "带",
    crossover: "交叉点",
    colon: "：",
    replicated: "实测，n ≥ 2",
    once: "空心：n = 1 或未说明",
    noChart: "没有图",
    changes: "线型改变之处换了来源：在曲线拟合所用的规模之内由此类显卡的曲线作答，其余由能量模型作答。两者分别拟合，不一定相接。",
    ends: "线型在实测规模的两端改变：超出之后由能量模型外推。",
    kinds: { anchors: "各场次", curve: "曲线", energy_model: "能量模型" },
    columns: ["类别", "规模（B）", "模型", "显卡", "ΔE%（%）", "下限（%）", "上限（%）", "依据", "n", "软件栈", "场次"],
    measurement: "实测",
    source: "已发布的 EcoCompute 测量（CC BY 4.0）与本仓库的报告（Apache-2.0）；曲线由本页的计算核心给出",
  },
});

const SAMPLES = 64;
const [LEAST_B, MOST_B] = [0.3, 20];

export interface MeasuredPoint {
  model: string;
  params_b: number;
  gpu: string;
  delta_pct: number;
  n: number | null;
  stack: string | null;
  session: string | null;
}

/** Measurements as a view has them: their marks, what the shapes mean, and rows of the table. */
export interface Measured {
  marks: readonly Mark[];
  legend: readonly LegendItem[];
  rows: readonly MeasuredPoint[];
}

export interface CurvePlotProps {
  /** Everything but the size. */
  request: CurveRequest;
  /** The reader's point. */
  estimate: Estimate | null;
  /** Left out: the measurements that the answer rests on. */
  measured?: Measured;
  /** A result of the reader's own. */
  own?: { params_b: number; delta_pct: number; ci95_pct: [number, number] | null; model: string; gpu: string | null };
  /** Of a size without an answer. */
  params_b?: number;
  title?: string;
  subtitle?: string;
  name?: string;
  height?: number;
  /** With the crossover, and in a sentence why the line changes. */
  explained?: boolean;
}

/** The measurements behind an answer of this size. */
function anchorsOf(request: CurveRequest, params_b: number): readonly CurveAnchor[] {
  const outcome = ask("estimate", { ...request, params_b });
  return outcome.ok ? outcome.value.anchors : [];
}

function measuredAnchors(anchors: readonly CurveAnchor[], colour: string): Measured {
  const t = words();
  const marks = anchors.map((one, i): Mark => ({
    id: `a${i}`,
    x: one.N,
    y: one.dE,
    colour,
    filled: (one.n ?? 1) >= 2,
    label: `${one.model} (${sizeB(one.N)})\n${one.gpu}\nΔE% ${change(one.dE)} · ${trialsText(one.n ?? 0)}`,
  }));
  const key = (filled: boolean, label: string): LegendItem[] => (marks.some((one) => one.filled === filled) ? [{ shape: "circle", filled, colour, label }] : []);
  return {
    marks,
    legend: [...key(true, t.replicated), ...key(false, t.once)],
    rows: anchors.map((one) => ({ model: one.model, params_b: one.N, gpu: one.gpu, delta_pct: one.dE, n: one.n ?? null, stack: null, session: null })),
  };
}

function yours({ estimate, own }: CurvePlotProps, colour: string): { marks: Mark[]; legend: LegendItem[] } {
  const t = words();
  const marks: Mark[] = [];
  const legend: LegendItem[] = [];
  if (estimate !== null) {
    const filled = estimate.basis === "measured";
    const { params_b } = estimate.input;
    const label = `${t.yours}${t.colon}${sizeB(params_b)}\nΔE% ${change(estimate.delta_pct)} (${range(estimate.ci)})\n${basisWord(estimate.basis)}`;
    marks.push({ id: "yours", x: params_b, y: estimate.delta_pct, lo: estimate.ci[0], hi: estimate.ci[1], colour: "var(--ink)", shape: "star", filled, ringed: true, label });
    legend.push({ shape: "star", filled, ringed: true, colour: "var(--ink)", label: t.yours });
  }
  if (own !== undefined) {
    const ends = own.ci95_pct === null ? {} : { lo: own.ci95_pct[0], hi: own.ci95_pct[1] };
    const label = `${own.model} (${sizeB(own.params_b)})\n${own.gpu ?? ""}\nΔE% ${change(own.delta_pct)}`;
    marks.push({ id: "own", x: own.params_b, y: own.delta_pct, ...ends, colour, shape: "diamond", filled: false, ringed: true, label });
    legend.push({ shape: "diamond", filled: false, ringed: true, colour, label: t.own });
  }
  return { marks, legend };
}

/** Half-planes, and what lies beyond the measured sizes. */
function zones(measured: Curve["range"]): Layer[] {
  const t = words();
  return [
    { kind: "zone", y0: 0, tone: "costs", label: t.costs },
    { kind: "zone", y1: 0, tone: "saves", label: t.saves },
    ...(measured === null
      ? ([{ kind: "zone", tone: "beyond", label: t.nothing }] as const)
      : ([{ kind: "zone", x1: measured[0], tone: "beyond" }, { kind: "zone", x0: measured[1], tone: "beyond", label: t.beyond }] as const)),
  ];
}

export function CurvePlot(props: CurvePlotProps): JSX.Element {
  const t = words();
  const { request, estimate, own } = props;
  const place = estimate?.input.card ?? request.arch;
  const precision = request.precision ?? "NF4";
  const n = estimate?.input.params_b ?? own?.params_b ?? props.params_b;
  const domain: [number, number] = n === undefined ? [LEAST_B, MOST_B] : [Math.min(LEAST_B, n / 1.6), Math.max(MOST_B, n * 1.6)];
  const key = JSON.stringify([request, domain]);
  const curve = useMemo(() => curveAlong(request, domain, SAMPLES), [key]);
  const { points } = curve;
  const colour = formatColour(precision);
  const measured = useMemo(
    () => props.measured ?? measuredAnchors(estimate?.anchors ?? (own === undefined ? [] : anchorsOf(request, own.params_b)), colour),
    [key, props.measured, estimate, own, lang.value],
  );
  if (points.length === 0 && measured.marks.length === 0) {
    return (
      <p class="no-chart">
        {t.noChart}
        {t.colon}
        {coreLine(curve.error ?? "")}
      </p>
    );
  }
  const reader = yours(props, colour);
  const layers: Layer[] = [
    ...zones(curve.range),
    ...curveLayers(points, { colour, band: true }),
    ...(props.explained === true && estimate?.crossover_b != null ? [{ kind: "rule", x: estimate.crossover_b, label: `${t.crossover} ${sizeB(estimate.crossover_b)}` } as const] : []),
  ];
  const legend: LegendItem[] = [
    ...curveKeys(points, colour),
    ...(points.length > 0 ? [{ tint: "band", colour, label: t.band } as const] : []),
    ...measured.legend,
    ...reader.legend,
  ];
  const explain = props.explained !== true || !isMixed(points) ? undefined : points.some((p) => p.source === "curve") ? t.changes : t.ends;
  // Bands beyond the data reach far; the axis holds curve and measurements, and the rest as far as it lies near.
  const kept = [...points.map((p) => p.delta_pct), ...measured.marks.map((m) => m.y)];
  const others = [...points.flatMap((p) => p.ci), ...[...measured.marks, ...reader.marks].flatMap((m) => [m.y, m.lo ?? m.y, m.hi ?? m.y])];
  return (
    <Chart
      name={props.name ?? `energy-change-${precision}-${place}`.toLowerCase().replace(/[^\w.-]+/g, "-")}
      title={props.title ?? t.title(precision, place)}
      {...(props.subtitle === undefined ? {} : { subtitle: props.subtitle })}
      x={{ label: t.x, scale: "log", domain }}
      y={{ label: t.y, scale: "linear", domain: spanOfBulk(kept, others), value: change }}
      layers={layers}
      marks={[...measured.marks, ...reader.marks]}
      legend={legend}
      {...(explain === undefined ? {} : { note: explain })}
      height={props.height ?? 340}
      source={t.source}
      table={{
        columns: t.columns,
        rows: [
          ...measured.rows.map((one) => [t.measurement, one.params_b, one.model, one.gpu, one.delta_pct, null, null, basisWord("measured"), one.n, one.stack, one.session]),
          ...points.map((p) => [t.kinds[p.source], p.params_b, null, null, p.delta_pct, p.ci[0], p.ci[1], basisWord(p.basis), null, null, null]),
        ],
      }}
    />
  );
}
