#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# lib_case.sh COMMAND KIND NTH MODE: one run of the program in which the NTH call of KIND fails, MODE once or after (and
# all that follow). COMMAND is one of case_words; KIND a kind of fault_preload.c, or nvml or cuda (the scripted
# libraries). NTH 0 fails nothing and prints how many calls of each kind there were. Prints one line "COMMAND KIND NTH
# MODE RESULT ...": ok and what it came to, unreached when there was no such call, or BAD and what is wrong. Needs
# ECOCOMPUTE, FAKES and FAULT_DIR as fault_prepare leaves it. A wrong number is looked at again, twice at most: on a busy
# machine the scripted card itself falls behind its script now and then; a fault that makes a number wrong does so again.
set -uo pipefail

command=$1 kind=$2 nth=$3 mode=$4
after=0
[ "$mode" = after ] && after=1
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/fault/lib_judge.sh
. "$here/lib_judge.sh"
dir=$(mktemp -d "$FAULT_DIR/case.XXXXXX")
cd "$dir" || exit 1
: >calls.nvml
: >calls.cuda

case $kind in
nvml | cuda)
    {
        cat "$FAULT_DIR/base.script"
        echo "fail_nth_call.$kind $nth"
        echo "fail_nth_and_after.$kind $after"
    } >script
    fault=()
    ;;
*)
    cp "$FAULT_DIR/base.script" script
    fault=(ECO_FAULT_KIND="$kind" ECO_FAULT_NTH="$nth" ECO_FAULT_AFTER="$after")
    ;;
esac

# What is run; a command with a child of known power has a page of its own, through which the child sets it.
page=()
case_words() {
    local card=gpu:GPU-fa4e0000-0000-0000-0000-000000000000
    local load=$FAKES/../tests/board_load
    local short=(--quick --blocks 1 --window 0.3 --tokens 8 --prompt-tokens 4 --cooldown-max 0 --order fixed
        --output-dir out) # with --json, the summary would say nothing more
    local metered=("${short[@]}" --window 0.5)
    case $command in
    measure) words=(measure "${short[@]}") ;;
    resume)
        cp -r "$FAULT_DIR/stopped" out
        words=(measure "${short[@]}" --blocks 2 --resume)
        ;;
    rapl) words=(measure "${short[@]}" --device cpu --precision FP16 --meter-root "$FAULT_DIR/tree") ;;
    exec) words=(measure "${metered[@]}" --meter-exec "bash $here/lib_watts.sh" --meter-boundary "$card") ;;
    replay) words=(measure "${metered[@]}" --meter-replay "$FAULT_DIR/trace.csv" --meter-boundary "$card") ;;
    watch_rapl) words=(meters --watch --count 1 --json --meter rapl --meter-root "$FAULT_DIR/tree") ;;
    watch_exec) words=(meters --watch --count 1 --json --meter-exec "bash $here/lib_watts.sh" --meter-boundary host) ;;
    watch_replay) words=(meters --watch --count 1 --json --meter-replay "$FAULT_DIR/trace.csv" --meter-boundary host) ;;
    run) words=(run --json --output-dir out -- "$load" 0 78 300 1.05 300 1.05) ;;
    vs) words=(run --output-dir out -r 2 --vs "$load 0 78 336 2.1" -- "$load" 0 78 300 2.1) ;;
    doctor) words=(doctor --json) ;;
    validate) words=(validate --recompute "$FAULT_DIR/good/energy.json") ;;
    meters) words=(meters --json) ;;
    characterize) words=(meters --characterize --json) ;;
    *) exit 2 ;;
    esac
    if [ "$command" = run ] || [ "$command" = vs ]; then
        page=(ECO_FAKE_PAGE="$dir/eco-fake-page")
    fi
}
case_words

rc=0
# A sanitizer's finding, a leak too, has a status of its own; what follows the failure of an allocation is the program's.
timeout -k 5 "${FAULT_TIMEOUT_S:-90}" env "${fault[@]}" "${page[@]}" \
    ASAN_OPTIONS=verify_asan_link_order=0:exitcode=99:detect_leaks=1:allocator_may_return_null=1 \
    ECO_FAULT_COUNTS="$dir/counts" ECO_FAKE_CALLS="$dir/calls" \
    LD_PRELOAD="$FAKES/fault_preload.so" LD_LIBRARY_PATH="$FAKES" ECO_FAKE_SCRIPT="$dir/script" LC_ALL=C \
    "$ECOCOMPUTE" "${words[@]}" >stdout 2>stderr </dev/null || rc=$?

# ---- how many calls failed
case $kind in
nvml | cuda) read -r _ failed <"calls.$kind" || failed=0 ;;
*) failed=$(awk -v k="$kind" '$1 == k { print $3 }' counts 2>/dev/null) ;;
esac
failed=${failed:-0}

judge_end
if [ -f counts ] && [ "$failed" = 0 ] && [ "$nth" -gt 0 ] && [ "$rc" -eq "$rc_good" ] && [ ${#bad[@]} -eq 0 ]; then
    echo "$command $kind $nth $mode unreached"
    rm -rf "$dir"
    exit 0
fi
judge_left
judge_answer

if [ ${#bad[@]} -eq 0 ] && [ ${#wrong[@]} -gt 0 ] && [ "${FAULT_ATTEMPT:-1}" -lt 3 ]; then
    cd / && rm -rf "$dir"
    FAULT_ATTEMPT=$((${FAULT_ATTEMPT:-1} + 1)) exec bash "$0" "$@"
fi
bad+=("${wrong[@]}")
if [ ${#bad[@]} -gt 0 ]; then
    printf '%s %s %s %s BAD status %s: %s said: %s\n' "$command" "$kind" "$nth" "$mode" "$rc" \
        "$(printf '%s; ' "${bad[@]}")" "$(tail -n 1 stderr | cut -c 1-160)" # in one write: others print too
    [ -n "${FAULT_KEEP:-}" ] && exit 1
elif [ "$nth" -eq 0 ]; then
    read -r nvml _ <calls.nvml || nvml=0
    read -r cuda _ <calls.cuda || cuda=0
    echo "$command $kind $nth $mode ok $rc calls nvml=${nvml:-0} cuda=${cuda:-0} $(awk '{ printf "%s=%s ", $1, $2 }' counts)"
else
    echo "$command $kind $nth $mode ok $rc failed $failed ${note:-no-number}"
fi
rm -rf "$dir"
[ ${#bad[@]} -eq 0 ]
