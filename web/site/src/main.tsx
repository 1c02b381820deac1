// SPDX-License-Identifier: Apache-2.0
//
// Starts the page: the core, then the answers that the first view needs, one a task so that the reader's own touches come
// between, then the view. The prerendered view is taken over as it stands; any other link is drawn anew.

import questions from "ecocompute-questions";
import { hydrate, render } from "preact";
import { App } from "./app/app.js";
import { askAgain, startCore } from "./app/core.js";

const page = document.documentElement;

/** What the reader touched before the view could answer; it is done then. */
function keepTouches(root: HTMLElement): () => void {
  const touched = new Map<HTMLElement, string | null>();
  const keep = (event: Event): void => {
    const on = (event.target as Element).closest<HTMLElement>("button, select");
    if (on !== null && (event.type === "change") === on instanceof HTMLSelectElement) {
      touched.set(on, on instanceof HTMLSelectElement ? on.value : null);
    }
  };
  root.addEventListener("click", keep);
  root.addEventListener("change", keep);
  return () => {
    root.removeEventListener("click", keep);
    root.removeEventListener("change", keep);
    for (const [on, value] of touched) {
      if (on instanceof HTMLSelectElement && value !== null) {
        on.value = value;
        on.dispatchEvent(new Event("change", { bubbles: true }));
      } else {
        on.click();
      }
    }
  };
}

const nextTask = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

async function draw(root: HTMLElement, doTouches: () => void): Promise<void> {
  if (page.dataset["wait"] === undefined) {
    for (const one of questions) {
      await nextTask();
      askAgain(one);
    }
    await nextTask();
    hydrate(<App />, root);
  } else {
    root.replaceChildren();
    render(<App />, root);
    delete page.dataset["wait"];
  }
  doTouches();
  page.dataset["ready"] = "";
}

const root = document.getElementById("app");
if (root !== null) {
  const doTouches = keepTouches(root);
  startCore().then(
    () => draw(root, doTouches),
    (error: unknown) => {
      delete page.dataset["wait"];
      root.textContent = `This page needs WebAssembly and DecompressionStream (any browser since 2023): ${String(error)}`;
    },
  );
}
