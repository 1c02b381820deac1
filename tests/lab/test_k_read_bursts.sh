#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every reading of the card fails for 0.12 s in each 1.3 s; and in a second run for 0.6 s in each 3.1 s.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: energies right within their stated uncertainty, for
# the counter goes on counting; read_errors in both, sample_gap (invalid for profile paired-1) in the second only.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script short.script <<'S'
fail_from_s 1
fail_for_s 0.12
fail_every_s 1.3
S
lab_script long.script <<'S'
fail_from_s 1
fail_for_s 0.6
fail_every_s 3.1
S
lab_run short.script short --quick --blocks 2 &
lab_run long.script long --quick --blocks 2 &
wait
lab_status short 0
lab_status long 0
lab_row read_bursts short 1980 1144.5 read_errors
lab_row read_bursts_long long 1980 1144.5 read_errors sample_gap
lab_valid short
lab_valid long
lab_done
