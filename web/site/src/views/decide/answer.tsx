// SPDX-License-Identifier: Apache-2.0
//
// The answer card: the change in words and number, its range, how it came about, verdict and reason.

import type { JSX } from "preact";
import type { Estimate } from "../../app/core.js";
import { change, changeWords, energyPerMillion, range } from "../../app/format.js";
import { stackName, tableRows, type Row } from "../../app/rows.js";
import { basisWord, BasisTag, ConfidenceTag, StackLine, trialsText } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { PUBLISHED, sourceOf, type Choice } from "./choice.js";
import { whys, words } from "./words.js";

/** The rows of the table that a measured answer is made of: this card, size and precision, this engine, batch 1. */
export function rowsBehind(of: Choice): Row[] {
  return tableRows().filter(
    (row) =>
      row.engine === of.engine &&
      row.gpu === of.card &&
      row.precision === of.precision &&
      row.params_b === of.params_b &&
      (row.batch === null || row.batch === 1) &&
      (of.version === null || stackName(row.engine, row.stack) === of.version),
  );
}

function why(of: Choice, delta_pct: number): string {
  const t = whys();
  const saves = delta_pct < 0;
  if (of.engine !== PUBLISHED) {
    return saves ? t.fused : t.unpacking;
  }
  if (of.precision === "INT8") {
    return saves ? t.waitingLess : t.waiting;
  }
  return saves ? t.fewBytes : t.launches;
}

/** How often the case was measured. Hatched where the spread is unknown. */
function Evidence({ rows }: { rows: readonly Row[] }): JSX.Element {
  const t = words();
  const sessions = new Set(rows.map((row) => row.session)).size;
  const trials = rows.map((row) => row.n);
  const [least, most] = [Math.min(...trials), Math.max(...trials)];
  if (rows.length === 0) {
    return <span class="tag hatched">{t.notHere}</span>;
  }
  if (least === 0) {
    return (
      <span class="tag">
        {t.sessions(sessions)}
        {trialsText(most)}
      </span>
    );
  }
  if (sessions === 1 && most === 1) {
    return (
      <span class="tag hatched">
        <Term id="n">n = 1</Term> · {t.spreadUnknown}
      </span>
    );
  }
  return (
    <span class="tag">
      {sessions > 1 && t.sessions(sessions)}
      <Term id="n">{sessions > 1 ? t.trials(least, most) : `n = ${most}`}</Term>
    </span>
  );
}

/** Versions behind the number, or what was asked for. */
function stackText(of: Choice, rows: readonly Row[]): string {
  const t = words();
  if (of.version !== null) {
    return of.version;
  }
  const known = rows.length > 0 || of.engine === PUBLISHED ? rows : tableRows().filter((row) => row.engine === of.engine);
  const named = [...new Set(known.map((row) => stackName(row.engine, row.stack) ?? t.stackUnnamed))];
  return named.length > 0 ? t.list(named) : t.allVersions;
}

export function Answer({ of, estimate }: { of: Choice; estimate: Estimate }): JSX.Element {
  const t = words();
  const rows = estimate.basis === "measured" ? rowsBehind(of) : [];
  const others = [...new Set(rows.map((row) => row.model))].filter((name) => of.shape === null || name !== of.shape.name);
  const energy = estimate.energy;
  return (
    <section class="card answer" aria-label={t.answer}>
      <p>
        <span class="big">{change(estimate.delta_pct)}</span> <Term id="delta-e">ΔE%</Term>
      </p>
      <p class="lead">
        {t.against(changeWords(estimate.delta_pct, estimate.recommendation !== "depends"))}
      </p>
      <p>
        {t.interval[sourceOf(estimate)]}
        {t.colon}
        <b class="num range">{range(estimate.ci)}</b>
      </p>
      <p class="tags">
        <BasisTag basis={estimate.basis} of="ΔE%" />
        <Evidence rows={rows} />
        <ConfidenceTag confidence={estimate.confidence} />
      </p>
      <p>
        <b>
          {t.verdict}
          {t.colon}
          {t.verdicts[estimate.recommendation]}
        </b>
      </p>
      {estimate.recommendation !== "depends" && (
        <p>
          <Term id="energy-model">{t.why}</Term>
          {t.colon}
          {why(of, estimate.delta_pct)}
        </p>
      )}
      {energy !== undefined && energy.fp16_mj_per_token !== null && energy.mj_per_token !== null && (
        <p class="quiet num">
          <Term id="per-1m-tokens">{t.perMillion}</Term>
          {t.inBrackets(basisWord(energy.basis))}
          {t.colon}FP16 {energyPerMillion(energy.fp16_mj_per_token)} → {of.precision} {energyPerMillion(energy.mj_per_token)}
        </p>
      )}
      <p>
        <StackLine engine={of.engine} stack={stackText(of, rows)} />
      </p>
      {others.length > 0 && <p class="quiet">{t.measuredOn(t.list(others))}</p>}
    </section>
  );
}
