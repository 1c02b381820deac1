// SPDX-License-Identifier: Apache-2.0
//
// How smooth the page stays with 1,000 reports over the published curves: prints the time to read them, and frames a
// second and the longest frame while the pointer pans over the points. Asserts nothing.
//     ECO_PAGE=FOLDER node tests/web/bench/overlay.mjs [REPORTS] [CPU_SLOWDOWN]

import { openPage, root } from "../lib.mjs";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const n = Number(process.argv[2] ?? 1000);
const slowdown = Number(process.argv[3] ?? 1);
const PAN_MS = 4000;

const ARCHS = ["ada", "blackwell", "ampere", "turing", "hopper"];
const PRECISIONS = ["NF4", "INT8"];

/** Published-style reports, all different: size, class, precision, change. */
function reports() {
  const base = JSON.parse(readFileSync(join(root, "tests/golden/published_1_3.json"), "utf8"));
  return Array.from({ length: n }, (_, i) => {
    const params_b = Number((0.5 * 28 ** (((i * 37) % n) / n)).toPrecision(3));
    return JSON.stringify({
      ...base,
      system_under_test: { ...base.system_under_test, gpu_arch: ARCHS[i % ARCHS.length] },
      workload: { ...base.workload, params_b, precision: PRECISIONS[i % PRECISIONS.length], model_name: `bench/model-${i}` },
      results: { ...base.results, vs_fp16_energy_pct: Number((((i * 61) % 140) - 50 + i / n).toFixed(3)), basis: "measured" },
    });
  });
}

/** Frames between two moments, as the page itself draws them. */
async function pan(page) {
  await page.evaluate(() => {
    window.stamps = [];
    window.tips = new Set();
    const stamp = (now) => {
      window.stamps.push(now);
      window.tips.add(document.querySelector(".tip")?.textContent);
      window.panning = requestAnimationFrame(stamp);
    };
    window.panning = requestAnimationFrame(stamp);
  });
  const box = await page.locator("figure.chart svg").first().boundingBox();
  const until = performance.now() + PAN_MS;
  let moves = 0;
  for (; performance.now() < until; moves++) {
    await page.mouse.move(box.x + 60 + ((moves * 17) % (box.width - 80)), box.y + 20 + ((moves * 7) % (box.height - 80)));
  }
  const { stamps, tips } = await page.evaluate(() => {
    cancelAnimationFrame(window.panning);
    return { stamps: window.stamps, tips: window.tips.size };
  });
  const gaps = stamps.slice(1).map((t, i) => t - stamps[i]).sort((a, b) => a - b);
  return { fps: (1000 * gaps.length) / (stamps.at(-1) - stamps[0]), longest: gaps.at(-1), p95: gaps[Math.floor(gaps.length * 0.95)], moves, tips };
}

test("overlay", async () => {
  const { page, close } = await openPage({ query: "tab=run" });
  if (slowdown > 1) {
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  }
  const texts = reports();
  const read = await page.evaluate(
    async ([list, count]) => {
      const data = new DataTransfer();
      list.forEach((text, i) => data.items.add(new File([text], `report-${i}.json`)));
      const began = performance.now();
      dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
      while (document.querySelectorAll(".marks [data-mark^=d]").length < count) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return performance.now() - began;
    },
    [texts, n],
  );
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
  const { fps, longest, p95, moves, tips } = await pan(page);
  console.log(`${n} reports, CPU slowed ${slowdown} times: read and drawn in ${read.toFixed(0)} ms`);
  console.log(`pointer panning: ${fps.toFixed(1)} frames a second, 95 % of frames below ${p95.toFixed(1)} ms, the longest ${longest.toFixed(1)} ms; ${moves} moves opened ${tips} tips`);
  await close();
});
