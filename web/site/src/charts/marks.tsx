// SPDX-License-Identifier: Apache-2.0
//
// The points of a chart. One of them is in the tab order; arrow keys go on from there in reading order, Escape leaves.

import type { ReadonlySignal, Signal } from "@preact/signals";
import type { JSX } from "preact";
import { memo } from "preact/compat";
import type { Scale } from "./scale.js";
import type { Mark, Shape } from "./types.js";

const RADIUS = 6;
const TARGET = 12; // a touch target of 24 px

const tenths = (v: number): number => Math.round(v * 10) / 10;

export function outline(shape: Shape, r: number): string {
  switch (shape) {
    case "diamond":
      return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0Z`;
    case "square":
      return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
    case "triangle":
      return `M0 ${tenths(-r * 1.2)}L${tenths(r * 1.1)} ${r}H${tenths(-r * 1.1)}Z`;
    case "star": {
      const corner = (i: number): string => {
        const angle = (Math.PI * i) / 5 - Math.PI / 2;
        const far = i % 2 === 0 ? r * 1.5 : r * 0.65;
        return `${tenths(Math.cos(angle) * far)} ${tenths(Math.sin(angle) * far)}`;
      };
      return `M${Array.from({ length: 10 }, (_, i) => corner(i)).join("L")}Z`;
    }
    case "circle":
      return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
  }
}

/** A value that the axis does not reach stands at its edge, a point's height inside. */
function edge(y: Scale, value: number): { at: number; beyond: "up" | "down" | null } {
  const [lo, hi] = y.domain;
  const inner = RADIUS + 5;
  return value > hi ? { at: y(hi) + inner, beyond: "up" } : value < lo ? { at: y(lo) - inner, beyond: "down" } : { at: y(value), beyond: null };
}

/** Where an interval leaves the axis it goes on to the edge and has no end there. */
function whisker(mark: Mark, px: number, y: Scale): string | null {
  if (mark.lo === undefined || mark.hi === undefined) {
    return null;
  }
  const [least, most] = y.domain;
  const cap = (v: number): string => (v < least || v > most ? "" : `M${px - 4} ${y(v)}h8`);
  const at = (v: number): number => y(Math.min(Math.max(v, least), most));
  return `M${px} ${at(mark.lo)}V${at(mark.hi)}${cap(mark.lo)}${cap(mark.hi)}`;
}

/** Beside a point at the edge: which way it lies, and its value where there is room for it. */
function Beyond({ px, py, up, text, onLeft }: { px: number; py: number; up: boolean; text: string | null; onLeft: boolean }): JSX.Element {
  const side = onLeft ? -1 : 1;
  return (
    <g class="beyond-axis">
      <path d={`M${px + side * 15} ${py + 5}v-10m-4 4l4 -4l4 4`} transform={up ? undefined : `rotate(180 ${px + side * 15} ${py})`} />
      {text !== null && (
        <text x={px + side * 24} y={py} dy="0.35em" text-anchor={onLeft ? "end" : "start"}>
          {text}
        </text>
      )}
    </g>
  );
}

function One({ mark, x, y, first, tip, value, said, onLeft }: MarksProps & { mark: Mark; first: boolean; said: boolean; onLeft: boolean }): JSX.Element {
  const px = x(mark.x);
  const { at: py, beyond } = edge(y, mark.y);
  const pick = mark.onPick;
  const range = whisker(mark, px, y);
  return (
    <g
      class="mark"
      data-mark={mark.id}
      role={pick === undefined ? "img" : "button"}
      aria-label={mark.label}
      tabindex={first ? 0 : -1}
      onFocus={() => (tip.value = mark)}
      onBlur={() => (tip.value = null)}
      onPointerEnter={() => (tip.value = mark)}
      onPointerLeave={() => (tip.value = null)}
      onClick={pick}
      onKeyDown={(event) => {
        if (pick !== undefined && (event.key === "Enter" || event.key === " ")) {
          event.preventDefault();
          pick();
        }
      }}
    >
      {range !== null && <path class="whisker" stroke={mark.colour} d={range} />}
      {beyond !== null && <Beyond px={px} py={py} up={beyond === "up"} text={said ? value(mark.y) : null} onLeft={onLeft} />}
      <circle class="target" cx={px} cy={py} r={TARGET} />
      {mark.dashedRing && <circle class="ring dashed" cx={px} cy={py} r={RADIUS + 5} />}
      {mark.ringed && <circle class="ring" cx={px} cy={py} r={RADIUS + (mark.dashedRing === true ? 9 : 5)} />}
      <path
        class={mark.filled ? "point" : "point hollow"}
        transform={`translate(${px} ${py})`}
        d={outline(mark.shape ?? "circle", RADIUS)}
        stroke={mark.colour}
        fill={mark.filled ? mark.colour : "var(--paper)"}
      />
    </g>
  );
}

export interface MarksProps {
  x: Scale;
  y: Scale;
  tip: Signal<Mark | null>;
  /** Writes a value of y with its unit. */
  value: (y: number) => string;
  /** Right end of the plot. */
  right: number;
}

const SAID_PX = 110; // that a value beside a point at the edge takes

/** Of the points at an edge those whose value is written: the ringed one first, none over another. */
function saidBeyond(ordered: readonly Mark[], x: Scale, y: Scale): Set<string> {
  const said = new Map<string, { px: number; beyond: string }>();
  for (const mark of [...ordered].reverse()) {
    const { beyond } = edge(y, mark.y);
    const px = x(mark.x);
    if (beyond !== null && [...said.values()].every((one) => one.beyond !== beyond || Math.abs(one.px - px) > SAID_PX)) {
      said.set(mark.id, { px, beyond });
    }
  }
  return new Set(said.keys());
}

function move(event: KeyboardEvent): void {
  const from = (event.target as Element).closest("[data-mark]");
  const all = [...(event.currentTarget as Element).querySelectorAll<SVGElement>("[data-mark]")];
  const at = all.findIndex((one) => one === from);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : step === undefined ? -1 : at + step;
  if (event.key === "Escape") {
    (from as SVGElement | null)?.blur();
  } else if (all[to] !== undefined) {
    event.preventDefault();
    from?.setAttribute("tabindex", "-1");
    all[to].setAttribute("tabindex", "0");
    all[to].focus();
  }
}

/** Drawn again only when its marks or scales change, not when the tip moves. */
export const Marks = memo(function Marks({ marks, ...rest }: MarksProps & { marks: readonly Mark[] }): JSX.Element {
  const ordered = [...marks].sort((a, b) => Number(a.ringed === true) - Number(b.ringed === true) || a.x - b.x || b.y - a.y);
  const said = saidBeyond(ordered, rest.x, rest.y);
  return (
    <g class="marks" onKeyDown={move}>
      {ordered.map((mark, i) => (
        <One key={mark.id} mark={mark} first={i === 0} said={said.has(mark.id)} onLeft={rest.x(mark.x) > rest.right - SAID_PX} {...rest} />
      ))}
    </g>
  );
});

export function Tip({ tip, x, y, width }: { tip: ReadonlySignal<Mark | null>; x: Scale; y: Scale; width: number }): JSX.Element | null {
  const mark = tip.value;
  if (mark === null) {
    return null;
  }
  const left = x(mark.x);
  const onRight = left < width / 2;
  return (
    <div
      class="tip"
      aria-hidden="true"
      style={{
        top: `${edge(y, mark.y).at + 14}px`,
        ...(onRight ? { left: `${left + 12}px` } : { right: `${width - left + 12}px` }),
      }}
    >
      {mark.label.split("\n").map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}
