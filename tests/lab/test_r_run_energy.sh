#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2128,SC2178 # the name is an array in the sourced file only
#
# True: a command lets a board draw 400 W for 2.4 s and 200 W for 2.2 s over an idle of 78 W. Must come out: its energy,
# counted between ticks and corrected for the idle before and after, within the half-width of its ends and within 2 %;
# its phases within theirs; without a counter the integral, said so; a frozen, reset or lost counter gives no number and
# its code; a second board stands apart; FIELD C2 36-40: the board that CUDA calls 0 is found by UUID. The child's own
# status passes through all of it.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

LOAD=$(readlink -f "$FAKES/../tests/board_load")
[ -x "$LOAD" ] || {
    echo "skip: $LOAD is not built"
    exit 77
}

# watched NAME SCRIPT-LINES -- OPTION... -- COMMAND...: a run; its document in NAME.json, status in NAME.rc.
watched() {
    local name=$1 script=$2 rc=0
    shift 2
    printf '%s\n' 'read_cost_energy_us 0' 'read_cost_power_us 0' 'read_cost_slow_us 0' "$script" >"$name.script"
    rm -f "$name.page"
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/$name.script ECO_FAKE_PAGE=$PWD/$name.page \
        "$ECOCOMPUTE" run --json "$@" >"$name.json" 2>"$name.err" || rc=$?
    echo "$rc" >"$name.rc"
}
value() {
    jq -r "$2" "$1.json"
}
is() {
    local got
    got=$(value "$1" "$2")
    [ "$got" = "$3" ] || lab_fail "$1: $2 is '$got', expected '$3'"
}
status_is() {
    [ "$(cat "$1.rc")" = "$2" ] || lab_fail "$1: status $(cat "$1.rc"), expected $2: $(tail -n 1 "$1.err")"
}
warns() {
    value "$1" '.warnings[].code' | grep -qx "$2" || lab_fail "$1: no warning $2"
}
warns_not() {
    ! value "$1" '.warnings[].code' | grep -qx "$2" || lab_fail "$1: warning $2 without cause"
}
# The machine was not quiet: a late tick or gaps between samples, by the record's own word.
disturbed() {
    ! jq -e '[.runs[].energies[0].longest_gap_s < 0.1] | all' "$1.json" >/dev/null
}

two_steps=("$LOAD" 0 78 400 2.4 200 2.2)
# Truth from the times the phases really took, and idle in the rest of the run.
truth='(.runs[0] | (.phases[0].seconds * 400 + .phases[1].seconds * 200
    + (.seconds - .phases[0].seconds - .phases[1].seconds) * 78))'

for attempt in 1 2 3; do
    watched clean "" -- "${two_steps[@]}"
    disturbed clean || break
    echo "clean: attempt $attempt was disturbed"
done
status_is clean 0
true_j=$(value clean "$truth")
lab_within "clean J" "$(value clean '.runs[0].energies[0].energy_j')" "$true_j" \
    "$(value clean '.runs[0].energies[0].edge_half_width_j')" "(edge_half_width_j)"
disturbed clean || lab_within "clean J, 2 %" "$(value clean '.runs[0].energies[0].energy_j')" "$true_j" "$(lab_pct "$true_j" 2)"
is clean '.runs[0].energies[0] | .edge_half_width_j < 0.06 * .energy_j' true
for step in 0 1; do
    watts=$((400 - 200 * step))
    lab_within "phase $step J" "$(value clean ".runs[0].phases[$step].energies[0].energy_j")" \
        "$(value clean ".runs[0].phases[$step].seconds * $watts")" \
        "$(value clean ".runs[0].phases[$step].energies[0].edge_half_width_j")" "(edge_half_width_j)"
done
is clean '.runs[0].tokens' 200
is clean '.runs[0].phases | map(.name) | join(",")' step1,step2
is clean '.runs[0].phases[1].tokens' 100
is clean '(.runs[0].energies[0] | (.energy_per_token_mj - .energy_j * 5) | fabs < 1e-6)' true
is clean '.commands[0].meters[0].energy_j | [.n, .basis, .lo] | map(tostring) | join(" ")' "1 measured null"
is clean '.markers_ignored' 0
warns clean driver_library_path
for code in short_window contended counter_reset counter_frozen no_energy_counter throttled partial; do
    warns_not clean "$code"
done

# A phase of half a second is timed and gets no energy; the run is long enough and does.
watched brief "" -- "$LOAD" 0 78 300 0.5 150 2.3
is brief '.runs[0].phases[0].energies[0] | [.energy_j, .code] | map(tostring) | join(" ")' "null short_window"
is brief '.runs[0].energies[0].energy_j > 400' true

# Short: no energy, no waiting for ticks; the warning says so; the mean does too.
watched short "" -r 3 -- true
status_is short 0
is short '[.runs[].energies[0].energy_j] | unique | tostring' "[null]"
is short '.commands[0].meters[0].energy_j | [.value, .n, .basis] | map(tostring) | join(" ")' "null 0 unavailable"
warns short short_window

# No counter: integrated power, said so.
watched plain "counter none" -- "$LOAD" 0 78 300 2.4
warns plain no_energy_counter
is plain '.runs[0].energies[0].window_j' null
lab_within "no counter J" "$(value plain '.runs[0].energies[0].energy_j')" \
    "$(value plain '.runs[0].phases[0].seconds * 300')" "$(value plain '.runs[0].energies[0].edge_half_width_j')" \
    "(edge_half_width_j)"

# Wrong sensors: no number, the code, and the child's status.
for fault in "counter_frozen|counter frozen 0.2" "counter_reset|counter reset_at_s 1" "device_lost|lost_at_s 1"; do
    code=${fault%%|*}
    watched "$code" "${fault#*|}" -- sh -c 'sleep 2.3; exit 0'
    status_is "$code" 0
    is "$code" '.runs[0].energies[0] | [.energy_j, .code] | map(tostring) | join(" ")' "null $code"
    warns "$code" "$code"
done

# Others on the card, and a slow-down for heat.
watched shared $'other_tenant_pid 4242\nother_tenant_name trainer\nthrottle 0x40' -- sleep 2.2
warns shared contended
warns shared throttled
value shared '.warnings[] | select(.code == "contended") | .detail' | grep -q 'pid 4242 trainer' ||
    lab_fail "shared: the tenant is not named"

# Two boards in swapped order: CUDA's 0 is NVML's 1.
two=$'devices 2\ncuda_order "1 0"\nname.0 "NVIDIA H200"\nname.1 "NVIDIA L40S"\nidle_bare_w.0 78\nidle_bare_w.1 61'
watched two "$two" -- sleep 2.2
is two '.meters | map(.device) | join(", ")' "NVIDIA L40S, NVIDIA H200"
lab_within "own board J" "$(value two '.runs[0].energies[0].energy_j')" "$(value two '.runs[0].seconds * 61')" 3
lab_within "other board J, apart" "$(value two '.runs[0].energies[1].energy_j')" "$(value two '.runs[0].seconds * 78')" 3
watched chosen "$two" --device cuda:1 -- true
is chosen '.meters[0].device' "NVIDIA H200"
watched named "$two" --device cuda:GPU-fa4e0000-0000-0000-0000-000000000000 -- true
is named '.meters[0].device' "NVIDIA H200"

# The series ends with the first failure, whose status is the program's.
watched failed "" -r 5 -- sh -c 'exit 37'
status_is failed 37
is failed '[(.runs | length), .runs[0].counted, .runs[0].exit_status] | map(tostring) | join(" ")' "1 false 37"
warns failed partial
lab_done
