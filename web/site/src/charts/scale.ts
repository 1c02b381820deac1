// SPDX-License-Identifier: Apache-2.0

import { ticks as linearTicks } from "d3-array";
import type { Axis } from "./types.js";

export interface Scale {
  (value: number): number;
  domain: readonly [number, number];
  ticks: readonly number[];
  text(value: number): string;
}

/** Log axes: 1, 2 and 5 of every decade inside the domain, or 1 alone where that would be too many. */
function logTicks([lo, hi]: readonly [number, number], n: number): number[] {
  const decades = Math.log10(hi / lo);
  const steps = decades * 3 <= n * 1.6 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(lo)); power <= Math.ceil(Math.log10(hi)); power++) {
    for (const step of steps) {
      const value = Number(`${step}e${power}`);
      if (value >= lo * 0.9999 && value <= hi * 1.0001) {
        ticks.push(value);
      }
    }
  }
  return ticks;
}

/** `range`: pixels of the domain's ends. Log axes ask for positive domains. `n`: ticks, roughly. */
export function makeScale(axis: Axis, range: readonly [number, number], n: number): Scale {
  const domain: [number, number] = [axis.domain[0], axis.domain[1]];
  const log = axis.scale === "log";
  const along = log ? Math.log : Number;
  const [from, to] = [along(domain[0]), along(domain[1])];
  const place = (value: number): number => range[0] + ((along(value) - from) / (to - from || 1)) * (range[1] - range[0]);
  const ticks = axis.ticks ?? (log ? logTicks(domain, n) : linearTicks(domain[0], domain[1], n));
  const plain = (value: number): string => String(Number(value.toPrecision(12))).replace("-", "\u2212");
  const tenth = (px: number): number => Math.round(px * 10) / 10; // of a pixel: no eye sees less, and the page is shorter
  return Object.assign((value: number) => tenth(place(value)), { domain, ticks, text: axis.format ?? plain });
}

/** As spanWithZero, and both half-planes are high enough for their labels. */
export function spanOfSigns(values: readonly number[]): [number, number] {
  const [lo, hi] = spanWithZero(values, 0.04);
  const least = 0.16 * (hi - lo);
  return [Math.min(lo, -least), Math.max(hi, least)];
}

const FAR_SPANS = 3;
const FAR_LEAST = 50; // of a span; points of ΔE%
const MANY = 8;

/**
 * As spanOfSigns of what a chart is about, `kept`, and of those of `others` that lie near it: at most three spans away, or
 * as far as the middle half of many others reaches. One absurd value leaves the rest legible.
 */
export function spanOfBulk(kept: readonly number[], others: readonly number[]): [number, number] {
  const sorted = [...others].sort((a, b) => a - b);
  const middle = sorted.length < MANY ? [] : sorted.slice(Math.floor(sorted.length / 4), Math.ceil((3 * sorted.length) / 4));
  const base = [0, ...kept, ...middle];
  const [lo, hi] = [Math.min(...base), Math.max(...base)];
  const room = FAR_SPANS * Math.max(hi - lo, FAR_LEAST);
  return spanOfSigns([lo, hi, ...sorted.filter((v) => v >= lo - room && v <= hi + room)]);
}

/** A domain that holds all values and zero, with air at both ends. */
function spanWithZero(values: readonly number[], air = 0.08): [number, number] {
  const lo = Math.min(0, ...values);
  const hi = Math.max(0, ...values);
  const room = (hi - lo || 1) * air;
  return [lo - room, hi + room];
}
