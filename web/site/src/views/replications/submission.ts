// SPDX-License-Identifier: Apache-2.0
//
// The text of a submission: what the file says, and what its sender adds. Markdown, with what a name could do in it escaped.

import { ask, type Check } from "../../app/core.js";
import { change, MINUS, range, sizeB } from "../../app/format.js";
import { basisWord } from "../../parts/tags.js";
import { lineWords } from "../run/lines.js";
import { member, type Point } from "../run/read.js";
import type { ReportItem } from "../run/store.js";
import { words } from "./words.js";

export interface Sender {
  handle: string;
  affiliation: string;
  trials: string;
  link: string;
  real: boolean;
  public: boolean;
  follow: boolean;
}

export const NOBODY: Sender = { handle: "", affiliation: "", trials: "1", link: "", real: false, public: false, follow: false };

/** How the report stands against the published curve, in a sentence; `graded`: the core could say. */
export function gradeOf({ report }: ReportItem): { graded: boolean; text: string } {
  const t = words();
  const outcome = ask("check", { report: report.text, name: "report" });
  if (!outcome.ok) {
    return { graded: false, text: lineWords(outcome.error) };
  }
  const of: Check = outcome.value;
  const { measured_pct: measured, reference_pct: reference, band_pct: band } = of;
  if (of.result === "not_gradable" || measured === null || reference === null || band === null) {
    return { graded: false, text: `${t.notGradable}${t.colon}${lineWords(of.reason ?? "")}` };
  }
  const borrowed = of.borrowed && of.arch_used !== null ? t.space + t.borrowed(of.arch_used) : "";
  return { graded: true, text: t.graded(of.result === "within" ? t.within : t.outside, change(measured), change(reference), band.toFixed(1)) + borrowed };
}

/** Whole numbers from 1 to 99, as typed. */
export const areTrials = (typed: string): boolean => /^[1-9]\d?$/.test(typed.trim());

/** As an address that ends nowhere but where it ends; null: none that a browser opens over the web. "" is no link. */
export function webLink(typed: string): string | null {
  if (typed.trim() === "") {
    return "";
  }
  try {
    const url = new URL(typed.trim());
    return url.protocol === "https:" || url.protocol === "http:" ? url.href.replaceAll("|", "%7C") : null;
  } catch {
    return null;
  }
}

export function isReady(point: Point | null, sender: Sender): boolean {
  return point !== null && point.basis === "measured" && sender.handle.trim() !== "" && sender.real && sender.public && areTrials(sender.trials) && webLink(sender.link) !== null;
}

const cell = (text: string): string => text.replace(/[\\`*_{}[\]<>()#+!|~&-]/g, "\\$&").replace(/\s+/g, " ").trim();

/** What the file says, by name; shown and sent alike. */
export function factsOf(item: ReportItem, point: Point): [name: string, value: string][] {
  const t = words();
  const f = t.fields;
  const { json, findings } = item.report;
  const text = (path: string): string => {
    const value = member(json, path);
    return typeof value === "string" || typeof value === "number" ? String(value) : "–";
  };
  return [
    [f.card, `${point.gpu ?? "–"} (${point.arch ?? text("system_under_test.gpu_arch")})`],
    [f.model, point.model + t.comma + sizeB(point.params_b)],
    [f.precision, point.precisionAssumed ? `${point.precision} ${t.assumed}` : point.precision],
    [f.change, change(point.delta_pct, 2)],
    [f.interval, point.ci95_pct === null ? t.once : t.interval(range(point.ci95_pct, 2), point.n)],
    [f.basis, basisWord(point.basis)],
    [f.engine, `${point.engine} · ${point.stack ?? t.noStack}${point.synthetic ? ` · ${t.synthetic}` : ""}`],
    [f.iterations, text("measurement.iterations")],
    [f.schema, `${text("schema_version")}${t.comma}${findings.length === 0 ? t.valid : t.findings(findings.length)}`],
  ];
}

export function summaryLine(point: Point): string {
  return `${words().heading}${words().colon}${point.gpu ?? "?"} · ${point.model} · ${point.precision} · ${point.engine} · ${change(point.delta_pct)}`;
}

/** Plain characters: what a form of another site takes as it is. */
const plain = (text: string): string => text.replaceAll("\u202f", " ").replaceAll(MINUS, "-");

export function submissionText(item: ReportItem, point: Point, grade: string, sender: Sender): string {
  const t = words();
  const f = t.fields;
  const row = ([name, value]: readonly [string, string]): string => `| ${cell(name)} | ${cell(value)} |`;
  const link = webLink(sender.link) ?? "";
  const added: [string, string][] = [
    [f.handle, sender.handle],
    [f.affiliation, sender.affiliation],
    [f.trials, sender.trials],
    [f.follow, sender.follow ? t.yes : t.no],
  ];
  return plain(
    [
      `# ${cell(summaryLine(point))}`,
      "",
      "| | |",
      "| --- | --- |",
      ...factsOf(item, point).map(row),
      row([f.check, grade]),
      ...added.filter(([, value]) => value.trim() !== "").map(row),
      ...(link === "" ? [] : [`| ${cell(f.link)} | <${link}> |`]),
      "",
      `- [x] ${t.real}`,
      `- [x] ${t.public}`,
      "",
      t.attach,
      "",
    ].join("\n"),
  );
}
