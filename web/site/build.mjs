// SPDX-License-Identifier: Apache-2.0
//
// build.mjs [--core FILE] [--out DIR] [--draft]: makes the page: index.html (script, style, core and data inside), the text pages,
// pages for old addresses, downloads with checksums. Defaults: ../../build/wasm/ecocompute_core.wasm and web/dist.
// What it makes depends on the sources and their commit alone.

import { build as bundle } from "esbuild";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { buildFacts, downloads } from "./pack/facts.mjs";
import { readGallery } from "./pack/gallery.mjs";
import { gzipSmall } from "./pack/gzip.mjs";
import { asciiJson, pageHtml } from "./pack/html.mjs";
import { runPrerender } from "./pack/prerender.mjs";
import { redirects } from "./pack/redirects.mjs";
import { readExample, readSchema } from "./pack/schema.mjs";
import { readGlossary, readPages, writePages } from "./pack/text_pages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const { values } = parseArgs({ options: { core: { type: "string" }, out: { type: "string" }, draft: { type: "boolean" } } });
const core = values.core ?? join(root, "build/wasm/ecocompute_core.wasm");
const out = values.out ?? join(here, "../dist");

/** Modules that are made here and not read from a file. */
function made(modules) {
  return {
    name: "made",
    setup(build) {
      build.onResolve({ filter: /^ecocompute-/ }, ({ path }) => ({ path, namespace: "made" }));
      build.onLoad({ filter: /.*/, namespace: "made" }, ({ path }) => modules[path]);
    },
  };
}

const blocks = {};

/** Data stand beside the script and not in it: what is no script need not be parsed as one. */
function json(name, value) {
  blocks[name] = asciiJson(value);
  return { contents: `export default JSON.parse(document.getElementById("${name}").textContent)`, loader: "js" };
}

function base64(name, bytes) {
  blocks[name] = bytes.toString("base64");
  return { contents: `export default document.getElementById("${name}").textContent`, loader: "js" };
}

const pages = readPages(root, values.draft === true);
const files = downloads(root);
const facts = buildFacts(root);
const modules = {
  "ecocompute-core-wasm": base64("ecocompute-core-wasm", await gzipSmall(readFileSync(core))),
  "ecocompute-glossary": json("ecocompute-glossary", readGlossary(root)),
  "ecocompute-gallery": json("ecocompute-gallery", readGallery(root)),
  "ecocompute-schema": json("ecocompute-schema", readSchema(root)),
  "ecocompute-example": json("ecocompute-example", readExample(root)),
  "ecocompute-build": json("ecocompute-build", { ...facts, files: files.map(({ path, ...rest }) => rest), pages: pages.list }),
};

/** The text of a bundle. */
async function script(entry, more = {}) {
  const result = await bundle({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    legalComments: "inline",
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
    logLevel: "warning",
    plugins: [made(modules)],
    ...more,
  });
  return result.outputFiles[0].text;
}

const { html: views, questions } = await runPrerender(await script("prerender.tsx", { format: "esm" }), blocks);
modules["ecocompute-questions"] = json("ecocompute-questions", questions);
const style = await bundle({
  entryPoints: [join(here, "src/styles/page.css")],
  bundle: true,
  minify: true,
  write: false,
  target: ["chrome123", "firefox120", "safari17.5"],
});
const css = style.outputFiles[0].text.trim();

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "data"), { recursive: true });
for (const { file, path } of files) {
  mkdirSync(dirname(join(out, "data", file)), { recursive: true });
  cpSync(path, join(out, "data", file));
}
writeFileSync(join(out, "data/SHA256SUMS"), files.map((one) => `${one.sha256}  ${one.file}\n`).join(""));
const [first, begin, page] = await Promise.all(["first.ts", "begin.ts", "main.tsx"].map((entry) => script(entry)));
const html = pageHtml({ title: "Does quantizing save energy?", css, views, first, begin, script: page, blocks });
writeFileSync(join(out, "index.html"), html);
writePages({ out, pages, css, facts, files });
redirects(out, css);
const size = gzipSync(html, { level: 9 }).length;
console.log(`index.html: ${html.length} bytes, ${size} gzipped`);
