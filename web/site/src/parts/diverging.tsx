// SPDX-License-Identifier: Apache-2.0
//
// Changes as bars on both sides of zero, a row each. Left of the line saves, right of it costs; hatched: measured once.

import type { ComponentChildren, JSX } from "preact";

export interface Change {
  id: string;
  /** What it is a change of: card, engine, stack. */
  label: ComponentChildren;
  value: number;
  /** The number with its unit and what says how sure it is. */
  text: ComponentChildren;
  colour: string;
  hatched: boolean;
}

export function Diverging({ changes, label, saves, costs }: { changes: readonly Change[]; label: string; saves: string; costs: string }): JSX.Element {
  const lo = Math.min(0, ...changes.map((one) => one.value));
  const hi = Math.max(0, ...changes.map((one) => one.value));
  const pct = (v: number): number => (100 * v) / (hi - lo || 1);
  const zero = `${pct(-lo)}%`;
  return (
    <div class="diverging">
      <p class="ends" aria-hidden="true">
        <span>← {saves}</span>
        <span>{costs} →</span>
      </p>
      <ul aria-label={label}>
        {changes.map((one) => (
          <li key={one.id}>
            <span>{one.label}</span>
            <span class="diverging-track" aria-hidden="true">
              <span
                class={one.hatched ? "bar hatched" : "bar"}
                style={{ left: `${pct(Math.min(one.value, 0) - lo)}%`, width: `${pct(Math.abs(one.value))}%`, "--bar": one.colour }}
              />
              <span class="diverging-zero" style={{ left: zero }} />
            </span>
            <span class="num">{one.text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
