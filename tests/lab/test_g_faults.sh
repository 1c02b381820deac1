#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What breaks under a measurement. Each must come out as one line with the reason and the right exit status; blocks that
# were finished stay, right and re-derivable; a reading that is missing is null, never 0 and never a NaN.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

# one_line NAME PATTERN: all that was said (under --quiet) is one line that holds PATTERN.
one_line() {
    [ "$(wc -l <"$1.err")" -eq 1 ] || lab_fail "$1: not one line: $(cat "$1.err")"
    grep -q -- "$2" "$1.err" || lab_fail "$1: '$2' is not in: $(cat "$1.err")"
}

# no_zero NAME: no physical quantity of the report is 0.
no_zero() {
    local zeros
    zeros=$(lab_get "$1" '[paths(type == "number" and . == 0) | map(tostring) | join(".")
        | select(test("(_w|_j|_mj|_c|_mhz|joules|watts|tokens_per_s|_bytes|_hz_achieved)$"))] | join(" ")')
    [ -z "$zeros" ] || lab_fail "$1: zeros: $zeros"
}

quiet=(--quiet --quick)
# ---- in the middle of a run: the first block is in, then it breaks, inside a window (they are long: 6 of 7 s)
lab_script lost_nvml.script <<'S'
lost_at_s 28.5
S
lab_script lost_cuda.script <<'S'
lost_at_launch 9000
S
lab_script frozen.script <<'S'
counter frozen 28.5
S
lab_script back.script <<'S'
counter step_back_at_s 28.5 5000
S
lab_script reset.script <<'S'
counter reset_at_s 28.5
S
lab_script slip.script <<'S'
counter step_back_at_s 15.5 200
S
broken=(lost_nvml lost_cuda frozen back reset)
lab_run slip.script slip "${quiet[@]}" --blocks 1 --window 6 &
for name in "${broken[@]}"; do
    lab_run "$name".script "$name" "${quiet[@]}" --blocks 4 --window 6 &
done
wait
for name in "${broken[@]}"; do
    lab_status "$name" 1
    lab_warns "$name" partial
    lab_is "$name" '.trials.blocks_finished >= 1 and .trials.blocks_finished < 4' true
    lab_is "$name" .results.basis measured
    lab_within "$name kept NF4 mJ/token" "$(lab_get "$name" .results.energy_per_token_mj)" 1144.5 114
    no_zero "$name"
    lab_clean "$name"
    lab_valid "$name"
done
one_line lost_nvml lost
one_line lost_cuda 719
one_line frozen "counter"
one_line back "counter"
one_line reset "counter"
lab_warns lost_nvml device_lost
lab_warns frozen counter_frozen
lab_warns back counter_reset
lab_warns reset counter_reset
# A slip of 200 J inside a window of 6 s leaves the counter higher at its end than at its start. The reads at the edges
# cannot see it; the integral does (200 of about 3000 or 2000 J), and the report is invalid for profile paired-1.
lab_status slip 0
lab_warns slip counter_integral_disagree
lab_is slip '.warnings[] | select(.code == "counter_integral_disagree") | .invalidates' true
lab_valid slip

# ---- before anything is measured: no report, no folder of its own
lab_script oom.script <<'S'
oom_at_bytes 1000000000
S
lab_script ptx.script <<'S'
refuse_ptx 1
S
# Comes once the run has begun, after our own context.
lab_script newcomer.script <<'S'
other_tenant_pid 4243
other_tenant_from_s 11
S
lab_script tenant.script <<'S'
other_tenant_pid 4242
other_tenant_name trainer
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
lab_run tenant.script tenant "${quiet[@]}" &
lab_run tenant.script forced "${quiet[@]}" --blocks 1 --force &
lab_run newcomer.script newcomer "${quiet[@]}" --blocks 1 &
lab_run blind.script blind "${quiet[@]}" --blocks 1 --window 3 &
LAB_LIBRARIES=$PWD/cuda_only lab_run plain.script no_nvml "${quiet[@]}" --blocks 1 --window 3 &
LAB_LIBRARIES=$PWD/nvml_only lab_run plain.script no_cuda "${quiet[@]}" --device cuda &
LAB_LIBRARIES=$PWD/nvml_only lab_run plain.script no_cuda_required "${quiet[@]}" --require-measured &
LAB_LIBRARIES=$PWD/cuda_only lab_run plain.script no_nvml_required "${quiet[@]}" --require-measured &
wait
for name in oom ptx tenant; do
    lab_status "$name" 1
    [ -z "$(ls "$name" 2>/dev/null)" ] || lab_fail "$name: left over: $(ls $name)"
done
one_line oom "wants [0-9]* bytes; NVIDIA H200 has 1000000000 free"
one_line ptx "PTX"
one_line tenant "pid 4242 trainer"

lab_status forced 0
lab_warns forced contended
lab_is forced .environment.other_processes_before 1
lab_valid forced

lab_status newcomer 0
lab_warns newcomer contended
lab_is newcomer .environment.other_processes_before 0
lab_is newcomer .environment.other_processes_most 1

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
    no_zero "$name"
    lab_clean "$name"
    lab_valid "$name"
done
lab_is blind '.results.note | test("power")' true
lab_is no_nvml '.results.note | test("libnvidia-ml")' true
lab_done
