#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: a command against itself, and one that draws 12 % more for the same time. Must come out: "no difference" in at
# least 19 of 20 tries of five pairs; "costs" and +12 % within its interval; the order counterbalanced and kept by its
# seed; the printed change from the printed energies' logarithms. The twenty tries run ten at a time.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

LOAD=$(readlink -f "$FAKES/../tests/board_load")
printf '%s\n' 'read_cost_energy_us 0' 'read_cost_power_us 0' 'read_cost_slow_us 0' >free.script

try() {
    local name=$1 rc=0
    shift
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/free.script ECO_FAKE_PAGE=$PWD/$name.page \
        "$ECOCOMPUTE" run --json "$@" >"$name.json" 2>"$name.err" || rc=$?
    [ "$rc" -eq 0 ] || lab_fail "$name: status $rc: $(tail -n 1 "$name.err")"
}

# A try whose record says that this machine stood still (no sample for two periods) is run again, four times at most.
quiet_try() {
    local name=$1 attempt
    shift
    for attempt in 1 2 3 4 5; do
        rm -f "$name.page"
        try "$name" "$@"
        jq -e '[.runs[].energies[0].longest_gap_s < 0.1] | all' "$name.json" >/dev/null && return
        echo "$name: attempt $attempt was disturbed by other work on this machine"
    done
}

tries=${ECO_LAB_TRIES:-20}
for ((first = 1; first <= tries; first += 10)); do
    for ((i = first; i < first + 10 && i <= tries; i++)); do
        quiet_try "same$i" --vs 'sleep 2.06' -- sleep 2.06 &
    done
    wait
done
same=0
for ((i = 1; i <= tries; i++)); do
    verdict=$(jq -r '.b_against_a[0] | "\(.verdict) \(.change_pct) \(.lo_pct) \(.hi_pct) \(.pairs)"' "same$i.json")
    echo "try $i: $verdict"
    [[ $verdict == "no difference "* ]] && same=$((same + 1))
done
[ $((same * 20)) -ge $((tries * 19)) ] || lab_fail "'no difference' in $same of $tries tries"
echo "no difference in $same of $tries tries"

jq -e '[.runs[] | .command] | length == 10 and (map(select(. == "A")) | length == 5)' same1.json >/dev/null ||
    lab_fail "not five runs of each"
jq -e '[range(0; 10; 2) as $i | .runs[$i].command] | map(select(. == "A")) | length | . == 2 or . == 3' same1.json \
    >/dev/null || lab_fail "the order is not counterbalanced: $(jq -c '[.runs[].command]' same1.json)"
jq -e '([.runs | group_by(.repeat)[] | sort_by(.command) | (.[1].energies[0].energy_j / .[0].energies[0].energy_j) | log]
    | add / length | exp - 1) * 100 - .b_against_a[0].change_pct | fabs < 1e-6' same1.json >/dev/null ||
    lab_fail "the change does not follow from the energies"

if [ -x "$LOAD" ]; then
    quiet_try costs --vs "$LOAD 0 78 336 2.1" -r 3 --order-seed 7 -- "$LOAD" 0 78 300 2.1
    [ "$(jq -r '.b_against_a[0].verdict' costs.json)" = costs ] || lab_fail "verdict $(jq -c '.b_against_a' costs.json)"
    lab_within "change %" "$(jq -r '.b_against_a[0].change_pct' costs.json)" 12 \
        "$(jq -r '.b_against_a[0] | (.hi_pct - .lo_pct) / 2 + 0.5' costs.json)"
    [ "$(jq -r .order_seed costs.json)" = 7 ] || lab_fail "the seed is not kept"
fi
lab_done
