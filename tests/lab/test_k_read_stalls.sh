#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A driver that now and then (every 0.23 s) takes 40 ms longer for a reading, the counter's at an edge included.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: right within the stated uncertainty, and no warning:
# a sample 40 ms late is no gap, and an edge seen late says so in its half-width.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script stall.script <<'S'
stall_every_s 0.23
stall_ms 40
S
lab_run stall.script stall --quick --blocks 2
lab_status stall 0
lab_is stall '[.trials.arms[].windows[].longest_gap_s | . > 0.06 and . < 0.25] | all' true
lab_row read_stalls stall 1980 1144.5
lab_valid stall
lab_done
