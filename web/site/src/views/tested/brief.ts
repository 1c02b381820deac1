// SPDX-License-Identifier: Apache-2.0
//
// What a reader takes along: the measured changes of a case in words, session by session, as text with sources and link.

import { change, range, size } from "../../app/format.js";
import { permalink } from "../../app/route.js";
import { stackName, type Row } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { basisWord, trialsText } from "../../parts/tags.js";
import type { Choice, Group } from "./choice.js";
import { words } from "./words.js";

/** "NF4 saves 28.5 % (n = 1, spread unknown)" */
export function sentence(row: Row): string {
  const t = words();
  const says = row.delta_pct < 0 ? t.saves(row.precision, size(row.delta_pct)) : t.costs(row.precision, size(row.delta_pct));
  const sure = [trialsText(row.n), ...(row.ci95_pct === null ? [] : [t.interval(range(row.ci95_pct))])];
  return t.aside(says, sure);
}

export const linkOf = (of: Choice): string => permalink("tested", { gpu: of.gpu, m: of.model });

export function briefText(of: Choice, groups: readonly Group[]): string {
  const t = words();
  const sources = new Set(groups.flatMap((group) => group.rows.map((row) => (row.doi === "" ? t.own : `https://doi.org/${row.doi}`))));
  return [
    t.brief.title(of.model, of.gpu),
    "",
    t.brief.measured,
    ...groups.flatMap((group) =>
      group.rows.map(
        (row) =>
          `- ${[
            sentence(row),
            `ΔE% ${change(row.delta_pct)}`,
            basisWord("measured"),
            `${group.engine} · ${stackName(group.engine, group.stack) ?? t.unnamed}`,
            t.batch(group.batch),
            `${t.window} ${group.window}`,
            `${t.session} ${group.session}`,
          ].join(punctuation().comma)}`,
      ),
    ),
    "",
    t.brief.limits,
    `${t.brief.sources}${t.colon}${t.list([...sources])}`,
    `${t.brief.link}${t.colon}${linkOf(of)}`,
    "",
  ].join("\n");
}
