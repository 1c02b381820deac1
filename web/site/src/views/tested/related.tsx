// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";
import { change } from "../../app/format.js";
import { stackName, type Row } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { ViewLink } from "../../parts/controls.js";
import { words } from "./words.js";
import { TableFrame } from "../../parts/table_frame.js";

/** The same model on other cards, a row a result; our native rows beside the published ones. */
export function Related({ rows }: { rows: readonly Row[] }): JSX.Element {
  const t = words();
  const ordered = [...rows].sort((a, b) => a.gpu.localeCompare(b.gpu) || a.engine.localeCompare(b.engine) || a.session.localeCompare(b.session) || a.precision.localeCompare(b.precision));
  return (
    <div class="stack-y">
      <h2>{t.relatedTitle}</h2>
      {rows.length === 0 ? (
        <p>{t.relatedNone}</p>
      ) : (
        <>
          <p>{t.relatedLead}</p>
          <TableFrame label={t.relatedTitle} columns={t.relatedColumns} class="related">
            {ordered.map((row) => (
              <tr key={row.id}>
                <td>
                  <ViewLink to="tested" members={{ gpu: row.gpu, m: row.model }}>
                    {row.gpu}
                  </ViewLink>
                </td>
                <td>
                  {row.engine} · {stackName(row.engine, row.stack) ?? t.unnamed}
                </td>
                <td>{row.session}</td>
                <td>{row.precision}</td>
                <td class="num">{change(row.delta_pct)}</td>
                <td class={row.n === 1 ? "num hatched" : "num"}>{row.n || "–"}</td>
                <td>
                  {row.window}
                  {punctuation().comma}
                  {t.batch(row.batch)}
                </td>
              </tr>
            ))}
          </TableFrame>
        </>
      )}
    </div>
  );
}
