#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How well repeated runs agree: one line a report, then every pair of them. Two runs agree when their mean log-ratios
# differ by at most max(sqrt(h1^2 + h2^2), 0.01), h being the half-widths of their 95 % intervals. Needs jq.
# usage: tools/agreement.sh REPORT...
set -euo pipefail
for report in "$@"; do
    jq -r --arg name "$(basename "$(dirname "$report")")" '[$name, .software.commit, .environment.gpu_uuid_hash,
        .results.fp16_energy_per_token_mj, .results.energy_per_token_mj, .results.vs_fp16_energy_pct,
        .uncertainty.ci95_repeat.mean_log_ratio, .uncertainty.ci95_repeat.half_width_log,
        ([.trials.arms[].windows[].counter_to_integral] | min, max)] | @tsv' "$report"
done | awk -F '\t' '
    NR == 1 { printf "%-24s %-16s %9s %9s %9s %10s %10s  %s\n", "run", "card", "FP16 mJ", "arm mJ", "change %", "log-ratio",
              "half-width", "counter/integral" }
    { printf "%-24s %-16s %9.2f %9.2f %9.3f %10.6f %10.6f  %.5f to %.5f\n", $1, $3, $4, $5, $6, $7, $8, $9, $10
      name[NR] = $1; mean[NR] = $7; half[NR] = $8 }
    END {
        for (i = 1; i < NR; i++) for (j = i + 1; j <= NR; j++) {
            d = mean[i] - mean[j]; d = d < 0 ? -d : d
            limit = sqrt(half[i] ^ 2 + half[j] ^ 2); limit = limit < 0.01 ? 0.01 : limit
            pairs++; agree += d <= limit
            printf "%d-%d: %.6f, limit %.6f%s\n", i, j, d, limit, d <= limit ? "" : "  OUTSIDE"
        }
        printf "%d of %d pairs agree\n", agree, pairs
    }'
