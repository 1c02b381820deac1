// SPDX-License-Identifier: Apache-2.0
//
// The chart of the first screen: the curve of the choice with what was measured, a point a session.

import type { JSX } from "preact";
import type { LegendItem, Mark, Shape } from "../../charts/types.js";
import type { Estimate } from "../../app/core.js";
import { change } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { setParams } from "../../app/route.js";
import { stackName, tableRows, type Row } from "../../app/rows.js";
import { CurvePlot, type Measured } from "../../parts/curve_plot.js";
import { trialsText } from "../../parts/tags.js";
import { members, models, request, type Choice } from "./choice.js";
import { words } from "./words.js";

const STACK_SHAPES: readonly Shape[] = ["circle", "square", "diamond"];

/** Rows of the chosen card; where it has none, of its class; where that has none, of the engine. */
function measuredRows(of: Choice, arch: string): Row[] {
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

const nameOf = (row: Row): string => stackName(row.engine, row.stack) ?? words().stackUnnamed;

function describe(row: Row): string {
  const t = words();
  return [t.point(row.model, row.gpu, change(row.delta_pct)), trialsText(row.n), `${row.engine} · ${nameOf(row)}`, row.session].join("\n");
}

function measured(of: Choice, rows: readonly Row[]): Measured {
  const t = words();
  const colour = formatColour(of.precision);
  const known = new Set(models().map((one) => one.name));
  const stacks = [...new Set(rows.filter((row) => row.gpu === of.card).map(nameOf))].sort();
  const shapeOf = (row: Row): Shape => (row.gpu === of.card ? (STACK_SHAPES[stacks.indexOf(nameOf(row))] ?? "circle") : "triangle");
  const marks = rows.map(
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
  return {
    marks,
    legend,
    rows: rows.map((row) => ({ model: row.model, params_b: row.params_b, gpu: row.gpu, delta_pct: row.delta_pct, n: row.n || null, stack: row.stack || t.stackUnnamed, session: row.session })),
  };
}

export function Picture({ of, estimate, stack }: { of: Choice; estimate: Estimate | null; stack: string }): JSX.Element {
  const t = words();
  const { params_b, ...rest } = request(of);
  return (
    <CurvePlot
      name={`delta-e-${of.precision}-${of.card}-${of.engine}`.toLowerCase().replace(/[^a-z0-9]+/g, "-")}
      title={t.chartTitle(of.precision, of.card)}
      subtitle={t.chartSubtitle(stack)}
      request={rest}
      params_b={params_b}
      estimate={estimate}
      measured={measured(of, measuredRows(of, estimate?.input.arch ?? ""))}
      height={300}
    />
  );
}
