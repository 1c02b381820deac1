// SPDX-License-Identifier: Apache-2.0
//
// The text of a submission: what the file says, and what its sender adds. Markdown, with what a name could do in it escaped.

import { ask, type Check } from "../../app/core.js";
import { change, range } from "../../app/format.js";
import type { Point, Report } from "../run/read.js";
import { member } from "../run/read.js";
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

/** How the report stands against the published curve; across stacks only where the core says so. */
export function gradeOf(report: Report): Check | null {
  const outcome = ask("check", { report: report.text, name: "report" });
  return outcome.ok ? outcome.value : null;
}

export function isReady(point: Point | null, sender: Sender): boolean {
  const trials = Number(sender.trials);
  return point !== null && point.basis === "measured" && sender.handle.trim() !== "" && sender.real && sender.public && Number.isInteger(trials) && trials >= 1 && trials <= 99;
}

const cell = (text: string): string => text.replace(/[\\`*_{}[\]<>()#+!|~-]/g, "\\$&").replace(/\s+/g, " ").trim();

function facts(report: Report, point: Point, grade: string): [string, string][] {
  const f = words().fields;
  const engine = member(report.json, "workload.engine");
  const schema = member(report.json, "schema_version");
  return [
    [f.model, point.model],
    [f.size, `${point.params_b} B`],
    [f.card, point.gpu ?? "–"],
    [f.arch, point.arch ?? "–"],
    [f.precision, point.precision],
    [f.change, change(point.delta_pct, 2)],
    [f.interval, point.ci95_pct === null ? "n = 1" : range(point.ci95_pct, 2)],
    [f.basis, point.basis],
    [f.engine, typeof engine === "string" ? engine : "–"],
    [f.schema, typeof schema === "string" ? schema : "–"],
    [f.check, grade],
  ];
}

export function summaryLine(point: Point): string {
  return `${words().heading}: ${point.gpu ?? "?"} · ${point.model} · ${point.precision} · ${change(point.delta_pct)}`;
}

export function submissionText(report: Report, point: Point, grade: string, sender: Sender): string {
  const t = words();
  const f = t.fields;
  const rows: [string, string][] = [
    ...facts(report, point, grade),
    [f.handle, sender.handle],
    [f.affiliation, sender.affiliation],
    [f.trials, sender.trials],
    [f.link, sender.link],
    [f.follow, sender.follow ? t.yes : t.no],
  ];
  const lines = rows.filter(([, value]) => value !== "").map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`);
  return [`# ${cell(summaryLine(point))}`, "", "| | |", "| --- | --- |", ...lines, "", `- [x] ${t.real}`, `- [x] ${t.public}`, "", t.attach, ""].join("\n");
}
