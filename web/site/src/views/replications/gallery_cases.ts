// SPDX-License-Identifier: Apache-2.0
//
// What was measured, in cases: the rows of the table and of the reports; the core puts them together and says how far their
// sessions agree.

import { must, type Agreement, type MeasuredCase } from "../../app/core.js";
import { param } from "../../app/route.js";
import { measuredRows, stackName, type Row } from "../../app/rows.js";

export interface Case {
  key: string;
  of: MeasuredCase;
  /** By stack, then session. */
  rows: Row[];
}

/** As a reader meets them: disagreement first. */
export const MOST_APART_FIRST: readonly Agreement[] = ["sign", "differ", "beyond", "agree", "single"];

let known: readonly Case[] | null = null;

export function allCases(): readonly Case[] {
  if (known === null) {
    const rows = new Map(measuredRows().map((row) => [row.id, row]));
    const results = [...rows.values()].map((row) => ({
      id: row.id,
      gpu: row.gpu,
      model: row.model,
      params_b: row.params_b,
      precision: row.precision,
      engine: row.engine,
      stack: stackName(row.engine, row.stack),
      session: row.session,
      window: row.window,
      batch: row.batch,
      context: row.context,
      delta_pct: row.delta_pct,
      ci95_pct: row.ci95_pct,
      expanded_pct: row.expanded_pct,
    }));
    const stackOf = (row: Row): string => stackName(row.engine, row.stack) ?? "~"; // what is not recorded comes last
    known = must("cases", { results })
      .map((of): Case => {
        const own = of.rows.flatMap((id) => rows.get(id) ?? []);
        own.sort((a, b) => stackOf(a).localeCompare(stackOf(b)) || a.session.localeCompare(b.session));
        return { key: [of.gpu, of.model, of.precision, of.engine, of.window, of.batch, of.context].join("|"), of, rows: own };
      })
      .sort((a, b) => MOST_APART_FIRST.indexOf(a.of.agreement) - MOST_APART_FIRST.indexOf(b.of.agreement) || b.of.spread_pct - a.of.spread_pct);
  }
  return known;
}

/** Points beyond which the core calls sessions apart. */
export const differAbove = (): number => allCases()[0]?.of.differ_above_pct ?? 0;

export const SHOWS = ["several", "disagree", "sign", "differ", "beyond", "agree", "single", "all"] as const;
export type Show = (typeof SHOWS)[number];

export function isShown({ agreement }: MeasuredCase, show: Show): boolean {
  switch (show) {
    case "all":
      return true;
    case "several":
      return agreement !== "single";
    case "disagree":
      return agreement === "sign" || agreement === "differ" || agreement === "beyond";
    default:
      return agreement === show;
  }
}

export interface Filters {
  show: Show;
  gpu: string;
  prec: string;
  engine: string;
}

/** From the address; "" is any. */
export function filters(): Filters {
  return { show: SHOWS.find((one) => one === param("show")) ?? "several", gpu: param("gpu") ?? "", prec: param("prec") ?? "", engine: param("engine") ?? "" };
}

export function shownCases({ show, gpu, prec, engine }: Filters): Case[] {
  const is = (asked: string, has: string): boolean => asked === "" || asked === has;
  return allCases().filter(({ of }) => isShown(of, show) && is(gpu, of.gpu) && is(prec, of.precision) && is(engine, of.engine));
}
