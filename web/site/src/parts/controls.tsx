// SPDX-License-Identifier: Apache-2.0

import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { href, go, type Changes, type View } from "../app/route.js";
import { strings } from "../app/text.js";

const words = strings({
  en: { copied: "Copied", failed: "Copying is not allowed here: the text is selected" },
  zh: { copied: "已复制", failed: "此处不允许复制，文本已选中" },
});

export interface Option {
  value: string;
  label: string;
  group?: string;
}

function grouped(options: readonly Option[]): Map<string, Option[]> {
  const groups = new Map<string, Option[]>();
  for (const option of options) {
    const name = option.group ?? "";
    groups.set(name, [...(groups.get(name) ?? []), option]);
  }
  return groups;
}

/** A control is of no use on paper: there its value stands as text. */
export function Printed({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <span class="printed" aria-hidden="true">
      {children}
    </span>
  );
}

export interface SelectProps {
  label: ComponentChildren;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps): JSX.Element {
  const id = useId();
  const items = (list: readonly Option[]): JSX.Element[] =>
    list.map((one) => (
      <option key={one.value} value={one.value} selected={one.value === value}>
        {one.label}
      </option>
    ));
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {[...grouped(options)].map(([name, list]) =>
          name === "" ? (
            items(list)
          ) : (
            <optgroup key={name} label={name}>
              {items(list)}
            </optgroup>
          ),
        )}
      </select>
      <Printed>{options.find((one) => one.value === value)?.label ?? value}</Printed>
    </span>
  );
}

export interface NumberFieldProps {
  label: ComponentChildren;
  /** As typed; the core says what is wrong with it. */
  value: string;
  unit?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  placeholder?: string;
  error?: string | null;
  onInput: (value: string) => void;
}

export function NumberField(props: NumberFieldProps): JSX.Element {
  const id = useId();
  const wrong = props.error !== undefined && props.error !== null;
  return (
    <span class="field">
      <label for={id}>{props.label}</label>
      <span class="with-unit">
        <input
          id={id}
          type="number"
          inputMode="decimal"
          value={props.value}
          min={props.min}
          max={props.max}
          step={props.step ?? "any"}
          placeholder={props.placeholder}
          aria-invalid={wrong}
          aria-describedby={wrong ? `${id}-e` : undefined}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
        <Printed>{props.value === "" ? (props.placeholder ?? "–") : props.value}</Printed>
        {props.unit !== undefined && <span class="unit">{props.unit}</span>}
      </span>
      {wrong && (
        <span id={`${id}-e`} class="error">
          {props.error}
        </span>
      )}
    </span>
  );
}

/** Where the clipboard is closed to a page (from disk, say), the text is selected in a field instead. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

export function CopyButton({ text, children }: { text: () => string; children: ComponentChildren }): JSX.Element {
  const [said, setSaid] = useState<string | null>(null);
  return (
    <button
      type="button"
      class="copy"
      onClick={async () => {
        const t = words();
        setSaid((await copyText(text())) ? t.copied : t.failed);
        setTimeout(() => setSaid(null), 2500);
      }}
    >
      {children}
      <span role="status" class={said === null ? "visually-hidden" : "said"}>
        {said ?? ""}
      </span>
    </button>
  );
}

/** A command or document to be copied. */
export function CodeBlock({ code, label }: { code: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{code}</code>
      </pre>
      <CopyButton text={() => code}>{strings({ en: "Copy", zh: "复制" })()}</CopyButton>
    </div>
  );
}

/** A link to a view; without a new page where the browser would only load the same file again. */
export function ViewLink({ to, members, children, ...rest }: { to: View; members?: Changes; children: ComponentChildren; class?: string; "aria-current"?: "page" | undefined }): JSX.Element {
  return (
    <a
      href={href(to, members)}
      onClick={(event) => {
        if (event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey) {
          event.preventDefault();
          go(to, members);
        }
      }}
      {...rest}
    >
      {children}
    </a>
  );
}

/** A message where an answer cannot be: what is wrong and what was expected, as the core says it. */
export function Problem({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  );
}
