// SPDX-License-Identifier: Apache-2.0
//
// Downloads of a chart: its table as CSV, its picture as PNG. Both carry title, source and date.

import type { Table } from "./types.js";

export interface ExportText {
  title: string;
  subtitle: string;
  source: string;
  yLabel?: string;
}

export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** RFC 4180; text that a spreadsheet would take for a formula gets an apostrophe before it. */
function cell(value: string | number | null): string {
  if (typeof value === "number") {
    return String(value);
  }
  const text = value === null ? "" : /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(table: Table, text: ExportText): string {
  const notes = [text.title, text.subtitle, text.source, today()].filter((line) => line !== "");
  const lines = [table.columns, ...table.rows].map((row) => row.map(cell).join(","));
  return [...notes.map((line) => cell(`# ${line}`)), ...lines].join("\r\n") + "\r\n";
}

export function downloadCsv(name: string, table: Table, text: ExportText): void {
  save(`${name}.csv`, new Blob([csvText(table, text)], { type: "text/csv" }));
}

const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];

/** A copy that needs no style sheet. */
function selfContained(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(from[i] as Element);
    for (const name of STYLED) {
      node.setAttribute(name, style.getPropertyValue(name));
    }
    node.removeAttribute("tabindex");
    node.removeAttribute("style");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy;
}

function image(svg: SVGSVGElement): Promise<HTMLImageElement> {
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
  return new Promise((resolve, reject) => {
    const picture = new Image();
    picture.onload = () => {
      URL.revokeObjectURL(url);
      resolve(picture);
    };
    picture.onerror = () => reject(new Error("the chart could not be drawn as a picture"));
    picture.src = url;
  });
}

export async function downloadPng(name: string, svg: SVGSVGElement, text: ExportText): Promise<void> {
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  const picture = await image(selfContained(svg));
  const canvas = document.createElement("canvas");
  const [scale, head, foot, edge] = [2, 64, 32, 16];
  canvas.width = (width + 2 * edge) * scale;
  canvas.height = (height + head + foot) * scale;
  const draw = canvas.getContext("2d");
  if (draw === null) {
    return;
  }
  const style = getComputedStyle(document.body);
  draw.scale(scale, scale);
  draw.fillStyle = style.backgroundColor;
  draw.fillRect(0, 0, canvas.width, canvas.height);
  draw.fillStyle = style.color;
  const line = (words: string, y: number, font: string): void => {
    draw.font = `${font} ${style.fontFamily}`;
    draw.fillText(words, edge, y, width);
  };
  line(text.title, 22, "600 15px");
  line(text.subtitle, 40, "12px");
  line(text.yLabel ?? "", 58, "12px");
  draw.drawImage(picture, edge, head, width, height);
  line(`${text.source} · ${today()}`, head + height + 20, "11px");
  canvas.toBlob((blob) => blob !== null && save(`${name}.png`, blob), "image/png");
}
