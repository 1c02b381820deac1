// SPDX-License-Identifier: Apache-2.0
//
// The case that is asked about, as it stands in the address. Names of the published site: size, arch, prec, batch, ctx.

import { ask, must, type EstimateRequest, type Stack } from "../../app/core.js";
import { param, type Changes } from "../../app/route.js";

export interface Case {
  /** Texts as typed; the core says what is wrong with them. */
  size: string;
  arch: string;
  precision: string;
  batch: string;
  context: string;
  model: string;
  engine: string;
  /** "" = any. */
  stack: string;
}

const DEFAULTS: Case = {
  size: "7",
  arch: "ampere",
  precision: "NF4",
  batch: "1",
  context: "2048",
  model: "",
  engine: "transformers",
  stack: "",
};
const MEMBERS: Record<keyof Case, string> = {
  size: "size",
  arch: "arch",
  precision: "prec",
  batch: "batch",
  context: "ctx",
  model: "model",
  engine: "engine",
  stack: "stack",
};

export function currentCase(): Case {
  const found = { ...DEFAULTS };
  for (const key of Object.keys(MEMBERS) as (keyof Case)[]) {
    found[key] = param(MEMBERS[key]) ?? DEFAULTS[key];
  }
  return found;
}

/** Members of the address; what is as by default is left out, but size, arch and prec, which the published links have. */
export function caseMembers(one: Case): Changes {
  const members: Changes = {};
  for (const key of Object.keys(MEMBERS) as (keyof Case)[]) {
    const always = key === "size" || key === "arch" || key === "precision";
    members[MEMBERS[key]] = always || one[key] !== DEFAULTS[key] ? one[key] : null;
  }
  return members;
}

/** What goes to the core, when no number is wrong. */
export function request(one: Case): EstimateRequest {
  const number = (text: string): number => (text.trim() === "" ? 0 : Number(text));
  return {
    params_b: number(one.size),
    arch: one.arch,
    precision: one.precision,
    batch: number(one.batch),
    ctx: number(one.context),
    model: one.model === "" ? null : one.model,
    ...(one.engine === "transformers" ? {} : { engine: one.engine }),
    ...(one.engine === "transformers" && one.stack !== "" ? { stack: one.stack } : {}),
  };
}

export function stacks(): Stack[] {
  return must("stacks", {});
}

/** Precisions that were measured under an engine, FP16 apart. */
export function precisionsOf(engine: string): string[] {
  const all = new Set(stacks().flatMap((one) => (one.engine === engine ? one.precisions : [])));
  return [...all];
}

/** A question in words as a case, as the command line reads it: what it does not name is the default; size and card stay. */
export function readQuestion(text: string, now: Case): { ok: true; value: Case; card: string | null } | { ok: false; error: string } {
  const outcome = ask("query", { text });
  if (!outcome.ok) {
    return outcome;
  }
  const { request: asked, card, unread } = outcome.value;
  if (unread !== undefined) {
    return { ok: false, error: unread };
  }
  return {
    ok: true,
    card,
    value: {
      ...now,
      size: asked.params_b === null ? now.size : String(asked.params_b),
      arch: card ?? asked.arch ?? now.arch,
      precision: asked.precision ?? "NF4",
      batch: asked.batch === null ? "1" : String(asked.batch),
      context: asked.ctx === null ? "2048" : String(asked.ctx),
      model: asked.model ?? "",
      engine: asked.engine ?? "transformers",
      stack: asked.stack ?? "",
    },
  };
}
