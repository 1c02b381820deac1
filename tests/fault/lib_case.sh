#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# lib_case.sh COMMAND KIND NTH MODE: one run of the program in which the NTH call of KIND fails, MODE once or after (and
# all that follow). COMMAND is measure, validate, meters or characterize; KIND a kind of fault_preload.c, or nvml or cuda
# (the scripted libraries). NTH 0 fails nothing and prints how many calls of each kind there were. Prints one line "COMMAND KIND NTH MODE RESULT ...": ok and what it came
# to, unreached when there was no such call, or BAD and what is wrong. Needs ECOCOMPUTE, FAKES, FAULT_DIR (a folder with
# base.script and, for validate, good/). A wrong number is looked at again, twice at most: on a busy machine the scripted
# card itself falls behind its script now and then; a fault that makes a number wrong does so again.
set -uo pipefail

command=$1 kind=$2 nth=$3 mode=$4
after=0
[ "$mode" = after ] && after=1
dir=$(mktemp -d "$FAULT_DIR/case.XXXXXX")
cd "$dir" || exit 1
: >calls.nvml
: >calls.cuda
bad=()
wrong=()

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
case $command in
measure) # with --json, the summary would say nothing more
    words=(measure --quick --blocks 1 --window 0.3 --tokens 8 --prompt-tokens 4 --cooldown-max 0 --order fixed
        --output-dir out)
    ;;
validate) words=(validate --recompute "$FAULT_DIR/good/energy.json") ;;
meters) words=(meters --json) ;;
characterize) words=(meters --characterize --json) ;;
*) exit 2 ;;
esac

rc=0
# A sanitizer's finding, a leak too, has a status of its own; what follows the failure of an allocation is the program's.
timeout -k 5 "${FAULT_TIMEOUT_S:-90}" env "${fault[@]}" \
    ASAN_OPTIONS=verify_asan_link_order=0:exitcode=99:detect_leaks=1:allocator_may_return_null=1 \
    ECO_FAULT_COUNTS="$dir/counts" ECO_FAKE_CALLS="$dir/calls" \
    LD_PRELOAD="$FAKES/fault_preload.so" LD_LIBRARY_PATH="$FAKES" ECO_FAKE_SCRIPT="$dir/script" LC_ALL=C \
    "$ECOCOMPUTE" "${words[@]}" >stdout 2>stderr </dev/null || rc=$?

# ---- how many calls failed
case $kind in
nvml | cuda) read -r _ failed <"calls.$kind" || failed=0 ;;
*) failed=$(awk -v k="$kind" '$1 == k { print $3 }' counts 2>/dev/null) ;;
esac

# ---- how it ended
if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
    bad+=("does not end")
elif [ "$rc" -ge 128 ]; then
    bad+=("crashed with signal $((rc - 128))")
elif [ "$rc" -ne 0 ] && [ "$rc" -ne 1 ] && [ "$rc" -ne 3 ] && [ "$rc" -ne 4 ]; then
    bad+=("status $rc")
elif [ "$rc" -ne 0 ] && ! grep -qE '^(ecocompute: .{10}|no energy: .{10})' stderr; then
    [ "$command" = validate ] && [ "$rc" -eq 4 ] && [ "$(wc -l <stdout)" -ge 2 ] || bad+=("status $rc without a reason")
fi
failed=${failed:-0}
if [ -f counts ] && [ "$failed" = 0 ] && [ "$nth" -gt 0 ] && [ "$rc" -eq 0 ] && [ ${#bad[@]} -eq 0 ]; then
    echo "$command $kind $nth $mode unreached"
    rm -rf "$dir"
    exit 0
fi

# within VALUE TRUTH PERCENT
within() {
    awk -v g="$1" -v t="$2" -v p="$3" 'BEGIN { d = g - t; if (d < 0) d = -d; exit !(d <= t * p / 100) }'
}

# Numbers of the report: the truth, or not there, or a warning that makes them invalid (a short window alone does not
# excuse a wrong number, nor that the libraries are stand-ins).
check_report() {
    local report=$1 value truth
    jq -e . "$report" >/dev/null 2>&1 || { bad+=("$report is no JSON"); return; }
    if ! "$ECOCOMPUTE" validate --recompute "$report" >check 2>&1; then
        bad+=("$report: $(head -n 2 check | tr '\n' ' ')")
    fi
    if jq -e '[.warnings[] | select(.invalidates) | .code
        | select(. != "short_window" and . != "driver_library_path" and . != "debug_build")] | length > 0' "$report" >/dev/null; then
        note=flagged
    fi
    while read -r value truth percent; do
        [ "$value" = null ] && continue
        note=${note:-measured}
        within "$value" "$truth" "$percent" || [ "$note" = flagged ] || wrong+=("$report: $value where $truth is true")
    done < <(jq -r '(.trials.arms[] | "\(.energy_per_token_mj) \(if .precision == "FP16" then 1980 else 1144.5 end) 5"),
        "\(.results.vs_fp16_energy_pct | if . == null then null else -. end) 42.197 8"' "$report")
}

note=
if [ "$command" = measure ]; then
    shopt -s nullglob
    for report in out/energy*.json; do
        check_report "$report"
    done
    left=$(find out -mindepth 1 ! -name 'energy*.json' ! -name 'power_trace_*.csv' ! -name journal 2>/dev/null)
    [ -z "$left" ] || bad+=("left over: $left")
    [ "$rc" -ne 0 ] || [ -f out/energy.json ] || bad+=("status 0 and no report")
    [ ! -e out/energy.json ] || grep -q . out/energy.json || bad+=("an empty report")
elif [ "$command" = validate ]; then
    [ "$rc" -ne 0 ] || grep -q ': valid, every' stdout || bad+=("status 0 without saying valid")
elif [ "$command" = characterize ] && [ "$rc" -eq 0 ]; then
    # Not the update period of the power: the scripted power hardly changes, so it has none to find.
    while read -r name value truth percent; do
        [ "$value" = null ] || within "$value" "$truth" "$percent" || wrong+=("$name $value where $truth is true")
    done < <(jq -r '"counter_update \(.counter_update_period_s) 0.02 30",
        "bare \(.idle_bare_w) 78 1", "context \(.idle_context_w) 121 5", "loaded \(.idle_loaded_w) 121 1",
        "ratio \(.counter_to_integral) 1 5"' stdout || echo "output 0 1 0")
elif [ "$command" = meters ]; then
    [ "$rc" -ne 0 ] || jq -e 'length > 0 and all(.[]; .usable or (.reason | length > 5))' stdout >/dev/null 2>&1 ||
        bad+=("status 0 and no list with reasons")
fi
if grep -niE '(^|[^a-z])(nan|inf|infinity)([^a-z]|$)' stdout out/*.json out/*.csv >found 2>/dev/null; then
    bad+=("not a number: $(head -n 1 found)")
fi

if [ ${#bad[@]} -eq 0 ] && [ ${#wrong[@]} -gt 0 ] && [ "${FAULT_ATTEMPT:-1}" -lt 3 ]; then
    cd / && rm -rf "$dir"
    FAULT_ATTEMPT=$((${FAULT_ATTEMPT:-1} + 1)) exec bash "$0" "$@"
fi
bad+=("${wrong[@]}")
if [ ${#bad[@]} -gt 0 ]; then
    printf '%s %s %s %s BAD status %s:' "$command" "$kind" "$nth" "$mode" "$rc"
    printf ' %s;' "${bad[@]}"
    printf ' said: %s\n' "$(tail -n 1 stderr | cut -c 1-160)"
    [ -n "${FAULT_KEEP:-}" ] && exit 1
elif [ "$nth" -eq 0 ]; then
    read -r nvml _ <calls.nvml || nvml=0
    read -r cuda _ <calls.cuda || cuda=0
    echo "$command $kind $nth $mode ok $rc calls nvml=$nvml cuda=$cuda $(awk '{ printf "%s=%s ", $1, $2 }' counts)"
else
    echo "$command $kind $nth $mode ok $rc failed $failed ${note:-no-number}"
fi
rm -rf "$dir"
[ ${#bad[@]} -eq 0 ]
