// SPDX-License-Identifier: Apache-2.0
//
// Text pages: docs/site/{en,zh}/*.md (and notes/*.md) as static HTML, one folder a page, with a feed of the notes. A page
// with `source: docs/….md` in its front matter shows that document. Links by scheme: page:NAME#anchor, view:NAME?query,
// repo:PATH, data:FILE; one that leads nowhere ends the build.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { Marked } from "marked";
import { documentHtml, escape } from "./html.mjs";

const REPOSITORY = "https://github.com/hongping-zh/ecocompute-mlcube";
const LANGS = { en: "en", zh: "zh-Hans" };
const VIEWS = ["decide", "tested", "estimate", "optimize", "run", "replications"];
/** The order of the footer; a page that is not named here comes last. */
const ORDER = ["method", "uncertainty", "protocol", "run-guide", "container", "mlperf-client", "data", "glossary", "cite", "notes", "changelog", "about"];
/** A first cell of at most this many characters stays on one line: Chinese would break between any two. */
const LABEL_MAX = 8;
const WORDS = {
  en: { home: "ecocompute", other: "中文", notes: "Notes", notesSummary: "Short texts on what was found, each with its sources.", feed: "RSS feed", files: "Downloads", file: "file", bytes: "bytes" },
  zh: { home: "ecocompute", other: "English", notes: "随笔", notesSummary: "关于各项发现的短文，均附来源。", feed: "RSS 订阅", files: "下载", file: "文件", bytes: "字节" },
};

/** Front matter of `key: value` lines between two lines of ---. */
function parse(path, text) {
  const match = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text);
  if (match === null) {
    throw new Error(`${path}: front matter between two lines of --- is expected`);
  }
  const meta = Object.fromEntries(
    match[1].split("\n").map((line) => {
      const at = line.indexOf(": ");
      if (at < 0) {
        throw new Error(`${path}: "key: value" is expected, not "${line}"`);
      }
      return [line.slice(0, at), line.slice(at + 2).trim()];
    }),
  );
  if (!meta.title || !meta.summary) {
    throw new Error(`${path}: title and summary are expected`);
  }
  return { ...meta, body: match[2] };
}

function readFolder(root, folder) {
  const at = join(root, folder);
  return existsSync(at)
    ? readdirSync(at)
        .filter((file) => file.endsWith(".md"))
        .sort()
        .map((file) => {
          const page = parse(`${folder}/${file}`, readFileSync(join(at, file), "utf8"));
          const document = page.source === undefined ? null : page.source;
          const body = document === null ? page.body : readFileSync(join(root, document), "utf8").replace(/^# .*\n/, "");
          return { ...page, body, document, name: basename(file, ".md"), path: `${folder}/${file}` };
        })
    : [];
}

/** `draft`: pages that one language lacks are left out, and dead links only named. */
export function readPages(root, draft) {
  const byLang = {};
  for (const lang of Object.keys(LANGS)) {
    byLang[lang] = { pages: readFolder(root, `docs/site/${lang}`), notes: readFolder(root, `docs/site/${lang}/notes`) };
    byLang[lang].notes.sort((a, b) => (a.date < b.date ? 1 : -1));
  }
  if (draft) {
    const both = (kind) => byLang.en[kind].map((one) => one.name).filter((name) => byLang.zh[kind].some((zh) => zh.name === name));
    for (const kind of ["pages", "notes"]) {
      const keep = both(kind);
      for (const lang of Object.keys(LANGS)) {
        byLang[lang][kind] = byLang[lang][kind].filter((one) => keep.includes(one.name));
      }
    }
  }
  const names = (lang) => byLang[lang].pages.map((one) => one.name).join(" ");
  const slugs = (lang) => byLang[lang].notes.map((one) => one.name).join(" ");
  if (names("en") !== names("zh") || slugs("en") !== slugs("zh")) {
    throw new Error(`docs/site: both languages must have the same pages\nen: ${names("en")}\nzh: ${names("zh")}`);
  }
  if (!draft) {
    sameShape(byLang);
  }
  const rank = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const list = byLang.en.pages
    .map((one) => ({ name: one.name, title: { en: one.title, zh: byLang.zh.pages.find((z) => z.name === one.name).title } }))
    .concat(byLang.en.notes.length > 0 ? [{ name: "notes", title: { en: WORDS.en.notes, zh: WORDS.zh.notes } }] : [])
    .sort((a, b) => rank(a.name) - rank(b.name));
  return { root, byLang, list, draft };
}

/** Both languages say the same: as many headings of each depth, rows of tables and blocks of code, so that one cannot move on alone. */
function sameShape(byLang) {
  const shape = (body) => {
    const prose = body.replace(/^```[\s\S]*?^```/gm, "```");
    const count = (pattern) => (prose.match(pattern) ?? []).length;
    return { h2: count(/^## /gm), h3: count(/^### /gm), rows: count(/^\|/gm), code: count(/^```/gm) };
  };
  for (const kind of ["pages", "notes"]) {
    for (const en of byLang.en[kind]) {
      const zh = byLang.zh[kind].find((one) => one.name === en.name);
      const [a, b] = [shape(en.body), shape(zh.body)].map((one) => JSON.stringify(one));
      if (a !== b) {
        throw new Error(`${zh.path}: not the shape of ${en.document ?? en.path}\n${a} there\n${b} here`);
      }
    }
  }
}

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** "Term {#id}" → the text and the id. */
function heading(text) {
  const match = /^(.*?)\s*\{#([\w-]+)\}\s*$/.exec(text);
  return match === null ? { text, id: slug(text) } : { text: match[1], id: match[2] };
}

function ids(body) {
  return new Set([...body.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => heading(match[1].replaceAll("`", "")).id));
}

/** By id and language: the term and its first paragraph without markup. */
export function readGlossary(root) {
  const glossary = {};
  for (const lang of Object.keys(LANGS)) {
    const path = join(root, `docs/site/${lang}/glossary.md`);
    const body = existsSync(path) ? parse(path, readFileSync(path, "utf8")).body : "";
    for (const part of body.split(/^## /m).slice(1)) {
      const [first, ...rest] = part.split("\n");
      const { text: term, id } = heading(first);
      if (id === "sources") {
        continue; // where the glossary's own facts come from
      }
      const paragraph = rest.join("\n").trim().split(/\n\s*\n/)[0].replace(/\s*\n\s*/g, lang === "zh" ? "" : " ");
      const text = paragraph.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/[`*]/g, "");
      (glossary[id] ??= {})[lang] = { term: term.replace(/[`*]/g, ""), text };
    }
  }
  return glossary;
}

/** Rewrites the links of one page; `up` leads from its folder to the root of the site. */
function linker({ pages, lang, up, page, files }) {
  const here = pages.byLang[lang];
  const anchors = (name) => {
    const found = here.pages.find((one) => one.name === name);
    return found === undefined ? null : ids(found.body);
  };
  const folder = lang === "zh" ? "zh/" : "";
  const dead = (href) => new Error(`${page.path}: the link ${href} leads nowhere`);
  const inRepository = (path, anchor) => {
    if (!existsSync(join(pages.root, path))) {
      throw dead(path);
    }
    return `${REPOSITORY}/blob/main/${path}${anchor === undefined ? "" : `#${anchor}`}`;
  };
  const follow = (href) => {
    const [, scheme, rest] = /^([a-z]+):(.*)$/.exec(href) ?? [];
    const [target, anchor] = (rest ?? href).split("#");
    switch (scheme) {
      case "page": {
        const known = target === "notes" || here.notes.some((one) => `notes/${one.name}` === target) ? new Set() : anchors(target);
        if (known === null || (anchor !== undefined && !known.has(anchor))) {
          throw dead(href);
        }
        return `${up}${folder}${target}/index.html${anchor === undefined ? "" : `#${anchor}`}`;
      }
      case "view": {
        const [view, query] = target.split("?");
        if (!VIEWS.includes(view)) {
          throw dead(href);
        }
        return `${up}index.html?${view === "decide" ? "" : `tab=${view}&`}${query === undefined ? "" : `${query}&`}lang=${lang}`;
      }
      case "repo":
        return inRepository(target, anchor);
      case "data":
        if (target !== "SHA256SUMS" && !files.some((one) => one.file === target)) {
          throw dead(href);
        }
        return `${up}data/${target}`;
      case "http":
      case "https":
      case "mailto":
        return href;
      case undefined:
        if (target === "") {
          return href;
        }
        if (page.document !== null) {
          return inRepository(posix.normalize(posix.join(dirname(page.document), target)), anchor);
        }
        throw dead(href);
      default:
        throw dead(href);
    }
  };
  return (href) => {
    try {
      return follow(href);
    } catch (error) {
      if (!pages.draft) {
        throw error;
      }
      console.warn(error.message);
      return "#";
    }
  };
}

function render(page, link) {
  let tables = 0; // each has a name of its own
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth, raw }) {
        const { id } = heading(raw.replace(/^#+\s*/, "").replaceAll("`", "").trim());
        const inner = this.parser.parseInline(tokens).replace(/\s*\{#[\w-]+\}\s*$/, "");
        return `<h${depth} id="${escape(id)}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escape(link(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ text }) {
        throw new Error(`${page.path}: pictures are not carried ("${text}")`);
      },
      html({ text }) {
        return escape(text);
      },
      table(token) {
        const cells = (row, tag) =>
          row
            .map((cell, i) => {
              const inner = this.parser.parseInline(cell.tokens);
              const name = tag === "th" && inner !== "" ? "th" : "td"; // a corner without words heads nothing
              const kinds = [cell.align === "right" && "num", i === 0 && inner !== "" && cell.text.length <= LABEL_MAX && "label"].filter(Boolean).join(" ");
              return `<${name}${name === "th" ? ' scope="col"' : ""}${kinds === "" ? "" : ` class="${kinds}"`}>${inner}</${name}>`;
            })
            .join("");
        const body = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="scroll" tabindex="0" role="region" aria-label="${escape(`${page.title} · ${++tables}`)}"><table><thead><tr>${cells(token.header, "th")}</tr></thead><tbody>${body}</tbody></table></div>\n`;
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escape(text)}</code></pre>\n`;
      },
    },
  });
  return marked.parse(page.body);
}

/** The theme that the reader chose in the page; text pages have no other script. */
const THEME =
  'try{const t=localStorage.getItem("ecocompute.theme");if(t)document.documentElement.dataset.theme=t}catch{}';

function write(out, { css, pages, facts }, { lang, name, title, summary, body, up }) {
  const w = WORDS[lang];
  const other = lang === "en" ? "zh" : "en";
  const otherHref = `${up}${other === "zh" ? "zh/" : ""}${name}/index.html`;
  const nav = pages.list
    .map((one) => `<a href="${up}${lang === "zh" ? "zh/" : ""}${one.name}/index.html"${one.name === name ? ' aria-current="page"' : ""}>${escape(one.title[lang])}</a>`)
    .join("\n");
  const html = documentHtml({
    lang: LANGS[lang],
    title: `${title} · ecocompute`,
    description: summary,
    css,
    scripts: [THEME],
    head: `<link rel="alternate" hreflang="${LANGS[other]}" href="${otherHref}">\n`,
    body: `<header class="site"><a class="brand" href="${up}index.html?lang=${lang}">${w.home}</a><nav aria-label="ecocompute">${nav}</nav>
<div class="switches"><a href="${otherHref}" lang="${LANGS[other]}" hreflang="${LANGS[other]}">${w.other}</a></div></header>
<main id="main" class="text"><h1>${escape(title)}</h1>
<p class="summary">${escape(summary)}</p>
${body}</main>
<footer class="site"><p class="quiet">ecocompute ${facts.version}, ${facts.commit}, ${facts.date}</p></footer>`,
  });
  const folder = join(out, lang === "zh" ? "zh" : "", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.html"), html);
}

function feed(out, lang, notes) {
  const items = notes
    .map(
      (one) =>
        `<item><title>${escape(one.title)}</title><description>${escape(one.summary)}</description><link>${escape(one.name)}/index.html</link><guid isPermaLink="false">ecocompute:${lang}:${escape(one.name)}</guid><pubDate>${new Date(`${one.date}T00:00:00Z`).toUTCString()}</pubDate></item>`,
    )
    .join("\n");
  writeFileSync(
    join(out, lang === "zh" ? "zh" : "", "notes/feed.xml"),
    `<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>ecocompute · ${escape(WORDS[lang].notes)}</title><link>index.html</link><description>${escape(WORDS[lang].notesSummary)}</description><language>${LANGS[lang]}</language>\n${items}\n</channel></rss>\n`,
  );
}

export function writePages({ out, pages, css, facts, files }) {
  const site = { css, pages, facts };
  for (const lang of Object.keys(LANGS)) {
    const base = lang === "zh" ? "../../" : "../";
    const { pages: list, notes } = pages.byLang[lang];
    for (const page of list) {
      const body = render(page, linker({ pages, lang, up: base, page, files }));
      const table = page.name === "data" ? filesTable(files, base, lang) : "";
      write(out, site, { ...page, lang, body: body + table, up: base });
    }
    for (const page of notes) {
      const body = `<p class="quiet"><time datetime="${page.date}">${page.date}</time></p>${render(page, linker({ pages, lang, up: `${base}../`, page, files }))}`;
      write(out, site, { ...page, name: `notes/${page.name}`, lang, body, up: `${base}../` });
    }
    if (notes.length > 0) {
      const items = notes.map((one) => `<li><a href="${one.name}/index.html">${escape(one.title)}</a> <time datetime="${one.date}">${one.date}</time><br>${escape(one.summary)}</li>`);
      const body = `<ul class="notes">${items.join("\n")}</ul><p><a href="feed.xml">${WORDS[lang].feed}</a></p>`;
      write(out, site, { name: "notes", title: WORDS[lang].notes, summary: WORDS[lang].notesSummary, lang, body, up: base });
      feed(out, lang, notes);
    }
  }
}

function filesTable(files, up, lang) {
  const w = WORDS[lang];
  const rows = files.map((one) => `<tr><td><a href="${up}data/${one.file}" download>${escape(one.file)}</a></td><td class="num">${one.bytes}</td><td><code>${one.sha256}</code></td></tr>`);
  return `<h2 id="downloads">${w.files}</h2><div class="scroll" tabindex="0" role="region" aria-label="${w.files}"><table><thead><tr><th scope="col">${w.file}</th><th scope="col" class="num">${w.bytes}</th><th scope="col">SHA-256</th></tr></thead><tbody>${rows.join("\n")}</tbody></table></div><p><a href="${up}data/SHA256SUMS">SHA256SUMS</a></p>`;
}
