// SPDX-License-Identifier: Apache-2.0
//
// The C core in the page. Every number that the page shows was computed there; this file only asks.

import { Core, CoreError, type JobName, type Jobs } from "../../../core/src/core.js";
import packed from "ecocompute-core-wasm";

export { CoreError };
export type * from "../../../core/src/jobs.js";

let core: Core;

/** Once, before anything is drawn. */
export async function startCore(): Promise<void> {
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[i] = text.charCodeAt(i);
  }
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

/** For jobs on what is built in, which cannot refuse. */
export function must<J extends JobName>(job: J, request: Jobs[J]["request"]): Jobs[J]["answer"] {
  const outcome = ask(job, request);
  if (!outcome.ok) {
    throw new Error(`${job}: ${outcome.error}`);
  }
  return outcome.value;
}
