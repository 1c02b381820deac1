// SPDX-License-Identifier: Apache-2.0
//
// Whole HTML documents with their content security policy. Scripts and styles stand inside and are named in the policy by
// their SHA-256, so that it holds for a file from disk as well, and nothing else runs.

import { createHash } from "node:crypto";

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
export const escape = (text) => String(text).replace(/[&<>"']/g, (c) => ESCAPES[c]);

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing may be fetched, sent or framed; what is not named is forbidden. */
function policy({ css, scripts, wasm }) {
  const run = scripts.map(hash).join(" ");
  return [
    "default-src 'none'",
    `script-src ${run === "" ? "'none'" : run}${wasm ? " 'wasm-unsafe-eval'" : ""}`,
    `style-src ${hash(css)}`,
    "img-src data: blob:",
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

// A picture that needs no request.
const ICON =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 13V9h3v4zm4.5 0V6h3v7zM11 13V2h3v11z" fill="#0072b2"/></svg>',
  );

/** JSON as it may stand in a document, in ASCII. */
export const asciiJson = (value) =>
  JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Markup in ASCII: a document of one byte a character is decoded and read in half the time. Its scripts are ASCII already. */
const asciiHtml = (html) => html.replace(/[^\0-\x7f]/gu, (c) => `&#${c.codePointAt(0)};`);

/** A script's text as it may stand in a document. */
const inScript = (text) => text.trim().replaceAll("</script", "<\\/script");

/** `head`: further elements, already HTML. `first`: a script before anything is drawn; `inert`: scripts in `body` by their texts. */
export function documentHtml({ lang = "en", title, description, css, first = [], scripts = [], inert = [], wasm = false, head = "", body }) {
  const inline = (list) => list.map((one) => `<script>${one}</script>`).join("");
  return `<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy({ css, scripts: [...first, ...scripts, ...inert], wasm })}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escape(title)}</title>
<meta name="description" content="${escape(description)}">
<link rel="icon" href="${ICON}">
${head}<style>${css}</style>
${inline(first)}</head>
<body>
${body}
${inline(scripts)}
</body>
</html>
`;
}

const NO_SCRIPT =
  '<noscript><p class="problem">Without JavaScript this page shows its first answer only; choosing another needs it. The text pages need none: <a href="method/index.html">Method</a>. ' +
  '<span lang="zh-Hans">没有 JavaScript 时，本页只显示第一个答案，改选需要它；文字页面不需要：<a href="zh/method/index.html">方法</a>。</span></p></noscript>';

// Tells the encoding before the first element: a browser need not look for it and begin anew.
const BOM = "\ufeff";

/**
 * The page itself. `views`: the first view's HTML by language; `begin`: the script right behind it; `script`: the page's,
 * inert until that one starts it; `blocks`: data by the id under which the script finds them.
 */
export function pageHtml({ title, css, views, first, begin, script, blocks }) {
  const data = Object.entries(blocks).map(([id, text]) => `<script type="text/plain" id="${id}">${text}</script>`);
  const [head, behind, page] = [first, begin, script].map(inScript);
  const html = documentHtml({
    title,
    description:
      "Energy per token of quantized language models against FP16: measured, interpolated or estimated, with intervals, sources and the software stack.",
    css,
    wasm: true,
    first: [head],
    inert: [behind, page],
    head:
      '<link rel="alternate" type="application/rss+xml" title="Notes" href="notes/feed.xml">\n' +
      '<link rel="expect" href="#begin" blocking="render">\n', // the view is drawn whole, not as it is read
    body: [
      NO_SCRIPT,
      `<div id="app">${views.en}</div>`,
      `<template id="app-zh">${views.zh}</template>`,
      `<script id="begin">${behind}</script>`,
      ...data,
      `<script type="text/plain" id="page-script">${page}</script>`,
    ].join("\n"),
  });
  return BOM + asciiHtml(html);
}
