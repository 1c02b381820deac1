// SPDX-License-Identifier: Apache-2.0
//
// Small labels that stand beside numbers: basis (by word and shape, never by colour alone), replication, stack.

import type { JSX } from "preact";
import type { Basis, Confidence } from "../app/core.js";
import { strings } from "../app/text.js";
import { Term } from "./term.js";

const words = strings({
  en: {
    basis: {
      measured: "measured",
      replayed: "replayed",
      computed: "computed",
      interpolated: "interpolated",
      extrapolated: "extrapolated",
      estimated: "estimated",
      modelled: "modelled",
      unavailable: "unavailable",
    } satisfies Record<Basis, string>,
    confidence: { high: "high confidence", medium: "medium confidence", low: "low confidence" } satisfies Record<Confidence, string>,
    once: "measured once (n = 1, spread unknown)",
    times: (n: number) => `n = ${n}`,
    unstated: "n not stated",
    onceShort: "n = 1, spread unknown",
    stack: "Stack",
    colon: ": ",
    noStack: "stack not recorded",
  },
  zh: {
    basis: {
      measured: "实测",
      replayed: "回放",
      computed: "计算",
      interpolated: "内插",
      extrapolated: "外推",
      estimated: "估计",
      modelled: "模型推算",
      unavailable: "无数据",
    },
    confidence: { high: "可信度高", medium: "可信度中", low: "可信度低" },
    once: "只测过一次（n = 1，离散程度未知）",
    times: (n: number) => `n = ${n}`,
    unstated: "n 未注明",
    onceShort: "n = 1，离散程度未知",
    stack: "软件栈",
    colon: "：",
    noStack: "未记录软件栈",
  },
});

/** Filled for what was measured, half for what follows from it, hollow for the rest. */
const SHAPES: Record<Basis, string> = {
  measured: "●",
  replayed: "◉",
  computed: "◐",
  interpolated: "◐",
  extrapolated: "◌",
  estimated: "○",
  modelled: "○",
  unavailable: "∅",
};

export function basisWord(basis: Basis): string {
  return words().basis[basis];
}

/** `of`: the number it is about, where several stand near. */
export function BasisTag({ basis, of }: { basis: Basis; of?: string }): JSX.Element {
  return (
    <span class={`tag basis-${basis}`}>
      {of !== undefined && `${of}${words().colon}`}
      <span aria-hidden="true">{SHAPES[basis]} </span>
      <Term id={basis}>{basisWord(basis)}</Term>
    </span>
  );
}

export function ConfidenceTag({ confidence }: { confidence: Confidence }): JSX.Element {
  return <span class="tag">{words().confidence[confidence]}</span>;
}

/** Of a row of the table, where 0 means that the source does not say. */
export function trialsText(n: number): string {
  const t = words();
  return n === 0 ? t.unstated : n === 1 ? t.onceShort : t.times(n);
}

/** How often it was measured. */
export function ReplicationTag({ n }: { n: number }): JSX.Element {
  const t = words();
  return <span class={n >= 2 ? "tag" : "tag hatched"}>{n >= 2 ? t.times(n) : t.once}</span>;
}

/** Engine and stack of a number; always beside it. */
export function StackLine({ engine, stack }: { engine: string; stack: string | null }): JSX.Element {
  const t = words();
  return (
    <span class="stack">
      <Term id="stack">{t.stack}</Term>
      {t.colon}
      {engine} · {stack === null || stack === "" ? t.noStack : stack}
    </span>
  );
}
