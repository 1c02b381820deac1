// SPDX-License-Identifier: Apache-2.0
//
// In the head, before anything is drawn: theme and language of this visit. What stands in the document is the first
// question in English; where the link asks anything else it waits unseen (styles/layout.css) for what comes instead.

import { initialLang, initialTheme, tagOf } from "./app/initial.js";

const root = document.documentElement;
const lang = initialLang();
root.dataset["theme"] = initialTheme();
root.lang = tagOf(lang);
const asked = [...new URLSearchParams(location.search).keys()].some((name) => name !== "lang");
if (asked || lang !== "en") {
  root.dataset["wait"] = asked ? "view" : "words";
}
