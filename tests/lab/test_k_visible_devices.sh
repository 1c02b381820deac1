#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CUDA_VISIBLE_DEVICES in every form that the CUDA C++ Programming Guide (environment variables) allows, on two boards that
# CUDA counts the other way round than NVML. A list ends at its first bad entry; an abbreviated UUID must fit one board.
# True: board 0 (GPU-0a…, NVML 0, CUDA 1) FP16 1980 mJ, NF4 1144.5 mJ; board 1 (GPU-1b…, NVML 1, CUDA 0) 1500 and 900 mJ.
# Must come out: the energy of the board that the list puts first, and its UUID; nothing at all where the list leaves none.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

uuid=(GPU-0a000000-1111-2222-3333-444455556666 GPU-1b000000-1111-2222-3333-444455556666)
lab_script two.script <<S
devices 2
cuda_order "1 0"
uuid.0 ${uuid[0]}
uuid.1 ${uuid[1]}
step_us.fp16.1 6000
power_w.fp16.1 250
step_us.nf4.1 4500
power_w.nf4.1 200
S
one=(--quick --blocks 1 --device cuda)
# Two at a time: more starve each other's loads on two processors.
while read -r name list; do
    CUDA_VISIBLE_DEVICES=$list lab_run two.script "$name" "${one[@]}" &
    [ "$(jobs -r | wc -l)" -lt 2 ] || wait
done <<T
visible_indices 1,0
visible_uuid ${uuid[1]},${uuid[0]}
visible_uuid_short GPU-0a
visible_until_bad 1,-1,0
T
wait
while read -r name board fp16 nf4; do
    lab_status "$name" 0
    lab_is "$name" .environment.gpu_uuid_hash "$(printf %s "${uuid[board]}" | sha256sum | cut -c 1-16)"
    lab_row "$name" "$name" "$fp16" "$nf4"
    lab_valid "$name"
done <<'T'
visible_indices 0 1980 1144.5
visible_uuid 1 1500 900
visible_uuid_short 0 1980 1144.5
visible_until_bad 0 1980 1144.5
T

# No board is left. GPU- fits both, 7 is no board, and -1 or nothing hide all.
while IFS='=' read -r name list; do
    CUDA_VISIBLE_DEVICES=$list lab_run two.script "$name" "${one[@]}"
    if [ "$name" = visible_none ] || [ "$name" = visible_empty ]; then
        lab_row_refused "$name" "$name" 3 1144.5 -
    else
        lab_status "$name" 3
        [ -z "$(ls "$name" 2>/dev/null)" ] || lab_fail "$name: left over: $(ls "$name")"
    fi
done <<'T'
visible_none=-1
visible_empty=
ambiguous=GPU-
beyond=7
behind_bad=-1,0
unknown=GPU-2c
whole_as_mig=MIG-0a000000-1111-2222-3333-444455556666
T
# The list hides a board from --device as well, and the message says so.
CUDA_VISIBLE_DEVICES=1 lab_run two.script hidden --quick --device cuda:1
lab_status hidden 1
grep -q 'CUDA_VISIBLE_DEVICES=1' hidden.err || lab_fail "hidden: $(cat hidden.err)"
lab_done
