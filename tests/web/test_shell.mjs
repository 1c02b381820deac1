// SPDX-License-Identifier: Apache-2.0
//
// What holds for every view: languages, themes, widths, axe, headings, policy, old addresses, text pages.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { axe, fits, LANGS, openPage, plain, shot, site, VIEWS } from "./lib.mjs";

const WIDTHS = [360, 768, 1280, 3840];

for (const view of VIEWS) {
  for (const lang of LANGS) {
    test(`${view}, ${lang}: axe, widths, picture`, async () => {
      const query = `${view === "decide" ? "" : `tab=${view}&`}lang=${lang}`;
      const { page, close } = await openPage({ query, lang });
      assert.equal(await page.locator("html").getAttribute("lang"), lang === "zh" ? "zh-Hans" : "en");
      assert.equal(await page.locator("h1").count(), 1, "one h1");
      assert.notEqual(plain(await page.locator("h1").innerText()), "");
      if (lang === "zh") {
        assert.match(await page.locator("main").innerText(), /[\u4e00-\u9fff]/, "the view is in Chinese");
      }
      await axe(page, `${view} ${lang} light`);
      await shot(page, `${view}-${lang}`, { fullPage: false }); // docs/page has these
      await shot(page, `whole-${view}-${lang}`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await fits(page, `${view} ${lang} at ${width}`);
        if (width === 360) {
          await shot(page, `whole-${view}-${lang}-360`);
        }
      }
      await close();
    });
  }

  test(`${view}: dark`, async () => {
    const { page, close } = await openPage({ query: view === "decide" ? "" : `tab=${view}`, theme: "dark" });
    await axe(page, `${view} dark`);
    await shot(page, `${view}-dark`);
    await close();
  });

  test(`${view}: print shows no buttons of the shell`, async () => {
    const { page, close } = await openPage({ query: view === "decide" ? "" : `tab=${view}` });
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".switches").isVisible(), false);
    assert.equal(await page.locator("h1").isVisible(), true);
    await close();
  });
}

test("language and theme switch in place and keep the view", async () => {
  const { page, close } = await openPage({ query: "tab=optimize" });
  await page.getByRole("button", { name: "切换到中文" }).click();
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-Hans");
  assert.equal(await page.locator("header nav a[aria-current=page]").innerText(), "优化配置");
  await page.getByRole("button", { name: "Switch to English" }).click();
  await page.getByRole("button", { name: "Dark" }).click();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(paper, "rgb(20, 23, 26)");
  await close();
});

test("views follow one another by their links, back and forth, without loading a page again", async () => {
  const { page, close } = await openPage();
  let loads = 0;
  page.on("load", () => loads++);
  for (const [i, view] of VIEWS.entries()) {
    await page.locator("header nav a").nth(i).click();
    assert.equal(new URL(page.url()).searchParams.get("tab"), view === "decide" ? null : view);
  }
  await page.goBack();
  assert.equal(new URL(page.url()).searchParams.get("tab"), "run");
  assert.equal(loads, 0);
  await close();
});

test("the first screen needs no scrolling at 1280 x 720", async () => {
  const { page, close } = await openPage();
  for (const part of ["h1", "main .chart svg", "main .card"]) {
    const box = await page.locator(part).first().boundingBox();
    assert.ok(box !== null && box.y + box.height <= 720, `${part} ends at ${box?.y + box?.height}`);
  }
  await shot(page, "first-screen", { fullPage: false });
  await close();
});

for (const [old, tab] of Object.entries({ estimate: "estimate", optimize: "optimize", run: "run", measured: "tested", replications: "replications" })) {
  test(`/${old}/ leads to the view and takes its query along`, async () => {
    const { page, close } = await openPage({ file: `${old}/index.html`, query: "overlay=abc&size=3" });
    await page.waitForURL(/\/index\.html\?tab=/);
    const url = new URL(page.url());
    assert.equal(url.searchParams.get("tab"), tab);
    assert.equal(url.searchParams.get("overlay"), "abc");
    assert.equal(url.searchParams.get("size"), "3");
    await page.locator("h1").waitFor();
    await close();
  });
}

test("an overlong, odd or hostile query draws a view all the same", async () => {
  for (const query of ["tab=%00", "tab=constructor", "tab=__proto__", `tab=estimate&size=${"9".repeat(5000)}`, "tab=estimate&arch=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "tab=tested&gpu=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&m=x", "lang=xx&tab=optimize&obj=%F0%9F%98%80"]) {
    const { page, close } = await openPage({ query });
    assert.equal(await page.locator("h1").count(), 1, query);
    await close();
  }
});

function textPages() {
  const found = [];
  const walk = (folder) => {
    for (const name of readdirSync(join(site, folder))) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (statSync(join(site, path)).isDirectory()) {
        walk(path);
      } else if (name === "index.html" && readFileSync(join(site, path), "utf8").includes('<main id="main" class="text">')) {
        found.push(path);
      }
    }
  };
  walk("");
  return found;
}

test("every text page: axe, no sideways scrolling, links lead somewhere, both languages", async () => {
  const pages = textPages();
  assert.ok(pages.length >= 24, `${pages.length} text pages`);
  for (const file of pages) {
    const { page, close } = await openPage({ file, width: 360 });
    await fits(page, file);
    await axe(page, file);
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.href));
    for (const link of links.filter((one) => one.startsWith("file:"))) {
      const url = new URL(link);
      const target = decodeURIComponent(url.pathname);
      assert.ok(existsSync(target), `${file}: ${link}`);
      if (url.hash !== "" && !url.hash.startsWith("#main")) {
        assert.ok(readFileSync(target, "utf8").includes(`id="${decodeURIComponent(url.hash.slice(1))}"`), `${file}: ${link}`);
      }
    }
    const name = file.replace(/\/index\.html$/, "").replaceAll("/", "-");
    await page.setViewportSize({ width: 1280, height: 720 });
    await shot(page, `text-${name}`, { fullPage: false });
    await close();
  }
});

test("downloads are what their checksums say", async () => {
  const { createHash } = await import("node:crypto");
  const sums = readFileSync(join(site, "data/SHA256SUMS"), "utf8").trim().split("\n");
  assert.ok(sums.length >= 8);
  for (const line of sums) {
    const [sum, file] = line.split("  ");
    assert.equal(createHash("sha256").update(readFileSync(join(site, "data", file))).digest("hex"), sum, file);
  }
});

test("the policy names what runs, and nothing else", () => {
  const html = readFileSync(join(site, "index.html"), "utf8");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)[1];
  for (const part of ["default-src 'none'", "connect-src 'none'", "form-action 'none'", "base-uri 'none'", "trusted-types 'none'"]) {
    assert.ok(policy.includes(part), part);
  }
  assert.match(policy, /script-src ('sha256-[\w+/=]+' ){3}'wasm-unsafe-eval';/); // before the view, behind it, the page's
  assert.ok(!/unsafe-inline|https?:|\*/.test(policy), policy);
  assert.ok(!/<(script|link|img)[^>]+(src|href)="?https?:/.test(html), "nothing is loaded from elsewhere");
});

test("the language that was chosen stays after a reload, whatever the link asked for", async () => {
  const { page, close } = await openPage({ query: "lang=en&tab=optimize" });
  await page.locator(".switches button").first().click();
  assert.match(await page.locator("h1").innerText(), /[\u4e00-\u9fff]/);
  await page.reload();
  await page.locator("html[data-ready] main").waitFor();
  assert.match(await page.locator("h1").innerText(), /[\u4e00-\u9fff]/);
  assert.match(page.url(), /tab=optimize/);
  await close();
});
