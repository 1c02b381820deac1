// SPDX-License-Identifier: Apache-2.0
//
// The language of the page. Every view keeps its own words beside it, in both languages, with the same members:
//     const words = strings({ en: { title: "Tested models" }, zh: { title: "实测模型" } });
//     function View() { const t = words(); return <h1>{t.title}</h1>; }
// A member may be a function, so that each language orders its sentence as it likes.

import { signal } from "@preact/signals";
import { initialLang, tagOf, type Lang } from "./initial.js";
import { remember } from "./memory.js";

export type { Lang };

export const lang = signal<Lang>(initialLang());

/** `lang` of the address, which a reload would read again, is given up by who calls this (app.tsx). */
export function setLang(to: Lang): void {
  lang.value = to;
  remember("lang", to);
}

/** The words of the current language; a component that calls it is drawn again when the language changes. */
export function strings<T>(table: { en: T; zh: NoInfer<T> }): () => T {
  return () => table[lang.value];
}

/** Between what a view puts together: full-width in Chinese, where no space parts sentences. */
export const punctuation = strings({ en: { comma: ", ", colon: ": ", space: " " }, zh: { comma: "，", colon: "：", space: "" } });

/** The tag for `lang` attributes. */
export function langTag(): string {
  return tagOf(lang.value);
}
