#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The card is cut into MIG instances and we get one: its UUID is the instance's, while every power reading is the whole
# card's. Four ways to it: it is all CUDA shows, CUDA_VISIBLE_DEVICES names it by its own UUID, or by the card's UUID and
# instance numbers (the form of drivers before R470), and --device by its UUID or the beginning of it.
# True: FP16 4000 us a token, 250 tokens/s; of the energy nobody can tell a slice's share. Must come out: no energy, status
# 3, mig_shared; time is measured all the same.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script mig.script <<'S'
mig on
mig_uuid MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f
S
one=(--quick --precision FP16 --blocks 1)
lab_run mig.script shown "${one[@]}" &
CUDA_VISIBLE_DEVICES=MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f lab_run mig.script named "${one[@]}" &
CUDA_VISIBLE_DEVICES=MIG-GPU-fa4e0000-0000-0000-0000-000000000000/1/0 lab_run mig.script numbered "${one[@]}" &
lab_run mig.script device "${one[@]}" --device cuda:MIG-5c89852c &
wait
lab_row_refused mig shown 3 - mig_shared
lab_row_refused mig_by_uuid named 3 - mig_shared
for name in numbered device; do
    lab_status "$name" 3
    lab_warns "$name" mig_shared
done
for name in shown named numbered device; do
    lab_is "$name" '.results | .time_basis + " " + (.note | capture("(?<mode>MIG mode)").mode)' "measured MIG mode"
    lab_within "$name tokens/s" "$(lab_get "$name" .results.throughput_tokens_per_s)" 250 50
    lab_valid "$name"
done
lab_is device '.software.command | endswith("--device cuda:MIG-…")' true
lab_run mig.script dry --device cuda:MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f --dry-run
lab_status dry 0
grep -qx 'energy: unavailable; only time would be measured' dry.out || lab_fail "dry: $(cat dry.out)"
lab_run mig.script other --device cuda:MIG-00000000
lab_status other 1
grep -q "no device 'MIG-00000000' among the 1 visible; of a MIG card" other.err || lab_fail "other: $(cat other.err)"
lab_done
