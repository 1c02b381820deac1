#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --thermal-mode steady. True: the board warms by 1 °C/s for a time that the script sets, then stands still. Must come
# out: a warming that ends is waited for and its temperature told; one that never ends is waited for as long as asked,
# then measured and flagged, although three readings lie within 2 °C; without a sensor nothing is waited for; a board
# that stands still all along is. The energies are right in every case.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
steady=(--quick --thermal-mode steady)

# Still from the start: each window waits for five readings and no longer.
lab_script still.script <<<'temp_c 55'
lab_measure still.script still "${steady[@]}" --blocks 2
lab_energies still 1980 1144.5 0.5
lab_delta still -42.197
lab_is still '.thermal | [.mode, .basis, .temperature_steady_c, .steady_state_reached, .cooldown_s, .steady_max_s] | map(tostring) | join(" ")' \
    "steady measured 55 true 0 60"
lab_is still '[.trials.arms[].windows[] | .steady_state_reached and .temperature_steady_c == 55 and .steady_after_s > 3.9
    and .steady_after_s < 8 and (has("cooldown_s") | not)] | all' true
lab_warns_not still steady_not_reached
lab_warns_not still cooldown_cap
lab_valid still

# Warming until 22 s after the start, 62 °C: no window opens before that.
lab_script warming.script <<'S'
temp_c 40
temp_rise_c_per_s 1
temp_rise_until_s 22
S
lab_measure warming.script warming "${steady[@]}" --blocks 1
lab_is warming '.thermal | [.temperature_steady_c, .steady_state_reached] | map(tostring) | join(" ")' "62 true"
lab_is warming '[.trials.arms[].windows[] | .temperature_start_c == 62 and .temperature_end_c == 62] | all' true
lab_is warming '[.trials.arms[].windows[].steady_after_s] | max > 8' true
lab_energies warming 1980 1144.5 0.5
lab_warns_not warming steady_not_reached

# Never still: 1 °C/s, so that any three readings lie within 2 °C, and the slope says no.
lab_script never.script <<<'temp_rise_c_per_s 1'
lab_measure never.script never "${steady[@]}" --blocks 1 --steady-max 7
lab_is never '.thermal | [.basis, .temperature_steady_c, .steady_state_reached, .steady_max_s] | map(tostring) | join(" ")' \
    "measured null false 7"
lab_is never '[.trials.arms[].windows[] | (.steady_state_reached | not) and .steady_after_s >= 7 and .steady_after_s < 9] | all' true
lab_is never '.thermal | .temperature_start_c < .temperature_end_c and .temperature_end_c == .temperature_peak_c' true
lab_warns never steady_not_reached
lab_energies never 1980 1144.5 0.5
lab_valid never

# No sensor: told, and no waiting for the budget.
lab_script blind.script <<<'temp no'
lab_measure blind.script blind "${steady[@]}" --blocks 1
lab_is blind '.thermal | [.basis, .temperature_start_c, .steady_state_reached] | map(tostring) | join(" ")' \
    "unavailable null false"
lab_is blind '[.trials.arms[].windows[].steady_after_s < 6] | all' true
lab_is blind '.warnings[] | select(.code == "steady_not_reached") | .detail | endswith("no temperature sensor")' true
lab_energies blind 1980 1144.5 0.5
lab_valid blind

# Published and steady together: an honest report conforms either way.
lab_script both.script <<<'temp_rise_c_per_s 1'
lab_measure both.script both "${steady[@]:1}" --steady-max 5 --protocol published --iterations 3 --tokens 100
"$ECOCOMPUTE" validate --profile v1.1-core both/energy.json >both.profile || true
if grep -q ' thermal' both.profile; then
    lab_fail "v1.1-core: an honest steady_state_reached false is refused: $(cat both.profile)"
fi
lab_done
