// SPDX-License-Identifier: Apache-2.0
//
// check_module.mjs MODULE: what it imports and exports, and its size as it travels.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const GZIP_MAX_BYTES = 150_000;
const bytes = readFileSync(process.argv[2]);
const module = new WebAssembly.Module(bytes);

assert.deepEqual(WebAssembly.Module.imports(module), [], "the module imports something");
assert.deepEqual(
  WebAssembly.Module.exports(module)
    .map((entry) => entry.name)
    .sort(),
  ["_initialize", "eco_allocate", "eco_call", "eco_release", "memory"],
);
const gzip = gzipSync(bytes, { level: 9 }).length;
console.log(`no imports; ${bytes.length} bytes, gzipped ${gzip} of at most ${GZIP_MAX_BYTES}`);
assert.ok(gzip < GZIP_MAX_BYTES, `${gzip} bytes gzipped`);
