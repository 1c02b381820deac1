// SPDX-License-Identifier: Apache-2.0
//
// Compiled and never run: what the types of the wrapper let through, and what they must not.
import type { Core } from "../../web/core/src/core.js";

export function uses(core: Core): number {
  const { request } = core.call("query", { text: "7b on a 4090" });
  const estimate = core.call("estimate", { ...request, params_b: 7, arch: "ada" });
  const best = core.call("optimize", { params_b: 7, arch: "ada", max_vram_gb: null }).recommended;
  const point = core.call("estimate_curve", { sizes: [7], arch: "H200", engine: "native" }).points[0];
  const width = point !== undefined && "ci" in point ? point.ci[1] - point.ci[0] : 0;
  const [stack] = core.call("stacks", {});
  const band = core.call("fit", { bootstraps: 200 }).curves["ada"]?.["NF4"]?.band;
  // @ts-expect-error: no such job
  core.call("explian", {});
  // @ts-expect-error: a member is missing
  core.call("estimate", { params_b: 7 });
  // @ts-expect-error: no such member
  core.call("validate", { report: "{}", profil: "paired-1" });
  // @ts-expect-error: a point may be refused
  point?.delta_pct;
  // @ts-expect-error: a configuration may be null
  best.energy_j_per_token;
  // @ts-expect-error: the published curves carry no band
  core.call("curves", {}).curves["ada"]?.["NF4"]?.band;
  return estimate.ci[0] + (best?.vram_gb ?? 0) + width + (stack?.rows ?? 0) + (band?.n_sessions ?? 0);
}
