// SPDX-License-Identifier: Apache-2.0
//
// Where the reader is, kept in the query of the address (`?tab=tested&gpu=…`), so that a link says it all and works from
// disk, too. The published site's links arrive: `?gpu=…&m=…` without a tab is the view of tested models.

import { computed, signal } from "@preact/signals";

export const VIEWS = ["decide", "tested", "estimate", "optimize", "run", "replications"] as const;
export type View = (typeof VIEWS)[number];

const query = signal(new URLSearchParams(location.search));
addEventListener("popstate", () => {
  query.value = new URLSearchParams(location.search);
});

export const view = computed<View>(() => {
  const tab = query.value.get("tab");
  const known = VIEWS.find((one) => one === tab);
  return known ?? (query.value.has("gpu") && tab === null ? "tested" : "decide");
});

/** A member of the query; a component that calls it is drawn again when it changes. */
export function param(name: string): string | null {
  return query.value.get(name);
}

/** All of a repeatable member. */
export function params(name: string): string[] {
  return query.value.getAll(name);
}

export type Changes = Record<string, string | number | null | undefined>;

/** The query of a link to `to`, which starts anew: members of the view that is left do not travel. */
export function href(to: View, members: Changes = {}): string {
  const next = new URLSearchParams();
  if (to !== "decide") {
    next.set("tab", to);
  }
  for (const [name, value] of Object.entries(members)) {
    if (value !== null && value !== undefined && value !== "") {
      next.set(name, String(value));
    }
  }
  const text = next.toString();
  return text === "" ? "?" : `?${text}`;
}

/** The address of the page that a link of this view has, to be copied. */
export function permalink(to: View, members: Changes = {}): string {
  return new URL(href(to, members), location.href.split(/[?#]/)[0]).href;
}

function show(next: string, replace: boolean): void {
  query.value = new URLSearchParams(next);
  try {
    if (replace) {
      history.replaceState(null, "", next);
    } else {
      history.pushState(null, "", next);
    }
  } catch {
    // A browser that forbids it for a page from disk: the view changes all the same.
  }
}

export function go(to: View, members: Changes = {}): void {
  show(href(to, members), false);
  scrollTo({ top: 0 });
  document.getElementById("main")?.focus({ preventScroll: true });
}

/** Members of this view that the reader changed; the address follows without a step back in the history. */
export function setParams(members: Changes): void {
  const next: Changes = {};
  for (const [name, value] of query.value) {
    if (name !== "tab") {
      next[name] = value;
    }
  }
  show(href(view.value, { ...next, ...members }), true);
}
