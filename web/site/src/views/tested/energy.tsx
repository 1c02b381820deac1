// SPDX-License-Identifier: Apache-2.0
//
// Energy per 1M tokens by precision: a group of bars a session. All groups of the panel have one scale.

import type { JSX } from "preact";
import { change, energyPerMillion, number, range } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { stackName, type Row } from "../../app/rows.js";
import { punctuation } from "../../app/text.js";
import { Bars, type Bar } from "../../parts/bars.js";
import { StackLine, trialsText } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import type { Group } from "./choice.js";
import { words } from "./words.js";

const SHOWN = 4;

function spread(value: number, sd: number | null): { lo?: number; hi?: number } {
  return sd === null ? {} : { lo: value - sd, hi: value + sd };
}

/** Every row has the FP16 run of its session; where a session made one a format, each stands before its format. */
function barsOf(group: Group): Bar[] {
  const t = words();
  const baselines = new Set(group.rows.map((row) => row.fp16_mj));
  const bars: Bar[] = [];
  const fp16 = (row: Row): void => {
    if (row.fp16_mj === null) {
      return;
    }
    bars.push({
      id: `${row.id}-fp16`,
      label: baselines.size > 1 ? t.baselineOf(row.precision) : "FP16",
      value: row.fp16_mj,
      ...spread(row.fp16_mj, row.fp16_sd_mj),
      colour: formatColour("FP16"),
      hatched: row.n < 2,
      text: energyPerMillion(row.fp16_mj),
      note: `${t.baseline} · ${trialsText(row.n)}`,
    });
  };
  group.rows.forEach((row, i) => {
    if (i === 0 || baselines.size > 1) {
      fp16(row);
    }
    if (row.mj !== null) {
      const notes = [trialsText(row.n)];
      if (row.ci95_pct !== null) {
        notes.push(t.interval(range(row.ci95_pct)));
      } else if (row.sd_mj !== null) {
        notes.push(t.deviation(energyPerMillion(row.sd_mj)));
      }
      bars.push({
        id: row.id,
        label: row.precision,
        value: row.mj,
        ...spread(row.mj, row.sd_mj),
        colour: formatColour(row.precision),
        hatched: row.n < 2,
        text: energyPerMillion(row.mj),
        note: (
          <>
            {change(row.delta_pct)} · {notes.join(" · ")}
          </>
        ),
      });
    }
  });
  return bars;
}

function GroupBars({ group, bars, max }: { group: Group; bars: readonly Bar[]; max: number }): JSX.Element {
  const t = words();
  return (
    <div class="group">
      <h3>
        <StackLine engine={group.engine} stack={stackName(group.engine, group.stack) ?? t.unnamed} />
      </h3>
      <p class="quiet">
        <Term id="session">{t.session}</Term> {group.session} · {t.batch(group.batch)}
        {group.context !== null && ` · ${t.context(number(group.context, 6))}`} · <Term id="window">{t.window}</Term> {group.window}
        {group.synthetic && (
          <>
            {" · "}
            <Term id="synthetic-weights">{t.synthetic}</Term>
          </>
        )}
      </p>
      {bars.length > 0 ? <Bars bars={bars} max={max} label={group.engine + punctuation().comma + group.session} /> : <p>{t.noEnergy}</p>}
    </div>
  );
}

export function Energy({ groups, model, gpu }: { groups: readonly Group[]; model: string; gpu: string }): JSX.Element {
  const t = words();
  const drawn = groups.map((group) => ({ group, bars: barsOf(group) }));
  const max = Math.max(Number.MIN_VALUE, ...drawn.flatMap(({ bars }) => bars.map((bar) => Math.max(bar.value, bar.hi ?? 0))));
  const show = (list: typeof drawn): JSX.Element[] => list.map(({ group, bars }) => <GroupBars key={group.key} group={group} bars={bars} max={max} />);
  return (
    <section class="stack-y" aria-labelledby="energy-title">
      <div>
        <h2 id="energy-title">{t.energyTitle(model, gpu)}</h2>
        <p>
          <Term id="per-1m-tokens">{t.energyLead}</Term>
        </p>
      </div>
      {show(drawn.slice(0, SHOWN))}
      {drawn.length > SHOWN && (
        <details>
          <summary>{t.more(drawn.length - SHOWN)}</summary>
          <div class="stack-y">{show(drawn.slice(SHOWN))}</div>
        </details>
      )}
      <p class="quiet">
        {t.hatchedNote + punctuation().space + t.joules}
      </p>
    </section>
  );
}
