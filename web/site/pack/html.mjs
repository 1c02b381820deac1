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

/** `head`: further elements, already HTML. */
export function documentHtml({ lang = "en", title, description, css, scripts = [], wasm = false, head = "", body }) {
  const inline = scripts.map((one) => `<script>${one}</script>`).join("");
  return `<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy({ css, scripts, wasm })}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escape(title)}</title>
<meta name="description" content="${escape(description)}">
<link rel="icon" href="${ICON}">
${head}<style>${css}</style>
</head>
<body>
${body}
${inline}
</body>
</html>
`;
}

/** The page itself. `blocks`: data by the id under which the script finds them. */
export function pageHtml({ title, css, script, blocks }) {
  const data = Object.entries(blocks).map(([id, text]) => `<script type="text/plain" id="${id}">${text}</script>`);
  return documentHtml({
    title,
    description:
      "Energy per token of quantized language models against FP16: measured, interpolated or estimated, with intervals, sources and the software stack.",
    css,
    wasm: true,
    scripts: [script.replaceAll("</script", "<\\/script")],
    head: '<link rel="alternate" type="application/rss+xml" title="Notes" href="notes/feed.xml">\n',
    body: '<div id="app"><noscript><p>This page computes in your browser and needs JavaScript. The text pages need none: <a href="method/index.html">Method</a>.</p></noscript></div>\n' + data.join("\n"),
  });
}
