// SPDX-License-Identifier: Apache-2.0
//
// The form that makes a submission of a dropped report. File facts are shown and cannot be edited.

import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { CopyButton, NumberField, Printed, Problem, Select } from "../../parts/controls.js";
import { CurvePlot } from "../../parts/curve_plot.js";
import { BasisTag, basisWord } from "../../parts/tags.js";
import { Drop } from "../run/drop.js";
import type { Point } from "../run/read.js";
import { items, pointOf, select, selected, type ReportItem } from "../run/store.js";
import { areTrials, factsOf, gradeOf, isReady, NOBODY, submissionText, summaryLine, webLink, type Sender } from "./submission.js";
import { words } from "./words.js";

const ISSUES = "https://github.com/hongping-zh/ecocompute-mlcube/issues/new";
const TEXT_MAX = 200;

interface FieldProps {
  label: string;
  value: string;
  required?: boolean;
  error?: string | null;
  onInput: (v: string) => void;
}

function TextField({ label, value, required, error, onInput }: FieldProps): JSX.Element {
  const id = useId();
  const wrong = error !== undefined && error !== null;
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        value={value}
        maxLength={TEXT_MAX}
        autocomplete="off"
        required={required}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-e` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Printed>{value === "" ? "–" : value}</Printed>
      {wrong && (
        <span id={`${id}-e`} class="error">
          {error}
        </span>
      )}
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

/** Of several reports the one that is sent. */
function Which({ reports, item }: { reports: readonly ReportItem[]; item: ReportItem }): JSX.Element | null {
  return reports.length < 2 ? null : <Select label={words().which} value={item.id} options={reports.map((one) => ({ value: one.id, label: one.name }))} onChange={select} />;
}

function Facts({ item, point }: { item: ReportItem; point: Point }): JSX.Element {
  const t = words();
  return (
    <>
      <h3>{t.facts}</h3>
      <p class="file-name">{item.name}</p>
      <dl class="facts">
        {factsOf(item, point).map(([name, value]) => [
          <dt key={`${name}-t`}>{name}</dt>,
          <dd key={`${name}-d`}>{name === t.fields.basis ? <BasisTag basis={point.basis} /> : value}</dd>,
        ])}
      </dl>
    </>
  );
}

function About({ sender, set }: { sender: Sender; set: (change: Partial<Sender>) => void }): JSX.Element {
  const t = words();
  return (
    <fieldset class="stack-y">
      <legend>{t.aboutYou}</legend>
      <div class="row">
        <TextField label={t.required(t.handle)} value={sender.handle} required onInput={(handle) => set({ handle })} />
        <TextField label={t.affiliation} value={sender.affiliation} onInput={(affiliation) => set({ affiliation })} />
        <NumberField label={t.trialsField} min={1} max={99} step={1} value={sender.trials} error={areTrials(sender.trials) ? null : t.trialsWrong} onInput={(trials) => set({ trials })} />
        <TextField label={t.link} value={sender.link} error={webLink(sender.link) === null ? t.linkWrong : null} onInput={(link) => set({ link })} />
      </div>
      <Box label={t.required(t.real)} checked={sender.real} onChange={(real) => set({ real })} />
      <Box label={t.required(t.public)} checked={sender.public} onChange={(allowed) => set({ public: allowed })} />
      <Box label={t.follow} checked={sender.follow} onChange={(follow) => set({ follow })} />
    </fieldset>
  );
}

function Send({ item, point, grade, sender }: { item: ReportItem; point: Point; grade: string; sender: Sender }): JSX.Element {
  const t = words();
  if (!isReady(point, sender)) {
    return <p class="quiet">{t.missing}</p>;
  }
  const text = (): string => submissionText(item, point, grade, sender);
  return (
    <>
      <p class="row">
        <CopyButton text={text}>{t.copyText}</CopyButton>
        <CopyButton text={() => summaryLine(point)}>{t.copySummary}</CopyButton>
        <a href={ISSUES} rel="noopener noreferrer" target="_blank">
          {t.openIssue}
        </a>
      </p>
      <details>
        <summary>{t.preview}</summary>
        <pre tabIndex={0} role="region" aria-label={t.preview} class="submission">
          {text()}
        </pre>
      </details>
    </>
  );
}

function Report({ item, reports }: { item: ReportItem; reports: readonly ReportItem[] }): JSX.Element {
  const t = words();
  const [sender, setSender] = useState<Sender>(NOBODY);
  const point = pointOf(item);
  if (point === null) {
    return (
      <>
        <Which reports={reports} item={item} />
        <Problem>{t.noChange}</Problem>
      </>
    );
  }
  const grade = gradeOf(item);
  return (
    <div class="grid">
      <div class="c5 stack-y">
        <Which reports={reports} item={item} />
        <Facts item={item} point={point} />
        {point.basis !== "measured" && <Problem>{t.notMeasured(basisWord(point.basis))}</Problem>}
      </div>
      <div class="c7 stack-y">
        {point.arch !== null && <CurvePlot request={{ arch: point.arch, precision: point.precision, engine: point.engine }} estimate={null} name="replication" height={280} own={point} />}
        <p>
          {grade.graded ? <b>{grade.text}</b> : grade.text}
        </p>
      </div>
      <div class="stack-y">
        <About sender={sender} set={(change) => setSender({ ...sender, ...change })} />
        <Send item={item} point={point} grade={grade.text} sender={sender} />
      </div>
    </div>
  );
}

export function Submit(): JSX.Element {
  const t = words();
  const reports = items.value.filter((one): one is ReportItem => one.kind === "report");
  const item = reports.find((one) => one === selected.value) ?? reports.at(-1);
  return (
    <section class="stack-y" aria-labelledby="send">
      <h2 id="send">{t.send}</h2>
      <p>{t.sendLead}</p>
      <Drop />
      {item === undefined ? <p class="quiet">{t.noFile}</p> : <Report item={item} reports={reports} />}
      <p class="quiet">{t.policies}</p>
    </section>
  );
}
