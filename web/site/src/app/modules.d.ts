// SPDX-License-Identifier: Apache-2.0
//
// What build.mjs puts into the bundle.

declare module "ecocompute-core-wasm" {
  /** The core as WebAssembly, gzipped, in base64. */
  const text: string;
  export default text;
}

declare module "ecocompute-questions" {
  /** What the prerendered view asked the core, in its order; see `askAgain` in app/core.ts. */
  const questions: string[];
  export default questions;
}

declare module "ecocompute-glossary" {
  /** By id, then language: the term and its first paragraph as plain text. */
  const glossary: Record<string, Record<"en" | "zh", { term: string; text: string }>>;
  export default glossary;
}

declare module "ecocompute-gallery" {
  import type { Gallery } from "../views/replications/gallery.js";
  const gallery: Gallery;
  export default gallery;
}

declare module "ecocompute-schema" {
  /** Path ("trials.arms[].precision"), type, unit, 1 where a report must have it, meaning in English and in Chinese. */
  const fields: [path: string, type: string, unit: string, required: 0 | 1, en: string, zh: string][];
  export default fields;
}

declare module "ecocompute-example" {
  /** A committed report with its traces. */
  const example: { path: string; files: { name: string; text: string }[] };
  export default example;
}

declare module "ecocompute-build" {
  /** What the page was built from. `date` is the day of the commit, so that one commit gives one page. */
  const build: {
    version: string;
    commit: string;
    date: string;
    /** Data downloads, with their SHA-256. */
    files: { file: string; bytes: number; sha256: string }[];
    /** Text pages that exist. */
    pages: { name: string; title: { en: string; zh: string } }[];
  };
  export default build;
}
