// SPDX-License-Identifier: Apache-2.0
//
// What was measured more than once, and how far it agrees; reports of this repository; a form for one's own.

import type { JSX } from "preact";
import type { Agreement } from "../../app/core.js";
import { pageHref } from "../../app/links.js";
import { setParams } from "../../app/route.js";
import { Cases } from "./cases.js";
import { allCases, differAbove, filters, isShown, type Show } from "./gallery_cases.js";
import { Reports } from "./reports.js";
import { Submit } from "./submit.js";
import { words } from "./words.js";

const COUNTED: readonly Exclude<Agreement, "single">[] = ["sign", "differ", "beyond", "agree"];

/** A count that filters the gallery. */
function Tile({ show, note }: { show: Show; note: string }): JSX.Element {
  const on = filters().show === show;
  return (
    <button type="button" class="tile count" aria-pressed={on} onClick={() => setParams({ show: show === "several" ? null : show })}>
      <span>{words().shows[show]}</span>
      <b>{allCases().filter(({ of }) => isShown(of, show)).length}</b>
      <span class="quiet">{note}</span>
    </button>
  );
}

export function Replications(): JSX.Element {
  const t = words();
  return (
    <>
      <div class="stack-y">
        <h1>{t.title}</h1>
        <p>{t.lead}</p>
        <p class="empty">
          <b>{t.empty}</b>
          {t.space + t.emptyMore} <a href="#send">{t.send}</a>
        </p>
      </div>
      <div class="tiles counts">
        <Tile show="several" note={t.severalNote} />
        {COUNTED.map((one) => (
          <Tile key={one} show={one} note={t.notes[one](differAbove())} />
        ))}
      </div>
      <nav class="onward" aria-label={t.where}>
        <a href="#cases">{t.gallery}</a>
        <a href="#send">{t.send}</a>
        <a href="#own">{t.own}</a>
      </nav>
      <Cases />
      <Submit />
      <Reports />
      <p class="quiet">
        {t.sourceLine + t.space + t.sourceRule(differAbove())} <a href={pageHref("method")}>{t.method}</a> · <a href={pageHref("data")}>{t.data}</a>
      </p>
    </>
  );
}
