// SPDX-License-Identifier: Apache-2.0
//
// A chart with everything around it: title, axes with units, points that can be reached by key and finger, source line,
// table, downloads.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { strings } from "../app/text.js";
import { downloadCsv, downloadPng } from "./export.js";
import { Layers, type Frame } from "./layers.js";
import { Marks, outline, Tip } from "./marks.js";
import { makeScale } from "./scale.js";
import type { ChartProps, LegendItem, Mark, Table } from "./types.js";
import { TableFrame } from "../parts/table_frame.js";

const words = strings({
  en: { source: "Source: ", table: "Show table", chart: "Hide table", csv: "Download CSV", png: "Download PNG", keys: "Arrow keys move between points; Escape leaves." },
  zh: { source: "来源：", table: "显示表格", chart: "收起表格", csv: "下载 CSV", png: "下载 PNG", keys: "用方向键在数据点之间移动，按 Esc 离开。" },
});

const MARGIN = { left: 56, right: 16, top: 12, bottom: 44 };

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
  return (
    <g class="axes" aria-hidden="true">
      {f.y.ticks.map((v) => (
        <g key={v}>
          <path class={v === 0 ? "zero" : "grid"} d={`M${f.left} ${f.y(v)}H${f.right}`} />
          <text x={f.left - 8} y={f.y(v)} dy="0.32em" text-anchor="end">
            {f.y.text(v)}
          </text>
        </g>
      ))}
      {f.x.ticks.map((v) => (
        <g key={v}>
          <path class="tick" d={`M${f.x(v)} ${f.bottom}v5`} />
          <text x={f.x(v)} y={f.bottom + 18} text-anchor="middle">
            {f.x.text(v)}
          </text>
        </g>
      ))}
      <path class="base" d={`M${f.left} ${f.bottom}H${f.right}`} />
      <text class="label" x={f.right} y={f.bottom + 36} text-anchor="end">
        {props.x.label}
      </text>
    </g>
  );
}

function Legend({ items }: { items: readonly LegendItem[] }): JSX.Element {
  return (
    <ul class="legend">
      {items.map((one) => (
        <li key={one.label}>
          <svg width="18" height="18" viewBox="-9 -9 18 18" aria-hidden="true">
            <path class="point" d={outline(one.shape, 5)} stroke={one.colour} fill={one.filled ? one.colour : "var(--paper)"} />
          </svg>
          {one.label}
        </li>
      ))}
    </ul>
  );
}

export function DataTable({ table, caption }: { table: Table; caption: string }): JSX.Element {
  return (
    <TableFrame label={caption} columns={table.columns}>
      {table.rows.map((row, i) => (
        <tr key={i}>
          {row.map((cell, j) => (
            <td key={j} class={typeof cell === "number" ? "num" : undefined}>
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
  const [width, box] = useWidth(640);
  const [open, setOpen] = useState(false);
  const tip = useSignal<Mark | null>(null);
  const height = props.height ?? 320;
  const f = useMemo<Frame>(() => {
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    return {
      left,
      right,
      top,
      bottom,
      x: makeScale(props.x, [left, right], Math.max(3, width / 90)),
      y: makeScale(props.y, [bottom, top], Math.max(3, height / 50)),
    };
  }, [width, height, JSON.stringify([props.x, props.y]), t]);
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
          <Marks marks={props.marks} x={f.x} y={f.y} tip={tip} />
        </svg>
        <Tip tip={tip} x={f.x} y={f.y} width={width} />
      </div>
      {props.legend !== undefined && <Legend items={props.legend} />}
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
