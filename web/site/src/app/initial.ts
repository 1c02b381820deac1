// SPDX-License-Identifier: Apache-2.0
//
// Language and theme of a visit before the reader chooses: the link, the last choice, then the browser. Small, because the
// script before the first paint reads it, too.

import { recall } from "./memory.js";

export type Lang = "en" | "zh";
export type Theme = "light" | "dark";

export function initialLang(): Lang {
  const asked = new URLSearchParams(location.search).get("lang") ?? recall("lang") ?? navigator.language;
  return asked.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function initialTheme(): Theme {
  const kept = recall("theme");
  return kept === "light" || kept === "dark" ? kept : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The tag for `lang` attributes. */
export function tagOf(lang: Lang): string {
  return lang === "zh" ? "zh-Hans" : "en";
}
