// SPDX-License-Identifier: Apache-2.0
//
// The question as it stands in the address. Names of the published site: arch, size, obj, lat, vram, tput.

import type { Objective, OptimizeRequest } from "../../app/core.js";
import { param, type Changes } from "../../app/route.js";
import { shellWord, wrongNumber } from "../../app/typed.js";

export interface Wish {
  arch: string;
  size: string;
  model: string;
  objective: string;
  /** "" = no limit. */
  latency: string;
  vram: string;
  throughput: string;
}

const DEFAULTS: Wish = { arch: "ada", size: "7", model: "", objective: "min_energy", latency: "", vram: "", throughput: "" };
const MEMBERS: Record<keyof Wish, string> = {
  arch: "arch",
  size: "size",
  model: "model",
  objective: "obj",
  latency: "lat",
  vram: "vram",
  throughput: "tput",
};

export const OBJECTIVES: readonly Objective[] = ["min_energy", "min_latency", "max_throughput", "min_vram"];

export function currentWish(): Wish {
  const found = { ...DEFAULTS };
  for (const key of Object.keys(MEMBERS) as (keyof Wish)[]) {
    found[key] = param(MEMBERS[key]) ?? DEFAULTS[key];
  }
  return found;
}

export function wishMembers(wish: Wish): Changes {
  const members: Changes = {};
  for (const key of Object.keys(MEMBERS) as (keyof Wish)[]) {
    const always = key === "arch" || key === "size" || key === "objective";
    members[MEMBERS[key]] = always || wish[key] !== DEFAULTS[key] ? wish[key] : null;
  }
  return members;
}

/** The published site ignores limits that are empty or not above 0; so does this. */
function limit(text: string): number | null {
  const value = Number(text);
  return text.trim() === "" || value <= 0 ? null : value;
}

/** A number of the address that is none; an empty limit is no limit. */
export function wrongWish(wish: Wish): string | null {
  const limits = { max_latency_ms: wish.latency, max_vram_gb: wish.vram, min_throughput: wish.throughput };
  return wrongNumber({ params_b: wish.size, ...Object.fromEntries(Object.entries(limits).filter(([, text]) => text.trim() !== "")) });
}

export function hasLimits(wish: Wish): boolean {
  return limit(wish.latency) !== null || limit(wish.vram) !== null || limit(wish.throughput) !== null;
}

export function request(wish: Wish): OptimizeRequest {
  return {
    params_b: Number(wish.size),
    arch: wish.arch,
    model: wish.model === "" ? null : wish.model,
    objective: wish.objective as Objective,
    max_latency_ms: limit(wish.latency),
    max_vram_gb: limit(wish.vram),
    min_throughput: limit(wish.throughput),
  };
}

export function commandLine(wish: Wish): string {
  const flags: [string, string][] = [
    ["--params-b", wish.size],
    ["--arch", wish.arch],
    ["--model", wish.model],
    ["--objective", wish.objective],
    ["--max-latency-ms", limit(wish.latency) === null ? "" : wish.latency],
    ["--max-vram-gb", limit(wish.vram) === null ? "" : wish.vram],
    ["--min-throughput", limit(wish.throughput) === null ? "" : wish.throughput],
  ];
  return ["ecocompute optimize", ...flags.filter(([, value]) => value !== "").map(([flag, value]) => `${flag} ${shellWord(value)}`)].join(" ");
}
