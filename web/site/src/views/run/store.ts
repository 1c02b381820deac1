// SPDX-License-Identifier: Apache-2.0
//
// What the reader dropped or opened by a link, for the views that show it. It lives as long as the page and is sent nowhere.

import { batch, computed, signal } from "@preact/signals";
import { ask } from "../../app/core.js";
import { FILES_MAX, readText, type Delivery, type FileProblem, type Given } from "./files.js";
import { pointOfLink, readReport, type Point, type Report } from "./read.js";
import { isTrace, parseTrace, type Trace, type TraceError } from "./trace.js";

export interface ReportItem {
  kind: "report";
  id: string;
  name: string;
  report: Report;
}

export interface LinkItem {
  kind: "link";
  id: string;
  /** Its place in the link, from 1. */
  place: number;
  point: Point;
  /** What the link calls its source. */
  source: string | null;
}

export interface TraceItem {
  kind: "trace";
  id: string;
  name: string;
  text: string;
  sha256: string | null;
  trace: Trace;
}

export type Item = ReportItem | LinkItem;

export type Problem =
  | { id: string; name: string; kind: "file"; problem: FileProblem }
  | { id: string; name: string; kind: "report"; line: string }
  | { id: string; name: string; kind: "trace"; error: TraceError }
  | { id: string; name: string; kind: "link"; place: number; line: string }
  | { id: string; name: string; kind: "too_many"; most: number }
  | { id: string; name: string; kind: "skipped"; files: readonly string[] };

export const items = signal<readonly Item[]>([]);
export const traces = signal<readonly TraceItem[]>([]);
/** What was wrong with the latest drop, and with the link; earlier points stay. */
export const problems = signal<readonly Problem[]>([]);
export const reading = signal(false);
const chosen = signal<string | null>(null);

/** The one whose details are shown: the chosen one, or the last. */
export const selected = computed<Item | null>(() => items.value.find((one) => one.id === chosen.value) ?? items.value.at(-1) ?? null);

export function select(id: string): void {
  chosen.value = id;
}

export function pointOf(item: Item): Point | null {
  return item.kind === "link" ? item.point : item.report.point.ok ? item.report.point.value : null;
}

let made = 0;
const newId = (): string => `d${++made}`;

type Read = ReportItem | TraceItem | Problem;

function readTrace(name: string, text: string, sha256: string | null): Read {
  const outcome = parseTrace(text);
  return outcome.ok
    ? { kind: "trace", id: newId(), name, text, sha256, trace: outcome.trace }
    : { id: newId(), name, kind: "trace", error: outcome.error };
}

/** One file: a report, a trace, or what is wrong with it. */
export async function readFile(given: Given): Promise<Read> {
  const { name } = given;
  const file = await readText(given);
  if (!file.ok) {
    return { id: newId(), name, kind: "file", problem: file.problem };
  }
  if (isTrace(file.text)) {
    return readTrace(name, file.text, file.sha256);
  }
  if (/\.csv$/i.test(name)) {
    return { id: newId(), name, kind: "trace", error: { line: 1, reason: "header" } };
  }
  const outcome = readReport(file.text);
  return outcome.ok ? { kind: "report", id: newId(), name, report: outcome.report } : { id: newId(), name, kind: "report", line: outcome.error };
}

const isTraceItem = (one: Read): one is TraceItem => one.kind === "trace" && "trace" in one;
const isReport = (one: Read): one is ReportItem => "report" in one;
const isProblem = (one: Read): one is Problem => !isTraceItem(one) && !isReport(one);

function keep(read: readonly Read[]): void {
  batch(() => {
    const fresh = read.filter(isTraceItem);
    const again = (old: TraceItem): boolean => fresh.some((one) => one.name === old.name && one.text === old.text);
    items.value = [...items.value, ...read.filter(isReport)];
    traces.value = [...traces.value.filter((old) => !again(old)), ...fresh];
    problems.value = [...problems.value, ...read.filter(isProblem)];
    const last = read.filter(isReport).at(-1);
    if (last !== undefined) {
      chosen.value = last.id;
    }
  });
}

const BREATH_MS = 40; // of reading at once, before the page may draw

let queue: Promise<void> = Promise.resolve();
let cleared = 0; // times; what was being read by then is dropped

/** Reads files after those that are being read; what is wrong with one leaves all others as they are. */
export function addFiles({ given, skipped, failed }: Delivery): Promise<void> {
  const before = cleared;
  queue = queue.then(async () => {
    reading.value = true;
    problems.value = problems.value.filter((one) => one.kind === "link");
    const read: Read[] = [];
    let since = performance.now();
    for (const one of given.slice(0, FILES_MAX)) {
      read.push(await readFile(one));
      if (performance.now() - since > BREATH_MS) {
        await new Promise((resolve) => setTimeout(resolve));
        since = performance.now();
      }
    }
    read.push(...failed.map((name): Problem => ({ id: newId(), name, kind: "file", problem: { kind: "unreadable" } })));
    if (skipped.length > 0) {
      read.push({ id: newId(), name: "", kind: "skipped", files: skipped });
    }
    if (given.length > FILES_MAX) {
      read.push({ id: newId(), name: "", kind: "too_many", most: FILES_MAX });
    }
    if (before === cleared) {
      keep(read);
    }
    reading.value = false;
  });
  return queue;
}

const LINKS_MAX = 16; // as the core has it
let opened = "";

/** The points of `overlay=`, each once; a bad one is said and the others are shown. */
export function openLinks(blobs: readonly string[]): void {
  const key = blobs.join("&");
  if (key === opened || blobs.length === 0) {
    return; // a view that is come back to keeps its points
  }
  opened = key;
  const found: Item[] = [];
  const wrong: Problem[] = [];
  blobs.slice(0, LINKS_MAX).forEach((blob, i) => {
    const outcome = ask("share_decode", { url: blob });
    if (outcome.ok) {
      found.push(...outcome.value.map((one): LinkItem => ({ kind: "link", id: newId(), place: i + 1, point: pointOfLink(one), source: one.source })));
    } else {
      wrong.push({ id: newId(), name: "", kind: "link", place: i + 1, line: outcome.error });
    }
  });
  if (blobs.length > LINKS_MAX) {
    wrong.push({ id: newId(), name: "", kind: "too_many", most: LINKS_MAX });
  }
  batch(() => {
    items.value = [...items.value.filter((one) => one.kind === "report"), ...found];
    problems.value = [...problems.value.filter((one) => one.kind !== "link"), ...wrong];
  });
}

export function clear(): void {
  batch(() => {
    items.value = [];
    traces.value = [];
    problems.value = [];
    chosen.value = null;
  });
  opened = "";
  cleared++;
}

/** The traces that a report names, as far as they are here: by their hash, else by their name in the report's own folder. */
export function tracesOf(item: ReportItem): (TraceItem | null)[] {
  const folder = item.name.slice(0, item.name.lastIndexOf("/") + 1);
  return item.report.traces.map(
    ({ file, sha256 }) =>
      traces.value.find((one) => sha256 !== null && one.sha256 === sha256) ??
      traces.value.filter((one) => one.name === folder + file).at(-1) ??
      traces.value.filter((one) => one.name.slice(one.name.lastIndexOf("/") + 1) === file).at(-1) ??
      null,
  );
}

/** Traces that no report here names. */
export const looseTraces = computed<readonly TraceItem[]>(() => {
  const named = new Set(items.value.flatMap((one) => (one.kind === "report" ? tracesOf(one) : [])));
  return traces.value.filter((one) => !named.has(one));
});
