// SPDX-License-Identifier: Apache-2.0
//
// One model, one format, every engine that anybody measured: the rows themselves, none left out, none averaged.

import type { JSX } from "preact";
import { change } from "../../app/format.js";
import { pageHref } from "../../app/links.js";
import { formatColour } from "../../app/palette.js";
import { measuredRows, stackName, type Row } from "../../app/rows.js";
import { Diverging } from "../../parts/diverging.js";
import { trialsText } from "../../parts/tags.js";
import type { Choice } from "./choice.js";
import { words } from "./words.js";

/** Where the chosen case has one sign only, this one has two. */
const FALLBACK = { model: "TinyLlama-1.1B", precision: "NF4" };

/** Longer contexts are another workload (docs/estimator.md). */
const CONTEXT_MOST = 2048;

function rowsOf(model: string, precision: string): Row[] {
  return measuredRows().filter((row) => row.model === model && row.precision === precision && (row.batch === null || row.batch === 1) && (row.context ?? 0) <= CONTEXT_MOST);
}

function subject(of: Choice): { model: string; precision: string; rows: Row[]; other?: true } {
  const model = of.shape?.name ?? "";
  const rows = rowsOf(model, of.precision);
  return new Set(rows.map((row) => Math.sign(row.delta_pct))).size > 1 && new Set(rows.map((row) => row.engine)).size > 1
    ? { model, precision: of.precision, rows }
    : { ...FALLBACK, rows: rowsOf(FALLBACK.model, FALLBACK.precision), other: true };
}

export function Sign({ of }: { of: Choice }): JSX.Element {
  const t = words();
  const { model, precision, rows, other } = subject(of);
  const ordered = [...rows].sort((a, b) => a.delta_pct - b.delta_pct);
  return (
    <section class="c7 stack-y" aria-labelledby="sign">
      <h2 id="sign">{t.signTitle}</h2>
      <p>{(other === true ? t.signOther : "") + t.signText(model, precision)}</p>
      <Diverging
        label={t.signLabel(model)}
        saves={t.saves}
        costs={t.costs}
        changes={ordered.map((row) => ({
          id: row.id,
          label: (
            <>
              <b>{row.engine}</b> · {stackName(row.engine, row.stack) ?? t.stackUnnamed}
              <span class="quiet"> {row.gpu}</span>
            </>
          ),
          value: row.delta_pct,
          text: `${change(row.delta_pct)} · ${row.n === 1 ? "n = 1" : trialsText(row.n)}`,
          colour: formatColour(precision),
          hatched: row.n < 2,
        }))}
      />
      <p class="quiet">{t.hatched}</p>
      <p>
        <a href={pageHref("notes/2026-12-01-the-engine-decides-the-sign")}>{t.signNote}</a>
      </p>
    </section>
  );
}
