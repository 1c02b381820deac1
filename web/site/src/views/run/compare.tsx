// SPDX-License-Identifier: Apache-2.0
//
// Two or more reports side by side, as `ecocompute compare` has them.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ask, type Comparison } from "../../app/core.js";
import { change, MINUS, number } from "../../app/format.js";
import { Problem } from "../../parts/controls.js";
import { lineWords } from "./lines.js";
import { items, pointOf, type ReportItem } from "./store.js";
import { words } from "./words.js";
import { TableFrame } from "../../parts/table_frame.js";

const COMPARE_MAX = 16;

function resultWords(of: Comparison): string {
  const t = words();
  return { sound: t.sound, not_sound: t.notSound, nothing: t.nothing }[of.result];
}

function Difference({ of }: { of: Comparison }): JSX.Element {
  if (of.difference_pct === null) {
    return <>–</>;
  }
  const sign = of.difference_pct > 0 ? "+" : of.difference_pct < 0 ? MINUS : "";
  return (
    <>
      {sign}
      {number(Math.abs(of.difference_pct))}
      {of.half_width_pct !== null && ` ± ${number(of.half_width_pct)}`}
    </>
  );
}

function Table({ reports, comparisons }: { reports: readonly ReportItem[]; comparisons: readonly Comparison[] }): JSX.Element {
  const t = words();
  const delta = (item: ReportItem | undefined): string => {
    const point = item === undefined ? null : pointOf(item);
    return point === null ? "–" : change(point.delta_pct);
  };
  return (
    <TableFrame label={t.compareTable} columns={t.compareColumns}>
      <tr>
        <td class="file-name">{reports[0]?.name}</td>
        <td class="num">{delta(reports[0])}</td>
        <td colSpan={3}>{t.first}</td>
      </tr>
      {comparisons.map((one, i) => (
        <tr key={i}>
          <td class="file-name">{reports[i + 1]?.name}</td>
          <td class="num">{delta(reports[i + 1])}</td>
          <td>{resultWords(one)}</td>
          <td class="num">
            <Difference of={one} />
          </td>
          <td>
            <ul class="findings">
              {[...one.reasons, ...one.notes].map((line, at) => (
                <li key={at}>{lineWords(line)}</li>
              ))}
            </ul>
          </td>
        </tr>
      ))}
    </TableFrame>
  );
}

export function Compare(): JSX.Element | null {
  const t = words();
  const [across, setAcross] = useState(false);
  const all = items.value.filter((one): one is ReportItem => one.kind === "report");
  const reports = all.slice(0, COMPARE_MAX);
  if (reports.length < 2) {
    return null;
  }
  const outcome = ask("compare", {
    reports: reports.map((one, i) => ({ report: one.report.text, name: `report ${i + 1}` })),
    across_stacks: across,
  });
  return (
    <section class="stack-y" aria-labelledby="compare">
      <h2 id="compare">{t.compare}</h2>
      <p>
        {t.compareLead} {all.length > COMPARE_MAX && t.tooMany(COMPARE_MAX)}
      </p>
      <label class="check">
        <input type="checkbox" checked={across} onChange={(event) => setAcross(event.currentTarget.checked)} /> {t.across}
      </label>
      {outcome.ok ? <Table reports={reports} comparisons={outcome.value.comparisons} /> : <Problem>{lineWords(outcome.error)}</Problem>}
    </section>
  );
}
