#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A replayed trace can be told from a measurement wherever one looks: status, words, basis, source, warning; and it
# ends when the trace does.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
card=gpu:GPU-fa4e0000-0000-0000-0000-000000000000

# trace FILE SECONDS: 80 W at 20 Hz.
trace() {
    awk -v s="$2" 'BEGIN {
        print "t_s,power_w,energy_j,tokens,temp_c,block,phase"
        for (i = 0; i <= 20 * s; i++) printf "%.6f,80.000,,,40.0,0,cooldown\n", i / 20 }' >"$1"
}
trace long.csv 120
trace short.csv 2

fake_measure out --meter-replay long.csv --meter-boundary "$card"
[ "$(cat out.rc)" = 3 ] || fail "out: status $(cat out.rc): $(cat out.err)"
grep -qx 'energy was replayed from a trace; nothing was measured but time' out.out || fail "out: $(cat out.out)"
jq -e '.results.basis == "replayed" and .results.time_basis == "measured" and .measurement_source == "replay" and
    (.measurement.method | test("replayed")) and .results.avg_power_watts == 80 and .meters.name == "replay" and
    (.warnings | map(select(.code == "replayed" and .invalidates)) | length == 1)' out/energy.json >/dev/null ||
    fail "out: $(jq -c '[.results, .measurement, .warnings]' out/energy.json)"
! grep -q ', measured\.' out.out || fail "the sentence says measured"
run validate --recompute out/energy.json
is_status 0

fake_measure cut --meter-replay short.csv --meter-boundary "$card"
[ "$(cat cut.rc)" = 1 ] || fail "cut: status $(cat cut.rc)"
grep -q 'the trace ended after 2.000 s and is not played again' cut.err || fail "cut: $(tail -n 2 cut.err)"

run measure --dry-run --device cpu --meter-replay long.csv --meter-boundary cpu
is_status 0
grep -qx 'energy: replayed; only time would be measured' stdout || fail "$LAST: $(grep ^energy stdout)"
run measure --device cpu --meter-replay long.csv --meter-boundary cpu --require-measured
is_status 3
grep -q 'a replay is no measurement' stderr || fail "$LAST: $(cat stderr)"
# In a list the trace is only the second choice: what is measured is not called replayed, nor refused.
fake_measure listed --meter nvml,replay --meter-replay long.csv --meter-boundary "$card" --require-measured
[ "$(cat listed.rc)" = 0 ] || fail "listed: status $(cat listed.rc): $(cat listed.err)"
[ "$(jq -r '.meters.name + " " + .results.basis' listed/energy.json)" = "nvml measured" ] ||
    fail "listed: $(jq -c '[.meters.name, .results.basis]' listed/energy.json)"
fake_measure behind --meter replay,nvml --meter-replay long.csv --meter-boundary "$card" --require-measured
[ "$(cat behind.rc)" = 3 ] || fail "behind: status $(cat behind.rc): $(cat behind.err)"
run measure --meter replay
is_status 2
is_stderr "ecocompute: --meter replay: name the trace with --meter-replay FILE"
run meters --meter replay --meter-replay long.csv --meter-boundary host
grep -q '^  usable: 2401 rows over 120.000 s; results are called replayed$' stdout || fail "$LAST: $(cat stdout)"
finish
