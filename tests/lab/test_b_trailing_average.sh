#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: as in test_a_clean_counter, but the only power reading is a trailing average of one second (no instant field).
# Must come out: the load ran for the averaging window before each window opened, so the integral is within 5 % of the
# counter in every window (an average still filled with idle power would be 10 % and more below), and the energies are
# right within the stated uncertainty.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script average.script <<'S'
instant_field no
power_usage average1s
S
lab_measure average.script average --quick --blocks 2
lab_absolute average 1980 1144.5
lab_energies average 1980 1144.5 0.5
lab_delta average -42.197
lab_row trailing_average average 1980 1144.5
while read -r ratio; do
    lab_within "window counter/integral" "$ratio" 1 0.05
done < <(lab_get average '.trials.arms[].windows[].counter_to_integral')
lab_warns_not average counter_integral_disagree
lab_is average .meters.power_field nvmlDeviceGetPowerUsage
lab_within "rise of the power reading, s" "$(lab_get average .meters.power_rise_s)" 1 0.2
lab_is average .results.basis measured
lab_clean average
lab_valid average
lab_done
