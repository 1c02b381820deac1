// SPDX-License-Identifier: Apache-2.0
//
// Power over time of one run, with the windows that its energy was taken over.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { formatColour } from "../../app/palette.js";
import { lang, punctuation } from "../../app/text.js";
import { Chart } from "../../charts/chart.js";
import type { Layer } from "../../charts/types.js";
import { drawn, extremes, isWindow, type Trace } from "./trace.js";
import type { TraceItem } from "./store.js";
import { words } from "./words.js";

export interface NamedTrace {
  item: TraceItem;
  /** Of the arm, where a report says it. */
  precision: string | null;
}

const POINTS = 3000; // of one trace, four a pixel of a wide chart
const ZONES_MAX = 120;
const TABLE_ROWS_MAX = 500;

const short = (name: string): string => name.slice(name.lastIndexOf("/") + 1);
const nameOf = (one: NamedTrace): string => one.precision ?? short(one.item.name);

function phaseWords(name: string): string {
  const { phases } = words();
  return Object.hasOwn(phases, name) ? (phases[name] ?? name) : name;
}

/** Where no phase is a window (a published trace has none), nothing is shaded. */
function zones(traces: readonly NamedTrace[]): Layer[] {
  const windows = traces.flatMap((one) => one.item.trace.phases.filter(isWindow).map((phase) => ({ phase, name: nameOf(one) })));
  return windows.length > ZONES_MAX
    ? []
    : windows.map(({ phase, name }) => ({
        kind: "zone",
        tone: "phase",
        x0: phase.t0_s,
        x1: phase.t1_s,
        label: `${name} · ${phaseWords(phase.name)}${phase.block === "" ? "" : ` ${phase.block}`}`,
      }));
}

/** The name stands at the end of the longest stretch of each. */
function lines(one: NamedTrace): Layer[] {
  const stretches = drawn(one.item.trace, POINTS);
  const longest = stretches.reduce((a, b) => (b.length > a.length ? b : a), stretches[0] ?? []);
  return stretches.map((points): Layer => ({ kind: "line", colour: formatColour(one.precision ?? "other"), points, ...(points === longest ? { label: nameOf(one) } : {}) }));
}

function table(traces: readonly NamedTrace[]): (string | number | null)[][] {
  return traces
    .flatMap((one) =>
      one.item.trace.phases.map((phase) => {
        const power = extremes(one.item.trace, phase.from, phase.to);
        return [short(one.item.name), phaseWords(phase.name) || null, phase.block || null, phase.t0_s, phase.t1_s, phase.to - phase.from, power?.[0] ?? null, power?.[1] ?? null];
      }),
    )
    .slice(0, TABLE_ROWS_MAX);
}

const first = (trace: Trace): number => trace.t_s[0] ?? 0;
const last = (trace: Trace): number => trace.t_s.at(-1) ?? 0;

export function Power({ name, traces }: { name: string; traces: readonly NamedTrace[] }): JSX.Element {
  const t = words();
  const key = traces.map((one) => `${one.item.id} ${one.precision}`).join();
  const made = useMemo(() => {
    const t0 = Math.min(...traces.map((one) => first(one.item.trace)));
    const t1 = Math.max(...traces.map((one) => last(one.item.trace)));
    const highest = Math.max(0, ...traces.map((one) => extremes(one.item.trace, 0, one.item.trace.t_s.length)?.[1] ?? 0));
    return {
      x: [t0, t1 > t0 ? t1 : t0 + 1] as const,
      y: [0, highest * 1.06 || 1] as const,
      layers: [...zones(traces), ...traces.flatMap(lines)],
      rows: table(traces),
      windows: traces.reduce((n, one) => n + one.item.trace.phases.filter(isWindow).length, 0),
    };
  }, [key, lang.value]);
  return (
    <Chart
      name="power-trace"
      title={t.powerTitle(name)}
      subtitle={made.windows > ZONES_MAX ? t.manyPhases(made.windows) : t.powerSubtitle}
      x={{ label: t.time, scale: "linear", domain: made.x }}
      y={{ label: t.watts, scale: "linear", domain: made.y }}
      layers={made.layers}
      marks={[]}
      table={{ columns: t.phaseColumns, rows: made.rows }}
      source={t.powerSource(traces.map((one) => one.item.name).join(punctuation().comma))}
      height={260}
    />
  );
}
