// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";
import type { Estimate } from "../../app/core.js";
import { coreLine } from "../../app/core_words.js";
import { change, changeWords, energyPerMillion, energyPerToken, quantity, range, sizeB } from "../../app/format.js";
import { BasisTag, ConfidenceTag, StackLine } from "../../parts/tags.js";
import { Term } from "../../parts/term.js";
import { words } from "./words.js";

function Gate({ answer }: { answer: Estimate }): JSX.Element {
  const t = words();
  const gate = answer.gate;
  return (
    <div class="tile">
      <span class="quiet">
        <Term id="gate">{t.gate}</Term> · <Term id="crossover">{t.crossover}</Term>
      </span>
      <b>{gate === undefined ? "–" : t.zones[gate.zone]}</b>
      <span class="quiet">{answer.crossover_b === null ? t.crossoverNone : t.gateAt(sizeB(answer.crossover_b))}</span>
    </div>
  );
}

function Energy({ answer }: { answer: Estimate }): JSX.Element {
  const t = words();
  const { energy } = answer;
  const mj = energy?.mj_per_token ?? null;
  const fp16 = energy?.fp16_mj_per_token ?? null;
  if (energy === undefined || mj === null || fp16 === null) {
    return (
      <div class="tile">
        <span class="quiet">
          <Term id="energy-per-token">{t.energy}</Term>
        </span>
        <span>{t.noEnergy}</span>
      </div>
    );
  }
  return (
    <>
      <div class="tile">
        <span class="quiet">
          <Term id="energy-per-token">{t.energy}</Term>
        </span>
        <b>{energyPerToken(mj)}</b>
        <span class="quiet">{t.against(energyPerToken(fp16))}</span>
        <span>
          <BasisTag basis={energy.basis} of={t.energyShort} />
        </span>
      </div>
      <div class="tile">
        <span class="quiet">
          <Term id="per-1m-tokens">{t.million}</Term>
        </span>
        <b>{energyPerMillion(mj)}</b>
        <span class="quiet">{t.against(energyPerMillion(fp16))}</span>
      </div>
    </>
  );
}

export function Answer({ answer }: { answer: Estimate }): JSX.Element {
  const t = words();
  const measured = answer.source === "anchors" && answer.basis === "measured";
  return (
    <div class="card" aria-live="polite">
      <div>
        <span class="big">{change(answer.delta_pct)}</span> <Term id="delta-e">ΔE%</Term>
        <div class="lead">{t.says(answer.input.precision, changeWords(answer.delta_pct, answer.recommendation !== "depends"))}</div>
      </div>
      <div>
        <Term id={measured ? "confidence-interval" : "band"}>{measured ? t.session : t.band}</Term>
        {t.colon}
        {range(answer.ci)}
      </div>
      <div class="tags">
        <BasisTag basis={answer.basis} of="ΔE%" />
        <ConfidenceTag confidence={answer.confidence} />
      </div>
      <div>
        {t.verdict}
        {t.colon}
        <b>{t.recommend[answer.recommendation]}</b>
      </div>
      <StackLine engine={answer.input.engine ?? "transformers"} stack={answer.input.stack ?? (answer.input.engine === undefined ? t.anyBitsandbytes : t.anyVersion)} />
      <div class="quiet">
        {t.answeredBy}
        {t.colon}
        {answer.source === undefined ? "–" : t.sources[answer.source]} · {t.usedClass(answer.arch_used)}
      </div>
    </div>
  );
}

export function Tiles({ answer }: { answer: Estimate }): JSX.Element {
  const t = words();
  return (
    <div class="tiles">
      <Energy answer={answer} />
      <div class="tile">
        <span class="quiet">{t.memory}</span>
        <b>{quantity(answer.weight_gb, "GB", 3)}</b>
        <span class="quiet">{t.against(quantity(answer.weight_gb_fp16, "GB", 3))}</span>
        <span>
          <BasisTag basis="computed" of={t.memoryShort} />
        </span>
      </div>
      <Gate answer={answer} />
    </div>
  );
}

export function Notes({ lines }: { lines: readonly string[] }): JSX.Element {
  return (
    <ul class="notes-list">
      {lines.map((line) => (
        <li key={line}>{coreLine(line)}</li>
      ))}
    </ul>
  );
}
