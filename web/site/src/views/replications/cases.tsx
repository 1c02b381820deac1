// SPDX-License-Identifier: Apache-2.0
//
// Cases with their sessions: a card, size, precision and engine each; disagreement first.

import type { JSX } from "preact";
import { must, type MeasuredCase } from "../../app/core.js";
import { change, number, sizeB } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { param, setParams } from "../../app/route.js";
import { stackName, tableRows, type Row } from "../../app/rows.js";
import { Select, ViewLink } from "../../parts/controls.js";
import { Diverging } from "../../parts/diverging.js";
import { Term } from "../../parts/term.js";
import { words } from "./words.js";

const ORDER = { sign: 0, differ: 1, agree: 2, single: 3 } as const;
const FILTERS = ["several", "sign", "differ", "agree", "single"] as const;
type Filter = (typeof FILTERS)[number];

export function allCases(): readonly MeasuredCase[] {
  return must("cases", {});
}

function passes(one: MeasuredCase, filter: Filter): boolean {
  return filter === "several" ? one.agreement !== "single" : one.agreement === filter;
}

function Session({ row }: { row: Row }): JSX.Element {
  const t = words();
  const stack = stackName(row.engine, row.stack);
  return (
    <span>
      {row.session}
      <span class="quiet">
        {" "}
        · {row.model} · {stack ?? row.engine}
        {row.doi !== "" && (
          <>
            {" · "}
            <a href={`https://doi.org/${row.doi}`} rel="noopener noreferrer">
              {t.source}
            </a>
          </>
        )}
      </span>
    </span>
  );
}

function Case({ one, rows }: { one: MeasuredCase; rows: ReadonlyMap<string, Row> }): JSX.Element {
  const t = words();
  const known = one.rows.flatMap((id) => rows.get(id) ?? []);
  const name = `${one.gpu} · ${sizeB(one.params_b)} · ${one.precision}`;
  return (
    <li class="card case">
      <h3>
        <ViewLink to="tested" members={{ gpu: one.gpu, m: known[0]?.model ?? "" }}>
          {name}
        </ViewLink>
      </h3>
      <p>
        <span class={`tag flag-${one.agreement}`}>{t.flags[one.agreement]}</span> <span class="stack">{one.engine}</span>
      </p>
      <p class="quiet">
        {one.agreement === "single" ? change(one.delta_pct) : t.spread(number(one.spread_pct), one.sessions)}
      </p>
      <Diverging
        label={name}
        saves={t.saves}
        costs={t.costs}
        changes={known.map((row) => ({
          id: row.id,
          label: <Session row={row} />,
          value: row.delta_pct,
          text: (
            <>
              {change(row.delta_pct)} · {t.trials(row.n)}
            </>
          ),
          colour: formatColour(row.precision),
          hatched: row.n < 2,
        }))}
      />
    </li>
  );
}

export function Cases(): JSX.Element {
  const t = words();
  const all = allCases();
  const asked = param("show");
  const filter: Filter = FILTERS.find((one) => one === asked) ?? "several";
  const precision = param("prec") ?? "";
  const engine = param("engine") ?? "";
  const distinct = (of: (one: MeasuredCase) => string): { value: string; label: string }[] => [
    { value: "", label: t.any },
    ...[...new Set(all.map(of))].map((value) => ({ value, label: value })),
  ];
  const shown = all
    .filter((one) => passes(one, filter) && (precision === "" || one.precision === precision) && (engine === "" || one.engine === engine))
    .sort((a, b) => ORDER[a.agreement] - ORDER[b.agreement] || b.spread_pct - a.spread_pct);
  const rows = new Map(tableRows().map((row) => [row.id, row]));
  return (
    <section class="stack-y">
      <h2>{t.gallery}</h2>
      <div class="row">
        <Select label={t.filter} value={filter} options={FILTERS.map((value) => ({ value, label: t.filters[value] }))} onChange={(show) => setParams({ show })} />
        <Select label={<Term id="precision">{t.precision}</Term>} value={precision} options={distinct((one) => one.precision)} onChange={(prec) => setParams({ prec })} />
        <Select label={<Term id="engine">{t.engine}</Term>} value={engine} options={distinct((one) => one.engine)} onChange={(chosen) => setParams({ engine: chosen })} />
      </div>
      {shown.length === 0 ? (
        <p>{t.none}</p>
      ) : (
        <ul class="cases">
          {shown.map((one) => (
            <Case key={`${one.gpu} ${one.params_b} ${one.precision} ${one.engine}`} one={one} rows={rows} />
          ))}
        </ul>
      )}
    </section>
  );
}
