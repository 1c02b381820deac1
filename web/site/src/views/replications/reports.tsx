// SPDX-License-Identifier: Apache-2.0
//
// The reports of this repository, a row each, with a download.

import gallery from "ecocompute-gallery";
import type { JSX } from "preact";
import { change, energyPerToken, number, range, sizeB } from "../../app/format.js";
import { stackName } from "../../app/rows.js";
import { DataTable } from "../../charts/chart.js";
import { downloadCsv } from "../../charts/export.js";
import type { Table } from "../../charts/types.js";
import { Term } from "../../parts/term.js";
import type { GalleryRow } from "./gallery.js";
import { words } from "./words.js";

const rows: readonly GalleryRow[] = gallery.rows;

/** As numbers, for a spreadsheet. */
function numbers(): Table {
  return {
    columns: words().csvColumns,
    rows: rows.map((one) => [
      one.session,
      one.date,
      one.gpu,
      one.model,
      one.params_b,
      one.precision,
      one.engine,
      one.engine_version,
      one.weights,
      one.protocol,
      one.window,
      one.batch,
      one.context,
      one.basis,
      one.delta_pct,
      one.ci95_repeat_pct?.[0] ?? null,
      one.ci95_repeat_pct?.[1] ?? null,
      one.expanded_pct,
      one.n_blocks,
      one.energy_mj,
      one.energy_fp16_mj,
      one.warnings.join(" "),
      one.report,
    ]),
  };
}

function inWords(one: GalleryRow): string[] {
  const t = words();
  return [
    one.session,
    `${one.gpu} · ${one.model.replace(/ \(shape only\)$/, "")} (${sizeB(one.params_b)})`,
    one.precision,
    change(one.delta_pct),
    one.ci95_repeat_pct === null ? t.once : t.interval(range(one.ci95_repeat_pct), one.n_blocks),
    t.workload(`${one.engine}${t.comma}${stackName(one.engine, one.engine_version) ?? t.noStack}`, one.batch, one.context === null ? null : number(one.context, 6), one.window),
    energyPerToken(one.energy_mj),
    one.warnings.join(", "),
    one.report,
  ];
}

export function Reports(): JSX.Element {
  const t = words();
  const text = { title: t.own, subtitle: t.ownLead, source: t.sourceLine };
  return (
    <section class="stack-y" aria-labelledby="own">
      <h2 id="own">{t.own}</h2>
      <p>
        {t.ownLead} <Term id="ci95-repeat">{t.whatInterval}</Term>
      </p>
      <details class="reports">
        <summary>{t.ownAll(rows.length)}</summary>
        <DataTable caption={t.own} table={{ columns: t.ownColumns, rows: rows.map(inWords) }} />
      </details>
      <p>
        <button type="button" onClick={() => downloadCsv("ecocompute-reports", numbers(), text)}>
          {t.ownCsv}
        </button>
      </p>
    </section>
  );
}
