#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The card falls off the bus inside a window of 6 s of the second block: first seen by NVML (at 31.5 s), or by CUDA (a
# launch answers 719).
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: status 1, one line with the reason, device_lost; the
# finished block kept and right, no reading that is missing written as 0.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script nvml.script <<'S'
lost_at_s 31.5
S
lab_script cuda.script <<'S'
lost_at_launch 9000
S
for name in nvml cuda; do
    lab_run "$name.script" "$name" --quiet --quick --blocks 4 --window 6 &
done
wait
for name in nvml cuda; do
    lab_status "$name" 1
    [ "$(wc -l <"$name.err")" -eq 1 ] || lab_fail "$name: not one line: $(cat "$name.err")"
    lab_is "$name" '.trials.blocks_finished >= 1 and .trials.blocks_finished < 4' true
    lab_is "$name" .results.basis measured
    lab_no_zero "$name"
    lab_clean "$name"
    lab_valid "$name"
done
grep -q lost nvml.err || lab_fail "nvml: $(cat nvml.err)"
grep -q 719 cuda.err || lab_fail "cuda: $(cat cuda.err)"
# The sampler goes on reading until it is told: it may have asked the lost card once more, or not.
for name in nvml cuda; do
    codes=(device_lost partial)
    if [ "$(lab_get "$name" '.warnings | map(.code) | index("read_errors") != null')" = true ]; then
        codes+=(read_errors)
    fi
    scenario=device_lost
    [ "$name" = nvml ] || scenario=device_lost_cuda
    lab_row "$scenario" "$name" 1980 1144.5 "${codes[@]}"
done
lab_done
