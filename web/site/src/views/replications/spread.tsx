// SPDX-License-Identifier: Apache-2.0
//
// How far the sessions of a case lie apart, a point a case.

import type { JSX } from "preact";
import type { Agreement } from "../../app/core.js";
import { number, range, sizeB } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { Chart } from "../../charts/chart.js";
import type { LegendItem, Mark, Shape } from "../../charts/types.js";
import { differAbove, type Case } from "./gallery_cases.js";
import { words } from "./words.js";

const SHAPES: Record<Agreement, Shape> = { sign: "star", differ: "diamond", beyond: "triangle", agree: "circle", single: "square" };
const LEAST_PTS = 0.1; // of the log axis

export function Spread({ cases }: { cases: readonly Case[] }): JSX.Element | null {
  const t = words();
  const drawn = cases.filter(({ of }) => of.agreement !== "single");
  if (drawn.length === 0) {
    return null;
  }
  const marks = drawn.map(
    ({ key, of, rows }): Mark => ({
      id: key,
      x: of.params_b,
      y: Math.max(of.spread_pct, LEAST_PTS),
      colour: formatColour(of.precision),
      shape: SHAPES[of.agreement],
      filled: rows.every((row) => row.n >= 2),
      label: [
        `${of.gpu} · ${of.model} (${sizeB(of.params_b)}) · ${of.precision}`,
        t.spread(of.sessions, range([of.lo_pct, of.hi_pct]), number(of.spread_pct, 3)),
        t.workload(of.engine, of.batch, of.context === null ? null : number(of.context, 6), of.window),
        t.flags[of.agreement],
      ].join("\n"),
    }),
  );
  const judged = differAbove();
  const sizes = drawn.map(({ of }) => of.params_b);
  const points = marks.map((one) => one.y);
  const ink = "var(--ink)";
  const legend: LegendItem[] = [
    ...(["sign", "differ", "beyond", "agree"] as const).flatMap((one): LegendItem[] =>
      drawn.some(({ of }) => of.agreement === one) ? [{ shape: SHAPES[one], filled: true, colour: ink, label: t.flags[one] }] : [],
    ),
    ...[...new Set(drawn.map(({ of }) => of.precision))].map((one): LegendItem => ({ shape: "circle", filled: true, colour: formatColour(one), label: one })),
    ...(marks.some((one) => !one.filled) ? [{ shape: "circle", filled: false, colour: ink, label: t.hollow } as const] : []),
  ];
  return (
    <Chart
      name="replications-spread"
      title={t.chartTitle}
      subtitle={t.chartSubtitle(judged)}
      x={{ label: t.sizeAxis, scale: "log", domain: [Math.min(...sizes) / 1.4, Math.max(...sizes) * 1.4] }}
      y={{ label: t.spreadAxis, scale: "log", domain: [Math.min(...points, 1) / 1.5, Math.max(...points, judged) * 1.5] }}
      layers={[{ kind: "rule", y: judged, label: t.judged(judged) }]}
      marks={marks}
      legend={legend}
      height={280}
      table={{
        columns: t.columns,
        rows: drawn.map(({ of }) => [
          of.gpu,
          of.model,
          of.params_b,
          of.precision,
          of.engine,
          of.batch,
          of.context,
          of.window,
          of.sessions,
          of.stacks,
          of.lo_pct,
          of.hi_pct,
          of.spread_pct,
          of.pairs_stated,
          of.pairs_beyond,
          t.flags[of.agreement],
          t.flags[of.same_stack],
        ]),
      }}
      source={t.sourceLine}
    />
  );
}
