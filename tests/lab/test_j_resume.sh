#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # functions called by name; dollars meant to stay
#
# A run that was stopped goes on: after SIGKILL and after an interrupt, in a named folder and in the latest, with the
# numbers it had, on the same clock. It does not go on with other options, on another card, in a finished folder, where
# another run is at work, or where no journal is; each says so in one line, with its status, and changes nothing.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/lab/lib_lab.sh
. "$here/lib_lab.sh"
# shellcheck source=tests/lab/lib_journal.sh
. "$here/lib_journal.sh"

# No counter: these runs are not about it, and its ticks suffer first on a crowded machine.
lab_script plain.script <<'S'
counter none
S
lab_script other.script <<'S'
devices 2
counter none
S
options=(--quick --blocks 2)

second_run() {
    lab_run plain.script two "${options[@]}" --quiet
    cp two.rc second.rc
    cp two.err second.err
    lab_run plain.script two "${options[@]}" --quiet --force
    cp two.rc forced.rc
    cp two.err forced.err
    lab_run plain.script two "${options[@]}" --quiet --resume
    cp two.rc joined.rc
    cp two.err joined.err
}
interrupt() {
    kill -INT "$1"
}

# ---- stopped, and what is there then
mkdir own.run
(cd own.run && LAB_DIR=.. journal_at ../own '^burn-in NF4' 1 0 journal_kill plain.script "${options[@]}") &
journal_at dead '^decode .* block 2' 1 0 journal_kill plain.script "${options[@]}" --output-dir dead &
journal_at asked '^decode .* block 2' 1 0 interrupt plain.script --blocks 2 --window 2 --output-dir asked &
journal_at first '^probing' 1 0 second_run plain.script "${options[@]}" --output-dir two &
wait
lab_status own 137
lab_status dead 137
lab_status asked 130
lab_is dead .trials.blocks_finished 1
lab_is asked .trials.blocks_finished 1
lab_valid dead
lab_valid asked
cp -r dead dead.before

# ---- two runs in one folder: the second gives way, whatever it was told, and the first does not notice
lab_status first 0
for name in second forced joined; do
    lab_status "$name" 1
    journal_says "$name" 'another run is at work in this folder'
done
journal_whole two 2
lab_warns_not two resumed

# ---- what is not gone on with
lab_run plain.script dead --quick --blocks 3 --resume --quiet
lab_status dead 2
journal_says dead "--blocks differs (blocks): the run in dead has '2', this command '3'"
lab_run other.script dead "${options[@]}" --device cuda:1 --resume --quiet
lab_status dead 1
journal_says dead 'on another device.*not pooled'
lab_run plain.script dead "${options[@]}" --quiet
lab_status dead 2
journal_says dead 'holds a report already'
mkdir begun
cp dead/journal begun
lab_run plain.script begun "${options[@]}" --quiet
lab_status begun 2
journal_says begun 'holds the journal of a run that was stopped'
diff -r dead dead.before || lab_fail "dead: a refusal changed something"
lab_run plain.script nothing "${options[@]}" --resume --quiet
lab_status nothing 1
journal_says nothing 'holds no journal'
[ ! -e nothing ] || lab_fail "nothing: a folder was made"
mkdir diary
echo 'not yours' >diary/journal
lab_run plain.script diary "${options[@]}" --resume --quiet
lab_status diary 1
journal_says diary 'not a journal'
lab_run plain.script diary "${options[@]}" --force --quiet
lab_status diary 1
journal_says diary 'not a journal'
[ "$(cat diary/journal)" = 'not yours' ] || lab_fail "diary: somebody's file was changed"

# ---- gone on with; the tail of one journal is damaged on top of it
dropped=$(wc -c <dead/journal)
printf '900 0badf00d {"record": "blo' >>dead/journal
lab_run plain.script dead "${options[@]}" --resume &
lab_run plain.script asked --blocks 2 --window 2 --resume &
(cd own.run && rc=0 && LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$LAB_DIR/plain.script \
    "$ECOCOMPUTE" measure "${options[@]}" --resume >../own.out 2>../own.err || rc=$? && echo "$rc" >../own.rc) &
wait
lab_status dead 0
lab_status asked 0
lab_status own 0
journal_says dead "good to byte $dropped; record 3 is cut short: the last 28 bytes are dropped"
cp -r own.run/ecocompute-out/latest/ own
for name in dead asked own; do
    journal_whole "$name" 2
    lab_warns "$name" resumed
    lab_is "$name" .trials.resumed 1
    lab_is "$name" '.warnings[] | select(.code == "resumed") | .invalidates' false
done
lab_is dead '.warnings[] | select(.code == "resumed") | .detail' '1 time: at block 2 of 2'
lab_is own '.warnings[] | select(.code == "resumed") | .detail' '1 time: at block 1 of 2'
[ "$(journal_windows dead 1)" = "$(journal_windows dead.before 1)" ] || lab_fail "dead: block 1 changed"
lab_is dead .run_id "$(lab_get dead.before .run_id)"
lab_is asked '[.trials.arms[].windows[] | select(.block == 0)] | length' 4
# Block 2 comes after block 1 on the clock of the first process.
lab_is dead '. as $r | [$r.trials.arms[].windows[] | select(.block == 2) | .t_open_s] | min >
        ([$r.trials.arms[].windows[] | select(.block == 1) | .t_close_s] | max)' true

# ---- killed between the traces and the report: the traces are longer, and the report follows from their beginning
cp -r dead grown
tail -n 3 grown/power_trace_nf4.csv >grown.tail
cat grown.tail >>grown/power_trace_nf4.csv
lab_valid grown
sed -i '20{s/^[0-9]/9/}' grown/power_trace_nf4.csv
"$ECOCOMPUTE" validate --recompute grown/energy.json >grown.check 2>&1 && lab_fail "grown: a changed row was taken"
grep -q 'power_trace.files\[0\].sha256' grown.check || lab_fail "grown: $(cat grown.check)"

# ---- nothing left to do
cp -r dead dead.after
lab_run plain.script dead "${options[@]}" --resume
lab_status dead 0
journal_says dead 'this run is finished (2 of 2 blocks)'
diff -r dead dead.after || lab_fail "dead: something changed though it was finished"
lab_done
