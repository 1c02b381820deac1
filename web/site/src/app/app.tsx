// SPDX-License-Identifier: Apache-2.0
//
// The shell: header with views, language and theme; the view; where the numbers come from.

import build from "ecocompute-build";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ViewLink } from "../parts/controls.js";
import { Decide } from "../views/decide/decide.js";
import { Estimate } from "../views/estimate/estimate.js";
import { Optimize } from "../views/optimize/optimize.js";
import { Replications } from "../views/replications/replications.js";
import { Run } from "../views/run/run.js";
import { Tested } from "../views/tested/tested.js";
import { pageHref } from "./links.js";
import { param, setParams, view, type View } from "./route.js";
import { lang, langTag, setLang, strings, type Lang } from "./text.js";
import { setTheme, theme } from "./theme.js";

const words = strings({
  en: {
    name: "ecocompute",
    title: "Does quantizing save energy?",
    views: {
      decide: "Decide",
      tested: "Tested models",
      estimate: "Your model",
      optimize: "Optimize",
      run: "Run it yourself",
      replications: "Replications",
    } satisfies Record<View, string>,
    nav: "Views",
    pages: "Pages",
    language: "中文",
    languageLabel: "切换到中文",
    dark: "Dark",
    light: "Light",
    skip: "Skip to the content",
    offline: "Nothing is loaded and nothing is sent: data and core are in this file.",
    built: (version: string, commit: string, date: string) => `ecocompute ${version}, commit ${commit}, ${date}`,
    prove: "Where these numbers come from, and how to prove them wrong",
  },
  zh: {
    name: "ecocompute",
    title: "量化省电吗？",
    views: {
      decide: "做决定",
      tested: "实测模型",
      estimate: "你的模型",
      optimize: "优化配置",
      run: "自己测量",
      replications: "复现结果",
    },
    nav: "视图",
    pages: "页面",
    language: "English",
    languageLabel: "Switch to English",
    dark: "深色",
    light: "浅色",
    skip: "跳到正文",
    offline: "本页不加载、也不发送任何内容：数据与计算核心都在这个文件里。",
    built: (version: string, commit: string, date: string) => `ecocompute ${version}，提交 ${commit}，${date}`,
    prove: "这些数字从何而来，怎样证明它们有错",
  },
});

const VIEWS: Record<View, () => JSX.Element> = {
  decide: Decide,
  tested: Tested,
  estimate: Estimate,
  optimize: Optimize,
  run: Run,
  replications: Replications,
};

function chooseLang(to: Lang): void {
  setLang(to);
  if (param("lang") !== null) {
    setParams({ lang: null });
  }
}

function Header(): JSX.Element {
  const t = words();
  return (
    <header class="site">
      <a class="skip" href="#main">
        {t.skip}
      </a>
      <ViewLink to="decide" class="brand">
        {t.name}
      </ViewLink>
      <nav aria-label={t.nav}>
        {(Object.keys(VIEWS) as View[]).map((one) => (
          <ViewLink key={one} to={one} aria-current={view.value === one ? "page" : undefined}>
            {t.views[one]}
          </ViewLink>
        ))}
      </nav>
      <div class="switches">
        <button type="button" lang={lang.value === "en" ? "zh-Hans" : "en"} aria-label={t.languageLabel} onClick={() => chooseLang(lang.value === "en" ? "zh" : "en")}>
          {t.language}
        </button>
        <button type="button" onClick={() => setTheme(theme.value === "dark" ? "light" : "dark")}>
          <span class="to-dark">{t.dark}</span>
          <span class="to-light">{t.light}</span>
        </button>
      </div>
    </header>
  );
}

function Footer(): JSX.Element {
  const t = words();
  return (
    <footer class="site">
      <nav aria-label={t.pages}>
        {build.pages.map((page) => (
          <a key={page.name} href={pageHref(page.name)}>
            {page.title[lang.value]}
          </a>
        ))}
      </nav>
      <p>
        <a href={pageHref("method", "sources")}>{t.prove}</a>
      </p>
      <p class="quiet">
        {t.offline} {t.built(build.version, build.commit, build.date)}
      </p>
    </footer>
  );
}

export function App(): JSX.Element {
  const t = words();
  const Current = VIEWS[view.value];
  const tag = langTag();
  useEffect(() => {
    document.documentElement.lang = tag;
    document.title = view.value === "decide" ? `${t.title} · ${t.name}` : `${t.views[view.value]} · ${t.name}`;
  });
  return (
    <>
      <Header />
      <main id="main" tabIndex={-1} key={view.value}>
        <Current />
      </main>
      <Footer />
    </>
  );
}
