// SPDX-License-Identifier: Apache-2.0
//
// The gallery: a card a case, its sessions as points; disagreement first.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Agreement } from "../../app/core.js";
import { change, number, range } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { setParams } from "../../app/route.js";
import { stackName, type Row } from "../../app/rows.js";
import { Select, ViewLink } from "../../parts/controls.js";
import { Dots } from "../../parts/dots.js";
import { trialsText } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { allCases, differAbove, filters, MOST_APART_FIRST, SHOWS, shownCases, type Case } from "./gallery_cases.js";
import { Spread } from "./spread.js";
import { words } from "./words.js";

/** So few are not folded. */
const FEW = 4;
const REPOSITORY = "https://github.com/hongping-zh/ecocompute-mlcube/blob/main/";

/** Its stack, and the session as a link to where its numbers come from. */
function SessionName({ row }: { row: Row }): JSX.Element {
  const href = row.report !== null ? REPOSITORY + row.report : row.doi !== "" ? `https://doi.org/${row.doi}` : null;
  return (
    <>
      <b>{stackName(row.engine, row.stack) ?? words().noStack}</b>
      <span class="quiet">
        {href === null ? (
          row.session
        ) : (
          <a href={href} rel="noopener noreferrer">
            {row.session}
          </a>
        )}
      </span>
    </>
  );
}

function HowSure({ row }: { row: Row }): JSX.Element {
  const t = words();
  return row.ci95_pct === null ? (
    <span class="quiet">{trialsText(row.n)}</span>
  ) : (
    <>
      <span class="quiet range">{t.rangeShort(range(row.ci95_pct))}</span>
      <span class="quiet">{t.blocksShort(row.blocks)}</span>
    </>
  );
}

/** What tells sessions apart, as far as the core can say. */
function stackSentence({ of }: Case): string {
  const t = words();
  if (of.stacks === 0) {
    return t.stacks.none;
  }
  return of.same_stack === "single" ? (of.stacks > 1 ? t.stacks.apart : t.stacks.one) : t.stacks[of.same_stack];
}

function Sentences({ one }: { one: Case }): JSX.Element {
  const t = words();
  const { of } = one;
  return (
    <p>
      {t.spread(of.sessions, range([of.lo_pct, of.hi_pct]), number(of.spread_pct, 3))}
      <span class="quiet">
        {t.space}
        {of.pairs_stated > 0 ? t.stated(of.pairs_beyond, of.pairs_stated) : t.unstated}
        {t.space}
        {stackSentence(one)}
      </span>
    </p>
  );
}

function CaseCard({ one }: { one: Case }): JSX.Element {
  const t = words();
  const { of, rows } = one;
  const name = `${of.gpu} · ${of.model} · ${of.precision}`;
  return (
    <li class={`card case case-${of.agreement}`}>
      <h3>
        <ViewLink to="tested" members={{ gpu: of.gpu, m: of.model }}>
          {name}
        </ViewLink>
      </h3>
      <p class="stack">
        <span class={`tag flag flag-${of.agreement}`}>{t.flags[of.agreement]}</span> {t.workload(of.engine, of.batch, of.context === null ? null : number(of.context, 6), of.window)}
        {rows.some((row) => row.synthetic) && (
          <>
            {" · "}
            <Term id="synthetic-weights">{t.synthetic}</Term>
          </>
        )}
      </p>
      {of.agreement !== "single" && <Sentences one={one} />}
      <Dots
        label={`${name} · ${of.engine}`}
        saves={t.saves}
        costs={t.costs}
        dots={rows.map((row) => ({
          id: row.id,
          label: <SessionName row={row} />,
          value: row.delta_pct,
          range: row.ci95_pct ?? undefined,
          text: (
            <>
              <b>{change(row.delta_pct)}</b>
              <HowSure row={row} />
            </>
          ),
          colour: formatColour(row.precision),
          filled: row.n >= 2,
        }))}
      />
    </li>
  );
}

function Controls(): JSX.Element {
  const t = words();
  const now = filters();
  const options = (names: readonly string[]): { value: string; label: string }[] => [
    { value: "", label: t.any },
    ...[...new Set(names)].map((value) => ({ value, label: value })),
  ];
  const all = allCases();
  return (
    <div class="row">
      <Select label={t.filter} value={now.show} options={SHOWS.map((value) => ({ value, label: t.shows[value] }))} onChange={(show) => setParams({ show: show === "several" ? null : show })} />
      <Select label={<Term id="card">{t.card}</Term>} value={now.gpu} options={options(all.map(({ of }) => of.gpu))} onChange={(gpu) => setParams({ gpu })} />
      <Select label={<Term id="precision">{t.precision}</Term>} value={now.prec} options={options(all.map(({ of }) => of.precision))} onChange={(prec) => setParams({ prec })} />
      <Select label={<Term id="engine">{t.engine}</Term>} value={now.engine} options={options(all.map(({ of }) => of.engine))} onChange={(engine) => setParams({ engine })} />
    </div>
  );
}

/** What a folded group holds: how far apart, and which cards and models. */
function GroupHead({ agreement, cases }: { agreement: Agreement; cases: readonly Case[] }): JSX.Element {
  const t = words();
  const apart = cases.map(({ of }) => of.spread_pct);
  const ends = t.groupEnds(number(Math.min(...apart), 3), number(Math.max(...apart), 3));
  return (
    <>
      <span class={`tag flag flag-${agreement}`}>{t.flags[agreement]}</span> {t.count(cases.length)}
      <span class="quiet">
        {" · "}
        {t.notes[agreement](differAbove())}
        {agreement !== "single" && ` · ${ends}`}
      </span>
    </>
  );
}

/** All cases stand in the document, folded or not, so that a search of the browser finds them and a print shows them. */
function Group({ agreement, cases, open, set }: { agreement: Agreement; cases: readonly Case[]; open: boolean; set: (open: boolean) => void }): JSX.Element {
  return (
    <details class="case-group" open={open} onToggle={(event) => event.currentTarget.open !== open && set(event.currentTarget.open)}>
      <summary>
        <GroupHead agreement={agreement} cases={cases} />
      </summary>
      <ul class="cases">
        {cases.map((one) => (
          <CaseCard key={one.key} one={one} />
        ))}
      </ul>
    </details>
  );
}

export function Cases(): JSX.Element {
  const t = words();
  const now = filters();
  const shown = shownCases(now);
  const groups = MOST_APART_FIRST.flatMap((agreement) => {
    const cases = shown.filter(({ of }) => of.agreement === agreement);
    return cases.length === 0 ? [] : [{ agreement, cases }];
  });
  const [chosen, setChosen] = useState<Partial<Record<Agreement, boolean>>>({});
  const few = groups.length === 1 || shown.length <= FEW;
  const isOpen = (agreement: Agreement): boolean => chosen[agreement] ?? few;
  const all = groups.every(({ agreement }) => isOpen(agreement));
  const setAll = (open: boolean): void => setChosen(Object.fromEntries(MOST_APART_FIRST.map((one) => [one, open])));
  return (
    <section class="stack-y" aria-labelledby="cases">
      <h2 id="cases">{t.gallery}</h2>
      <p>
        {t.galleryLead} <Term id="session">{t.whatSession}</Term>
      </p>
      <div class="filters">
        <Controls />
        <p class="row">
          <span role="status" class="quiet">
            {t.count(shown.length)}
          </span>
          {groups.length > 0 && (
            <button type="button" class="plain" onClick={() => setAll(!all)}>
              {all ? t.fold : t.unfold}
            </button>
          )}
        </p>
      </div>
      {shown.length === 0 ? (
        <p>{t.none}</p>
      ) : (
        <>
          <Spread cases={shown} />
          {groups.map(({ agreement, cases }) => (
            <Group key={agreement} agreement={agreement} cases={cases} open={isOpen(agreement)} set={(open) => setChosen((old) => ({ ...old, [agreement]: open }))} />
          ))}
        </>
      )}
    </section>
  );
}
