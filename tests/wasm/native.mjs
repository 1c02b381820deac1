// SPDX-License-Identifier: Apache-2.0
//
// The same requests through the native library, and the comparison.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";

export function nativeAnswers(program, cases) {
  const input = cases.map(({ job, request }) => `${job}\0${request}\0`).join("");
  const run = spawnSync(program, [], { input, maxBuffer: 1 << 30 });
  assert.equal(run.status, 0, `${program}: ${run.error ?? run.stderr}`);
  const answers = run.stdout.toString("utf8").split("\0");
  assert.equal(answers.pop(), "");
  assert.equal(answers.length, cases.length);
  return answers;
}

/** Byte for byte. Prints the first differing line of each case that differs, and how many there are. */
export function compare(cases, native, wasm, where) {
  let different = 0;
  cases.forEach(({ name }, i) => {
    if (native[i] !== wasm[i]) {
      different++;
      const [a, b] = [native[i].split("\n"), String(wasm[i]).split("\n")];
      const line = a.findIndex((one, k) => one !== b[k]);
      console.log(`${name}: line ${line + 1}\n  native: ${a[line]}\n  ${where}: ${b[line]}`);
    }
  });
  const refused = native.filter((answer) => answer.startsWith('{\n  "error"')).length;
  console.log(`${where}: ${cases.length} cases, ${refused} of them refusals, ${different} differ from native`);
  assert.equal(different, 0, `${different} of ${cases.length} answers differ`);
}
