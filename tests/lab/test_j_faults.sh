#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # functions called by name
#
# The folder and the machine under a run: the disk fills, the folder is taken away or may not be written any more, the
# wall clock is set back, the process is stopped for a while inside a window. Each ends with the right status and one
# line, and what was done before stays; where the folder comes back, the run goes on.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/lab/lib_lab.sh
. "$here/lib_lab.sh"
# shellcheck source=tests/lab/lib_journal.sh
. "$here/lib_journal.sh"
case ${ECO_TEST_BUILD:-release} in
asan | tsan)
    echo "skipped: a sanitizer's library and a preloaded one do not go together"
    exit 77
    ;;
esac

# No counter: these runs are not about it, and its ticks suffer first on a crowded machine.
lab_script plain.script <<'S'
counter none
S
lab_script bare.script <<'S'
power none
S
options=(--quick --blocks 2)

fill_disk() {
    touch disk.full
}
take_folder() {
    rm -rf gone
}
lock_folder() {
    chmod 555 locked
}
turn_clock_back() {
    touch clock.back
}
# Stopped for 1.5 s inside a window; the card works on.
suspend() {
    kill -STOP "$1"
    sleep 1.5
    kill -CONT "$1"
}

# An unprivileged user where this is root, whom no mode stops.
unprivileged=
mkdir locked
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || lab_fail "locked: neither another user nor setpriv"
    chmod 755 .
    chmod 666 plain.script
    chown 65534:65534 locked
    unprivileged='setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs'
fi

preload=$FAKES/libfake_io.so
second='^decode .* block 2'
JOURNAL_WRAP="LD_PRELOAD=$preload ECO_IO_FULL=$LAB_DIR/disk.full" \
    journal_at full "$second" 1 0 fill_disk plain.script "${options[@]}" --output-dir full &
journal_at gone "$second" 1 0 take_folder plain.script "${options[@]}" --output-dir gone &
JOURNAL_WRAP=$unprivileged \
    journal_at locked "$second" 1 0 lock_folder plain.script "${options[@]}" --output-dir locked &
wait
# Numbers are judged here, so a run that the record itself calls disturbed is made again, twice at most.
for attempt in 1 2 3; do
    rm -rf clock clock.back
    JOURNAL_WRAP="LD_PRELOAD=$preload ECO_IO_WALL_BACK=$LAB_DIR/clock.back" \
        journal_at clock '^decode .* block 1' 1 0 turn_clock_back plain.script "${options[@]}" --output-dir clock
    lab_disturbed clock || break
    echo "clock: attempt $attempt was disturbed by other work on this machine"
done
journal_at stopped '^decode .* block 1' 1 2 suspend plain.script "${options[@]}" --window 4 --output-dir stopped
journal_at bare '^decode .* block 1' 1 2 suspend bare.script "${options[@]}" --window 4 --output-dir bare

# ---- the disk is full when block 2 is done: block 1 is there, whole, and nothing half written beside it
lab_status full 1
journal_says full 'full/journal: cannot write: No space left on device'
lab_is full .trials.blocks_finished 1
lab_valid full
lab_clean full
[ "$(tail -c 1 full/journal | od -An -c | tr -d ' ')" = '\n' ] || lab_fail "full: the journal ends inside a record"
cp -r full full.before
rm disk.full
lab_run plain.script full "${options[@]}" --resume
lab_status full 0
journal_whole full 2
lab_warns full resumed
[ "$(journal_windows full 1)" = "$(journal_windows full.before 1)" ] || lab_fail "full: block 1 changed"
# No room for a run at all is said before anything is measured.
touch disk.full
rc=0
LD_PRELOAD=$preload ECO_IO_FULL=$LAB_DIR/disk.full LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$LAB_DIR/plain.script \
    "$ECOCOMPUTE" measure --quick --output-dir none >none.out 2>none.err || rc=$?
echo "$rc" >none.rc
lab_status none 1
journal_says none 'No space left on device'
[ -z "$(ls none)" ] || lab_fail "none: left over: $(ls none)"

# ---- the folder is gone: it is not made again behind the user's back
lab_status gone 1
journal_says gone 'gone/journal: was taken away or replaced while the run went on'
[ ! -e gone ] || lab_fail "gone: it is back: $(ls gone)"

# ---- the folder may not be written: the report is that of block 1, the journal has both, and going on makes the report
lab_status locked 1
journal_says locked 'Permission denied'
chmod 755 locked
lab_is locked .trials.blocks_finished 1
lab_valid locked
[ "$(grep -c '"record": "block"' locked/journal)" -eq 2 ] || lab_fail "locked: not two blocks in the journal"
cp -r locked locked.before
lab_run plain.script locked "${options[@]}" --resume
lab_status locked 0
journal_whole locked 2
lab_is locked '.warnings[] | select(.code == "resumed") | .detail' '1 time: after the last block of 2'
[ "$(journal_windows locked 1)" = "$(journal_windows locked.before 1)" ] || lab_fail "locked: block 1 changed"

# ---- ten years back in the middle of a run: only the label knows
lab_status clock 0
journal_whole clock 2
year=$(($(date +%Y) - 10))
lab_get clock .timestamp_utc | grep -q -E "^($year|$((year - 1)))-" || lab_fail "clock: $(lab_get clock .timestamp_utc)"
lab_is clock '[.trials.arms[].windows[] | .t_close_s - .t_open_s | . > 1.9 and . < 4] | all' true
for trace in clock/power_trace_*.csv; do
    awk -F , 'NR > 2 && $1 + 0.001 < last { exit 1 } { last = $1 } END { exit !(last > 5 && last < 600) }' "$trace" ||
        lab_fail "clock: times of $trace"
done
if lab_disturbed clock; then
    echo "clock: energies not judged, the machine was never quiet"
else
    lab_within "clock FP16 mJ/token" "$(lab_get clock .results.fp16_energy_per_token_mj)" 1980 100
    lab_within "clock NF4 mJ/token" "$(lab_get clock .results.energy_per_token_mj)" 1144.5 60
fi

# ---- stopped inside a window: the window says so and the report is not taken for a good one; without a counter, and with
# nothing but a counter
for run in stopped bare; do
    lab_status "$run" 0
    lab_warns "$run" sample_gap
    lab_is "$run" '.warnings[] | select(.code == "sample_gap") | .invalidates' true
    arm=$(lab_get "$run" '.trials.arms[] | select(any(.windows[]; .block == 1 and .order == 2)) | .precision')
    lab_get "$run" '.warnings[] | select(.code == "sample_gap") | .detail' | grep -qE "^$arm block 1: (1\.[4-9]|[2-9]\.)" ||
        lab_fail "$run: $(lab_get "$run" '.warnings[] | select(.code == "sample_gap") | .detail'), expected $arm block 1"
    lab_is "$run" '[.trials.arms[].windows[] | select(.block == 1 and .order == 2) | .longest_gap_s > 1.4] | all' true
    lab_is "$run" '[.trials.arms[].windows[] | select(.block == 1 and .order == 1) | .longest_gap_s > 1.4] | any' false
    lab_valid "$run"
    lab_clean "$run"
done
lab_done
