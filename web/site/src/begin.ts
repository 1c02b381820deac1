// SPDX-License-Identifier: Apache-2.0
//
// Behind the prerendered view: shows it in Chinese where that was chosen, and starts the page's script once the view is
// painted and the browser has time, or at once when the reader touches something. Until then the script is a text that no
// engine parses: its type becomes JavaScript's when it is moved. The policy names it by its hash all the same.

const root = document.documentElement;
const app = document.getElementById("app") as HTMLElement;
if (root.dataset["wait"] === "words") {
  app.replaceChildren((document.getElementById("app-zh") as HTMLTemplateElement).content);
  delete root.dataset["wait"];
}

const TOUCHES = ["pointerdown", "keydown", "focusin", "dragenter"] as const;

function start(): void {
  for (const name of TOUCHES) {
    removeEventListener(name, start, true);
  }
  const script = document.getElementById("page-script") as HTMLScriptElement | null;
  if (script?.type === "text/plain") {
    script.type = "text/javascript";
    document.body.append(script);
  }
}

function whenIdle(): void {
  if ("requestIdleCallback" in window) {
    requestIdleCallback(start, { timeout: 1000 });
  } else {
    setTimeout(start, 50);
  }
}

addEventListener("DOMContentLoaded", () => {
  if (root.dataset["wait"] !== undefined) {
    start();
    return;
  }
  for (const name of TOUCHES) {
    addEventListener(name, start, true);
  }
  requestAnimationFrame(() => setTimeout(whenIdle, 0));
});
