// SPDX-License-Identifier: Apache-2.0
//
// "Your model": any size, card, precision, batch, context and stack, answered by the core.

import type { JSX } from "preact";
import { pageHref } from "../../app/links.js";
import { ask } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { permalink, setParams } from "../../app/route.js";
import { punctuation } from "../../app/text.js";
import { shellWord, wrongNumber } from "../../app/typed.js";
import { CodeBlock, CopyButton, Problem, ViewLink } from "../../parts/controls.js";
import { CurvePlot } from "../../parts/curve_plot.js";
import { Answer, Notes, Tiles } from "./answer.js";
import { Form } from "./form.js";
import { caseMembers, currentCase, request, type Case } from "./question.js";
import { words } from "./words.js";

const LOADING: Record<string, string> = {
  NF4: 'BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float16)',
  INT8: "BitsAndBytesConfig(load_in_8bit=True)",
};

/** The same question to the program. */
function commandLine(one: Case): string {
  const parts = ["ecocompute estimate", `--params-b ${shellWord(one.size)}`, `--arch ${shellWord(one.arch)}`, `--precision ${shellWord(one.precision)}`];
  if (one.model !== "") {
    parts.push(`--model ${shellWord(one.model)}`);
  }
  if (one.engine !== "transformers") {
    parts.push(`--engine ${shellWord(one.engine)}`);
  } else if (one.stack !== "") {
    parts.push(`--stack ${shellWord(one.stack)}`);
  }
  if (one.batch !== "1") {
    parts.push(`--batch ${shellWord(one.batch)}`);
  }
  if (one.context !== "2048") {
    parts.push(`--ctx ${shellWord(one.context)}`);
  }
  return parts.join(" ");
}

export function Estimate(): JSX.Element {
  const t = words();
  const now = currentCase();
  const asked = request(now);
  const wrong = wrongNumber({ params_b: now.size, batch: now.batch, ctx: now.context });
  const outcome = wrong === null ? ask("estimate", asked) : ({ ok: false, error: wrong } as const);
  const { params_b: _, ...place } = asked;
  const loading = now.engine === "transformers" ? LOADING[now.precision] : undefined;
  return (
    <>
      <div class="stack-y">
        <h1>{t.title}</h1>
        <p>{t.lead}</p>
        <Form now={now} set={(next) => setParams(caseMembers(next))} />
      </div>
      <div class="grid">
        <div class="c4 stack-y">
          {outcome.ok ? <Answer answer={outcome.value} /> : <Problem>{t.noAnswer + punctuation().colon + coreLine(outcome.error)}</Problem>}
          <div class="row">
            <CopyButton text={() => permalink("estimate", caseMembers(now))}>{t.copyLink}</CopyButton>
            {outcome.ok && <CopyButton text={() => JSON.stringify(outcome.value, null, 2)}>{t.copyJson}</CopyButton>}
          </div>
        </div>
        <div class="c8">
          <CurvePlot request={place} estimate={outcome.ok ? outcome.value : null} subtitle={t.chartSubtitle(now.engine)} explained name="your-model" />
        </div>
      </div>
      {outcome.ok && (
        <>
          <Tiles answer={outcome.value} />
          <section class="stack-y">
            <h2>{t.why}</h2>
            <Notes lines={outcome.value.notes} />
            <p class="quiet">{outcome.value.source === "anchors" ? t.sessionNote : t.size95}</p>
          </section>
          <section class="stack-y">
            <h2>{t.command}</h2>
            <CodeBlock label={t.command} code={commandLine(now)} />
            {loading !== undefined && outcome.value.recommendation === "quantize" && (
              <>
                <h3>{t.config}</h3>
                <CodeBlock label={t.config} code={loading} />
              </>
            )}
            <p>
              <ViewLink to="run">{t.measure}</ViewLink>
            </p>
            <details>
              <summary>{t.json}</summary>
              <CodeBlock label={t.json} code={JSON.stringify(outcome.value, null, 2)} />
            </details>
          </section>
        </>
      )}
      <p class="quiet">
        {t.sourceLine} <a href={pageHref("method")}>{t.method}</a>
      </p>
    </>
  );
}
