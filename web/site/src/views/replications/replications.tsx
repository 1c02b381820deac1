// SPDX-License-Identifier: Apache-2.0
//
// What was measured more than once, and how far it agrees; reports of this repository; a form for one's own.

import gallery from "ecocompute-gallery";
import type { JSX } from "preact";
import { change, range, sizeB } from "../../app/format.js";
import { pageHref } from "../../app/links.js";
import { DataTable } from "../../charts/chart.js";
import { allCases, Cases } from "./cases.js";
import { Submit } from "./submit.js";
import type { GalleryRow } from "./gallery.js";
import { words } from "./words.js";

function Tile({ label, value, note }: { label: string; value: number; note: string }): JSX.Element {
  return (
    <div class="tile">
      <span class="quiet">{label}</span>
      <b>{value}</b>
      <span class="quiet">{note}</span>
    </div>
  );
}

function Counts(): JSX.Element {
  const t = words();
  const all = allCases();
  const of = (agreement: string): number => all.filter((one) => one.agreement === agreement).length;
  return (
    <div class="tiles">
      <Tile label={t.cases} value={all.length} note={`${all.length - of("single")} ${t.several}`} />
      <Tile label={t.sign} value={of("sign")} note={t.signNote} />
      <Tile label={t.differ} value={of("differ")} note={t.differNote} />
      <Tile label={t.agree} value={of("agree")} note={t.agreeNote} />
    </div>
  );
}

function Own(): JSX.Element {
  const t = words();
  return (
    <section class="stack-y">
      <h2>{t.own}</h2>
      <p>{t.ownLead}</p>
      <DataTable
        caption={t.own}
        table={{
          columns: t.ownColumns,
          rows: gallery.rows.map((one: GalleryRow) => [
            one.session,
            one.gpu,
            `${one.model} (${sizeB(one.params_b)})`,
            one.precision,
            one.batch,
            one.engine_version,
            change(one.delta_pct),
            one.ci95_repeat_pct === null ? "n = 1" : range(one.ci95_repeat_pct),
            one.n_blocks,
            one.energy_mj,
            one.warnings.join(", "),
            one.report,
          ]),
        }}
      />
    </section>
  );
}

export function Replications(): JSX.Element {
  const t = words();
  return (
    <>
      <div class="stack-y">
        <h1>{t.title}</h1>
        <p>{t.lead}</p>
      </div>
      <Counts />
      <Cases />
      <section class="stack-y">
        <p>
          <strong>{t.empty}</strong> {t.emptyMore}
        </p>
      </section>
      <Submit />
      <Own />
      <p class="quiet">
        {t.sourceLine} <a href={pageHref("method")}>{t.method}</a>
      </p>
    </>
  );
}
