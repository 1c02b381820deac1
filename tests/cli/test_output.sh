#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the files go and what the streams do: an unusable folder is said before anything is measured; a folder that
# holds a report is kept; two runs at once do not meet; what standard output refuses is told; neither the folder's name
# nor the card's UUID is in the report; no HOME and no terminal are needed.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

# ---- refused before measuring
begin=$SECONDS
run measure --output-dir /dev/null/x
is_status 1
is_stderr "ecocompute: /dev/null: is there and is not a folder"
run measure --output-dir /proc/nothing-can-be-made-here
is_status 1
[ "$(wc -l <stderr)" -eq 1 ] || fail "$LAST: not one line: $(cat stderr)"
[ $((SECONDS - begin)) -lt 5 ] || fail "an unusable folder was found out after $((SECONDS - begin)) s"

mkdir held
echo '{"kept": true}' >held/energy.json
run measure --output-dir held
is_status 2
is_stderr "ecocompute: --output-dir held: holds a report already; choose another folder or give --force"
mv held/energy.json held/energy.nf4.json
run measure --output-dir held
is_status 2
[ "$(cat held/energy.nf4.json)" = '{"kept": true}' ] || fail "the report that was there is changed"

if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=1m none full 2>/dev/null; then
    run measure --output-dir full
    is_status 1
    grep -q 'full' stderr || fail "full disk: $(cat stderr)"
    [ -z "$(ls full)" ] || fail "full disk: left over: $(ls full)"
    umount full
else
    echo "skipped here: a full disk (no tmpfs can be mounted)"
fi

# ---- real runs, side by side
fake_measure force_me --quiet &
# Own folders: two runs in one place.
printf '%s\n' 'counter none' 'step_us.fp16 4000' >fake.script
mkdir both
own_run() {
    (cd both && exec env -u HOME LD_LIBRARY_PATH="$FAKES" ECO_FAKE_SCRIPT="$DIR/fake.script" "$ECOCOMPUTE" measure --quick \
        --blocks 1 --window 0.3 --precision FP16 --json --quiet </dev/null >"../own$1.json" 2>"../own$1.err")
}
own_run 1 &
own_run 2 &
# The two streams that cannot take the answer.
stream_run() {
    local rc=0
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/fake.script "$ECOCOMPUTE" measure --quick --blocks 1 --window 0.3 \
        --precision FP16 --quiet --outp "$1-secret" 2>"$1.err" || rc=$?
    echo "$rc" >"$1.rc"
}
stream_run closed >&- &
stream_run full >/dev/full &
fake_measure card --device cuda:GPU-fa4e0000-0000-0000-0000-000000000000 &
wait

[ "$(cat force_me.rc)" = 0 ] || fail "plain run: $(cat force_me.err)"
[ ! -s force_me.err ] || fail "--quiet said: $(cat force_me.err)"
tail -n 1 force_me.out | grep -qx 'files: force_me/energy.json force_me/power_trace_fp16.csv' ||
    fail "last line: $(tail -n 1 force_me.out)"
[ "$(find force_me -type f | sort | tr '\n' ' ')" = "force_me/energy.json force_me/journal force_me/power_trace_fp16.csv " ] ||
    fail "files: $(ls -A force_me)"

[ "$(find both/ecocompute-out -name energy.json -type f | wc -l)" -eq 2 ] || fail "two runs, folders: $(find both)"
for n in 1 2; do
    [ ! -s "own$n.err" ] || fail "own run $n: $(cat "own$n.err")"
    id=$(jq -r .run_id "own$n.json")
    cmp "own$n.json" "both/ecocompute-out/$id/energy.json" || fail "own run $n: --json is not what its file holds"
    "$ECOCOMPUTE" validate --recompute "both/ecocompute-out/$id/energy.json" >/dev/null || fail "own run $n: not valid"
done
latest=$(readlink both/ecocompute-out/latest)
[ -f "both/ecocompute-out/$latest/energy.json" ] || fail "latest points to '$latest'"

for stream in closed full; do
    [ "$(cat $stream.rc)" = 1 ] || fail "stdout $stream: status $(cat $stream.rc)"
    grep -q '^ecocompute: standard output: ' $stream.err || fail "stdout $stream: $(cat $stream.err)"
    # The measurement is not lost, and what should have gone to the stream is in no file.
    "$ECOCOMPUTE" validate --recompute $stream-secret/energy.json >/dev/null || fail "stdout $stream: report lost"
    if grep -rq 'mJ/token  ' $stream-secret; then
        fail "stdout $stream: the table went into a file"
    fi
    if grep -q secret $stream-secret/energy.json; then
        fail "the folder's name is in the report: $(grep secret $stream-secret/energy.json)"
    fi
done
for command in models "models --json" --version --help "measure --dry-run"; do
    for target in closed full; do
        rc=0
        # shellcheck disable=SC2086
        if [ $target = full ]; then
            "$ECOCOMPUTE" $command >/dev/full 2>stderr || rc=$?
        else
            "$ECOCOMPUTE" $command >&- 2>stderr || rc=$?
        fi
        [ "$rc" -eq 1 ] || fail "$command, stdout $target: status $rc"
    done
done
grep -q 'fa4e0000' card/energy.json && fail "the UUID is in the report: $(grep fa4e0000 card/energy.json)"
[ "$(jq -r .software.command card/energy.json)" = "ecocompute measure --quick --blocks 1 --window 0.3 --precision FP16 --output-dir=… --device cuda:GPU-…" ] ||
    fail "command: $(jq -r .software.command card/energy.json)"

# A second run into the same folder needs --force, and then replaces the report whole.
first=$(jq -r .run_id force_me/energy.json)
fake_measure force_me --quiet
[ "$(cat force_me.rc)" = 2 ] || fail "a folder with a report was taken"
[ "$(jq -r .run_id force_me/energy.json)" = "$first" ] || fail "the report was replaced without --force"
fake_measure force_me --quiet --force
[ "$(cat force_me.rc)" = 0 ] || fail "--force: $(cat force_me.err)"
[ "$(jq -r .run_id force_me/energy.json)" != "$first" ] || fail "--force: the old report is there"
finish
