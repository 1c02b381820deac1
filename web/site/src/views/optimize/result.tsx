// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";
import type { Basis, Configuration, Optimum } from "../../app/core.js";
import { ask } from "../../app/core.js";
import { change, energyPerMillion, energyPerToken, number, quantity, range } from "../../app/format.js";
import { formatColour } from "../../app/palette.js";
import { Chart, DataTable } from "../../charts/chart.js";
import type { Mark } from "../../charts/types.js";
import { punctuation } from "../../app/text.js";
import { BasisTag, basisWord, ConfidenceTag, StackLine } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { words } from "./words.js";

const BASES = ["measured", "replayed", "computed", "interpolated", "extrapolated", "estimated", "modelled", "unavailable"];

/** The core adds words to some: "modelled (roofline)". */
function basisOf(text: string | null): Basis {
  const first = (text ?? "unavailable").split(/[ :(]/)[0] ?? "";
  return BASES.includes(first) ? (first as Basis) : "unavailable";
}

function Tile({ label, value, note, basis }: { label: JSX.Element | string; value: string; note?: string | null; basis: Basis }): JSX.Element {
  return (
    <div class="tile">
      <span class="quiet">{label}</span>
      <b>{value}</b>
      {note != null && <span class="quiet">{note}</span>}
      <span>
        <BasisTag basis={basis} />
      </span>
    </div>
  );
}

/** The estimator's band of this configuration's change: the optimizer itself gives none. */
function bandOf(one: Configuration, answer: Optimum): string | null {
  if (one.precision === "FP16") {
    return null;
  }
  const { input } = answer;
  const outcome = ask("estimate", { params_b: input.params_b, arch: input.card ?? input.arch, model: input.model ?? null, precision: one.precision, batch: one.batch, ctx: one.context });
  if (!outcome.ok) {
    return null;
  }
  const t = words();
  const band = `${t.band} ${range(outcome.value.ci)}`;
  return outcome.value.recommendation === "depends" ? t.joined(band, t.open) : band;
}

export function Best({ answer }: { answer: Optimum }): JSX.Element | null {
  const t = words();
  const missed = answer.recommended === null;
  const one = answer.recommended ?? answer.closest_infeasible;
  if (one === null) {
    return null;
  }
  const band = bandOf(one, answer);
  const mj = one.energy_j_per_1k_tokens;
  const bound = one.bound === null ? null : `${t.bound} ${t.bounds[one.bound]}`;
  return (
    <div class="card">
      <div class="quiet">{missed ? t.closest : t.recommended}</div>
      <div class="big">{one.precision}</div>
      <div class="lead">
        <Term id="batch">{t.batch}</Term> {number(one.batch)} · <Term id="context">{t.context}</Term> {number(one.context, 6)}
      </div>
      <div class="tags">
        <ConfidenceTag confidence={one.confidence} />
      </div>
      <StackLine engine="transformers" stack={t.stack} />
      {one.batch > 1 && <p class="quiet">{t.batched(number(one.batch))}</p>}
      <div class="tiles">
        <Tile
          label={<Term id="energy-per-token">{t.energy}</Term>}
          value={mj === null ? "–" : energyPerToken(mj)}
          note={mj === null ? t.notMeasured : t.joined(`${energyPerMillion(mj)} / 1M ${t.tokens}`, t.noSpread)}
          basis={basisOf(one.basis.energy)}
        />
        {one.precision !== "FP16" && (
          <Tile label={<Term id="delta-e">{t.change}</Term>} value={change(one.delta_pct_vs_fp16)} note={band} basis={basisOf(one.basis.energy)} />
        )}
        <Tile
          label={t.time}
          value={one.latency_ms_per_token === null ? "–" : quantity(one.latency_ms_per_token, "ms", 3)}
          note={one.latency_ms_per_token === null ? t.notMeasured : [one.throughput_tok_s === null ? null : quantity(one.throughput_tok_s, "token/s", 4), bound].filter((v) => v !== null).join(" · ")}
          basis={basisOf(one.basis.latency)}
        />
        <Tile label={t.memory} value={quantity(one.vram_gb, "GB", 4)} basis={basisOf(one.basis.vram)} />
      </div>
    </div>
  );
}

export function Alternatives({ answer }: { answer: Optimum }): JSX.Element | null {
  const t = words();
  if (answer.alternatives.length === 0) {
    return null;
  }
  return (
    <section class="stack-y">
      <h2>{t.alternatives}</h2>
      <DataTable
        caption={t.alternatives}
        table={{
          columns: t.columns,
          rows: answer.alternatives.map((one) => [
            one.precision,
            one.batch,
            one.context,
            one.energy_j_per_1k_tokens,
            one.vs_recommended.energy_pct,
            one.latency_ms_per_token,
            one.throughput_tok_s,
            one.vram_gb,
            basisWord(basisOf(one.basis.energy)),
            t.confidences[one.confidence],
          ]),
        }}
      />
    </section>
  );
}

export function Front({ answer }: { answer: Optimum }): JSX.Element {
  const t = words();
  const best = answer.recommended;
  const points = answer.pareto_energy_latency.flatMap((one) =>
    one.energy_j_per_1k_tokens === null || one.latency_ms_per_token === null
      ? []
      : [{ ...one, x: one.latency_ms_per_token, y: one.energy_j_per_1k_tokens }],
  );
  if (points.length === 0) {
    return <p>{t.frontNone}</p>;
  }
  // Contexts of one energy and one time stand in one place: one mark, which names them all.
  const places = new Map<string, { contexts: number[]; best: boolean; at: (typeof points)[number] }>();
  for (const one of points) {
    const key = `${one.precision} ${one.batch} ${one.x} ${one.y}`;
    const place = places.get(key) ?? { contexts: [], best: false, at: one };
    place.contexts.push(one.context);
    place.best ||= best !== null && one.precision === best.precision && one.batch === best.batch && one.context === best.context;
    places.set(key, place);
  }
  const marks: Mark[] = [...places].map(([key, { contexts, best: chosen, at }]) => ({
    id: key,
    x: at.x,
    y: at.y,
    colour: formatColour(at.precision),
    shape: chosen ? "star" : "circle",
    filled: chosen,
    ringed: chosen,
    label: `${[at.precision, `${t.batch} ${at.batch}`, `${t.context} ${contexts.join("/")}`].join(punctuation().comma)}\n${quantity(at.y, "J / 1000 token", 4)}\n${quantity(at.x, "ms / token", 3)}`,
  }));
  const xs = points.map((one) => one.x);
  return (
    <Chart
      name="energy-against-time"
      title={t.front}
      subtitle={t.frontSub(t.engine) + ([...places.values()].some((one) => one.best) ? t.starred : t.noStar)}
      x={{ label: t.x, scale: "log", domain: [Math.min(...xs) / 1.4, Math.max(...xs) * 1.4] }}
      y={{ label: t.y, scale: "linear", domain: [0, Math.max(...points.map((one) => one.y)) * 1.12] }}
      layers={[]}
      marks={marks}
      legend={[...new Set(points.map((one) => one.precision))].map((name) => ({ label: name, shape: "circle", filled: false, colour: formatColour(name) }))}
      source={t.source}
      table={{
        columns: [t.columns[0] ?? "", t.columns[1] ?? "", t.columns[2] ?? "", t.columns[3] ?? "", t.columns[5] ?? ""],
        rows: points.map((one) => [one.precision, one.batch, one.context, one.y, one.x]),
      }}
    />
  );
}
