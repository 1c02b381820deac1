#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One thing wrong at a time that leaves the energy right but must be told: each run below carries exactly its own code,
# and the clean run of test_a_clean_counter.sh none of them.
# True: FP16 495 W for 4000 us a token, unless the script says otherwise.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script persistence.script <<<'persistence off'
lab_script unchecked.script <<<'power no'
# 42 °C hotter under load, as the mean over the last second tells: 0.2 s of rest do not do.
lab_script warm.script <<<'temp_c_per_w 0.1'
lab_script slow.script <<<'step_us.fp16 250000'
# With a counter a window has 20 ticks at least, whatever was asked for.
lab_script brief.script <<<'counter none'
# 130 W for 400 us a token are 52 mJ; a model of 2.2 GB cannot be read for that on a card that draws 635 W to read.
lab_script floor.script <<'S'
step_us.fp16 400
power_w.fp16 130
S
one=(--quick --precision FP16 --blocks 1)
lab_run persistence.script persistence "${one[@]}" &
lab_run unchecked.script unchecked "${one[@]}" &
lab_run warm.script warm "${one[@]}" --cooldown-max 0.2 &
lab_run slow.script slow "${one[@]}" --prompt-tokens 1 --tokens 4 &
lab_run brief.script brief "${one[@]}" --window 1 &
lab_run floor.script floor "${one[@]}" &
wait
for name in persistence unchecked warm slow brief floor; do
    lab_status "$name" 0
    lab_is "$name" .results.basis measured
    lab_valid "$name"
done
lab_codes persistence persistence_off
# One arm: no change, but its joules have their terms (re-derived by lab_valid), ±5 % and ±5 W of 495 W among them.
lab_is persistence '.uncertainty.u_expanded | .ratio_pct == null and has("drift_pct") == false' true
lab_within "persistence sensor_offset_pct" "$(lab_get persistence .uncertainty.u_expanded.sensor_offset_pct)" 0.5832 0.006
pct=$(lab_get persistence .uncertainty.u_expanded.absolute_pct)
lab_within "persistence absolute_pct" "$pct" 5.89 0.1
lab_within "persistence mJ/token" "$(lab_get persistence .results.energy_per_token_mj)" 1980 "$(lab_pct 1980 "$pct")"
grep -q "^FP16 takes .* mJ a token (timing and sensor ±[0-9.]* %), measured" persistence.out || lab_fail "$(cat persistence.out)"
lab_codes unchecked no_cross_check
lab_codes warm cooldown_cap
lab_codes slow tokens_short
lab_codes brief no_energy_counter short_window
lab_codes floor below_physical_floor
lab_done
