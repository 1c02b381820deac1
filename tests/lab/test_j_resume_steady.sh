#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --thermal-mode steady and --resume. True: the board stands at 55 °C all along; FP16, alone, 495 W for 4000 us a token.
# Killed when block 1 of 2 is finished, while block 2 works until the temperature stands still, then gone on with. Must
# come out: block 1 as it was, its temperature and its wait too; block 2 waited for its own; every window once; the true
# energy.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/lab/lib_lab.sh
. "$here/lib_lab.sh"
# shellcheck source=tests/lab/lib_journal.sh
. "$here/lib_journal.sh"

lab_script still.script <<'S'
counter none
update_ms 20
temp_c 55
S
options=(--quick --thermal-mode steady --steady-max 20 --blocks 2 --precision FP16)

# A second of quiet after the window of block 1 its record is on the disk.
journal_at dead '^decode .* block 1' 1 1 journal_kill still.script "${options[@]}" --output-dir dead
lab_status dead 137
! grep -q '^unexpected' dead.err || lab_fail "dead: was not waiting when it was killed: $(tail -n 1 dead.err)"
lab_is dead .trials.blocks_finished 1
lab_valid dead
cp -r dead before

lab_run still.script dead --quick --blocks 2 --precision FP16 --resume --quiet
lab_status dead 2
journal_says dead "--thermal-mode differs (thermal_mode): the run in dead has 'steady', this command 'cold'"
diff -r dead before || lab_fail "dead: a refusal changed something"

lab_run still.script dead "${options[@]}" --resume
lab_status dead 0
journal_whole dead 2
lab_is dead '.thermal | [.mode, .basis, .temperature_steady_c, .steady_state_reached, .steady_max_s] | map(tostring) | join(" ")' \
    "steady measured 55 true 20"
lab_is dead '[.trials.arms[].windows[] | .steady_state_reached and .temperature_steady_c == 55 and .steady_after_s > 3.9] | all' true
lab_is dead '[.trials.arms[].windows | length] | tostring' "[2]"
steady_of() {
    jq -c '[.trials.arms[].windows[] | select(.block == 1) | [.temperature_steady_c, .steady_after_s]]' "$1/energy.json"
}
[ "$(steady_of dead)" = "$(steady_of before)" ] || lab_fail "dead: the waits of block 1 changed"
[ "$(journal_windows dead 1)" = "$(journal_windows before 1)" ] || lab_fail "dead: block 1 changed"
lab_is dead '(.results.total_energy_joules - ([.trials.arms[0].windows[].energy_j] | add)) | fabs < 0.01' true
lab_warns dead resumed
lab_is dead '.warnings[] | select(.code == "resumed") | .detail' '1 time: at block 2 of 2'
lab_warns_not dead steady_not_reached
lab_within "FP16 mJ/token" "$(lab_get dead .results.energy_per_token_mj)" 1980 "$(lab_pct 1980 3)"
lab_done
