#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGINT and SIGTERM in every phase, sent when the program's own progress line says where it is; inside a window there
# is no line, so the signal comes once no line has come for a while, and the trace must show that the window was open.
# Must come out: 130 and 143; before the first burn-in nothing is left, not even the run's own folder; afterwards a
# report that follows from its traces, marked partial, with the finished blocks; no half-written file.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

# signal_case NAME SIGNAL PATTERN NTH QUIET_S SCRIPT OPTION...: sends SIGNAL at the NTH line that matches PATTERN, and
# with QUIET_S > 0 only when no further line came for that long.
signal_case() {
    local name=$1 signal=$2 pattern=$3 nth=$4 quiet_s=$5 script=$6 seen=0 line rc=0
    shift 6
    mkdir "$name.run"
    mkfifo "$name.fifo"
    # A background command of a script has SIGINT ignored; a person's has not.
    (cd "$name.run" && LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$LAB_DIR/$script exec env --default-signal=INT \
        "$ECOCOMPUTE" measure "$@" >"../$name.out" 2>"../$name.fifo") &
    local pid=$!
    exec {lines}<"$name.fifo"
    while IFS= read -r -u "$lines" line; do
        printf '%s\n' "$line" >>"$name.err"
        if [[ $line =~ $pattern ]]; then
            seen=$((seen + 1))
        fi
        if [ "$seen" -eq "$nth" ]; then
            if [ "$quiet_s" != 0 ] && IFS= read -r -t "$quiet_s" -u "$lines" line; then
                printf '%s\n' "unexpected: $line" >>"$name.err"
            fi
            kill "-$signal" "$pid"
            break
        fi
    done
    cat <&"$lines" >>"$name.err"
    exec {lines}<&-
    wait "$pid" || rc=$?
    echo "$rc" >"$name.rc"
}

lab_script plain.script </dev/null
lab_script warm.script <<'S'
temp_c_per_w 0.1
S
lab_script none.script <<'S'
counter none
S
here=(--output-dir out)
signal_case loading TERM '^loading' 1 0 plain.script --quick &
signal_case probe INT '^probing' 1 0 plain.script --quick &
signal_case burn_in INT '^burn-in NF4' 1 0 plain.script --quick "${here[@]}" &
signal_case cooldown INT '^decode .* block 1' 2 0 warm.script --quick "${here[@]}" &
signal_case window TERM '^decode .* block 1' 2 2 plain.script --quick --window 4 "${here[@]}" &
signal_case extra INT '^decode .* block 1' 2 3 none.script --blocks 1 --window 4 "${here[@]}" &
wait

for name in loading probe; do
    [ -z "$(find "$name.run" -mindepth 1)" ] || lab_fail "$name: left over: $(find "$name.run" -mindepth 1)"
done
lab_status loading 143
lab_status probe 130
lab_status burn_in 130
lab_status cooldown 130
lab_status window 143
lab_status extra 130
for name in loading probe burn_in cooldown window extra; do
    [[ $(tail -n 1 "$name.err") == "ecocompute: interrupted"* ]] || lab_fail "$name: last line: $(tail -n 1 "$name.err")"
done
for name in burn_in cooldown window extra; do
    cp -r "$name.run/out" "$name"
    lab_warns "$name" partial
    lab_clean "$name"
    lab_valid "$name"
done
lab_is burn_in .trials.blocks_finished 0
lab_is burn_in .results.basis unavailable
lab_is burn_in .results.energy_per_token_mj null
lab_is cooldown .trials.blocks_finished 1
lab_is cooldown .trials.blocks_planned 3
lab_is cooldown .results.basis measured
lab_is cooldown '.uncertainty.ci95_repeat.n' 1
lab_is cooldown '.uncertainty.ci95_repeat.lo_pct' null
lab_is window .trials.blocks_finished 1
lab_is extra .trials.blocks_finished 1
lab_within "kept FP16 mJ/token" "$(lab_get window .results.fp16_energy_per_token_mj)" 1980 60

# Where the signal struck: rows of the cut window are in the trace; none of a load in the cooldown's.
phase_rows() {
    cat "$1"/power_trace_*.csv | awk -F , -v block="$2" -v phase="$3" '$6 == block && $7 == phase' | wc -l
}
[ "$(phase_rows window 2 decode)" -gt 0 ] || lab_fail "window: the signal did not come inside a window"
[ "$(phase_rows cooldown 2 ramp)" -eq 0 ] || lab_fail "cooldown: the signal did not come in the cooldown"
[ "$(phase_rows extra 0 generation)" -gt 0 ] || lab_fail "extra: the signal did not come inside the extra window"
lab_done
