// SPDX-License-Identifier: Apache-2.0
//
// How numbers are written. Nothing is computed here but the scale of a unit.

import { strings } from "./text.js";

export const NARROW = "\u202f"; // between a number and its unit, never at a line's end
export const MINUS = "\u2212";

function fixed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? MINUS + text : text;
}

/** "−28.5 %", "+36.0 %": a change; always with its sign. */
export function change(pct: number, digits = 1): string {
  const text = Math.abs(pct) < 1000 ? fixed(pct, digits) : number(pct, 6);
  return `${pct > 0 && /[1-9]/.test(text) ? "+" : ""}${text}${NARROW}%`;
}

/** "28.5 %": the size of a change, for sentences that say the direction in words. */
export function size(pct: number, digits = 1): string {
  return change(Math.abs(pct), digits).replace("+", "");
}

/** "−53.2 … −6.7 %" */
export function range([lo, hi]: readonly [number, number], digits = 1): string {
  const sign = (v: number): string => (v > 0 ? "+" : "") + fixed(v, digits);
  return `${sign(lo)} … ${sign(hi)}${NARROW}%`;
}

/** A plain number with at most `digits` significant digits and commas between thousands, which English and Chinese share.
 * (Intl does the same, and takes longer to start than the first view to draw.) */
export function number(value: number, digits = 4): string {
  const text = String(Number(value.toPrecision(digits)));
  const [, sign = "", whole = text, rest = ""] = /^(-?)(\d+)(\.\d+)?$/.exec(text) ?? [];
  return (sign === "" ? "" : MINUS) + whole.replace(/\B(?=(\d{3})+$)/g, ",") + rest;
}

export function quantity(value: number, unit: string, digits = 4): string {
  return `${number(value, digits)}${NARROW}${unit}`;
}

/** Energy per token: mJ below 10 J. */
export function energyPerToken(mj: number): string {
  return mj < 10_000 ? quantity(mj, "mJ") : quantity(mj / 1000, "J");
}

/** Energy per million tokens, from mJ per token: J, kJ or MJ (1 mJ a token is 1 kJ a million). */
export function energyPerMillion(mj: number): string {
  const joules = mj * 1000;
  return joules >= 1e6
    ? `${(joules / 1e6).toFixed(2)}${NARROW}MJ`
    : joules >= 1e3
      ? `${(joules / 1e3).toFixed(0)}${NARROW}kJ`
      : `${joules.toFixed(0)}${NARROW}J`;
}

/** "7B", "0.5B" */
export function sizeB(params_b: number): string {
  return `${number(params_b)}B`;
}

const words = strings({
  en: {
    lowers: (p: string) => `saves ${p} of the energy per token`,
    raises: (p: string) => `costs ${p} more energy per token`,
    same: "changes the energy per token by less than 0.05 %",
    open: "may save or cost energy per token",
  },
  zh: {
    lowers: (p: string) => `每个 token 的能耗减少 ${p}`,
    raises: (p: string) => `每个 token 的能耗增加 ${p}`,
    same: "每个 token 的能耗变化不到 0.05 %",
    open: "每个 token 的能耗可能减少，也可能增加",
  },
});

/** A change in words; no sign is told that the range around it does not settle. */
export function changeWords(pct: number, settled = true): string {
  const t = words();
  if (!settled) {
    return t.open;
  }
  return Math.abs(pct) < 0.05 ? t.same : pct < 0 ? t.lowers(size(pct)) : t.raises(size(pct));
}
