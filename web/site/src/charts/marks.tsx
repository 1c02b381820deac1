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

export function outline(shape: Shape, r: number): string {
  switch (shape) {
    case "diamond":
      return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0Z`;
    case "square":
      return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
    case "triangle":
      return `M0 ${-r * 1.2}L${r * 1.1} ${r}H${-r * 1.1}Z`;
    case "star": {
      const corner = (i: number): string => {
        const angle = (Math.PI * i) / 5 - Math.PI / 2;
        const far = i % 2 === 0 ? r * 1.5 : r * 0.65;
        return `${(Math.cos(angle) * far).toFixed(2)} ${(Math.sin(angle) * far).toFixed(2)}`;
      };
      return `M${Array.from({ length: 10 }, (_, i) => corner(i)).join("L")}Z`;
    }
    case "circle":
      return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
  }
}

function One({ mark, x, y, first, tip }: MarksProps & { mark: Mark; first: boolean }): JSX.Element {
  const px = x(mark.x);
  const py = y(mark.y);
  const pick = mark.onPick;
  return (
    <g
      class="mark"
      data-mark={mark.id}
      role={pick === undefined ? "img" : "button"}
      aria-label={mark.label}
      tabIndex={first ? 0 : -1}
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
      {mark.lo !== undefined && mark.hi !== undefined && (
        <path
          class="whisker"
          stroke={mark.colour}
          d={`M${px} ${y(mark.lo)}V${y(mark.hi)}M${px - 4} ${y(mark.lo)}h8M${px - 4} ${y(mark.hi)}h8`}
        />
      )}
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
  return (
    <g class="marks" onKeyDown={move}>
      {ordered.map((mark, i) => (
        <One key={mark.id} mark={mark} first={i === 0} {...rest} />
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
        top: `${y(mark.y) + 14}px`,
        ...(onRight ? { left: `${left + 12}px` } : { right: `${width - left + 12}px` }),
      }}
    >
      {mark.label.split("\n").map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}
