// SPDX-License-Identifier: Apache-2.0
//
// A chart with everything around it: title, axes with units, points that can be reached by key and finger, source line,
// table, downloads.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { strings } from "../app/text.js";
import { downloadCsv, downloadPng } from "./export.js";
import { DASHES, Layers, type Frame } from "./layers.js";
import { Marks, outline, Tip } from "./marks.js";
import { makeScale } from "./scale.js";
import type { ChartProps, LegendItem, Mark, Table } from "./types.js";
import { TableFrame } from "../parts/table_frame.js";

const words = strings({
  en: { source: "Source: ", table: "Show table", chart: "Hide table", csv: "Download CSV", png: "Download PNG", keys: "Arrow keys move between points; Escape leaves." },
  zh: { source: "来源：", table: "显示表格", chart: "收起表格", csv: "下载 CSV", png: "下载 PNG", keys: "用方向键在数据点之间移动，按 Esc 离开。" },
});

const HEAD = 22;
const MARGIN = { left: 56, right: 16, top: 12, bottom: 44 };

/** Of the first view's chart in a window of 72rem or more: what was drawn beforehand need not be drawn again there. */
const INITIAL_WIDTH = 739;

/** The width of the element, followed as it changes. */
function useWidth(initial: number): [number, { current: HTMLDivElement | null }] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(initial);
  useEffect(() => {
    const node = ref.current;
    if (node === null) {
      return undefined;
    }
    const observer = new ResizeObserver((entries) => {
      const next = Math.round(entries[0]?.contentRect.width ?? initial);
      if (next > 0) {
        setWidth(next);
      }
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [width, ref];
}

function Axes({ f, props }: { f: Frame; props: ChartProps }): JSX.Element {
  const across = (v: number): string => `M${f.left} ${f.y(v)}H${f.right}`;
  return (
    <g class="axes" aria-hidden="true">
      <path class="grid" d={f.y.ticks.filter((v) => v !== 0).map(across).join("")} />
      <path
        class="base"
        d={`${f.y.ticks.includes(0) ? across(0) : ""}${f.x.ticks.map((v) => `M${f.x(v)} ${f.bottom}v5`).join("")}M${f.left} ${f.bottom}H${f.right}`}
      />
      {f.y.ticks.map((v) => (
        <text key={v} x={f.left - 8} y={f.y(v) + 4} text-anchor="end">
          {f.y.text(v)}
        </text>
      ))}
      {f.x.ticks.map((v) => (
        <text key={`x${v}`} x={f.x(v)} y={f.bottom + 18} text-anchor="middle">
          {f.x.text(v)}
        </text>
      ))}
      <text class="label" x={f.right} y={f.bottom + 36} text-anchor="end">
        {props.x.label}
      </text>
    </g>
  );
}

function Key({ of }: { of: LegendItem }): JSX.Element {
  if ("shape" in of) {
    return (
      <svg width="18" height="18" viewBox="-9 -9 18 18" aria-hidden="true">
        {of.ringed === true && <circle class="ring" r="8" />}
        <path class="point" d={outline(of.shape, of.ringed === true ? 4 : 5)} stroke={of.colour} fill={of.filled ? of.colour : "var(--paper)"} />
      </svg>
    );
  }
  return (
    <svg width="28" height="18" viewBox="0 -9 28 18" aria-hidden="true">
      {"stroke" in of ? (
        <g class="line">
          <path stroke={of.colour} stroke-dasharray={DASHES[of.stroke]} d="M0 0H28" />
        </g>
      ) : of.tint === "band" ? (
        <rect class="band" fill={of.colour} y="-6" width="28" height="12" />
      ) : (
        <g class="zone beyond">
          <rect y="-6" width="28" height="12" />
        </g>
      )}
    </svg>
  );
}

function Legend({ items }: { items: readonly LegendItem[] }): JSX.Element {
  return (
    <ul class="legend">
      {items.map((one) => (
        <li key={one.label}>
          <Key of={one} />
          {one.label}
        </li>
      ))}
    </ul>
  );
}

export function DataTable({ table, caption }: { table: Table; caption: string }): JSX.Element {
  const numeric = table.columns.map((_, j) => table.rows.some((row) => typeof row[j] === "number"));
  return (
    <TableFrame label={caption} columns={table.columns}>
      {table.rows.map((row, i) => (
        <tr key={i}>
          {row.map((cell, j) => (
            <td key={j} class={numeric[j] ? "num" : undefined}>
              {cell ?? "–"}
            </td>
          ))}
        </tr>
      ))}
    </TableFrame>
  );
}

export function Chart(props: ChartProps): JSX.Element {
  const t = words();
  const id = useId();
  const [width, box] = useWidth(INITIAL_WIDTH);
  const [open, setOpen] = useState(false);
  const tip = useSignal<Mark | null>(null);
  const height = props.height ?? 320;
  const above = props.marks.some((one) => one.y > props.y.domain[1]);
  const f = useMemo<Frame>(() => {
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    return {
      left,
      right,
      top,
      bottom,
      head: above ? HEAD : 0,
      x: makeScale(props.x, [left, right], Math.max(3, width / 90)),
      y: makeScale(props.y, [bottom, top], Math.max(3, height / 50)),
    };
  }, [width, height, JSON.stringify([props.x, props.y]), above, t]);
  const svg = useRef<SVGSVGElement>(null);
  const text = { title: props.title, subtitle: props.subtitle ?? "", source: `${t.source}${props.source}` };
  return (
    <figure class="chart">
      <figcaption id={id}>
        <strong>{props.title}</strong>
        {props.subtitle !== undefined && <span class="subtitle">{props.subtitle}</span>}
      </figcaption>
      <div class="y-label" aria-hidden="true">
        {props.y.label}
      </div>
      <div class="plot" ref={box}>
        <svg
          ref={svg}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="group"
          aria-labelledby={id}
          aria-describedby={`${id}-keys`}
        >
          <Layers layers={props.layers.filter((one) => one.kind === "zone" || one.kind === "band")} f={f} />
          <Axes f={f} props={props} />
          <Layers layers={props.layers.filter((one) => one.kind === "line" || one.kind === "rule")} f={f} />
          <Marks marks={props.marks} x={f.x} y={f.y} tip={tip} value={props.y.value ?? f.y.text} right={f.right} />
        </svg>
        <Tip tip={tip} x={f.x} y={f.y} width={width} />
      </div>
      {props.legend !== undefined && <Legend items={props.legend} />}
      {props.note !== undefined && <p class="note quiet">{props.note}</p>}
      <p id={`${id}-keys`} class="visually-hidden">
        {t.keys}
      </p>
      <div class="chart-foot">
        <span class="source">
          {t.source}
          {props.source}
        </span>
        <span class="tools">
          <button type="button" onClick={() => downloadCsv(props.name, props.table, text)}>
            {t.csv}
          </button>
          <button type="button" onClick={() => svg.current !== null && downloadPng(props.name, svg.current, { ...text, yLabel: props.y.label })}>
            {t.png}
          </button>
          <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? t.chart : t.table}
          </button>
        </span>
      </div>
      {open && <DataTable table={props.table} caption={props.title} />}
    </figure>
  );
}
