// SPDX-License-Identifier: Apache-2.0
//
// The reader's points over the published curves, each with the curve of its own class and precision.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { coreLine } from "../../app/core_words.js";
import { change, range, sizeB } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { lang } from "../../app/text.js";
import { Chart } from "../../charts/chart.js";
import { spanOfBulk } from "../../charts/scale.js";
import type { Layer, LegendItem, Mark, Shape, Table } from "../../charts/types.js";
import { curveKeys, curveLayers } from "../../parts/curve.js";
import { basisWord } from "../../parts/tags.js";
import { CURVE_ENGINE, groupKey, groupsOf, sizeDomain, type Group } from "./curves.js";
import type { Point } from "./read.js";
import { items, pointOf, select, selected, type Item } from "./store.js";
import { words } from "./words.js";

interface Shown {
  item: Item;
  point: Point;
}

/** Before anything is dropped. */
const WAITING: readonly [string, string][] = [
  ["ada", "NF4"],
  ["blackwell", "NF4"],
];
const CURVES_MAX = 8;

/** Basis by shape, as everywhere on the page by word too. */
const shapeOf = (point: Point): Shape => (point.basis === "measured" ? "diamond" : "triangle");

export function fromWords(item: Item): string {
  const t = words();
  return item.kind === "report" ? item.name : t.fromLink(item.place);
}

/** Interval and repeats; never a number without. */
export function spreadWords(point: Point): string {
  const t = words();
  return point.ci95_pct !== null ? t.ciLine(range(point.ci95_pct), point.n) : point.n === null ? t.nNotStated : t.nUnknown;
}

function describe({ item, point }: Shown): string {
  const t = words();
  return [
    point.model + t.comma + sizeB(point.params_b),
    `${point.gpu ?? "?"} · ${point.precision}${t.colon}ΔE ${change(point.delta_pct)}`,
    spreadWords(point),
    basisWord(point.basis) + (item.kind === "link" ? t.inBrackets(t.claim) : ""),
    point.engine === CURVE_ENGINE ? `${point.engine} · ${point.stack ?? ""}` : t.otherEngine(point.engine),
    fromWords(item),
  ].join("\n");
}

function markOf(shown: Shown, chosen: string | undefined): Mark {
  const { item, point } = shown;
  return {
    id: item.id,
    x: point.params_b,
    y: point.delta_pct,
    ...(point.ci95_pct === null ? {} : { lo: point.ci95_pct[0], hi: point.ci95_pct[1] }),
    colour: formatColour(point.precision),
    shape: shapeOf(point),
    filled: point.n !== null && point.n >= 2,
    ringed: item.id === chosen,
    dashedRing: point.engine !== CURVE_ENGINE,
    label: describe(shown),
    onPick: () => select(item.id),
  };
}

function anchorsOf(group: Group | undefined): Mark[] {
  return group?.curve.ok !== true
    ? []
    : group.curve.anchors.map((one, i) => ({
        id: `anchor-${i}`,
        x: one.N,
        y: one.dE,
        colour: formatColour(group.precision),
        filled: (one.n ?? 1) >= 2,
        label: `${one.model}${words().comma}${sizeB(one.N)}\n${one.gpu}${words().colon}ΔE ${change(one.dE)}\nn = ${one.n ?? 1}${(one.n ?? 1) === 1 ? words().comma + words().spreadUnknown : ""}`,
      }));
}

function legendOf(shown: readonly Shown[], anchors: boolean): LegendItem[] {
  const t = words();
  const colour = "var(--c-other)";
  const has = (of: (point: Point) => boolean): boolean => shown.some((one) => of(one.point));
  return [
    ...(has((p) => p.basis === "measured") ? [{ shape: "diamond", filled: true, colour, label: t.legend.measured } as const] : []),
    ...(has((p) => p.basis !== "measured") ? [{ shape: "triangle", filled: true, colour, label: t.legend.other } as const] : []),
    ...(has((p) => p.n === null || p.n < 2) ? [{ shape: "diamond", filled: false, colour, label: t.legend.hollow } as const] : []),
    ...(anchors ? [{ shape: "circle", filled: true, colour, label: t.legend.anchor } as const] : []),
  ];
}

/** Of the lines: formats differ by colour and by their names at the lines. */
const keysOf = (groups: readonly Group[]): LegendItem[] => curveKeys(groups.flatMap((one) => (one.curve.ok ? one.curve.points : [])), "var(--c-other)");

function tableOf(shown: readonly Shown[], groups: readonly Group[], strong: Group | undefined): Table {
  const t = words();
  return {
    columns: t.tableColumns,
    rows: [
      ...shown.map(({ item, point: p }) => [t.kind[item.kind], fromWords(item), p.params_b, p.delta_pct, p.ci95_pct?.[0] ?? null, p.ci95_pct?.[1] ?? null, p.precision, p.arch, p.gpu, p.model, p.engine, basisWord(p.basis)]),
      ...(strong?.curve.ok === true ? strong.curve.anchors.map((one) => [t.kind.anchor, null, one.N, one.dE, null, null, strong.precision, strong.arch, one.gpu, one.model, CURVE_ENGINE, basisWord("measured")]) : []),
      ...groups.flatMap((group) => (group.curve.ok ? group.curve.points.map((p) => [t.kind.curve, null, p.params_b, p.delta_pct, p.ci[0], p.ci[1], group.precision, group.arch, null, null, CURVE_ENGINE, basisWord(p.basis)]) : [])),
    ],
  };
}

function zones(strong: Group | undefined, label: string): Layer[] {
  const t = words();
  const measured = strong?.curve.ok === true ? strong.curve.range : null;
  return [
    { kind: "zone", y0: 0, tone: "costs", label: t.costs },
    { kind: "zone", y1: 0, tone: "saves", label: t.saves },
    ...(measured === null ? [] : ([{ kind: "zone", x0: measured[1], tone: "beyond", label: t.beyond(label) }, { kind: "zone", x1: measured[0], tone: "beyond" }] as const)),
  ];
}

/** The curves of `WAITING` where nothing is dropped. */
function waiting(): Point[] {
  return WAITING.map(([arch, precision]) => ({ arch, precision, params_b: 7 }) as Point);
}

/** Points that have no curve stand on an empty axis, which is said with the core's reason. */
function NoCurves({ groups }: { groups: readonly Group[] }): JSX.Element | null {
  const t = words();
  const without = groups.filter((one) => !one.curve.ok).slice(0, CURVES_MAX);
  return without.length === 0 ? null : (
    <ul class="no-curves">
      {without.map((one) => (
        <li key={one.key}>
          {t.noCurve(one.arch ?? t.noClass, one.precision) + t.inBrackets(String(one.points)) + t.colon + t.noCurveWhy} {one.curve.ok || one.curve.error === "" ? "" : coreLine(one.curve.error)}
        </li>
      ))}
    </ul>
  );
}

export function Overlay(): JSX.Element {
  const t = words();
  const all = items.value;
  const chosen = selected.value;
  const drawn = useMemo(() => {
    const shown = all.flatMap((item): Shown[] => {
      const point = pointOf(item);
      return point === null ? [] : [{ item, point }];
    });
    const points = shown.length === 0 ? waiting() : shown.map((one) => one.point);
    const domain = sizeDomain(points);
    return { shown, domain, groups: groupsOf(points, domain) };
  }, [all]);
  const picture = useMemo(() => {
    const { shown, groups } = drawn;
    const point = chosen === null ? null : pointOf(chosen);
    const strong = groups.find((one) => point !== null && one.key === groupKey(point)) ?? groups[0];
    const label = (group: Group): string => t.curveOf(group.arch ?? "", group.precision);
    const visible = [...groups.filter((one) => one !== strong).slice(0, CURVES_MAX - 1), ...(strong === undefined ? [] : [strong])];
    const marks = [...anchorsOf(strong), ...shown.map((one) => markOf(one, chosen?.id))];
    const lines = visible.flatMap((group) =>
      group.curve.ok ? curveLayers(group.curve.points, { colour: formatColour(group.precision), band: group === strong, faded: group !== strong, label: label(group) }) : [],
    );
    const kept = lines.flatMap((one) => (one.kind === "line" ? one.points.map((p) => p.y) : []));
    const span = spanOfBulk(kept, marks.flatMap((m) => [m.y, m.lo ?? m.y, m.hi ?? m.y]));
    return {
      layers: [...zones(strong, strong === undefined ? "" : label(strong)), ...lines],
      marks,
      span,
      legend: [...keysOf(visible), ...legendOf(shown, marks.some((one) => one.id.startsWith("anchor-")))],
      table: tableOf(shown, visible, strong),
      ring: shown.some((one) => one.point.engine !== CURVE_ENGINE),
    };
  }, [drawn, chosen, lang.value]);
  return (
    <div class="stack-y">
      <Chart
        name="overlay"
        title={drawn.shown.length === 0 ? t.chartTitleEmpty : t.chartTitle}
        subtitle={t.chartSubtitle + (picture.ring ? t.space + t.legend.dashed + t.stop : "")}
        x={{ label: t.x, scale: "log", domain: drawn.domain }}
        y={{ label: t.y, scale: "linear", domain: picture.span, value: change }}
        layers={picture.layers}
        marks={picture.marks}
        legend={picture.legend}
        table={picture.table}
        source={t.source}
        height={380}
      />
      <NoCurves groups={drawn.shown.length === 0 ? [] : drawn.groups} />
    </div>
  );
}
