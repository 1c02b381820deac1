// SPDX-License-Identifier: Apache-2.0
//
// Dark or light: the system's wish until the reader chooses.

import { effect, signal } from "@preact/signals";
import { initialTheme, type Theme } from "./initial.js";
import { remember } from "./memory.js";

export const theme = signal<Theme>(initialTheme());
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  theme.value = initialTheme();
});

export function setTheme(to: Theme): void {
  theme.value = to;
  remember("theme", to);
}
