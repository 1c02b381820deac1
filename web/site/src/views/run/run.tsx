// SPDX-License-Identifier: Apache-2.0
//
// "Run it yourself": look at one's own results here, and how to get them.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { pageHref } from "../../app/links.js";
import { params } from "../../app/route.js";
import { Commands } from "./commands.js";
import { Compare } from "./compare.js";
import { Details } from "./details.js";
import { Drop } from "./drop.js";
import { List } from "./list.js";
import { Output } from "./output.js";
import { Overlay } from "./overlay.js";
import { openLinks } from "./store.js";
import { words } from "./words.js";

export function Run(): JSX.Element {
  const t = words();
  const overlays = params("overlay");
  useEffect(() => openLinks(overlays), [overlays.join("&")]);
  return (
    <>
      <div class="stack-y">
        <h1>{t.title}</h1>
        <p>{t.lead}</p>
      </div>
      <section class="stack-y own" aria-labelledby="results">
        <h2 id="results">{t.dropTitle}</h2>
        <div class="grid">
          <div class="c4">
            <Drop />
          </div>
          <div class="c8">
            <Overlay />
          </div>
        </div>
        <List />
      </section>
      <Details />
      <Compare />
      <Commands />
      <Output />
      <p class="quiet">
        {t.numbers + t.colon + t.numbersText} <a href={pageHref("method", "sources")}>{t.method}</a>
      </p>
    </>
  );
}
