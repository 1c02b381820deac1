// SPDX-License-Identifier: Apache-2.0
//
// Draws the first view at build time: src/prerender.tsx, bundled like the page's script, run here with the few things of a
// browser that the components ask for before they are drawn.

const nothing = () => {};

/** A window in which nothing was asked, kept or chosen. `blocks`: the document's data by id. */
function browser(blocks) {
  return {
    location: { search: "", href: "https://page.invalid/index.html" },
    navigator: { language: "en" },
    addEventListener: nothing,
    matchMedia: () => ({ matches: false, addEventListener: nothing }),
    document: { documentElement: { dataset: {} }, getElementById: (id) => ({ textContent: blocks[id] }) },
  };
}

/** {html: {en, zh}, questions}. `script`: an ES module. */
export async function runPrerender(script, blocks) {
  for (const [name, value] of Object.entries(browser(blocks))) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  const { prerender } = await import(`data:text/javascript;base64,${Buffer.from(script).toString("base64")}`);
  return prerender();
}
