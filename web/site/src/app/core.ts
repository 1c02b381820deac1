// SPDX-License-Identifier: Apache-2.0
//
// The C core in the page. Every number that the page shows was computed there; this file only asks.

import { Core, CoreError, type JobName, type Jobs } from "../../../core/src/core.js";
import packed from "ecocompute-core-wasm";

export { CoreError };
export type * from "../../../core/src/jobs.js";

let core: Core;

/** By the browser itself where it can (since 2025), which is many times faster. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const own = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  return own === undefined ? Uint8Array.from(atob(text), (one) => one.charCodeAt(0)) : own.call(Uint8Array, text);
}

/** Once, before anything is asked. */
export async function startCore(): Promise<void> {
  const bytes = fromBase64(packed);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  core = await Core.load(await new Response(stream).arrayBuffer());
}

export type Outcome<T> = { ok: true; value: T } | { ok: false; error: string; code: string };

const kept = new Map<string, Outcome<unknown>>();

const KEPT_MAX = 512;
const REQUEST_KEPT_MAX = 4096;

/** What the job answers, or what it refused. Answers to small requests are kept: the core has no state. */
export function ask<J extends JobName>(job: J, request: Jobs[J]["request"]): Outcome<Jobs[J]["answer"]> {
  const text = JSON.stringify(request);
  const key = text.length <= REQUEST_KEPT_MAX ? `${job} ${text}` : null;
  const known = key === null ? undefined : kept.get(key);
  if (known !== undefined) {
    return known as Outcome<Jobs[J]["answer"]>;
  }
  let outcome: Outcome<Jobs[J]["answer"]>;
  try {
    outcome = { ok: true, value: core.call(job, request) };
  } catch (error) {
    const code = error instanceof CoreError ? error.code : "ECO_E_INTERNAL";
    outcome = { ok: false, error: error instanceof Error ? error.message : String(error), code };
  }
  if (key !== null) {
    if (kept.size >= KEPT_MAX) {
      kept.clear();
    }
    kept.set(key, outcome);
  }
  return outcome;
}

/** What was asked and kept, for askAgain. */
export function asked(): string[] {
  return [...kept.keys()];
}

/** Asks what `asked` lists in another run of the page, so that its answer is kept. */
export function askAgain(key: string): void {
  const space = key.indexOf(" ");
  ask(key.slice(0, space) as JobName, JSON.parse(key.slice(space + 1)) as Jobs[JobName]["request"]);
}

/** For jobs on what is built in, which cannot refuse. */
export function must<J extends JobName>(job: J, request: Jobs[J]["request"]): Jobs[J]["answer"] {
  const outcome = ask(job, request);
  if (!outcome.ok) {
    throw new Error(`${job}: ${outcome.error}`);
  }
  return outcome.value;
}
