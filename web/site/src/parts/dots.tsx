// SPDX-License-Identifier: Apache-2.0
//
// Changes as points on one axis, a row each, with their intervals. Left of the line saves, right of it costs; hollow:
// measured once.

import type { ComponentChildren, JSX } from "preact";

export interface Dot {
  id: string;
  label: ComponentChildren;
  value: number;
  /** Of the number; left out where none is known. */
  range?: readonly [number, number] | undefined;
  /** The number with its unit and what says how sure it is. */
  text: ComponentChildren;
  colour: string;
  filled: boolean;
}

const AIR = 0.04; // of the track, at both ends

export function Dots({ dots, label, saves, costs }: { dots: readonly Dot[]; label: string; saves: string; costs: string }): JSX.Element {
  const ends = dots.flatMap((one) => [one.value, ...(one.range ?? [])]);
  const lo = Math.min(0, ...ends);
  const hi = Math.max(0, ...ends);
  const at = (v: number): string => `${100 * (AIR + ((1 - 2 * AIR) * (v - lo)) / (hi - lo || 1))}%`;
  return (
    <div class="dots">
      <p class="dots-ends" aria-hidden="true">
        <span>← {saves}</span>
        <span>{costs} →</span>
      </p>
      <ul aria-label={label}>
        {dots.map((one) => (
          <li key={one.id}>
            <span class="dots-label">{one.label}</span>
            <span class="dots-track" aria-hidden="true">
              <span class="dots-zero" style={{ left: at(0) }} />
              {one.range !== undefined && <span class="dots-range" style={{ left: at(one.range[0]), right: `calc(100% - ${at(one.range[1])})`, "--dot": one.colour }} />}
              <span class={one.filled ? "dot" : "dot hollow"} style={{ left: at(one.value), "--dot": one.colour }} />
            </span>
            <span class="dots-text num">{one.text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
