// SPDX-License-Identifier: Apache-2.0
//
// The first view as HTML, drawn at build time by the same components from the same core (pack/prerender.mjs runs this). The
// page takes it over, so that the number is on the screen before the script is read.

import { renderToString } from "preact-render-to-string";
import { App } from "./app/app.js";
import { asked, startCore } from "./app/core.js";
import { lang, type Lang } from "./app/text.js";

/** HTML by language, and what the core was asked for it. */
export async function prerender(): Promise<{ html: Record<Lang, string>; questions: string[] }> {
  await startCore();
  const draw = (to: Lang): string => {
    lang.value = to;
    return renderToString(<App />);
  };
  return { html: { en: draw("en"), zh: draw("zh") }, questions: asked() };
}
