// SPDX-License-Identifier: Apache-2.0
//
// What was measured: a card, a model, every session of it; the crossover of the card; the same model elsewhere.

import type { JSX } from "preact";
import { change } from "../../app/format.js";
import { pageHref } from "../../app/links.js";
import { param, setParams } from "../../app/route.js";
import { measuredRows, stackName, type Row } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { CodeBlock, CopyButton, Problem, Select } from "../../parts/controls.js";
import { briefText, linkOf, sentence } from "./brief.js";
import { choice, gpus, groupsOf, modelsOf, precisionsOf, type Choice, type Group } from "./choice.js";
import { Crossover, sourceText } from "./crossover.js";
import { Energy } from "./energy.js";
import { Related } from "./related.js";
import { words } from "./words.js";

const ALL = "all";
const SNIPPET = `from transformers import BitsAndBytesConfig
import torch

config = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_compute_dtype=torch.float16,
)`;

/** Where NF4 costs here although a smaller model of the same session and card saves. */
function rebound(group: Group, rows: readonly Row[]): { model: string; delta_pct: number } | null {
  const here = group.rows.find((row) => row.precision === "NF4" && row.delta_pct > 0);
  const smaller = rows.find(
    (row) => here !== undefined && row.session === group.session && row.precision === "NF4" && row.batch === group.batch && row.params_b < here.params_b && row.delta_pct < 0,
  );
  return smaller ?? null;
}

function Verdict({ of, groups, rows }: { of: Choice; groups: readonly Group[]; rows: readonly Row[] }): JSX.Element {
  const t = words();
  const nf4 = groups.some((group) => group.engine === "transformers" && group.rows.some((row) => row.precision === "NF4" && row.delta_pct < 0));
  return (
    <section class="card" aria-labelledby="verdict-title">
      <h2 id="verdict-title">{t.verdictTitle}</h2>
      <ul>
        {groups.slice(0, 4).map((group) => {
          const back = rebound(group, rows);
          return (
            <li key={group.key}>
              {group.engine} · {stackName(group.engine, group.stack) ?? t.unnamed}
              {punctuation().comma}
              {t.batch(group.batch)}
              {t.colon}
              {t.list(group.rows.map(sentence))}
              {back !== null && <p class="quiet">{t.rebound(back.model, change(back.delta_pct), group.session)}</p>}
            </li>
          );
        })}
      </ul>
      <p class="row">
        <CopyButton text={() => briefText(of, groups)}>{t.copyBrief}</CopyButton>
        <CopyButton
          text={() => {
            setParams({ gpu: of.gpu, m: of.model });
            return linkOf(of);
          }}
        >
          {t.copyLink}
        </CopyButton>
      </p>
      {nf4 && (
        <details>
          <summary>{t.snippetTitle}</summary>
          <CodeBlock code={SNIPPET} label={t.snippetLabel} />
        </details>
      )}
    </section>
  );
}

export function Tested(): JSX.Element {
  const t = words();
  const of = choice();
  const onCard = measuredRows().filter((row) => row.gpu === of.gpu);
  const groups = groupsOf(onCard.filter((row) => row.model === of.model));
  const single = onCard.filter((row) => row.batch === null || row.batch === 1);
  const precisions = precisionsOf(single);
  const asked = param("prec");
  const shown = asked === ALL ? ALL : (precisions.find((one) => one === asked) ?? precisions[0] ?? ALL);
  const drawn = shown === ALL ? single : single.filter((row) => row.precision === shown);
  return (
    <>
      <h1>{t.title}</h1>
      <p>{t.lead}</p>
      <div class="row">
        <Select label={t.gpu} value={of.gpu} options={gpus().map((one) => ({ value: one, label: one }))} onChange={(gpu) => setParams({ gpu, m: modelsOf(gpu).includes(of.model) ? of.model : null })} />
        <Select label={t.model} value={of.model} options={modelsOf(of.gpu).map((one) => ({ value: one, label: one }))} onChange={(m) => setParams({ gpu: of.gpu, m })} />
        <Select
          label={t.show}
          value={shown}
          options={[...precisions.map((one) => ({ value: one, label: one })), { value: ALL, label: t.all }]}
          onChange={(prec) => setParams({ prec: prec === precisions[0] ? null : prec })}
        />
      </div>
      {of.unknown.length > 0 && <Problem>{t.unknown(t.list(of.unknown))}</Problem>}
      <div class="grid">
        <div class="c6 stack-y">
          <Energy groups={groups} model={of.model} gpu={of.gpu} />
        </div>
        <div class="c6 stack-y">
          <Crossover rows={drawn} gpu={of.gpu} model={of.model} precision={shown === ALL ? null : shown} />
          <Verdict of={of} groups={groups} rows={onCard} />
        </div>
      </div>
      <Related rows={measuredRows().filter((row) => row.model === of.model && row.gpu !== of.gpu)} />
      <p class="quiet">
        {t.sources + punctuation().space + sourceText(onCard)} · <a href={pageHref("method")}>{t.method}</a> · <a href={pageHref("data")}>{t.data}</a>
      </p>
    </>
  );
}
