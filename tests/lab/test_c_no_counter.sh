#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: as in test_a_clean_counter, on a card without an energy counter. Must come out: energy integrated from power and
# labelled so, right within the stated uncertainty of the joules and of the change; no counter number in the report.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script none.script <<'S'
counter none
S
lab_script still.script <<'S'
counter none
update_ms 100000
S
lab_measure none.script none --quick --blocks 2
lab_absolute none 1980 1144.5
lab_delta none -42.197
lab_row no_counter none 1980 1144.5 no_energy_counter
lab_is none .measurement.energy_source "integrated power"
lab_is none .results.basis measured
lab_is none '.meters.counter_to_integral' null
lab_is none '[.trials.arms[].windows[].counter_to_integral | . == null] | all' true
lab_is none '.meters | has("energy_field")' false
lab_warns none no_energy_counter
lab_warns_not none counter_integral_disagree
# No cell of the energy column is filled.
for trace in none/power_trace_fp16.csv none/power_trace_nf4.csv; do
    [ "$(tail -n +2 "$trace" | cut -d , -f 3 | sort -u)" = "" ] || lab_fail "$trace: a counter value without a counter"
done
lab_clean none
lab_valid none

# True: as above, but the power reading stands still at what it was before the load. No number of it may pass for good.
lab_measure still.script still --quick --blocks 2
lab_row power_still still 1980 1144.5 no_energy_counter power_stale
lab_warns still power_stale
lab_is still '.warnings[] | select(.code == "power_stale") | .invalidates' true
lab_done
