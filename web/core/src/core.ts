// SPDX-License-Identifier: Apache-2.0
//
// Loads the WebAssembly module that wasm/ and src/ make and calls its jobs. The module imports nothing. Each call copies
// one request in and one answer out and leaves nothing behind.

import type { JobName, Jobs } from "./jobs.js";

export type * from "./jobs.js";

/** What a job refused, with the status that the C core gave it ("ECO_E_INVALID", "ECO_E_PARSE", ...). */
export class CoreError extends Error {
  override readonly name = "CoreError";
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

interface CoreExports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  eco_allocate(size: number): number;
  eco_release(address: number): void;
  eco_call(job: number, request: number, length: number): number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function start(module: WebAssembly.Module): CoreExports {
  const exports = new WebAssembly.Instance(module, {}).exports as unknown as CoreExports;
  exports._initialize();
  return exports;
}

/** The address of a copy of `bytes` with a NUL behind it. */
function copyIn(core: CoreExports, bytes: Uint8Array): number {
  const address = core.eco_allocate(bytes.length + 1);
  if (address === 0) {
    throw new CoreError("out of memory", "ECO_E_NO_MEMORY");
  }
  const view = new Uint8Array(core.memory.buffer, address, bytes.length + 1);
  view.set(bytes);
  view[bytes.length] = 0;
  return address;
}

/** The text at `address`, up to its NUL. */
function copyOut(core: CoreExports, address: number): string {
  const bytes = new Uint8Array(core.memory.buffer);
  return decoder.decode(bytes.subarray(address, bytes.indexOf(0, address)));
}

export class Core {
  readonly #module: WebAssembly.Module;
  #exports: CoreExports;

  private constructor(module: WebAssembly.Module) {
    this.#module = module;
    this.#exports = start(module);
  }

  static async load(source: BufferSource | WebAssembly.Module): Promise<Core> {
    return new Core(source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source));
  }

  /** Runs a job and returns its document as it was printed, an error's document too. */
  callText(job: string, request: string): string {
    const core = this.#exports;
    try {
      const name = copyIn(core, encoder.encode(job));
      const bytes = encoder.encode(request);
      const input = copyIn(core, bytes);
      const answer = core.eco_call(name, input, bytes.length);
      core.eco_release(input);
      core.eco_release(name);
      if (answer === 0) {
        throw new CoreError("out of memory", "ECO_E_NO_MEMORY");
      }
      const text = copyOut(core, answer);
      core.eco_release(answer);
      return text;
    } catch (error) {
      // Memory ended, or the module trapped: what its heap holds is not known, so the next call gets a fresh one.
      this.#exports = start(this.#module);
      throw error;
    }
  }

  /** Runs a job; a refusal is thrown as CoreError. */
  call<J extends JobName>(job: J, request: Jobs[J]["request"]): Jobs[J]["answer"] {
    const answer: unknown = JSON.parse(this.callText(job, JSON.stringify(request)));
    if (typeof answer === "object" && answer !== null && "error" in answer && "code" in answer) {
      throw new CoreError(String(answer.error), String(answer.code));
    }
    return answer as Jobs[J]["answer"];
  }
}
