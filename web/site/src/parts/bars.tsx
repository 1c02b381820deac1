// SPDX-License-Identifier: Apache-2.0
//
// Horizontal bars with intervals. Hatched: measured once.

import type { ComponentChildren, JSX } from "preact";

export interface Bar {
  id: string;
  label: ComponentChildren;
  /** In the unit of `text`. */
  value: number;
  lo?: number;
  hi?: number;
  colour: string;
  hatched: boolean;
  /** The number with its unit. */
  text: ComponentChildren;
  /** Beside it: the change, n. */
  note?: ComponentChildren;
}

const LEAST_PCT = 4;

/** `max`: the value of a full track, where several groups share one scale. */
export function Bars({ bars, label, max: top }: { bars: readonly Bar[]; label: string; max?: number }): JSX.Element {
  const max = top ?? Math.max(...bars.map((one) => Math.max(one.value, one.hi ?? 0)), Number.MIN_VALUE);
  const pct = (v: number): string => `${(100 * v) / max}%`;
  return (
    <ul class="bars" aria-label={label}>
      {bars.map((one) => (
        <li key={one.id}>
          <span class="bar-label">{one.label}</span>
          <span class="bar-track" aria-hidden="true">
            <span
              class={one.hatched ? "bar hatched" : "bar"}
              style={{ width: `max(${LEAST_PCT}%, ${pct(one.value)})`, "--bar": one.colour }}
            />
            {one.lo !== undefined && one.hi !== undefined && (
              <span class="bar-range" style={{ left: pct(one.lo), width: pct(one.hi - one.lo) }} />
            )}
          </span>
          <span class="bar-text">
            <b>{one.text}</b> {one.note}
          </span>
        </li>
      ))}
    </ul>
  );
}
