// SPDX-License-Identifier: Apache-2.0
//
// What a measurement leaves behind: an example with the two plotted fields, and every field of the schema with its value in
// the report at hand.

import example from "ecocompute-example";
import fields from "ecocompute-schema";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { lang } from "../../app/text.js";
import { member, type Json } from "./read.js";
import { selected } from "./store.js";
import { words } from "./words.js";
import { TableFrame } from "../../parts/table_frame.js";

const sample = JSON.parse(example.files[0]?.text ?? "{}") as Json;
const VALUE_MAX = 60;

/** Members that say what was measured and what came out; the report has more. */
const SHOWN: Record<string, readonly string[]> = {
  schema_version: [],
  system_under_test: ["gpu", "gpu_arch"],
  workload: ["model_name", "params_b", "precision", "batch_size", "engine", "weights"],
  results: ["energy_per_token_mj", "fp16_energy_per_token_mj", "vs_fp16_energy_pct", "basis", "verdict"],
};
const PLOTTED: Record<string, "x" | "y"> = { params_b: "x", vs_fp16_energy_pct: "y" };

interface Line {
  text: string;
  axis?: "x" | "y" | undefined;
}

function exampleLines(): Line[] {
  const lines: Line[] = [{ text: "{" }];
  for (const [name, members] of Object.entries(SHOWN)) {
    if (members.length === 0) {
      lines.push({ text: `  "${name}": ${JSON.stringify(member(sample, name))},` });
      continue;
    }
    lines.push({ text: `  "${name}": {` });
    members.forEach((one) => lines.push({ text: `    "${one}": ${JSON.stringify(member(sample, `${name}.${one}`))},`, axis: PLOTTED[one] }));
    lines.push({ text: "    …" }, { text: "  }," });
  }
  return [...lines, { text: "  …" }, { text: "}" }];
}

function Example(): JSX.Element {
  const t = words();
  return (
    <figure class="example">
      <figcaption class="quiet">
        {t.exampleCaption + t.colon}
        <code>{example.path}</code>
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={t.exampleCaption}>
        <code>
          {exampleLines().map((line, i) =>
            line.axis === undefined ? (
              <span key={i}>{`${line.text}\n`}</span>
            ) : (
              <span key={i}>
                <mark>{line.text}</mark>
                {`  ← ${line.axis === "x" ? t.x : t.y}\n`}
              </span>
            ),
          )}
        </code>
      </pre>
    </figure>
  );
}

function valueText(value: Json | undefined): string {
  const text = value === undefined || (typeof value === "object" && value !== null) ? "" : String(value);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}

function Fields(): JSX.Element {
  const t = words();
  const [wanted, setWanted] = useState("");
  const item = selected.value;
  const json = item?.kind === "report" ? item.report.json : sample;
  const low = wanted.trim().toLowerCase();
  const rows = fields.filter(([path, , unit, , en, zh]) => low === "" || `${path} ${unit} ${en} ${zh}`.toLowerCase().includes(low));
  return (
    <div class="stack-y">
      <div class="row">
        <label class="field filter-fields">
          {t.filter}
          <input type="text" value={wanted} spellcheck={false} onInput={(event) => setWanted(event.currentTarget.value)} />
        </label>
        <span class="quiet" role="status">
          {t.fieldCount(rows.length, fields.length) + t.stop + t.space + t.valueOf(item?.kind === "report" ? item.name : t.theExample)}
        </span>
      </div>
      <TableFrame label={t.fields} columns={t.fieldColumns} class="schema">
        {rows.map(([path, type, unit, required, en, zh]) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>{type}</td>
            <td>{unit}</td>
            <td>{required === 1 ? t.required : ""}</td>
            <td>{lang.value === "zh" ? zh : en}</td>
            <td>{valueText(member(json, path))}</td>
          </tr>
        ))}
      </TableFrame>
    </div>
  );
}

export function Output(): JSX.Element {
  const t = words();
  const [open, setOpen] = useState(false);
  return (
    <section class="stack-y" aria-labelledby="output">
      <h2 id="output">{t.output}</h2>
      <p>{t.outputLead}</p>
      <Example />
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t.fields}</summary>
        {open && <Fields />}
      </details>
      <p class="quiet">
        <a href="data/energy-1.3.schema.json" download>
          {t.schemaFile}
        </a>
      </p>
    </section>
  );
}
