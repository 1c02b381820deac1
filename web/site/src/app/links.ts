// SPDX-License-Identifier: Apache-2.0

import { lang } from "./text.js";

/** The address of a text page from the page's own folder. */
export function pageHref(name: string, anchor = ""): string {
  return `${lang.value === "zh" ? "zh/" : ""}${name}/index.html${anchor === "" ? "" : `#${anchor}`}`;
}
