// SPDX-License-Identifier: Apache-2.0

import type { JSX } from "preact";
import type { Scale } from "./scale.js";
import type { Band, Layer, Line, Rule, Stroke, Zone } from "./types.js";

export interface Frame {
  x: Scale;
  y: Scale;
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** Pixels at the upper edge that points beyond the axis take. */
  head: number;
}

const path = (points: readonly (readonly [number, number])[]): string =>
  points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${px} ${py}`).join("");

/** About, at 12 px: Chinese characters are as wide as they are high. */
function textWidth(text: string): number {
  return [...text].reduce((sum, one) => sum + (one > "\u2e7f" ? 12 : 6.2), 12);
}

/** Which way it is meant; labels stand one below the other. */
const ARROWS: Record<Zone["tone"], string> = { costs: "\u2191 ", saves: "\u2193 ", beyond: "\u2194 ", phase: "" };

function ZoneShape({ zone, f }: { zone: Zone; f: Frame }): JSX.Element | null {
  const clamp = (v: number, lo: number, hi: number): number => Math.min(Math.max(v, lo), hi);
  const left = zone.x0 === undefined ? f.left : clamp(f.x(zone.x0), f.left, f.right);
  const right = zone.x1 === undefined ? f.right : clamp(f.x(zone.x1), f.left, f.right);
  const top = zone.y1 === undefined ? f.top : clamp(f.y(zone.y1), f.top, f.bottom);
  const bottom = zone.y0 === undefined ? f.bottom : clamp(f.y(zone.y0), f.top, f.bottom);
  if (right - left < 1 || bottom - top < 1) {
    return null;
  }
  const atBottom = zone.tone === "saves";
  // Costs fall and savings grow with the size of a model: points leave the upper right and the lower left corner free.
  const beyond = zone.tone === "beyond"; // its label stands below that of the costs
  const atRight = beyond || zone.tone === "costs";
  return (
    <g class={`zone ${zone.tone}`}>
      <rect x={left} y={top} width={right - left} height={bottom - top} />
      {zone.label !== undefined && !(zone.tone === "phase" && right - left < textWidth(zone.label)) && (
        <text
          x={atRight ? right - 6 : left + 6}
          y={atBottom ? bottom - 7 : top + (top > f.top ? 0 : f.head) + (beyond ? 31 : 15)}
          text-anchor={atRight ? "end" : "start"}
        >
          {ARROWS[zone.tone] + zone.label}
        </text>
      )}
    </g>
  );
}

const inside = (f: Frame, v: number): number => Math.min(Math.max(f.y(v), f.top), f.bottom);

/** Bands are often wider than what a chart is about, so they end at its edge. */
function BandShape({ band, f }: { band: Band; f: Frame }): JSX.Element {
  const up = band.points.map((p) => [f.x(p.x), inside(f, p.hi)] as const);
  const down = [...band.points].reverse().map((p) => [f.x(p.x), inside(f, p.lo)] as const);
  return <path class="band" fill={band.colour} d={`${path([...up, ...down])}Z`} />;
}

export const DASHES: Record<Stroke, string | undefined> = { solid: undefined, dashed: "7 5", dotted: "1.5 4" };

function LineShape({ line, f }: { line: Line; f: Frame }): JSX.Element {
  const points = line.points.map((p) => [f.x(p.x), inside(f, p.y)] as const);
  const last = points.at(-1);
  const inner = last !== undefined && last[0] > f.right - 60;
  // Written back over the line, which is higher there if it falls: then the label goes below.
  const before = points.find(([px]) => last !== undefined && px >= last[0] - 60);
  const below = inner && before !== undefined && before[1] < last[1] - 6;
  return (
    <g class={line.faded === true ? "line faded" : "line"}>
      <path stroke={line.colour} stroke-dasharray={DASHES[line.stroke ?? "solid"]} d={path(points)} />
      {line.label !== undefined && last !== undefined && (
        <text
          class="direct"
          x={inner ? last[0] - 4 : last[0] + 6}
          y={last[1] + (below ? 18 : -8)}
          text-anchor={inner ? "end" : "start"}
          fill={line.colour}
        >
          {line.label}
        </text>
      )}
    </g>
  );
}

function RuleShape({ rule, f }: { rule: Rule; f: Frame }): JSX.Element {
  const vertical = rule.x !== undefined;
  const at = vertical ? f.x(rule.x as number) : f.y(rule.y ?? 0);
  return (
    <g class="rule">
      <path d={vertical ? `M${at} ${f.top}V${f.bottom}` : `M${f.left} ${at}H${f.right}`} />
      {rule.label !== undefined && (
        <text x={vertical ? at + 5 : f.right - 6} y={vertical ? f.bottom - 7 : at - 6} text-anchor={vertical ? "start" : "end"}>
          {rule.label}
        </text>
      )}
    </g>
  );
}

export function Layers({ layers, f }: { layers: readonly Layer[]; f: Frame }): JSX.Element {
  return (
    <g class="layers">
      {layers.map((layer, i) => {
        switch (layer.kind) {
          case "zone":
            return <ZoneShape key={i} zone={layer} f={f} />;
          case "band":
            return <BandShape key={i} band={layer} f={f} />;
          case "line":
            return <LineShape key={i} line={layer} f={f} />;
          case "rule":
            return <RuleShape key={i} rule={layer} f={f} />;
        }
      })}
    </g>
  );
}
