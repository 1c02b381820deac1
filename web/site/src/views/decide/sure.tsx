// SPDX-License-Identifier: Apache-2.0
//
// How sure the answer is: what its range means, what the core notes, and what other stacks would have said.

import type { JSX } from "preact";
import { ask, type Estimate } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { change, range } from "../../app/format.js";
import { pageHref } from "../../app/links.js";
import { punctuation } from "../../app/text.js";
import { ViewLink } from "../../parts/controls.js";
import { BasisTag } from "../../parts/tags.js";
import { members, precisionIn, request, sourceOf, stackOf, stackOptions, type Choice } from "./choice.js";
import { words } from "./words.js";
import { TableFrame } from "../../parts/table_frame.js";

function StackRow({ of, value, label }: { of: Choice; value: string; label: string }): JSX.Element {
  const to = stackOf(value);
  const precision = precisionIn(to.engine, of.precision);
  const outcome = ask("estimate", request({ ...of, ...to, stack: value, precision }));
  const go = { model: of.model, card: of.card, precision, stack: value };
  const name = precision === of.precision ? label : label + punctuation().comma + precision;
  return (
    <tr aria-current={value === of.stack ? "true" : undefined}>
      <th scope="row">
        {value === of.stack ? name : (
          <ViewLink to="decide" members={members(go)}>
            {name}
          </ViewLink>
        )}
      </th>
      {outcome.ok ? (
        <>
          <td class="num">{change(outcome.value.delta_pct)}</td>
          <td class="num range">{range(outcome.value.ci)}</td>
          <td>
            <BasisTag basis={outcome.value.basis} />
          </td>
        </>
      ) : (
        <td colSpan={3}>{coreLine(outcome.error)}</td>
      )}
    </tr>
  );
}

export function Sure({ of, estimate }: { of: Choice; estimate: Estimate | null }): JSX.Element {
  const t = words();
  const options = stackOptions(of.stack, { any: t.anyVersion, published: "", other: "" });
  return (
    <section class="c5 stack-y" id="sure" tabIndex={-1} aria-labelledby="sure-title">
      <h2 id="sure-title">{t.sureTitle}</h2>
      {estimate !== null && (
        <>
          <p>{t.sureRange[sourceOf(estimate)]}</p>
          {estimate.notes.length > 0 && (
            <div>
              <h3>{t.sureNotes}</h3>
              <ul>
                {estimate.notes.map((note) => (
                  <li key={note}>{coreLine(note)}</li>
                ))}
              </ul>
            </div>
          )}
        </>
      )}
      <h3>{t.sureStacks}</h3>
      <TableFrame label={t.sureStacks} columns={t.sureColumns} class="stacks">
        {options.map((one) => (
          <StackRow key={one.value} of={of} value={one.value} label={one.label} />
        ))}
      </TableFrame>
      <p class="quiet">{t.sureStacksNote}</p>
      <p>
        <a href={pageHref("uncertainty")}>{t.sureUncertainty}</a>
      </p>
    </section>
  );
}
