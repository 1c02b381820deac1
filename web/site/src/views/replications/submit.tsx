// SPDX-License-Identifier: Apache-2.0
//
// The form that makes a submission of a dropped report. File facts are shown and cannot be edited.

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { coreLine } from "../../app/core_words.js";
import { change, range, sizeB } from "../../app/format.js";
import { CopyButton, NumberField, Problem } from "../../parts/controls.js";
import { CurvePlot } from "../../parts/curve_plot.js";
import { BasisTag } from "../../parts/tags.js";
import { Drop } from "../run/drop.js";
import { items, pointOf, selected } from "../run/store.js";
import { gradeOf, isReady, NOBODY, submissionText, summaryLine, type Sender } from "./submission.js";
import { words } from "./words.js";

const ISSUES = "https://github.com/hongping-zh/ecocompute-mlcube/issues/new";

function TextField({ label, value, onInput }: { label: string; value: string; onInput: (v: string) => void }): JSX.Element {
  const id = useId();
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input id={id} type="text" value={value} maxLength={200} autocomplete="off" onInput={(event) => onInput(event.currentTarget.value)} />
    </span>
  );
}

function Box({ label, checked, onChange }: { label: string; checked: boolean; onChange: (v: boolean) => void }): JSX.Element {
  return (
    <label class="box">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} /> {label}
    </label>
  );
}

export function Submit(): JSX.Element {
  const t = words();
  const [sender, setSender] = useState<Sender>(NOBODY);
  const set = (change: Partial<Sender>): void => setSender({ ...sender, ...change });
  const item = selected.value !== null && "report" in selected.value ? selected.value : ([...items.value].reverse().find((one) => "report" in one) ?? null);
  const report = item !== null && "report" in item ? item.report : null;
  const point = item === null ? null : pointOf(item);
  const grade = report === null ? null : gradeOf(report);
  const verdict = grade === null ? "–" : grade.result === "within" ? t.within : grade.result === "outside" ? t.outside : `${t.notGradable}: ${coreLine(grade.reason ?? "")}`;
  const ready = isReady(point, sender);
  return (
    <section class="stack-y">
      <h2>{t.send}</h2>
      <p>{t.sendLead}</p>
      <div class="grid">
        <div class="c5 stack-y">
          <Drop />
          {report === null && <p>{t.noFile}</p>}
          {report !== null && point === null && <Problem>{t.noChange}</Problem>}
          {point !== null && (
            <dl class="facts">
              <dt>{t.facts}</dt>
              <dd>
                {point.model} · {sizeB(point.params_b)} · {point.gpu ?? "–"} · {point.precision}
              </dd>
              <dt>{t.fields.change}</dt>
              <dd>
                {change(point.delta_pct, 2)} ({point.ci95_pct === null ? t.once : range(point.ci95_pct, 2)}) <BasisTag basis={point.basis} />
              </dd>
              <dt>{t.onCurve}</dt>
              <dd>{verdict}</dd>
            </dl>
          )}
          {point !== null && point.basis !== "measured" && <Problem>{`${t.notMeasured} ${point.basis}`}</Problem>}
        </div>
        <div class="c7 stack-y">
          {point !== null && point.arch !== null && <CurvePlot request={{ arch: point.arch, precision: point.precision }} estimate={null} name="replication" height={260} own={point} />}
          <div class="row">
            <TextField label={t.handle} value={sender.handle} onInput={(handle) => set({ handle })} />
            <TextField label={t.affiliation} value={sender.affiliation} onInput={(affiliation) => set({ affiliation })} />
            <NumberField label={t.trialsField} min={1} max={99} step={1} value={sender.trials} onInput={(trials) => set({ trials })} />
            <TextField label={t.link} value={sender.link} onInput={(link) => set({ link })} />
          </div>
          <Box label={t.real} checked={sender.real} onChange={(real) => set({ real })} />
          <Box label={t.public} checked={sender.public} onChange={(allowed) => set({ public: allowed })} />
          <Box label={t.follow} checked={sender.follow} onChange={(follow) => set({ follow })} />
          {ready && report !== null && point !== null ? (
            <div class="row">
              <CopyButton text={() => submissionText(report, point, verdict, sender)}>{t.copyText}</CopyButton>
              <CopyButton text={() => summaryLine(point)}>{t.copySummary}</CopyButton>
              <a href={ISSUES} rel="noopener noreferrer" target="_blank">
                {t.openIssue}
              </a>
            </div>
          ) : (
            <p class="quiet">{t.missing}</p>
          )}
        </div>
      </div>
      <p class="quiet">{t.policies}</p>
    </section>
  );
}
