// SPDX-License-Identifier: Apache-2.0
//
// What a chart is made of. A view says what is where; charts/ draws, labels, gives focus, a table and downloads.

export interface Axis {
  /** With its unit: "Model size (billions of parameters)". */
  label: string;
  scale: "linear" | "log";
  domain: readonly [number, number];
  /** Left out: round steps of the scale. */
  ticks?: readonly number[];
  format?: (value: number) => string;
  /** A value with its unit, where it is written beside a point; as the ticks without. */
  value?: (value: number) => string;
}

/** Behind everything: a part of the plane, tinted and labelled. Bounds that are left out are the axis's ends. */
export interface Zone {
  kind: "zone";
  x0?: number;
  x1?: number;
  y0?: number;
  y1?: number;
  tone: "saves" | "costs" | "beyond" | "phase";
  label?: string;
}

/** A band around a curve. */
export interface Band {
  kind: "band";
  points: readonly { x: number; lo: number; hi: number }[];
  colour: string;
}

/** Of lines: what carries them. */
export type Stroke = "solid" | "dashed" | "dotted";

export interface Line {
  kind: "line";
  points: readonly { x: number; y: number }[];
  colour: string;
  /** solid. */
  stroke?: Stroke;
  faded?: boolean;
  /** Written at the line's end instead of a legend. */
  label?: string;
}

/** A straight line over the whole plane. */
export interface Rule {
  kind: "rule";
  x?: number;
  y?: number;
  label?: string;
}

export type Layer = Zone | Band | Line | Rule;

export type Shape = "circle" | "diamond" | "square" | "triangle" | "star";

export interface Mark {
  /** Unique in its chart. */
  id: string;
  x: number;
  /** One outside the axis is drawn at its edge with an arrow and its value. */
  y: number;
  /** Interval on y. */
  lo?: number;
  hi?: number;
  colour: string;
  shape?: Shape;
  /** Filled: replicated (n >= 2). Hollow: n = 1. */
  filled: boolean;
  /** The reader's own or chosen point. */
  ringed?: boolean;
  /** A point of another class than the curve's. */
  dashedRing?: boolean;
  /** Everything about the point, a fact a line: read out on focus, shown on hover. */
  label: string;
  onPick?: () => void;
}

export interface Table {
  columns: readonly string[];
  rows: readonly (readonly (string | number | null)[])[];
}

/** What a shape of the marks, a line or a tint stands for, under the plot. */
export type LegendItem = { colour: string; label: string } & (
  | { shape: Shape; filled: boolean; ringed?: boolean }
  | { stroke: Stroke }
  | { tint: "band" | "beyond" }
);

export interface ChartProps {
  /** Stem of downloaded files. */
  name: string;
  /** One message. */
  title: string;
  subtitle?: string;
  x: Axis;
  y: Axis;
  layers: readonly Layer[];
  marks: readonly Mark[];
  /** Only for what cannot be written beside the marks. */
  legend?: readonly LegendItem[];
  /** A sentence about what is drawn, below the legend. */
  note?: string;
  table: Table;
  /** Where the numbers come from, as text; stands under the chart and in every download. */
  source: string;
  /** Height of the plot in pixels; 320. */
  height?: number;
}
