// SPDX-License-Identifier: Apache-2.0
//
// gzip that takes seconds and is a twentieth smaller: the core is half of what a reader loads.

import zopfli from "@gfx/zopfli";
import { gunzipSync } from "node:zlib";

const ITERATIONS = 15; // zopfli's own choice

export async function gzipSmall(bytes) {
  const made = await new Promise((resolve, reject) => zopfli.gzip(bytes, { numiterations: ITERATIONS }, (error, out) => (error ? reject(error) : resolve(Buffer.from(out)))));
  if (!gunzipSync(made).equals(bytes)) {
    throw new Error("gzip: what was packed does not unpack to the same");
  }
  return made;
}
