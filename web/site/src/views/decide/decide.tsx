// SPDX-License-Identifier: Apache-2.0
//
// The first screen: one question, four controls, one answer, one chart. Below it how sure that is, and why it depends on
// the engine.

import gallery from "ecocompute-gallery";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { pageHref } from "../../app/links.js";
import { setParams } from "../../app/route.js";
import { measuredRows, tableRows } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { Problem, Select, ViewLink } from "../../parts/controls.js";
import { Answer } from "./answer.js";
import { cardOptions, choice, members, modelOptions, models, precisionIn, precisionOptions, PUBLISHED, request, stackOf, stackOptions, type Choice } from "./choice.js";
import { Picture } from "./picture.js";
import { Sign } from "./sign.js";
import { Sure } from "./sure.js";
import { words } from "./words.js";

function Controls({ of, said, say }: { of: Choice; said: string; say: (text: string) => void }): JSX.Element {
  const t = words();
  const set = (next: Parameters<typeof members>[0]): void => {
    say("");
    setParams(members(next));
  };
  const setStack = (value: string): void => {
    const { engine } = stackOf(value);
    const precision = precisionIn(engine, of.precision);
    set({ stack: value, precision });
    say(precision === of.precision ? "" : t.switched(of.precision, engine, precision));
  };
  return (
    <div class="ask">
      <h1>{t.question}</h1>
      <div class="ask-controls" role="group" aria-label={t.controls}>
        <Select label={t.model} value={of.model} options={modelOptions(of.model, t.sizeOnly)} onChange={(model) => set({ model })} />
        <Select label={t.card} value={of.card} options={cardOptions(of.card, { measured: t.cardsMeasured, other: t.cardsOther })} onChange={(card) => set({ card })} />
        <Select label={t.precision} value={of.precision} options={precisionOptions(of)} onChange={(precision) => set({ precision })} />
        <Select label={t.stack} value={of.stack} options={stackOptions(of.stack, { any: t.anyVersion, published: t.published, other: t.otherEngines })} onChange={setStack} />
      </div>
      <p role="status" class={said === "" ? "visually-hidden" : "said"}>
        {said}
      </p>
    </div>
  );
}

/** Where there is no number: why, and what was measured with that engine instead. */
function NoAnswer({ of, error }: { of: Choice; error: string }): JSX.Element {
  const t = words();
  const known = new Set(models().map((one) => one.name));
  const cases = new Map(
    tableRows()
      .filter((row) => row.engine === of.engine && known.has(row.model))
      .filter((row) => row.gpu === of.card || row.precision === of.precision || of.engine !== PUBLISHED)
      .sort((a, b) => Number(b.gpu === of.card) - Number(a.gpu === of.card))
      .map((row) => [[row.model, row.gpu, row.precision].join(punctuation().comma), row]),
  );
  return (
    <section class="card answer" aria-label={t.answer}>
      <p class="lead">{t.noAnswer}</p>
      <Problem>{coreLine(error)}</Problem>
      {cases.size > 0 && (
        <>
          <p>{t.tryMeasured}</p>
          <ul>
            {[...cases].slice(0, 5).map(([name, row]) => (
              <li key={name}>
                <ViewLink to="decide" members={members({ model: row.model, card: row.gpu, precision: row.precision, stack: of.stack })}>
                  {name}
                </ViewLink>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Counts(): JSX.Element {
  const t = words();
  const rows = tableRows();
  const distinct = (of: (row: (typeof rows)[number]) => string): number => new Set(measuredRows().map(of)).size;
  return (
    <p class="quiet">
      {t.counts(rows.length, new Set(rows.map((row) => row.session)).size, distinct((row) => row.gpu), distinct((row) => row.engine), gallery.rows.length)}
    </p>
  );
}

/** False until the first screen stands: what lies below it can wait that long. A link that leads there is followed then. */
function useAfterFirstFrame(): boolean {
  const [after, setAfter] = useState(false);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setTimeout(() => setAfter(true), 0));
    return () => cancelAnimationFrame(frame);
  }, []);
  useEffect(() => {
    if (after) {
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
  }, [after]);
  return after;
}

export function Decide(): JSX.Element {
  const t = words();
  const of = choice();
  const [said, say] = useState("");
  const below = useAfterFirstFrame();
  const outcome = ask("estimate", request(of));
  const estimate = outcome.ok ? outcome.value : null;
  const stack = of.engine !== PUBLISHED ? of.engine : (of.version ?? t.anyStack);
  return (
    <>
      <Controls of={of} said={said} say={say} />
      {of.unknown !== null && <Problem>{t.unknownModel(of.unknown)}</Problem>}
      <div class="grid decide">
        <div class="c4">{outcome.ok ? <Answer of={of} estimate={outcome.value} /> : <NoAnswer of={of} error={outcome.error} />}</div>
        <div class="c8">
          <Picture of={of} estimate={estimate} stack={stack} />
        </div>
      </div>
      <nav class="onward" aria-label={t.links}>
        <a href="#sure">{t.linkSure}</a>
        <ViewLink to="run">{t.linkMeasure}</ViewLink>
        <ViewLink to="run">{t.linkDrop}</ViewLink>
      </nav>
      {below && (
        <div class="grid">
          <Sure of={of} estimate={estimate} />
          <Sign of={of} />
        </div>
      )}
      <div>
        <Counts />
        <p class="quiet">
          {t.sources + punctuation().space + t.sourcesText} <a href={pageHref("method")}>{t.method}</a> · <a href={pageHref("data")}>{t.data}</a> · <a href={pageHref("method", "refute")}>{t.refute}</a>
        </p>
      </div>
    </>
  );
}
