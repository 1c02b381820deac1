// SPDX-License-Identifier: Apache-2.0
//
// Dark or light: the system's wish until the reader chooses.

import { effect, signal } from "@preact/signals";
import { recall, remember } from "./memory.js";

export type Theme = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");

function initial(): Theme {
  const kept = recall("theme");
  return kept === "light" || kept === "dark" ? kept : dark.matches ? "dark" : "light";
}

export const theme = signal<Theme>(initial());
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
dark.addEventListener("change", () => {
  theme.value = initial();
});

export function setTheme(to: Theme): void {
  theme.value = to;
  remember("theme", to);
}
