// SPDX-License-Identifier: Apache-2.0
//
// The language of the page. Every view keeps its own words beside it, in both languages, with the same members:
//     const words = strings({ en: { title: "Tested models" }, zh: { title: "实测模型" } });
//     function View() { const t = words(); return <h1>{t.title}</h1>; }
// A member may be a function, so that each language orders its sentence as it likes.

import { signal } from "@preact/signals";
import { recall, remember } from "./memory.js";

export type Lang = "en" | "zh";

function initial(): Lang {
  const asked = new URLSearchParams(location.search).get("lang") ?? recall("lang") ?? navigator.language;
  return asked.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const lang = signal<Lang>(initial());

export function setLang(to: Lang): void {
  lang.value = to;
  remember("lang", to);
}

/** The words of the current language; a component that calls it is drawn again when the language changes. */
export function strings<T>(table: { en: T; zh: NoInfer<T> }): () => T {
  return () => table[lang.value];
}

/** The tag for `lang` attributes and Intl. */
export function langTag(): string {
  return lang.value === "zh" ? "zh-Hans" : "en";
}
