// SPDX-License-Identifier: Apache-2.0
//
// What the reader chose, and what there is to choose. It lives in the address: model, card, prec, stack.

import { must, type Card, type Estimate, type EstimateRequest, type EstimateSource, type ModelShape, type Stack } from "../../app/core.js";
import { sizeB } from "../../app/format.js";
import { param } from "../../app/route.js";
import { plainName, tableRows } from "../../app/rows.js";
import type { Option } from "../../parts/controls.js";

/** transformers with any version of bitsandbytes: what the published curves are of. */
export const PUBLISHED = "transformers";
const DEFAULT = { model: "Qwen2-7B", card: "RTX 4090", precision: "NF4", stack: PUBLISHED };
const OTHER_SIZES_B = [13, 32, 70];
const ORDER = ["NF4", "NF4-DQ", "Q4_0", "INT8", "W8A16", "Q8_0", "FP8"];
const FOUR_BITS = new Set(["NF4", "NF4-DQ", "Q4_0"]);

export interface Choice {
  /** A built-in model's name, or a size: "13B". */
  model: string;
  params_b: number;
  /** null: a size alone was chosen. */
  shape: ModelShape | null;
  card: string;
  precision: string;
  /** The control's value: "transformers", "bitsandbytes 0.45.5", "native", … */
  stack: string;
  engine: string;
  /** A version of bitsandbytes; null: any. */
  version: string | null;
  /** A member of the link that names nothing here. */
  unknown: string | null;
}

export const models = (): readonly ModelShape[] => must("models", {});
export const cards = (): readonly Card[] => must("cards", {});
export const stacks = (): readonly Stack[] => must("stacks", {});

function modelOf(asked: string): { model: string; params_b: number; shape: ModelShape | null } | null {
  const shape = models().find((one) => plainName(one.name) === plainName(asked));
  if (shape !== undefined) {
    return { model: shape.name, params_b: shape.params_b, shape };
  }
  const size = /^(\d{1,4}(?:\.\d{1,3})?)B$/i.exec(asked);
  return size === null ? null : { model: `${size[1]}B`, params_b: Number(size[1]), shape: null };
}

export function stackOf(value: string): { engine: string; version: string | null } {
  return value.startsWith("bitsandbytes ") ? { engine: PUBLISHED, version: value } : { engine: value, version: null };
}

const NAME_MAX = 64; // as the core has it

/** A name of the address, no longer than a name can be. */
function short(name: string): string | null {
  return param(name)?.slice(0, NAME_MAX) ?? null;
}

export function choice(): Choice {
  const asked = short("model") ?? DEFAULT.model;
  const model = modelOf(asked);
  const card = short("card") ?? DEFAULT.card;
  const stack = short("stack") ?? DEFAULT.stack;
  return {
    ...(model ?? (modelOf(DEFAULT.model) as NonNullable<typeof model>)),
    card: cards().find((one) => plainName(one.name) === plainName(card))?.name ?? card,
    precision: (short("prec") ?? DEFAULT.precision).toUpperCase(),
    stack,
    ...stackOf(stack),
    unknown: model === null ? asked : null,
  };
}

/** What the core is asked. */
export function request(of: Choice): EstimateRequest {
  return {
    params_b: of.params_b,
    arch: of.card,
    precision: of.precision,
    model: of.shape?.name ?? null,
    engine: of.engine === PUBLISHED ? null : of.engine,
    stack: of.version,
  };
}

/** What answered; the current rules, which this view asks by, always say it. */
export function sourceOf(estimate: Estimate): EstimateSource {
  return estimate.source ?? "curve";
}

/** Members of the address for a choice; what is the default is left out. */
export function members(of: { model?: string; card?: string; precision?: string; stack?: string }): Record<string, string | null> {
  const next: Record<string, string | null> = {};
  const put = (name: string, value: string | undefined, fallback: string): void => {
    if (value !== undefined) {
      next[name] = value === fallback ? null : value;
    }
  };
  put("model", of.model, DEFAULT.model);
  put("card", of.card, DEFAULT.card);
  put("prec", of.precision, DEFAULT.precision);
  put("stack", of.stack, DEFAULT.stack);
  return next;
}

export function precisionsOf(engine: string): string[] {
  const known = new Set(stacks().flatMap((one) => (one.engine === engine ? one.precisions : [])));
  return ORDER.filter((one) => known.has(one));
}

/** The format to go on with in another engine: the same one, else one of as many bits. */
export function precisionIn(engine: string, now: string): string {
  const known = precisionsOf(engine);
  return known.includes(now) ? now : (known.find((one) => FOUR_BITS.has(one) === FOUR_BITS.has(now)) ?? known[0] ?? now);
}

/** The chosen value is always among the options, whatever a link says. */
function withChosen(options: Option[], value: string): Option[] {
  return options.some((one) => one.value === value) ? options : [...options, { value, label: value }];
}

export function modelOptions(value: string, other: string): Option[] {
  const named = models().map((one) => ({
    value: one.name,
    label: `${sizeB(one.params_b)} · ${one.name.replace(/-[\d.]+[BM]$/, "")}`,
  }));
  const sizes = OTHER_SIZES_B.map((size) => ({ value: `${size}B`, label: sizeB(size), group: other }));
  return withChosen([...named, ...sizes], value);
}

export function cardOptions(value: string, groups: { measured: string; other: string }): Option[] {
  const seen = new Set(tableRows().map((row) => row.gpu));
  const rank = (name: string): number => (seen.has(name) ? 0 : 1);
  return withChosen(
    cards()
      .map((one) => ({ value: one.name, label: one.name, group: seen.has(one.name) ? groups.measured : groups.other }))
      .sort((a, b) => rank(a.value) - rank(b.value)),
    value,
  );
}

export function precisionOptions(of: Choice): Option[] {
  return withChosen(
    precisionsOf(of.engine).map((one) => ({ value: one, label: one })),
    of.precision,
  );
}

export function stackOptions(value: string, words: { any: string; published: string; other: string }): Option[] {
  const versions = stacks().flatMap((one) => (one.engine === PUBLISHED && one.stack !== null ? [one.stack] : []));
  const engines = [...new Set(stacks().map((one) => one.engine))].filter((one) => one !== PUBLISHED);
  return withChosen(
    [
      { value: PUBLISHED, label: words.any, group: words.published },
      ...versions.sort().map((one) => ({ value: one, label: one, group: words.published })),
      ...engines.map((one) => ({ value: one, label: one, group: words.other })),
    ],
    value,
  );
}
