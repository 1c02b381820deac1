#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check: the published cases (SPEC §7.1, 58 to 62) with our exits 0, 4, 3; stacks; a curve file.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

# A report of the published shape at 1.1 B, changed by a jq filter.
report() {
    jq -n '{schema_version: "ecocompute-energy/1.1", benchmark: "ecocompute-energy-methodology", scenario: "SingleStream",
        system_under_test: {gpu: "NVIDIA GeForce RTX 4090", gpu_arch: "ada", accelerator_count: 1},
        workload: {model_name: "TinyLlama-1.1B", params_b: 1.1, precision: "INT8", batch_size: 1, context_length: 2048},
        measurement: {method: "nvml", sample_rate_hz: 10, tokens_per_run: 256, iterations: 10, warmup: 2},
        measurement_source: "direct-nvml (NVML power)", results: {energy_per_token_mj: 3575, basis: "measured",
        vs_fp16_energy_pct: 137.9}} | '"$1" >report.json
}

for rules in current published-1.1; do
    report .
    run check --rules "$rules" report.json
    is_status 0
    report '.results.vs_fp16_energy_pct = 10.0'
    run check --rules "$rules" report.json
    is_status 4
    report '.results.basis = "interpolated" | .measurement_source = "derived"'
    run check --rules "$rules" report.json
    is_status 3
    grep -q '^report.json: not gradable: results.basis: only a measured report is graded$' stdout || fail "$LAST: $(cat stdout)"
    report '.system_under_test.gpu_arch = "volta"'
    run check --rules "$rules" report.json
    is_status 3
    report '.results.vs_fp16_energy_pct = 146.0'
    run check --rules "$rules" report.json
    is_status 0
    grep -q 'anchors' stdout || fail "$LAST: $(cat stdout)"
done
run check --json report.json
is_status 0
jq -e '.result == "within" and .measured_pct == 146 and .anchors == 2 and .reference == "anchors of this size"' stdout >/dev/null ||
    fail "$LAST: $(cat stdout)"
run check --k 0.01 report.json
is_status 4

# Our own engine is another stack: not graded, unless asked, and then said.
ours=$(find "$ECO_SOURCE_DIR/data/h200/first" -name energy.json | sort | head -n 1)
run check "$ours"
is_status 3
grep -q 'not gradable: workload.engine: the report is of engine native' stdout || fail "$LAST: $(cat stdout)"
run check --across-stacks "$ours"
grep -q '^across stacks: the report is of engine native' stdout || fail "$LAST: $(cat stdout)"
[ "$(cat status)" != 3 ] || fail "$LAST: still not gradable: $(cat stdout)"

# A curve file of the asker's: the published one gives the same answer, one with another curve another.
report .
run check --curves "$ECO_SOURCE_DIR/data/published/curves.json" report.json
is_status 0
jq '.curves.ada.INT8.anchors |= map(.dE = 900)' "$ECO_SOURCE_DIR/data/published/curves.json" >moved.json
run check --curves moved.json report.json
is_status 4
run check --curves nowhere.json report.json
is_status 1
echo '{' >broken.json
run check --curves broken.json report.json
is_status 1
grep -q '^ecocompute: broken.json:' stderr || fail "$LAST: $(cat stderr)"

run check
is_status 2
is_stderr "ecocompute: check: a report is expected, such as ecocompute-out/latest/energy.json"
run check --k -1 report.json
is_status 2
is_stderr "ecocompute: --k: a number above 0 is expected"
run check --json nowhere.json
is_status 1
jq -e '.error | startswith("nowhere.json: ")' stdout >/dev/null || fail "$LAST: $(cat stdout)"

finish
