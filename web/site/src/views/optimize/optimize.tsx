// SPDX-License-Identifier: Apache-2.0
//
// "Optimize": objective and limits in, a configuration with its alternatives and the front out.

import type { JSX } from "preact";
import { ask, must } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { sizeB } from "../../app/format.js";
import { pageHref } from "../../app/links.js";
import { permalink, setParams } from "../../app/route.js";
import { punctuation } from "../../app/text.js";
import { CodeBlock, CopyButton, NumberField, Problem, Select } from "../../parts/controls.js";
import { Term } from "../../parts/term.js";
import { Notes } from "../estimate/answer.js";
import { placeOptions } from "../estimate/form.js";
import { commandLine, currentWish, hasLimits, OBJECTIVES, request, wishMembers, wrongWish, type Wish } from "./question.js";
import { Alternatives, Best, Front } from "./result.js";
import { words } from "./words.js";

function Form({ wish }: { wish: Wish }): JSX.Element {
  const t = words();
  const models = must("models", {});
  const set = (change: Partial<Wish>): void => setParams(wishMembers({ ...wish, ...change }));
  const sizeOf = (name: string): string => String(models.find((one) => one.name === name)?.params_b ?? wish.size);
  return (
    <div class="stack-y">
      <div class="row">
        <Select
          label={t.model}
          value={wish.model}
          options={[{ value: "", label: t.bySize }, ...models.map((one) => ({ value: one.name, label: `${one.name} (${sizeB(one.params_b)})` }))]}
          onChange={(model) => set({ model, size: model === "" ? wish.size : sizeOf(model) })}
        />
        <NumberField label={<Term id="model-size">{t.size}</Term>} unit={t.sizeUnit} min={0.01} max={10000} value={wish.size} onInput={(size) => set({ size, model: "" })} />
        <Select label={<Term id="architecture-class">{t.card}</Term>} value={wish.arch} options={placeOptions()} onChange={(arch) => set({ arch })} />
        <Select label={t.objective} value={wish.objective} options={OBJECTIVES.map((value) => ({ value, label: t.objectives[value] }))} onChange={(objective) => set({ objective })} />
      </div>
      <details open={hasLimits(wish)}>
        <summary>{t.limits}</summary>
        <div class="row">
          <NumberField label={<Term id="latency">{t.latency}</Term>} unit={t.latencyUnit} min={0} placeholder={t.noLimit} value={wish.latency} onInput={(latency) => set({ latency })} />
          <NumberField label={t.vram} unit="GB" min={0} placeholder={t.noLimit} value={wish.vram} onInput={(vram) => set({ vram })} />
          <NumberField label={<Term id="throughput">{t.throughput}</Term>} unit="token/s" min={0} placeholder={t.noLimit} value={wish.throughput} onInput={(throughput) => set({ throughput })} />
        </div>
      </details>
    </div>
  );
}

export function Optimize(): JSX.Element {
  const t = words();
  const wish = currentWish();
  const wrong = wrongWish(wish);
  const outcome = wrong === null ? ask("optimize", request(wish)) : ({ ok: false, error: wrong } as const);
  const answer = outcome.ok ? outcome.value : null;
  return (
    <>
      <div class="stack-y">
        <h1>{t.title}</h1>
        <p>{t.lead}</p>
        <Form wish={wish} />
      </div>
      {!outcome.ok && <Problem>{t.noAnswer + punctuation().colon + coreLine(outcome.error)}</Problem>}
      {answer !== null && (
        <>
          <div class="grid">
            <div class="c5 stack-y">
              {answer.recommended === null && <Problem>{t.infeasible}</Problem>}
              <Best answer={answer} />
              <p class="quiet">{t.feasible(answer.feasible_count, answer.input.candidates)}</p>
              <div>
                <CopyButton text={() => permalink("optimize", wishMembers(wish))}>{t.copyLink}</CopyButton>
              </div>
            </div>
            <div class="c7">
              <Front answer={answer} />
            </div>
          </div>
          <Alternatives answer={answer} />
          <section class="stack-y">
            <h2>{t.why}</h2>
            <Notes lines={answer.notes} />
            <h3>{t.command}</h3>
            <CodeBlock label={t.command} code={commandLine(wish)} />
          </section>
        </>
      )}
      <p class="quiet">
        {t.sourceLine} <a href={pageHref("method")}>{t.method}</a>
      </p>
    </>
  );
}
