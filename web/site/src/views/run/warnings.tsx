// SPDX-License-Identifier: Apache-2.0
//
// A report's warnings as advice. The texts stand in the report, in English; Chinese has its own by code.

import type { JSX } from "preact";
import { lang } from "../../app/text.js";
import type { Warning } from "./read.js";
import { WARNINGS_ZH } from "./warnings_zh.js";
import { words } from "./words.js";

function One({ of }: { of: Warning }): JSX.Element {
  const t = words();
  const known = lang.value === "zh" && Object.hasOwn(WARNINGS_ZH, of.code) ? WARNINGS_ZH[of.code] : undefined;
  const [text, advice] = known ?? [of.text, of.advice];
  const tongue = known === undefined ? "en" : "zh-Hans";
  return (
    <li>
      <p>
        <code>{of.code}</code> {of.invalidates && <b class="error">{t.invalidates}</b>}
      </p>
      <p lang={tongue}>
        {text} {of.detail}
      </p>
      {advice !== "" && (
        <p>
          <b>{t.advice}</b>
          {t.colon}
          <span lang={tongue}>{advice}</span>
        </p>
      )}
    </li>
  );
}

export function Warnings({ of }: { of: readonly Warning[] }): JSX.Element {
  const t = words();
  return (
    <section class="stack-y">
      <h3>{t.warnings}</h3>
      {of.length === 0 ? (
        <p>{t.noWarnings}</p>
      ) : (
        <ul class="warnings">
          {of.map((one, i) => (
            <One key={i} of={one} />
          ))}
        </ul>
      )}
    </section>
  );
}
