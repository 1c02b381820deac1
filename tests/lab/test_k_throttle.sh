#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The card slows itself down: for heat from 11 s on (NVML reason 0x40, hardware thermal slowdown), at its power limit all
# the time (0x4), or for heat in the first 4 s only, before any window.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: throttled (invalid for profile paired-1),
# power_capped (valid, for this limit), and nothing at all for what was over before the first window opened.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script heat.script <<'S'
throttle 0x40
throttle_from_s 11
S
lab_script cap.script <<'S'
throttle 0x4
S
lab_script before.script <<'S'
throttle 0x40
throttle_for_s 4
S
# Two at a time: more starve each other's loads on two processors.
lab_run heat.script heat --quick --blocks 2 &
lab_run cap.script cap --quick --blocks 2 &
wait
lab_run before.script before --quick --blocks 1
for name in heat cap before; do
    lab_status "$name" 0
    lab_valid "$name"
done
lab_row throttle heat 1980 1144.5 throttled
lab_row power_cap cap 1980 1144.5 power_capped
lab_codes before
lab_is heat '.warnings[] | select(.code == "throttled") | .invalidates' true
lab_is cap '.warnings[] | select(.code == "power_capped") | .invalidates' false
lab_is heat .explain.arms[0].bound throttled
lab_is cap .explain.arms[0].bound power-capped
lab_done
