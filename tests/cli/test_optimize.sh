#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# optimize: the published answers as the API gives them, keys, limits, refusals.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

is_json() {
    jq -e "$1" stdout >/dev/null || fail "$LAST: $1 does not hold of $(jq -c 'del(.pareto_energy_latency)' stdout 2>/dev/null || cat stdout)"
}

# SPEC §7.5, cases 8, 9 and 11.
run optimize --rules published-1.1 --json --params-b 7 --arch ada --max-latency-ms 50 --max-vram-gb 16
is_status 0
is_json '.feasible_count == 36 and .input.candidates == 90 and (.pareto_energy_latency | length) == 6
    and .closest_infeasible == null and (.alternatives | length) == 3'
is_json '.recommended | .precision == "NF4" and .batch == 32 and .context == 512 and .energy_j_per_1k_tokens == 2584
    and .energy_mj_per_token == 2.584 and .latency_ms_per_token == 17.13 and .throughput_tok_s == 1867.6 and .vram_gb == 13.06
    and .bound == "memory" and .basis == {"energy": "measured", "latency": "modelled (roofline)", "vram": "computed"}
    and .confidence == "medium" and .energy_rel_fp16 == 0.715 and .delta_pct_vs_fp16 == -28.5'
is_json '.alternatives[0].vs_recommended == {"energy_pct": 1.7, "latency_pct": -35.5, "throughput_pct": -22.5, "vram_pct": -32.8}'
run optimize --rules published-1.1 --json --params-b 3 --arch blackwell --objective max_throughput --max-vram-gb 32
is_json '.recommended.precision == "NF4" and .recommended.batch == 32 and .recommended.context == 512'
run optimize --rules published-1.1 --json --params-b 7 --arch ada --max-vram-gb 4
is_status 0
is_json '.recommended == null and .feasible_count == 0 and .alternatives == [] and .pareto_energy_latency == []
    and .closest_infeasible.precision == "NF4" and .closest_infeasible.batch == 1 and .closest_infeasible.context == 512
    and .closest_infeasible.vram_gb == 4.74 and .closest_infeasible.role == "closest_infeasible"'
run optimize --rules published-1.1 --json --params-b 13 --arch hopper
is_json '.recommended.energy_j_per_1k_tokens == null and .pareto_energy_latency == []'
run optimize --rules published-1.1 --json --params-b 7 --arch ampere --batches 8 --contexts 4096
is_json '.input.candidates == 3 and .recommended.energy_j_per_1k_tokens == 2929'

# Current rules: J is J, mJ is mJ; a hopper card has energies, estimated; limits hold.
run optimize --json --params-b 7 --arch H100 --max-vram-gb 10
is_status 0
is_json '.recommended.energy_mj_per_token == .recommended.energy_j_per_1k_tokens
    and (.recommended.energy_j_per_token * 1000 - .recommended.energy_mj_per_token | fabs) < 0.051
    and .recommended.basis.energy == "estimated" and .recommended.vram_gb <= 10
    and ([.alternatives[].vram_gb] | max) <= 10 and .input.arch == "hopper"'
is_json '[has("input", "basis", "feasible_count", "recommended", "closest_infeasible", "alternatives",
    "pareto_energy_latency", "notes")] | all'
is_json '[.pareto_energy_latency[].latency_ms_per_token] | . == (sort | reverse)'
run optimize --params-b 7 --arch ada --batches 1 --contexts 2048
is_status 0
grep -q '^min_energy for 7 B on ada: 3 of 3 candidates keep the limits$' stdout || fail "$LAST: $(head -n 1 stdout)"

run optimize --arch ada
is_status 2
is_stderr "ecocompute: params_b: a size is expected, such as --params-b 7"
run optimize --params-b 7 --arch ada --objective min_enery
is_status 2
is_stderr "ecocompute: objective: 'min_enery' is not known, did you mean 'min_energy'?; expected min_energy, min_latency, max_throughput or min_vram"
run optimize --rules published-1.1 --params-b 7 --arch ada --objective min_enery # there silently min_energy
is_status 0
run optimize --json --params-b 7 --arch ada --max-vram-gb 0
is_status 2
is_json '.error == "max_vram_gb: a number above 0 is expected"'
run optimize --params-b 7 --arch ada --batches 1,,2
is_status 2
is_stderr "ecocompute: --batches: an entry is empty"
run optimize --params-b 7 --arch ada --precisions FP9
is_status 2
is_stderr "ecocompute: precision: 'FP9' is no weight format, did you mean 'FP8'?"
run optimize --params-b 7 --arch ada --precisions NF4,NF5
is_status 2
is_stderr "ecocompute: precision: 'NF5' is no weight format, did you mean 'NF4'?"
run optimize --params-b 7 --arch ada --precisions FP8
is_status 1
is_stderr "ecocompute: no precision can be scored: precision: 'FP8' was not measured on ada cards"
run optimize --params-b 7 --arch ada --batches 1,1,1
is_status 2
is_stderr "ecocompute: batches: 1 is given twice"
# No FP16 time was measured: none is printed, and no limit of time is kept.
run optimize --json --params-b 7 --arch ada --precisions FP16 --max-latency-ms 30 --batches 1 --contexts 512
is_status 0
jq -e '.feasible_count == 0 and .closest_infeasible.latency_ms_per_token == null' stdout >/dev/null ||
    fail "$LAST: a time of FP16"
run optimize --params-b 7 --arch ada more
is_status 2
is_stderr "ecocompute: optimize: takes options only, 'more' is none"

finish
