// SPDX-License-Identifier: Apache-2.0
//
// A power trace for drawing: rows by column name, runs of one phase, and fewer points with every extreme kept. Layout
// alone: energies come from the core.

const ROWS_MAX = 4_000_000; // as the core has it
const GAP_S = 1; // a longer pause between rows is a gap in the line
const SEGMENTS_MAX = 200;
const VALUE_MAX = 1e9; // seconds and watts beyond are no trace

export interface Trace {
  t_s: Float64Array;
  /** NaN where the row has no power. */
  power_w: Float64Array;
  /** Runs of one phase in one block, in order of time. */
  phases: Phase[];
}

export interface Phase {
  name: string;
  block: string;
  from: number;
  to: number;
  t0_s: number;
  t1_s: number;
}

export type TraceError = { line: number; reason: "header" | "number" | "order" | "rows" | "empty" };
export type TraceOutcome = { ok: true; trace: Trace } | { ok: false; error: TraceError };

/** Published traces have t_s,power_w; ours also energy_j,tokens,temp_c,block,phase. */
export function isTrace(text: string): boolean {
  return /^\uFEFF?t_s,power_w/.test(text);
}

function* lines(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    const to = end < 0 ? text.length : end;
    yield text.slice(from, text[to - 1] === "\r" ? to - 1 : to);
    from = to + 1;
  }
}

export function parseTrace(text: string): TraceOutcome {
  const t: number[] = [];
  const w: number[] = [];
  const phases: Phase[] = [];
  const fail = (line: number, reason: TraceError["reason"]): TraceOutcome => ({ ok: false, error: { line, reason } });
  let [phaseAt, blockAt] = [-1, -1];
  let n = 0;
  for (const line of lines(text)) {
    if (n++ === 0) {
      const columns = line.replace(/^\uFEFF/, "").split(",");
      [phaseAt, blockAt] = [columns.indexOf("phase"), columns.indexOf("block")];
      if (columns[0] !== "t_s" || columns[1] !== "power_w") {
        return fail(1, "header");
      }
      continue;
    }
    if (line === "") {
      continue;
    }
    const cells = line.split(",");
    const time = cells[0] === "" ? NaN : Number(cells[0]);
    const power = cells[1] === "" ? NaN : Number(cells[1]);
    if (!(Math.abs(time) <= VALUE_MAX) || (cells[1] !== "" && !(Math.abs(power) <= VALUE_MAX))) {
      return fail(n, "number");
    }
    if (time < (t.at(-1) ?? -Infinity)) {
      return fail(n, "order");
    }
    if (t.length === ROWS_MAX) {
      return fail(n, "rows");
    }
    t.push(time);
    w.push(power);
    addPhase(phases, cells[phaseAt] ?? "", cells[blockAt] ?? "", t.length - 1, time);
  }
  return t.length === 0 ? fail(n, "empty") : { ok: true, trace: { t_s: Float64Array.from(t), power_w: Float64Array.from(w), phases } };
}

function addPhase(phases: Phase[], name: string, block: string, row: number, time: number): void {
  const last = phases.at(-1);
  if (last !== undefined && last.name === name && last.block === block && time - last.t1_s <= GAP_S) {
    last.to = row + 1;
    last.t1_s = time;
  } else {
    phases.push({ name, block, from: row, to: row + 1, t0_s: time, t1_s: time });
  }
}

/** Ends of unbroken stretches; one stretch where a trace is all gaps. */
function stretches(trace: Trace): [number, number][] {
  const ends: [number, number][] = [];
  let from = 0;
  for (let i = 1; i <= trace.t_s.length; i++) {
    if (i === trace.t_s.length || (trace.t_s[i] as number) - (trace.t_s[i - 1] as number) > GAP_S) {
      ends.push([from, i]);
      from = i;
    }
  }
  return ends.length <= SEGMENTS_MAX ? ends : [[0, trace.t_s.length]];
}

export interface Sample {
  x: number;
  y: number;
}

/** Of each of `buckets` equal stretches of time: the first, lowest, highest and last row. Every extreme of the trace stays. */
export function thin(trace: Trace, from: number, to: number, buckets: number): Sample[] {
  const out: Sample[] = [];
  const t0 = trace.t_s[from] ?? 0;
  const width = ((trace.t_s[to - 1] ?? 0) - t0) / buckets || 1;
  let kept: number[] = [];
  let bucket = 0;
  const flush = (): void => {
    if (kept.length > 0) {
      const power = (i: number): number => trace.power_w[i] as number;
      const lowest = kept.reduce((a, b) => (power(b) < power(a) ? b : a));
      const highest = kept.reduce((a, b) => (power(b) > power(a) ? b : a));
      const rows = [...new Set([kept[0] as number, lowest, highest, kept.at(-1) as number])].sort((a, b) => a - b);
      out.push(...rows.map((i) => ({ x: trace.t_s[i] as number, y: power(i) })));
      kept = [];
    }
  };
  for (let i = from; i < to; i++) {
    if (Number.isNaN(trace.power_w[i])) {
      continue;
    }
    const at = Math.min(buckets - 1, Math.floor(((trace.t_s[i] as number) - t0) / width));
    if (at !== bucket) {
      flush();
      bucket = at;
    }
    kept.push(i);
  }
  flush();
  return out;
}

/** Lines to draw, of about `points` points in all. */
export function drawn(trace: Trace, points: number): Sample[][] {
  const whole = (trace.t_s.at(-1) ?? 0) - (trace.t_s[0] ?? 0) || 1;
  return stretches(trace)
    .map(([from, to]) => {
      const share = ((trace.t_s[to - 1] as number) - (trace.t_s[from] as number)) / whole;
      return thin(trace, from, to, Math.max(2, Math.ceil((share * points) / 4)));
    })
    .filter((one) => one.length > 0);
}

/** Lowest and highest power of a run of rows; null where none has power. */
export function extremes(trace: Trace, from: number, to: number): [number, number] | null {
  let [lo, hi] = [Infinity, -Infinity];
  for (let i = from; i < to; i++) {
    const power = trace.power_w[i] as number;
    lo = power < lo ? power : lo;
    hi = power > hi ? power : hi;
  }
  return hi < lo ? null : [lo, hi];
}

/** Phases that the energy was taken over. */
export function isWindow(phase: Phase): boolean {
  return phase.name === "decode" || phase.name === "generation";
}
