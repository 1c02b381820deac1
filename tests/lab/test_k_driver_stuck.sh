#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A call into NVML does not come back, in the second block: from then on none does, not even the one that shuts it down. A
# load runs meanwhile, and a second experiment of a plan waits.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: within 20 s of the hang status 1, one line with the
# reason, driver_stuck; the finished block kept and right; the experiment that waits is not begun.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script hang.script <<'S'
hang_at_s 31.5
S
cat >two.yaml <<'Y'
version: 1
experiments:
  - {model: TinyLlama-1.1B, precisions: NF4, blocks: 4, window: 6, quick: yes}
  - {model: TinyLlama-1.1B, precisions: NF4, blocks: 1, window: 2, quick: yes, batch: 1}
Y
started=$SECONDS
lab_run hang.script hang --quiet --quick --blocks 4 --window 6 &
lab_run hang.script plan --quiet --plan two.yaml &
wait
[ $((SECONDS - started)) -lt 52 ] || lab_fail "it took $((SECONDS - started)) s"
lab_status hang 1
[ "$(wc -l <hang.err)" -eq 1 ] || lab_fail "hang: not one line: $(cat hang.err)"
grep -q '^ecocompute: nvml GPU-.*: a reading did not return for 5 s; the driver hangs$' hang.err || lab_fail "hang: $(cat hang.err)"
lab_is hang '.trials.blocks_finished >= 1 and .trials.blocks_finished < 4' true
lab_is hang .results.basis measured
lab_no_zero hang
lab_clean hang
lab_valid hang
lab_row driver_stuck hang 1980 1144.5 driver_stuck partial
lab_status plan 1
[ "$(find plan -name journal | wc -l)" -eq 1 ] || lab_fail "plan: an experiment was begun on a driver that hangs"
[ "$(grep -c 'the driver hangs' plan.err)" -eq 1 ] || lab_fail "plan: $(cat plan.err)"
lab_done
