// SPDX-License-Identifier: Apache-2.0
//
// The change over the model's size: what the core says along the sizes, and what was measured, a point a session.

import type { JSX } from "preact";
import { Chart } from "../../charts/chart.js";
import { spanOfSigns } from "../../charts/scale.js";
import type { Layer, LegendItem, Mark, Shape, Table } from "../../charts/types.js";
import { ask, type Estimate, type EstimateCurve, type EstimatePoint } from "../../app/core.js";
import { change, range, sizeB } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { setParams } from "../../app/route.js";
import { stackName, tableRows, type Row } from "../../app/rows.js";
import { trialsText } from "../../parts/tags.js";
import { members, models, request, sourceOf, type Choice } from "./choice.js";
import { words } from "./words.js";

type CurvePoint = Exclude<EstimatePoint, { error: string }>;

const SAMPLES = 64;
const LEAST_B = 0.3;
const MOST_B = 20;
const STACK_SHAPES: readonly Shape[] = ["circle", "square", "diamond"];

/** Places on a log axis; layout, no measured size is hit but by chance. */
function sizes(hi: number): number[] {
  return Array.from({ length: SAMPLES }, (_, i) => Number((LEAST_B * (hi / LEAST_B) ** (i / (SAMPLES - 1))).toPrecision(4)));
}

/** Where the core takes another source or basis, the line breaks. */
function segments(points: readonly CurvePoint[]): CurvePoint[][] {
  const parts: CurvePoint[][] = [];
  let last: CurvePoint | undefined;
  for (const point of points) {
    if (point.source === "anchors") {
      continue; // a measured size is a point and not a part of the line
    }
    if (last === undefined || last.source !== point.source || last.basis !== point.basis) {
      parts.push([]);
    }
    parts.at(-1)?.push(point);
    last = point;
  }
  return parts.filter((one) => one.length > 1);
}

function lines(parts: readonly CurvePoint[][], colour: string): Layer[] {
  return parts.flatMap((part): Layer[] => {
    const inside = part[0]?.basis === "interpolated";
    return [
      { kind: "band", colour, points: part.map((p) => ({ x: p.params_b, lo: p.ci[0], hi: p.ci[1] })) },
      { kind: "line", colour, points: part.map((p) => ({ x: p.params_b, y: p.delta_pct })), ...(inside ? {} : { dashed: true, faded: true }) },
    ];
  });
}

/** Half-planes, and what lies beyond the measured sizes. */
function zones(curve: EstimateCurve | null): Layer[] {
  const t = words();
  const planes: Layer[] = [
    { kind: "zone", y0: 0, tone: "costs", label: t.costs },
    { kind: "zone", y1: 0, tone: "saves", label: t.saves },
  ];
  const measured = curve?.measured_range_b ?? null;
  if (measured === null) {
    return [...planes, { kind: "zone", tone: "beyond", label: t.nothingMeasured }];
  }
  return [...planes, { kind: "zone", x1: measured[0], tone: "beyond" }, { kind: "zone", x0: measured[1], tone: "beyond", label: t.beyond }];
}

/** Rows of the chosen card; where it has none, of its class; where that has none, of the engine. */
function measured(of: Choice, arch: string): Row[] {
  const rows = tableRows().filter(
    (row) =>
      row.engine === of.engine &&
      row.precision === of.precision &&
      (row.batch === null || row.batch === 1) &&
      (of.version === null || stackName(row.engine, row.stack) === of.version),
  );
  const near = rows.filter((row) => row.gpu === of.card || row.arch === arch);
  return near.length > 0 ? near : rows;
}

function describe(row: Row): string {
  const t = words();
  return [
    `${row.model}, ${row.gpu}: ${change(row.delta_pct)}`,
    trialsText(row.n),
    `${row.engine} · ${stackName(row.engine, row.stack) ?? t.stackUnnamed}`,
    row.session,
  ].join("\n");
}

function marks(of: Choice, rows: readonly Row[], estimate: Estimate | null): { marks: Mark[]; legend: LegendItem[] } {
  const t = words();
  const colour = formatColour(of.precision);
  const known = new Set(models().map((one) => one.name));
  const name = (row: Row): string => stackName(row.engine, row.stack) ?? t.stackUnnamed;
  const stacks = [...new Set(rows.filter((row) => row.gpu === of.card).map(name))].sort();
  const shapeOf = (row: Row): Shape => (row.gpu === of.card ? (STACK_SHAPES[stacks.indexOf(name(row))] ?? "circle") : "triangle");
  const points = rows.map(
    (row): Mark => ({
      id: row.id,
      x: row.params_b,
      y: row.delta_pct,
      colour,
      shape: shapeOf(row),
      filled: row.n > 1,
      label: describe(row),
      ...(known.has(row.model) ? { onPick: () => setParams(members({ model: row.model })) } : {}),
    }),
  );
  const legend = stacks.map((stack, i): LegendItem => ({ shape: STACK_SHAPES[i] ?? "circle", filled: true, colour, label: stack }));
  const others = [...new Set(rows.filter((row) => row.gpu !== of.card).map((row) => row.gpu))];
  if (others.length > 0) {
    legend.push({ shape: "triangle", filled: true, colour, label: t.otherCard(t.list(others)) });
  }
  if (rows.some((row) => row.n < 2)) {
    legend.push({ shape: "circle", filled: false, colour, label: t.hollow });
  }
  if (estimate !== null) {
    const label = `${t.yours}: ${sizeB(of.params_b)}, ${change(estimate.delta_pct)}\n${t.interval[sourceOf(estimate)]}: ${range(estimate.ci)}`;
    points.push({ id: "yours", x: of.params_b, y: estimate.delta_pct, lo: estimate.ci[0], hi: estimate.ci[1], colour: "var(--ink)", shape: "star", filled: estimate.basis === "measured", ringed: true, label });
    legend.push({ shape: "star", filled: estimate.basis === "measured", colour: "var(--ink)", label: t.yours });
  }
  return { marks: points, legend };
}

function table(rows: readonly Row[], points: readonly CurvePoint[]): Table {
  const t = words();
  return {
    columns: t.columns,
    rows: [
      ...rows.map((row) => [t.kindMeasured, row.params_b, row.delta_pct, null, null, row.n || null, row.gpu, row.model, row.stack || t.stackUnnamed, row.session]),
      ...points.map((p) => [t.kindCurve[p.source], p.params_b, p.delta_pct, p.ci[0], p.ci[1], null, null, null, null, null]),
    ],
  };
}

export function Picture({ of, estimate, stack }: { of: Choice; estimate: Estimate | null; stack: string }): JSX.Element {
  const t = words();
  const hi = Math.max(MOST_B, of.params_b * 1.6);
  const { params_b: _, ...rest } = request(of);
  const answer = ask("estimate_curve", { ...rest, sizes: sizes(hi) });
  const curve = answer.ok ? answer.value : null;
  const points = (curve?.points ?? []).filter((one): one is CurvePoint => !("error" in one));
  const rows = measured(of, estimate?.input.arch ?? "");
  const drawn = marks(of, rows, estimate);
  const values = [...drawn.marks.flatMap((m) => [m.y, m.lo ?? m.y, m.hi ?? m.y]), ...points.flatMap((p) => [p.ci[0], p.ci[1]])];
  return (
    <Chart
      name={`delta-e-${of.precision}-${of.card}-${of.engine}`.toLowerCase().replace(/[^a-z0-9]+/g, "-")}
      title={t.chartTitle(of.precision, of.card)}
      subtitle={t.chartSubtitle(stack)}
      x={{ label: t.sizeAxis, scale: "log", domain: [LEAST_B, hi] }}
      y={{ label: t.changeAxis, scale: "linear", domain: spanOfSigns(values) }}
      layers={[...zones(curve), ...lines(segments(points), formatColour(of.precision))]}
      marks={drawn.marks}
      legend={drawn.legend}
      table={table(rows, points)}
      source={t.chartSource}
      height={312}
    />
  );
}
