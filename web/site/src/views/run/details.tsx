// SPDX-License-Identifier: Apache-2.0
//
// Everything about the chosen result: what it says, what the curve says, whether it holds, why it came out so, what to do.

import type { JSX } from "preact";
import { ask, type Explanation } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { change, changeWords, energyPerToken, number, range, sizeB } from "../../app/format.js";
import { permalink } from "../../app/route.js";
import { DataTable } from "../../charts/chart.js";
import { CopyButton } from "../../parts/controls.js";
import { BasisTag, ReplicationTag, StackLine } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { Checks } from "./checks.js";
import { CURVE_ENGINE } from "./curves.js";
import { boundWords, lineWords } from "./lines.js";
import { missingWords } from "./list.js";
import { fromWords, spreadWords } from "./overlay.js";
import { Power } from "./power.js";
import { member, type Point, type Verdict } from "./read.js";
import { looseTraces, pointOf, selected, tracesOf, type Item, type ReportItem } from "./store.js";
import { Warnings } from "./warnings.js";
import { words } from "./words.js";

const PUBLISHED_SITE = "https://quantenergy.tech";
const SAME_PCT = 1; // as the published page has it

/** No interval, and no n of one, is no reason to doubt a sign; an interval with zero in it is. */
const holdsZero = (point: Point): boolean => point.ci95_pct !== null && point.ci95_pct[0] <= 0 && point.ci95_pct[1] >= 0;

const isSettled = (point: Point): boolean => (point.verdict === null || point.verdict === "saves" || point.verdict === "costs") && !holdsZero(point);

function Judged({ point }: { point: Point }): JSX.Element {
  const t = words();
  const contradicts = (point.verdict === "saves" && point.delta_pct > 0) || (point.verdict === "costs" && point.delta_pct < 0);
  const own = contradicts ? null : point.verdict;
  const rule: Verdict = holdsZero(point) ? "inconclusive" : Math.abs(point.delta_pct) <= SAME_PCT ? "no difference" : point.delta_pct < 0 ? "saves" : "costs";
  return (
    <>
      <Term id="verdict">{t.verdict}</Term>
      {t.colon + t.verdicts[own ?? rule] + t.inBrackets(contradicts ? t.contradicts : own === null ? t.ofPublished : t.ofReport)}
    </>
  );
}

/** What the core answers at the point's size, under one engine. */
function Answer({ point, arch, engine }: { point: Point; arch: string; engine: string }): JSX.Element {
  const t = words();
  const outcome = ask("estimate", { arch, precision: point.precision, params_b: point.params_b, engine: engine === CURVE_ENGINE ? null : engine });
  return outcome.ok ? (
    <>
      {change(outcome.value.delta_pct) + t.comma}
      <Term id="band">{t.interval[outcome.value.source ?? "curve"]}</Term> {range(outcome.value.ci)} <BasisTag basis={outcome.value.basis} />
    </>
  ) : (
    <>{coreLine(outcome.error)}</>
  );
}

function AtSize({ point }: { point: Point }): JSX.Element | null {
  const t = words();
  const { arch, engine } = point;
  if (arch === null) {
    return null;
  }
  return (
    <>
      <p>
        {t.atSize + t.inBrackets(t.curveOf(arch, point.precision) + t.comma + CURVE_ENGINE) + t.colon}
        <Answer point={point} arch={arch} engine={CURVE_ENGINE} />
      </p>
      {engine !== CURVE_ENGINE && (
        <p>
          <b>{t.otherEngine(engine) + t.stop}</b>
          {t.space + t.sameEngine(engine) + t.colon}
          <Answer point={point} arch={arch} engine={engine} />
        </p>
      )}
    </>
  );
}

function energyOf(item: Item): [number, number | null] | null {
  if (item.kind !== "report") {
    return null;
  }
  const [mj, fp16] = [member(item.report.json, "results.energy_per_token_mj"), member(item.report.json, "results.fp16_energy_per_token_mj")];
  return typeof mj === "number" ? [mj, typeof fp16 === "number" ? fp16 : null] : null;
}

function Headline({ item, point }: { item: Item; point: Point }): JSX.Element {
  const t = words();
  const energy = energyOf(item);
  return (
    <div class="card">
      <p class="lead">
        {point.model + t.inBrackets(sizeB(point.params_b)) + t.comma + point.precision + t.colon}
        <b>{isSettled(point) ? changeWords(point.delta_pct) : t.notSettled(change(point.delta_pct))}</b>
      </p>
      <p>
        <Term id="delta-e">ΔE</Term> {change(point.delta_pct)} · {spreadWords(point)} · <Judged point={point} />
      </p>
      {energy !== null && (
        <p>
          <Term id="energy-per-token">{t.energy}</Term>
          {t.colon + energyPerToken(energy[0])}
          {energy[1] !== null && ` · ${t.against(energyPerToken(energy[1]))}`}
        </p>
      )}
      <div class="tags">
        <BasisTag basis={point.basis} of="ΔE" />
        {point.n !== null && <ReplicationTag n={point.n} />}
        {point.synthetic && (
          <span class="tag">
            <Term id="synthetic-weights">{t.synthetic}</Term>
          </span>
        )}
        {item.kind === "link" && <span class="tag">{t.claim}</span>}
      </div>
      <p>
        {point.gpu ?? "–"} · <StackLine engine={point.engine} stack={point.stack} />
      </p>
      {point.precisionAssumed && <p class="quiet">{t.assumed}</p>}
      <AtSize point={point} />
    </div>
  );
}

function shareUrl(url: string): { text: string; far: boolean } {
  const overlay = new URL(url).searchParams.get("overlay") ?? "";
  const far = !/^https?:$/.test(location.protocol);
  return far ? { text: url, far } : { text: permalink("run", { overlay }), far };
}

function Share({ item }: { item: Item }): JSX.Element {
  const t = words();
  if (item.kind === "link") {
    return (
      <p class="quiet">
        {t.linkFacts} {item.source !== null && t.linkSource(item.source)}
      </p>
    );
  }
  const outcome = ask("share_encode", { report: item.report.text, name: "report", site: PUBLISHED_SITE });
  if (!outcome.ok || outcome.value.share_url === null) {
    return (
      <p class="quiet">
        {t.noLink} {lineWords(outcome.ok ? (outcome.value.reason ?? "").replace(/^no link: /, "") : outcome.error)}
      </p>
    );
  }
  const link = shareUrl(outcome.value.share_url);
  return (
    <p>
      <CopyButton text={() => link.text}>{t.share}</CopyButton>{" "}
      <span class="quiet">
        {t.shareNote} {link.far && t.shareFar(PUBLISHED_SITE)}
      </span>
    </p>
  );
}

function Arms({ of }: { of: Explanation }): JSX.Element {
  const t = words();
  return (
    <DataTable
      caption={t.arms}
      table={{
        columns: t.armColumns,
        rows: of.arms.map((arm) => [arm.precision, ...[arm.energy_per_token_mj, arm.power_w, arm.token_us].map((v) => (v === null ? null : number(v))), arm.bound === null ? null : boundWords(arm.bound), arm.energy_over_roofline === null ? null : number(arm.energy_over_roofline, 3)]),
      }}
    />
  );
}

function Advice({ of }: { of: Explanation }): JSX.Element | null {
  const all = [...new Set(of.arms.flatMap((arm) => (arm.advice === null || arm.advice === "" ? [] : [arm.advice])))];
  return all.length === 0 ? null : (
    <ul class="findings">
      {all.map((one) => (
        <li key={one}>{lineWords(one)}</li>
      ))}
    </ul>
  );
}

function Why({ item }: { item: ReportItem }): JSX.Element {
  const t = words();
  const outcome = ask("explain", { report: item.report.text, name: "report" });
  const summary = ask("summary", { report: item.report.text, name: "report" });
  const why = outcome.ok ? outcome.value.why : null;
  return (
    <section class="stack-y">
      <h3>{t.why}</h3>
      {why !== null && why !== "" ? <p>{lineWords(why)}</p> : <p class="quiet">{outcome.ok ? t.noExplain : lineWords(outcome.error)}</p>}
      {outcome.ok && <Advice of={outcome.value} />}
      {outcome.ok && outcome.value.arms.length > 0 && <Arms of={outcome.value} />}
      {summary.ok && (
        <details>
          <summary>{t.summary}</summary>
          <pre lang="en" tabIndex={0}>
            {summary.value.lines.join("\n")}
          </pre>
        </details>
      )}
    </section>
  );
}

function ReportDetails({ item }: { item: ReportItem }): JSX.Element {
  const traces = tracesOf(item);
  const here = traces.flatMap((trace, i) => (trace === null ? [] : [{ item: trace, precision: item.report.traces[i]?.precision ?? null }]));
  return (
    <>
      {here.length > 0 && <Power name={item.name} traces={here} />}
      <div class="grid">
        <div class="c6 stack-y">
          <Checks item={item} traces={traces} />
        </div>
        <div class="c6 stack-y">
          <Why item={item} />
          <Warnings of={item.report.warnings} />
        </div>
      </div>
    </>
  );
}

export function Details(): JSX.Element | null {
  const t = words();
  const item = selected.value;
  const loose = looseTraces.value;
  if (item === null && loose.length === 0) {
    return null;
  }
  const point = item === null ? null : pointOf(item);
  return (
    <section class="stack-y own" aria-labelledby="details">
      {item !== null && (
        <>
          <h2 id="details">
            {t.details + t.colon}
            <span class="file-name">{fromWords(item)}</span>
          </h2>
          {point !== null && <Headline item={item} point={point} />}
          {item.kind === "report" && !item.report.point.ok && <p class="problem">{missingWords(item.report.point.missing)}</p>}
          <Share item={item} />
          {item.kind === "report" && <ReportDetails item={item} />}
        </>
      )}
      {loose.length > 0 && (
        <>
          <h2 id={item === null ? "details" : undefined}>{t.loose}</h2>
          {loose.slice(-4).map((one) => (
            <Power key={one.id} name={one.name} traces={[{ item: one, precision: null }]} />
          ))}
        </>
      )}
    </section>
  );
}
