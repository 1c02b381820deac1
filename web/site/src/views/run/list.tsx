// SPDX-License-Identifier: Apache-2.0
//
// Everything that was dropped, a row each; the chosen row's details stand below.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { change, sizeB } from "../../app/format.js";
import { basisWord } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { fromWords, spreadWords } from "./overlay.js";
import type { Missing } from "./read.js";
import { items, pointOf, select, selected, type Item } from "./store.js";
import { words } from "./words.js";

const FIRST_ROWS = 20;

export function missingWords({ field, reason }: Missing): string {
  return words().missing[reason](field);
}

function ReportCell({ item }: { item: Item }): JSX.Element {
  const t = words();
  if (item.kind === "link") {
    return <>{t.claim}</>;
  }
  const n = item.report.findings.length;
  return (
    <>
      {n === 0 ? t.valid : t.findings(n)}
      {!item.report.point.ok && <span class="quiet"> · {t.noPoint}</span>}
    </>
  );
}

function Row({ item }: { item: Item }): JSX.Element {
  const point = pointOf(item);
  const here = selected.value?.id === item.id;
  return (
    <tr aria-current={here ? "true" : undefined}>
      <td>
        <button type="button" class="pick" aria-pressed={here} onClick={() => select(item.id)}>
          {fromWords(item)}
        </button>
      </td>
      {point === null ? (
        <td colSpan={6}>{item.kind === "report" && !item.report.point.ok ? missingWords(item.report.point.missing) : ""}</td>
      ) : (
        <>
          <td>
            {point.model} · {sizeB(point.params_b)}
          </td>
          <td>
            {point.gpu ?? "–"} {point.arch !== null && <span class="quiet">{point.arch}</span>}
          </td>
          <td>{point.precision}</td>
          <td class="num">
            {change(point.delta_pct)}
            <br />
            <span class="quiet">{spreadWords(point)}</span>
          </td>
          <td>{basisWord(point.basis)}</td>
          <td>{point.engine}</td>
        </>
      )}
      <td>
        <ReportCell item={item} />
      </td>
    </tr>
  );
}

export function List(): JSX.Element | null {
  const t = words();
  const [all, setAll] = useState(false);
  const rows = items.value;
  if (rows.length === 0) {
    return null;
  }
  const c = t.columns;
  // The latest come first: they are what the reader looks for.
  const shown = [...rows].reverse().slice(0, all ? rows.length : FIRST_ROWS);
  return (
    <div class="stack-y">
      <div class="scroll" role="region" tabIndex={0} aria-label={t.list}>
        <table class="results">
          <caption class="visually-hidden">{t.list}</caption>
          <thead>
            <tr>
              <th scope="col">{c.name}</th>
              <th scope="col">{c.model}</th>
              <th scope="col">{c.card}</th>
              <th scope="col">{c.precision}</th>
              <th scope="col" class="num">
                <Term id="delta-e">{c.change}</Term>
              </th>
              <th scope="col">
                <Term id="basis">{c.basis}</Term>
              </th>
              <th scope="col">
                <Term id="engine">{c.engine}</Term>
              </th>
              <th scope="col">
                <Term id="report">{c.report}</Term>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((item) => (
              <Row key={item.id} item={item} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && (
        <button type="button" class="show-all" onClick={() => setAll(true)}>
          {t.showAll(rows.length)}
        </button>
      )}
    </div>
  );
}
