// SPDX-License-Identifier: Apache-2.0
//
// The first view stands in the document before any script of the page is read: the same as the script draws, in the language
// and theme of the visit, never under another question; what is touched early is not lost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, LANGS, openPage, plain, program } from "./lib.mjs";

/** Elements with their attributes and texts, a line each; what is drawn in a later frame (the grid of #sure) is left out. */
function drawn(root) {
  const lines = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      lines.push(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE && !(node.matches(".grid") && node.querySelector("#sure"))) {
      const attributes = [...node.attributes].map((one) => `${one.name}=${one.value}`).filter((one) => !/^(selected|value)=/.test(one));
      lines.push(`<${node.localName} ${attributes.sort().join(" ")}>`);
      node.childNodes.forEach(walk);
    }
  };
  root.childNodes.forEach(walk);
  return lines.filter((line) => line !== "");
}

/** An element with the text behind it a line; neighbouring texts are one text in a document that was parsed. */
const lines = (parts) => parts.map((one) => (one.startsWith("<") ? `\n${one}` : one)).join("").split("\n");

for (const lang of LANGS) {
  test(`what was drawn at build time is what the script draws, ${lang}`, async () => {
    const still = await openPage({ javaScriptEnabled: false });
    const before = await still.page.evaluate(`(${drawn})(${lang === "en" ? 'document.getElementById("app")' : 'document.getElementById("app-zh").content'})`);
    await still.close();
    const { page, close } = await openPage({ lang, query: "model=Qwen2-7B" }); // the first question, but asked: drawn anew
    const after = await page.evaluate(`(${drawn})(document.getElementById("app"))`);
    assert.ok(before.length > 300, `${before.length} parts`);
    const [drawnBefore, drawnAfter] = [lines(before), lines(after)];
    const at = drawnAfter.findIndex((one, i) => one !== drawnBefore[i]);
    assert.equal(drawnBefore[at], drawnAfter[at], `part ${at}`);
    assert.equal(drawnBefore.length, drawnAfter.length);
    await close();
  });

  test(`the script takes over what stands, ${lang}: no element is drawn a second time`, async () => {
    const { page, close } = await openPage({
      lang,
      before: (page) =>
        page.addInitScript(() => {
          document.addEventListener("DOMContentLoaded", () => {
            window.found = [...document.querySelectorAll("#app main .answer, #app svg, #app select, #app h1")];
            window.text = document.querySelector("#app").textContent;
          });
        }),
    });
    assert.deepEqual(await page.evaluate(() => [window.found.length > 6, window.found.every((one) => one.isConnected)]), [true, true]);
    assert.ok((await page.evaluate(() => window.text)).includes(lang === "zh" ? "量化省电吗？" : "Does quantizing save energy?"));
    await close();
  });
}

test("without JavaScript the first answer stands, and a line says that it is the only one", async () => {
  const truth = JSON.parse(program("estimate", "--json", "--arch", "RTX 4090", "--model", "Qwen2-7B", "--precision", "NF4"));
  const { page, close } = await openPage({ javaScriptEnabled: false });
  assert.equal(plain(await page.locator(".answer .big").innerText()), `${truth.delta_pct.toFixed(1)} %`);
  const text = plain(await page.locator("body").innerText());
  assert.match(text, /Without JavaScript this page shows its first answer only/);
  assert.match(text, /只显示第一个答案/);
  assert.equal(await page.locator("html").getAttribute("data-ready"), null);
  await close();
});

/** Every h1 that was ever to be seen while the page came up, with theme and language of that frame. */
async function frames(options) {
  const { page, close } = await openPage({
    ...options,
    before: (page) =>
      page.addInitScript(() => {
        window.frames_ = new Set();
        const look = () => {
          const title = document.querySelector("#app h1");
          if (title?.checkVisibility()) {
            window.frames_.add([title.textContent, document.documentElement.lang, document.documentElement.dataset.theme].join(" | "));
          }
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
  });
  const seen = await page.evaluate(() => [...window.frames_]);
  await close();
  return seen;
}

test("a link to another question never shows the first one", async () => {
  for (const query of ["tab=optimize", "tab=run", "gpu=H200&m=Qwen2-7B"]) {
    const seen = await frames({ query });
    assert.equal(seen.length, 1, seen.join("\n"));
    assert.doesNotMatch(seen[0], /Does quantizing save energy/, query);
  }
});

test("language and theme of the visit stand in the first frame", async () => {
  assert.deepEqual(await frames({ lang: "zh", theme: "dark" }), ["量化省电吗？ | zh-Hans | dark"]);
  assert.deepEqual(await frames({ lang: "en", query: "lang=zh" }), ["量化省电吗？ | zh-Hans | light"]);
  assert.deepEqual(await frames({ lang: "zh", query: "lang=en", theme: "dark" }), ["Does quantizing save energy? | en | dark"]);
});

test("the theme that was chosen is there in the first frame of the next visit", async () => {
  const { page, close } = await openPage({
    before: (page) =>
      page.addInitScript(() => {
        localStorage.setItem("ecocompute.theme", "dark");
        localStorage.setItem("ecocompute.lang", "zh");
        document.addEventListener("DOMContentLoaded", () => (window.first = [document.documentElement.dataset.theme, document.querySelector("h1").textContent]));
      }),
  });
  assert.deepEqual(await page.evaluate(() => window.first), ["dark", "量化省电吗？"]);
  await close();
});

test("a choice and a press before the page answers are done when it does", async () => {
  const { page, close } = await openPage({
    before: (page) =>
      page.addInitScript(() => {
        const touch = () => {
          const select = document.querySelectorAll(".ask-controls select")[3];
          select.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })); // starts the script
          select.value = "llama.cpp";
          select.dispatchEvent(new Event("change", { bubbles: true }));
          document.querySelectorAll(".switches button")[1].click();
          window.early = document.documentElement.dataset.ready === undefined;
        };
        addEventListener("DOMContentLoaded", () => setTimeout(touch, 0)); // behind the page's own
      }),
  });
  assert.equal(await page.evaluate(() => window.early), true);
  assert.equal(await page.getByLabel("Precision", { exact: true }).inputValue(), "Q4_0");
  assert.match(page.url(), /stack=llama\.cpp/);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await close();
});

test("axe holds before the script, too", async () => {
  const { page, close } = await openPage({ ready: false, before: (page) => page.addInitScript(() => (window.requestAnimationFrame = () => 0)) });
  assert.equal(await page.locator("html").getAttribute("data-ready"), null);
  await axe(page, "before the script");
  await close();
});

test("a link to what lies below the first screen leads there, even before it is drawn", async () => {
  const { page, close } = await openPage({
    before: (page) =>
      page.addInitScript(() => {
        addEventListener("DOMContentLoaded", () => setTimeout(() => {
          document.querySelector('a[href="#sure"]').click();
          window.early = document.querySelector("#sure") === null;
        }, 0));
      }),
  });
  assert.equal(await page.evaluate(() => window.early), true);
  await page.locator("#sure").waitFor();
  await page.waitForFunction(() => scrollY > 100);
  const top = (await page.locator("#sure").boundingBox()).y;
  assert.ok(top >= -1 && top < 400, `${top} px`);
  await close();
});
