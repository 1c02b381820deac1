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
lab_done
