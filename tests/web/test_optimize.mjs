// SPDX-License-Identifier: Apache-2.0
//
// "Optimize": the program's answer, limits in the address, and none that keeps them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage, plain, program } from "./lib.mjs";

const CASES = [
  ["arch=ada&size=7&obj=min_vram", ["--arch", "ada", "--params-b", "7", "--objective", "min_vram"]],
  ["arch=RTX+5090&size=3&obj=max_throughput&vram=24", ["--arch", "RTX 5090", "--params-b", "3", "--objective", "max_throughput", "--max-vram-gb", "24"]],
  ["arch=turing&size=1.5&obj=min_latency&lat=500&tput=1", ["--arch", "turing", "--params-b", "1.5", "--objective", "min_latency", "--max-latency-ms", "500", "--min-throughput", "1"]],
];

for (const [query, args] of CASES) {
  test(`${query}: the program's answer`, async () => {
    const expected = JSON.parse(program("optimize", "--json", ...args));
    const { page, close } = await openPage({ query: `tab=optimize&${query}` });
    const card = plain(await page.locator("main .card").first().innerText());
    const best = expected.recommended;
    assert.ok(card.includes(best.precision) && card.includes(`batch ${best.batch} · context ${best.context.toLocaleString("en")}`), card);
    assert.ok(card.includes(`${Number(best.vram_gb.toPrecision(4))} GB`), `${card}: ${best.vram_gb} GB`);
    assert.equal(plain(await page.getByText("configurations keep the limits").innerText()), `${expected.feasible_count} of ${expected.input.candidates} configurations keep the limits.`);
    assert.equal(await page.locator("section table tbody tr").count(), expected.alternatives.length);
    await close();
  });
}

test("limits that nothing keeps: said, with the closest", async () => {
  const expected = JSON.parse(program("optimize", "--json", "--arch", "ada", "--params-b", "7", "--max-vram-gb", "3"));
  const { page, close } = await openPage({ query: "tab=optimize&arch=ada&size=7&obj=min_energy&vram=3" });
  assert.match(await page.getByRole("alert").innerText(), /No configuration keeps these limits/);
  const card = plain(await page.locator("main .card").first().innerText());
  assert.match(card, /Closest that misses a limit/);
  assert.ok(card.includes(expected.closest_infeasible.precision));
  assert.equal(await page.locator("details").first().getAttribute("open"), "", "a link with limits shows them");
  await close();
});

test("limits that are empty or not above zero are none, as on the published site", async () => {
  const { page, close } = await openPage({ query: "tab=optimize&arch=ada&size=7&lat=-5&vram=&tput=0" });
  assert.match(plain(await page.locator("main").innerText()), /90 of 90 configurations/);
  await close();
});

test("a limit that is no number is refused by name", async () => {
  const { page, close } = await openPage({ query: "tab=optimize&arch=ada&size=7&vram=Infinity" });
  assert.match(await page.getByRole("alert").innerText(), /max_vram_gb: 'Infinity' is no number/);
  await close();
});

test("an objective that does not exist is refused, and the controls lead on", async () => {
  const { page, close } = await openPage({ query: "tab=optimize&arch=ada&size=7&obj=min_enegy" });
  assert.match(await page.getByRole("alert").innerText(), /objective: 'min_enegy' is not known/);
  await page.getByLabel("Objective").selectOption("min_vram");
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(new URL(page.url()).searchParams.get("obj"), "min_vram");
  await close();
});
