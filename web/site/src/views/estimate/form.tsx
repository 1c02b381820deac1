// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { must } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { sizeB } from "../../app/format.js";
import { NumberField, Problem, Select, type Option } from "../../parts/controls.js";
import { Term } from "../../parts/term.js";
import { precisionsOf, readQuestion, stacks, type Case } from "./question.js";
import { words } from "./words.js";

function modelOptions(): Option[] {
  const models = must("models", {});
  return [{ value: "", label: words().bySize }, ...models.map((one) => ({ value: one.name, label: `${one.name} (${sizeB(one.params_b)})` }))];
}

export function placeOptions(): Option[] {
  const t = words();
  const classes = Object.entries(must("architectures", {})).map(([value, one]) => ({ value, label: one.label, group: t.classes }));
  return [...classes, ...must("cards", {}).map((one) => ({ value: one.name, label: one.name, group: t.cards }))];
}

/** "engine" or "engine · stack"; the value is what the address carries. */
function stackOptions(): Option[] {
  const t = words();
  const named = stacks().filter((one) => one.engine !== "transformers" || one.stack !== null);
  return [
    { value: "transformers|", label: t.anyStack },
    ...named.map((one) => ({
      value: `${one.engine}|${one.stack ?? ""}`,
      label: one.engine === "transformers" ? `transformers + ${one.stack ?? ""}` : one.engine === "native" ? t.native : one.engine,
    })),
  ];
}

function withValue(options: Option[], value: string): Option[] {
  return options.some((one) => one.value === value) ? options : [{ value, label: value }, ...options];
}

function Question({ now, set }: { now: Case; set: (next: Case) => void }): JSX.Element {
  const t = words();
  const [text, setText] = useState("");
  const [error, setError] = useState<string | null>(null);
  return (
    <form
      class="row question"
      onSubmit={(event) => {
        event.preventDefault();
        const read = readQuestion(text, now);
        setError(read.ok ? null : read.error);
        if (read.ok) {
          set(read.value);
        }
      }}
    >
      <span class="field grow">
        <label for="question">{t.question}</label>
        <input id="question" type="text" lang="en" value={text} placeholder={t.questionHint} maxLength={400} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      </span>
      <button type="submit">{t.ask}</button>
      {error !== null && <Problem>{coreLine(error)}</Problem>}
    </form>
  );
}

export function Form({ now, set }: { now: Case; set: (next: Case) => void }): JSX.Element {
  const t = words();
  const sizes = new Map(must("models", {}).map((one) => [one.name, one.params_b]));
  const precisions = precisionsOf(now.engine);
  const setStack = (value: string): void => {
    const [engine = "transformers", stack = ""] = value.split("|");
    const known = precisionsOf(engine);
    set({ ...now, engine, stack, precision: known.includes(now.precision) ? now.precision : (known[0] ?? now.precision) });
  };
  return (
    <div class="stack-y">
      <Question now={now} set={set} />
      <div class="row">
        <Select
          label={t.model}
          value={now.model}
          options={withValue(modelOptions(), now.model)}
          onChange={(model) => set({ ...now, model, size: model === "" ? now.size : String(sizes.get(model) ?? now.size) })}
        />
        <NumberField label={<Term id="model-size">{t.size}</Term>} unit={t.sizeUnit} min={0.01} max={10000} value={now.size} onInput={(size) => set({ ...now, size, model: "" })} />
        <Select label={<Term id="architecture-class">{t.card}</Term>} value={now.arch} options={withValue(placeOptions(), now.arch)} onChange={(arch) => set({ ...now, arch })} />
        <Select
          label={<Term id="precision">{t.precision}</Term>}
          value={now.precision}
          options={withValue(precisions.map((value) => ({ value, label: value })), now.precision)}
          onChange={(precision) => set({ ...now, precision })}
        />
        <Select label={<Term id="stack">{t.stack}</Term>} value={`${now.engine}|${now.stack}`} options={withValue(stackOptions(), `${now.engine}|${now.stack}`)} onChange={setStack} />
      </div>
      <details open={now.batch !== "1" || now.context !== "2048"}>
        <summary>{t.more}</summary>
        <div class="row">
          <NumberField label={<Term id="batch">{t.batch}</Term>} unit={t.batchUnit} min={1} max={4096} step={1} value={now.batch} onInput={(batch) => set({ ...now, batch })} />
          <NumberField label={<Term id="context">{t.context}</Term>} unit={t.tokens} min={128} step={1} value={now.context} onInput={(context) => set({ ...now, context })} />
        </div>
      </details>
    </div>
  );
}
