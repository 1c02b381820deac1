// SPDX-License-Identifier: Apache-2.0
//
// The change over the model's size on one card. A line joins the models of one session; nothing is fitted or averaged.

import type { JSX } from "preact";
import { Chart } from "../../charts/chart.js";
import { spanOfSigns } from "../../charts/scale.js";
import type { Layer, LegendItem, Mark, Shape, Table } from "../../charts/types.js";
import { change, number, range } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { setParams } from "../../app/route.js";
import { stackName, type Row } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { trialsText } from "../../parts/tags.js";
import { contextOf } from "./choice.js";
import { words } from "./words.js";

const SHAPES: readonly Shape[] = ["circle", "square", "diamond", "triangle", "star"];
const DASHED = new Set(["INT8", "W8A16", "FP8", "Q8_0"]);

export function sourceText(rows: readonly Row[]): string {
  return words().chartSource([...new Set(rows.flatMap((row) => (row.doi === "" ? [] : [`doi:${row.doi}`])))].join(punctuation().comma));
}

export function rowTable(rows: readonly Row[]): Table {
  const t = words();
  return {
    columns: t.columns,
    rows: rows.map((row) => [row.gpu, row.model, row.params_b, row.precision, row.engine, row.stack || t.unnamed, row.session, row.window, row.batch, contextOf(row), row.n || null, row.fp16_mj, row.mj, row.delta_pct]),
  };
}

function lines(rows: readonly Row[]): Layer[] {
  const paths = new Map<string, Row[]>();
  for (const row of rows) {
    const key = [row.session, row.precision, row.window, contextOf(row)].join("|");
    paths.set(key, [...(paths.get(key) ?? []), row]);
  }
  return [...paths.values()].flatMap((path): Layer[] => {
    const first = path[0];
    return first === undefined || path.length < 2
      ? []
      : [
          {
            kind: "line",
            colour: formatColour(first.precision),
            points: path.sort((a, b) => a.params_b - b.params_b).map((row) => ({ x: row.params_b, y: row.delta_pct })),
            stroke: DASHED.has(first.precision) ? "dashed" : "solid",
            faded: path.every((row) => row.n < 2),
          },
        ];
  });
}

export function Crossover({ rows, gpu, model, precision }: { rows: readonly Row[]; gpu: string; model: string; precision: string | null }): JSX.Element {
  const t = words();
  const stackOf = (row: Row): string => `${row.engine} · ${stackName(row.engine, row.stack) ?? t.unnamed}`;
  const stacks = [...new Set(rows.map(stackOf))].sort();
  const shapeOf = (row: Row): Shape => SHAPES[stacks.indexOf(stackOf(row)) % SHAPES.length] ?? "circle";
  const marks = rows.map(
    (row): Mark => ({
      id: row.id,
      x: row.params_b,
      y: row.delta_pct,
      ...(row.ci95_pct === null ? {} : { lo: row.ci95_pct[0], hi: row.ci95_pct[1] }),
      colour: formatColour(row.precision),
      shape: shapeOf(row),
      filled: row.n > 1,
      ringed: row.model === model,
      label: [
        `${row.model}${punctuation().comma}${row.precision}${punctuation().colon}${change(row.delta_pct)}`,
        trialsText(row.n),
        ...(row.ci95_pct === null ? [] : [t.interval(range(row.ci95_pct))]),
        stackOf(row),
        row.session,
        ...(contextOf(row) === null ? [] : [t.context(number(contextOf(row) ?? 0, 6))]),
        t.pick,
      ].join("\n"),
      onPick: () => setParams({ gpu, m: row.model }),
    }),
  );
  const ink = precision === null ? "var(--ink)" : formatColour(precision);
  const legend: LegendItem[] = [
    ...(precision === null ? [...new Set(rows.map((row) => row.precision))].map((one): LegendItem => ({ shape: "circle", filled: true, colour: formatColour(one), label: one })) : []),
    ...stacks.map((label, i): LegendItem => ({ shape: SHAPES[i % SHAPES.length] ?? "circle", filled: true, colour: ink, label })),
    ...(rows.some((row) => row.n < 2) ? [{ shape: "circle", filled: false, colour: ink, label: t.hollow } as const] : []),
  ];
  const sizes = rows.map((row) => row.params_b);
  return (
    <Chart
      name={`crossover-${gpu}-${precision ?? "all"}`.toLowerCase().replace(/[^a-z0-9]+/g, "-")}
      title={precision === null ? t.chartTitleAll(gpu) : t.chartTitle(gpu, precision)}
      subtitle={t.chartSubtitle}
      x={{ label: t.sizeAxis, scale: "log", domain: [Math.min(...sizes) / 1.6, Math.max(...sizes) * 1.6] }}
      y={{ label: t.changeAxis, scale: "linear", domain: spanOfSigns(rows.map((row) => row.delta_pct)) }}
      layers={[{ kind: "zone", y0: 0, tone: "costs", label: t.costsZone }, { kind: "zone", y1: 0, tone: "saves", label: t.savesZone }, ...lines(rows)]}
      marks={marks}
      legend={legend}
      table={rowTable(rows)}
      source={sourceText(rows)}
    />
  );
}
