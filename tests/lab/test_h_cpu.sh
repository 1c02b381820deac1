#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# No driver library at all: the CPU engine is timed, no energy is given. Must come out: status 3 and both reasons; a
# report with speed measured, energy null and unavailable, no verdict; valid from its traces, which hold no power.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script none.script </dev/null
LAB_LIBRARIES=$PWD/no-such-folder lab_run none.script cpu --prompt-tokens 4 --tokens 8 --blocks 1 --window 0.5
lab_status cpu 3
grep -q '^nothing could be metered here: CUDA not usable: libcuda.so.1 not found (.*NVML not usable: libnvidia-ml' cpu.out ||
    lab_fail "cpu: the reasons are not told: $(cat cpu.out)"
grep -qx 'answer of the published dataset: unavailable: no card is known here; --gpu-arch names one (.*)' cpu.out ||
    lab_fail "cpu: no word on the dataset: $(cat cpu.out)"
lab_is cpu .results.basis unavailable
lab_is cpu .results.time_basis measured
lab_is cpu .results.verdict none
lab_is cpu .workload.device cpu
lab_is cpu .workload.model_name "SmolLM2-135M (shape only)"
lab_is cpu '[.results.energy_per_token_mj, .results.vs_fp16_energy_pct, .results.avg_power_watts] | map(. == null) | all' true
lab_is cpu '.results.throughput_tokens_per_s > 0.5' true
for trace in cpu/power_trace_fp16.csv cpu/power_trace_nf4.csv; do
    [ -z "$(tail -n +2 "$trace" | cut -d , -f 2,3,5 | tr -d ',\n')" ] || lab_fail "$trace: a reading without a meter"
done
# A card named: the dataset answers, by the published curves (worked out apart: FP16 by log-log through the two nearest
# anchors, change A - S x/(1+x)), beside the report and never in it. A precision without a curve gets none.
LAB_LIBRARIES=$PWD/no-such-folder lab_run none.script named --prompt-tokens 4 --tokens 8 --blocks 1 --window 0.5 \
    --precision NF4,Q4_0 --gpu-arch 'RTX 5090'
lab_status named 3
grep -q '^answer of the published dataset: extrapolated, not measured: SmolLM2-135M NF4 0.135 B on blackwell: 189.96 mJ/token, FP16 132.33, change +43.6 % (' \
    named.out || lab_fail "named: $(cat named.out)"
grep -qx 'answer of the published dataset: unavailable: the published data hold nothing for blackwell Q4_0' named.out ||
    lab_fail "named: an answer for Q4_0: $(cat named.out)"
jq -e '.results | .basis == "unavailable" and .energy_per_token_mj == null and .vs_fp16_energy_pct == null' \
    named/energy.nf4.json >/dev/null || lab_fail "named: the dataset's answer is in the report"
LAB_LIBRARIES=$PWD/no-such-folder lab_run none.script json --json --prompt-tokens 4 --tokens 8 --blocks 1 --window 0.5 \
    --precision NF4 --gpu-arch blackwell
lab_status json 3
jq -e '.results.basis == "unavailable"' json.out >/dev/null || lab_fail "json: standard output is not the report alone"
grep -q '^answer of the published dataset: extrapolated, not measured: ' json.err || lab_fail "json: $(cat json.err)"
lab_clean cpu
lab_valid cpu
lab_done
