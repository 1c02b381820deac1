// SPDX-License-Identifier: Apache-2.0
//
// Does the report hold? Against the published curve, the schema, the rules of a protocol, and its own traces.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { ask, type Check, type Profile } from "../../app/core.js";
import { change } from "../../app/format.js";
import { Select } from "../../parts/controls.js";
import { Term } from "../../parts/term.js";
import { lineWords } from "./lines.js";
import { member, type Json } from "./read.js";
import type { ReportItem, TraceItem } from "./store.js";
import { words } from "./words.js";

const PROFILES: readonly Profile[] = ["v1.1-core", "paired-1", "dataset-eligible"];
const FINDINGS_MAX = 100;

function Findings({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <ul class="findings">
      {lines.slice(0, FINDINGS_MAX).map((line, i) => (
        <li key={i}>{lineWords(line)}</li>
      ))}
      {lines.length > FINDINGS_MAX && <li>… {lines.length}</li>}
    </ul>
  );
}

function Graded({ of }: { of: Check }): JSX.Element {
  const t = words();
  const { measured_pct: measured, reference_pct: reference, band_pct: band } = of;
  return (
    <p>
      <b>{of.result === "within" ? t.within : t.outside}</b>
      {measured !== null && reference !== null && band !== null && `${t.colon}${t.checkLine(change(measured), change(reference), band.toFixed(1))}`}{" "}
      {of.borrowed && of.arch_used !== null && t.borrowed(of.arch_used)}
    </p>
  );
}

function Curve({ report }: { report: string }): JSX.Element {
  const t = words();
  const plain = ask("check", { report, name: "report" });
  const across = plain.ok && plain.value.result === "not_gradable" && plain.value.stacks !== null ? ask("check", { report, name: "report", across_stacks: true }) : null;
  return (
    <section class="stack-y">
      <h3>{t.check}</h3>
      {!plain.ok ? (
        <p class="problem">{lineWords(plain.error)}</p>
      ) : plain.value.result === "not_gradable" ? (
        <p>
          <b>{t.notGradable}</b>
          {t.colon + lineWords(plain.value.reason ?? "")}
        </p>
      ) : (
        <Graded of={plain.value} />
      )}
      {across?.ok === true && across.value.result !== "not_gradable" && (
        <div class="quiet">
          {t.acrossStacks} <Graded of={across.value} />
        </div>
      )}
    </section>
  );
}

/** The profile that the report says it keeps, else that of its protocol. */
function ownProfile(json: Json): Profile | "" {
  const named = member(json, "measurement.profile");
  const protocol = member(json, "measurement.protocol");
  return PROFILES.find((one) => one === named) ?? (protocol === "paired" ? "paired-1" : protocol === "published" ? "v1.1-core" : "");
}

function Validation({ item }: { item: ReportItem }): JSX.Element {
  const t = words();
  const profile = useSignal<Profile | "">(ownProfile(item.report.json));
  const asked = profile.value;
  const outcome = ask("validate", { report: item.report.text, name: "report", ...(asked === "" ? {} : { profile: asked }) });
  return (
    <section class="stack-y">
      <h3>{t.validation}</h3>
      <Select
        label={<Term id="profile">{t.profile}</Term>}
        value={asked}
        options={[{ value: "", label: t.schemaOnly }, ...PROFILES.map((one) => ({ value: one, label: one }))]}
        onChange={(value) => (profile.value = PROFILES.find((one) => one === value) ?? "")}
      />
      {!outcome.ok ? (
        <p class="problem">{lineWords(outcome.error)}</p>
      ) : outcome.value.valid ? (
        <p>{asked === "" ? t.keepsSchema : t.keepsProfile(asked)}</p>
      ) : (
        <Findings lines={outcome.value.findings} />
      )}
    </section>
  );
}

function Recompute({ item, traces }: { item: ReportItem; traces: readonly (TraceItem | null)[] }): JSX.Element {
  const t = words();
  const missing = item.report.traces.filter((_, i) => traces[i] === null).map((one) => one.file);
  const given = item.report.traces.flatMap(({ file }, i) => (traces[i] == null ? [] : [{ file, text: traces[i].text }]));
  const outcome = traces.length === 0 || missing.length > 0 ? null : ask("recompute", { report: item.report.text, name: "report", traces: given });
  return (
    <section class="stack-y">
      <h3>{t.recompute}</h3>
      {outcome === null ? (
        <p>{traces.length === 0 ? t.noTraces : t.tracesMissing(t.files(missing))}</p>
      ) : !outcome.ok ? (
        <p class="problem">{lineWords(outcome.error)}</p>
      ) : outcome.value.follows ? (
        <p>{t.follows}</p>
      ) : (
        <>
          <p class="problem">{t.notFollows}</p>
          <Findings lines={outcome.value.findings} />
        </>
      )}
    </section>
  );
}

export function Checks({ item, traces }: { item: ReportItem; traces: readonly (TraceItem | null)[] }): JSX.Element {
  return (
    <>
      <Validation key={item.id} item={item} />
      <Recompute item={item} traces={traces} />
      <Curve report={item.report.text} />
    </>
  );
}
