#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A metering program of the user's through the whole program: measured and marked, its end told, none left behind; and
# what the options refuse.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
card=gpu:GPU-fa4e0000-0000-0000-0000-000000000000

cat >steady.sh <<'SH'
echo $$ >meter.pid
while :; do echo power_w 250; sleep 0.02; done
SH
cat >dies.sh <<'SH'
echo $$ >meter.pid
i=0
while [ ! -e burning ]; do echo power_w 250; sleep 0.02; done
echo 'adapter unplugged' >&2
exit 7
SH

fake_measure out --meter-exec "sh steady.sh" --meter-boundary "$card"
[ "$(cat out.rc)" = 0 ] || fail "out: status $(cat out.rc): $(cat out.err)"
jq -e '.results.basis == "measured" and .measurement_source == "exec" and .measurement.boundary == "gpu" and
    (.measurement.method | test("external program")) and .results.avg_power_watts == 250 and .meters.name == "exec" and
    (.warnings | map(select(.code == "external_meter" and .invalidates)) | length == 1)' out/energy.json >/dev/null ||
    fail "out: $(jq -c '[.results, .measurement, .warnings]' out/energy.json)"
! jq -r .software.command out/energy.json | grep -q steady || fail "the command line tells the program"
! kill -0 "$(cat meter.pid)" 2>/dev/null || fail "the metering program was left behind"
LD_LIBRARY_PATH=$FAKES run validate --recompute out/energy.json
is_status 0

# It dies under load: what it said is told, and the run ends at once.
( while ! grep -q 'burn-in' dead.err 2>/dev/null; do read -r -t 0.02 <> <(:) || true; done; touch burning ) &
fake_measure dead --meter-exec "sh dies.sh" --meter-boundary "$card"
wait
[ "$(cat dead.rc)" = 1 ] || fail "dead: status $(cat dead.rc)"
grep -q 'device lost; sh ended with status 7: adapter unplugged' dead.err || fail "dead: $(tail -n 2 dead.err)"
jq -e '.warnings | map(.code) | contains(["partial", "device_lost"])' dead/energy.json >/dev/null || fail "dead: not marked"

# Other work than declared: nothing is started.
rm -f meter.pid
fake_measure other --meter-exec "sh steady.sh" --meter-boundary cpu
[ "$(cat other.rc)" = 3 ] || fail "other: status $(cat other.rc)"
jq -e '.results.basis == "unavailable" and (.warnings | map(.code) | contains(["boundary_mismatch"]))' other/energy.json \
    >/dev/null || fail "other: $(jq -c .results other/energy.json)"
[ ! -e meter.pid ] || fail "a program was started for work it does not see"

# Readings that no power can have are refused with what was read.
for reads in "0:0 W" "1e308:no finite power"; do
    echo "while :; do echo power_w ${reads%%:*}; sleep 0.02; done" >absurd.sh
    fake_measure absurd --meter-exec "sh absurd.sh" --meter-boundary "$card"
    [ "$(cat absurd.rc)" = 1 ] || fail "absurd: status $(cat absurd.rc)"
    grep -q "the meter reads ${reads#*:} under load; a power above 0 is expected" absurd.err ||
        fail "absurd ${reads%%:*}: $(tail -n 1 absurd.err)"
    rm -rf absurd
done

run measure --meter exec
is_status 2
is_stderr "ecocompute: --meter exec: name the program with --meter-exec 'CMD ARG'"
run measure --meter-exec "sh steady.sh"
is_status 2
is_stderr "ecocompute: --meter-boundary: say what meter exec covers: gpu:GPU-…, cpu or host"
run measure --meter-exec "sh steady.sh" --meter-boundary rack
is_status 2
is_stderr "ecocompute: --meter-boundary: 'rack' is not known; expected gpu:GPU-… (or gpu: and a PCI bus id), cpu or host"
run measure --meter rapl --meter-exec "sh steady.sh" --meter-boundary cpu
is_status 2
is_stderr "ecocompute: --meter-exec: goes with --meter exec, not with rapl"
run measure --meter-boundary cpu
is_status 2
is_stderr "ecocompute: --meter-boundary: goes with --meter-exec or --meter-replay"
run measure --meter exce
is_status 2
is_stderr "ecocompute: --meter: unknown meter 'exce', did you mean 'exec'?; \`ecocompute meters\` lists them"

# The live line, and Ctrl-C in the middle of it.
run meters --watch --count 1 --meter-exec "sh steady.sh" --meter-boundary host
is_status 0
[ "$(cat stdout)" = "exec sh: 250.0 W" ] || fail "$LAST: $(cat stdout)"
if command -v script >/dev/null; then # on a terminal the line is written over
    script -qec "$ECOCOMPUTE meters --watch --count 2 --meter-exec 'sh steady.sh' --meter-boundary host" typescript \
        >/dev/null </dev/null
    [ "$(grep -o $'\r\e\\[Kexec sh: 250.0 W' typescript | wc -l)" -eq 2 ] || fail "on a terminal: $(cat -v typescript)"
fi
"$ECOCOMPUTE" meters --watch --json --meter-exec "sh steady.sh" --meter-boundary host >watch.json 2>/dev/null &
watch=$!
while [ ! -s watch.json ]; do
    kill -0 "$watch"
done
kill -TERM "$watch"
rc=0
wait "$watch" || rc=$?
[ "$rc" = 143 ] || fail "meters --watch: status $rc after SIGTERM"
jq -e 'length >= 1 and .[0][0].power_w == 250' watch.json >/dev/null || fail "meters --watch --json: $(cat watch.json)"
! kill -0 "$(cat meter.pid)" 2>/dev/null || fail "meters --watch left the program behind"
run meters --watch --count 1 --meter-exec "./no-such-meter" --meter-boundary host
is_status 3
is_stderr "ecocompute: no meter can be watched: exec: ./no-such-meter: No such file or directory"
finish
