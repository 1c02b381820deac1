#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: two boards. CUDA numbers them the other way round than NVML, so CUDA device 0 is board 1. Board 0: FP16 495 W
# for 4000 us (1980 mJ), idle 78 W; board 1: FP16 250 W for 6000 us (1500 mJ), NF4 200 W for 4500 us (900 mJ), idle
# 61 W. Must come out: the energy is the energy of the board that worked, found by its UUID, however it was chosen; the
# other one stands apart as an idle sibling. Taking NVML's index for CUDA's would be wrong by tens of percent.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script two.script <<'S'
devices 2
cuda_order "1 0"
name.0 "NVIDIA H200"
name.1 "NVIDIA L40S"
idle_bare_w.0 78
idle_bare_w.1 61
step_us.fp16.1 6000
power_w.fp16.1 250
step_us.nf4.1 4500
power_w.nf4.1 200
S
lab_measure two.script first --quick --blocks 2
lab_energies first 1500 900 0.5
lab_delta first -40
lab_row two_gpus_swapped first 1500 900
lab_is first .system_under_test.gpu "NVIDIA L40S"
lab_is first '.environment.idle_siblings | length' 1
lab_is first '.environment.idle_siblings[0].name' "NVIDIA H200"
lab_within "sibling's idle W" "$(lab_get first '.environment.idle_siblings[0].power_w')" 78 0.5
lab_within "own bare idle W" "$(lab_get first .environment.idle_bare_w)" 61 0.5
hash_of() {
    printf %s "GPU-fa4e0000-0000-0000-0000-00000000000$1" | sha256sum | cut -c 1-16
}
lab_is first .environment.gpu_uuid_hash "$(hash_of 1)"
lab_clean first
lab_valid first

# Chosen otherwise: one arm, one block each, side by side; which board it was is what matters here.
one=(--quick --precision FP16 --blocks 1)
lab_run two.script index "${one[@]}" --device cuda:1 &
lab_run two.script uuid "${one[@]}" --device cuda:GPU-fa4e0000-0000-0000-0000-000000000000 &
CUDA_VISIBLE_DEVICES=1 lab_run two.script visible "${one[@]}" &
CUDA_VISIBLE_DEVICES=GPU-fa4e0000-0000-0000-0000-000000000001 lab_run two.script visible_uuid "${one[@]}" &
wait
while read -r folder board truth; do
    lab_status "$folder" 0
    lab_within "$folder FP16 mJ/token" "$(lab_get "$folder" .results.energy_per_token_mj)" "$truth" "$(lab_pct "$truth" 4)"
    lab_is "$folder" .environment.gpu_uuid_hash "$(hash_of "$board")"
    lab_valid "$folder"
done <<'T'
index 0 1980
uuid 0 1980
visible 0 1980
visible_uuid 1 1500
T
# The card's UUID was an option; the report keeps that an UUID was given, not which.
lab_is uuid .software.command "ecocompute measure --output-dir=… --quick --precision FP16 --blocks 1 --device cuda:GPU-…"

# A device that is not there: refused before anything runs.
lab_run two.script absent "${one[@]}" --device cuda:2
lab_status absent 1
[ "$(wc -l <absent.err)" -eq 1 ] || lab_fail "absent device: more than one line: $(cat absent.err)"
[ ! -e absent/energy.json ] || lab_fail "absent device: a report was written"
lab_done
