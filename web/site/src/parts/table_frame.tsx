// SPDX-License-Identifier: Apache-2.0
//
// A table that scrolls by itself where it is wider than its place, reachable by key, with its row of headings.

import type { ComponentChildren, JSX } from "preact";

export interface FrameProps {
  /** What the table is; read out, not shown. */
  label: string;
  columns: readonly string[];
  class?: string;
  /** Rows. */
  children: ComponentChildren;
}

export function TableFrame({ label, columns, class: kind, children }: FrameProps): JSX.Element {
  return (
    <div class={kind === undefined ? "scroll" : `scroll ${kind}-frame`} tabIndex={0} role="region" aria-label={label}>
      <table class={kind}>
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
