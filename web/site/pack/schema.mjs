// SPDX-License-Identifier: Apache-2.0
//
// The fields of energy.json as rows for the page, out of the schema file: path, type, unit, whether a report must have it,
// meaning in English and in Chinese. And the example report with its traces, as texts.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A unit stands at the end of a description: "prompt length [tokens]". */
function split(description = "") {
  const match = /^(.*) \[([^\]]+)\]$/.exec(description);
  return match === null ? [description, ""] : [match[1], match[2]];
}

const typeOf = (node) => (Array.isArray(node.type) ? node.type.filter((one) => one !== "null").join(" or ") : (node.type ?? "any"));

function* walk(node, path) {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const at = path === "" ? name : `${path}.${name}`;
    const must = (node.required ?? []).includes(name) ? 1 : 0;
    const within = child.type === "array" || (Array.isArray(child.type) && child.type.includes("array")) ? child.items : child;
    if (within?.properties !== undefined) {
      yield* walk(within, within === child ? at : `${at}[]`);
    } else {
      const [meaning, unit] = split(child.description);
      yield [at, typeOf(child), unit, must, meaning];
    }
  }
}

const CHINESE = "docs/site/zh/schema_fields.txt";

/** Meanings in Chinese by path: a line each, a tab between. */
function readChinese(root) {
  const lines = readFileSync(join(root, CHINESE), "utf8").split("\n");
  return new Map(lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split("\t")));
}

/** Rows of the newest version with what this program adds. A field without Chinese, or Chinese without a field, ends the build. */
export function readSchema(root) {
  const schema = JSON.parse(readFileSync(join(root, "schema/energy-1.3.schema.json"), "utf8"));
  const rows = [...walk(schema.definitions.ecocompute, "")];
  const chinese = readChinese(root);
  const paths = new Set(rows.map(([path]) => path));
  const without = rows.filter(([path]) => !/[\u4e00-\u9fff]/.test(chinese.get(path) ?? "")).map(([path]) => path);
  const left = [...chinese.keys()].filter((path) => !paths.has(path));
  if (without.length > 0 || left.length > 0) {
    throw new Error(`${CHINESE}: no meaning of ${without.join(", ") || "none"}; no field for ${left.join(", ") || "none"}`);
  }
  return rows.map((row) => [...row, chinese.get(row[0])]);
}

export function readExample(root) {
  const folder = "examples/measured-h200";
  const read = (file) => ({ name: file, text: readFileSync(join(root, folder, file), "utf8") });
  return { path: `${folder}/energy.json`, files: ["energy.json", "power_trace_fp16.csv", "power_trace_nf4.csv"].map(read) };
}
