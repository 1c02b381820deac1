#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is missing or refused before a measurement can begin. Each must come out as one line with the reason and the right
# exit status; where time can be measured and energy cannot, a reading that is missing is null, never 0 and never a NaN.
# What breaks in the middle of a run is in test_k_counter_breaks.sh and test_k_device_lost.sh.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

# one_line NAME PATTERN: all that was said (under --quiet) is one line that holds PATTERN.
one_line() {
    [ "$(wc -l <"$1.err")" -eq 1 ] || lab_fail "$1: not one line: $(cat "$1.err")"
    grep -q -- "$2" "$1.err" || lab_fail "$1: '$2' is not in: $(cat "$1.err")"
}

quiet=(--quiet --quick)
# ---- before anything is measured: no report, no folder of its own
lab_script oom.script <<'S'
oom_at_bytes 1000000000
S
lab_script ptx.script <<'S'
refuse_ptx 1
S
lab_script blind.script <<'S'
power no
counter none
S
mkdir cuda_only nvml_only
cp "$FAKES/libcuda.so.1" cuda_only
cp "$FAKES/libnvidia-ml.so.1" nvml_only
lab_script plain.script </dev/null
lab_run oom.script oom "${quiet[@]}" &
lab_run ptx.script ptx "${quiet[@]}" &
lab_run blind.script blind "${quiet[@]}" --blocks 1 --window 3 &
LAB_LIBRARIES=$PWD/cuda_only lab_run plain.script no_nvml "${quiet[@]}" --blocks 1 --window 3 &
LAB_LIBRARIES=$PWD/nvml_only lab_run plain.script no_cuda "${quiet[@]}" --device cuda &
LAB_LIBRARIES=$PWD/nvml_only lab_run plain.script no_cuda_required "${quiet[@]}" --require-measured &
LAB_LIBRARIES=$PWD/cuda_only lab_run plain.script no_nvml_required "${quiet[@]}" --require-measured &
wait
for name in oom ptx; do
    lab_status "$name" 1
    [ -z "$(ls "$name" 2>/dev/null)" ] || lab_fail "$name: left over: $(ls $name)"
done
one_line oom "FP16, batch 1, wants [0-9.]* GB; 1.000 GB are free on NVIDIA H200"
one_line ptx "PTX"

for name in no_cuda no_cuda_required no_nvml_required; do
    lab_status "$name" 3
    [ -z "$(ls "$name" 2>/dev/null)" ] || lab_fail "$name: left over: $(ls $name)"
done
one_line no_cuda libcuda
one_line no_cuda_required libcuda
one_line no_nvml_required libnvidia-ml

# ---- nothing to read energy with: time is measured, energy is not there and says why
for name in blind no_nvml; do
    lab_status "$name" 3
    lab_is "$name" .results.basis unavailable
    lab_is "$name" .results.time_basis measured
    lab_is "$name" .results.energy_per_token_mj null
    lab_is "$name" .results.vs_fp16_energy_pct null
    lab_is "$name" .results.verdict none
    lab_is "$name" .measurement_source none
    lab_is "$name" '.results.note | length > 10' true
    lab_within "$name tokens/s" "$(lab_get "$name" .results.throughput_tokens_per_s)" 285.71 57
    lab_no_zero "$name"
    lab_clean "$name"
    lab_valid "$name"
done
lab_is blind '.results.note | test("power")' true
lab_is no_nvml '.results.note | test("libnvidia-ml")' true
lab_done
