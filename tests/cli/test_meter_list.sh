#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --meter LIST: measure takes the first that can run and sees the work and says why not the others; run reads all of them,
# apart, also programs and replayed traces, which stay what they are.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

cat >steady.sh <<'SH'
echo $$ >meter.pid
while :; do echo power_w 250; sleep 0.02; done
SH
awk 'BEGIN {
    print "t_s,power_w,energy_j,tokens,temp_c,block,phase"
    for (i = 0; i <= 2400; i++) printf "%.6f,80.000,,,40.0,0,cooldown\n", i / 20 }' >long.csv

# ---- measure ----
fake_measure card --precision NF4 --meter rapl,nvml,exec --meter-exec "sh steady.sh" --meter-boundary host
[ "$(cat card.rc)" = 0 ] || fail "card: status $(cat card.rc): $(cat card.err)"
others='no device of rapl here sees the work on gpu GPU-fa4e0000-0000-0000-0000-000000000000; exec: not needed'
grep -qxF "meters passed over: $others" card.err || fail "card: $(grep -a meter card.err)"
jq -e --arg others "$others" '.meters.name == "nvml" and .meters.passed_over == $others and .measurement.boundary == "gpu" and
    (.uncertainty.u_expanded | .declared_gain_pct == 5 and .declared_offset_w == 5 and (.declared_source | test("NVML")))' \
    card/energy.json >/dev/null || fail "card: $(jq -c '[.meters, .uncertainty.u_expanded]' card/energy.json)"
[ ! -e meter.pid ] || fail "a program was started that was not needed"
LD_LIBRARY_PATH=$FAKES run validate --recompute card/energy.json
is_status 0

fake_measure host --precision NF4 --meter exec,nvml --meter-exec "sh steady.sh" --meter-boundary host
[ "$(cat host.rc)" = 0 ] || fail "host: status $(cat host.rc): $(cat host.err)"
jq -e '.meters.name == "exec" and .meters.passed_over == "nvml: not needed" and .measurement.boundary == "host" and
    (.uncertainty.u_expanded | .declared_gain_pct == 10 and .declared_offset_w == 5
        and (.declared_source | startswith("declared by default")))' host/energy.json >/dev/null ||
    fail "host: $(jq -c '[.meters, .uncertainty.u_expanded]' host/energy.json)"
run validate --recompute host/energy.json
is_status 0

# The first reason and the second, where there is none.
run measure --device cpu --quick --meter nvml,replay --meter-replay absent.csv --meter-boundary cpu --dry-run
grep -q 'only time would be measured' stdout || fail "$LAST: $(cat stdout)"

run measure --meter nvml,,rapl
is_status 2
is_stderr "ecocompute: --meter: 'nvml,,rapl' holds an empty name; expected a list such as nvml,rapl"
run measure --meter nvml,rapl,nvml
is_status 2
is_stderr "ecocompute: --meter: 'nvml' is listed twice"
run measure --meter nvml,rapk
is_status 2
is_stderr "ecocompute: --meter: unknown meter 'rapk', did you mean 'rapl'?; \`ecocompute meters\` lists them"
run measure --meter nvml,rapl --meter-exec "sh steady.sh" --meter-boundary cpu
is_status 2
is_stderr "ecocompute: --meter-exec: goes with --meter exec, not with nvml,rapl"

# ---- meters ----
run meters --json --meter rapl,replay --meter-replay long.csv --meter-boundary host
is_status 0
[ "$(jq -r 'map(.name) | join(" ")' stdout)" = "rapl replay" ] || fail "$LAST: $(cat stdout)"
run meters --watch --json --count 1 --meter exec,replay --meter-exec "sh steady.sh" --meter-replay long.csv --meter-boundary host
is_status 0
[ "$(jq -r '.[0] | map("\(.meter) \(.power_w)") | join(", ")' stdout)" = "exec 250, replay 80" ] || fail "$LAST: $(cat stdout)"

# ---- run ----
rm -f meter.pid
run run --meter-exec "sh steady.sh" --meter-boundary host -- touch ran
is_status 2
is_stderr "ecocompute: --meter-exec: would start 'sh steady.sh'; allow it with --allow-commands"
[ ! -e ran ] || fail "the command was started"
[ ! -e meter.pid ] || fail "the metering program was started"
run run --allow-commands --meter-exec ./no-such-meter --meter-boundary host -- touch ran
is_status 125
is_stderr "ecocompute: --meter exec: exec: ./no-such-meter: No such file or directory"
[ ! -e ran ] || fail "the command ran without the meter that was asked for"

both=(--meter "replay,exec" --allow-commands --meter-exec "sh steady.sh" --meter-replay long.csv --meter-boundary host)
run run --json "${both[@]}" -- sleep 2.2
is_status 0
jq -e '(.meters | map([.name, .basis, .boundary])) == [["replay", "replayed", "host"], ["exec", "measured", "host"]]
    and (.runs[0] | (.energies[0].energy_j - 80 * .seconds | fabs) < 0.001 * .energies[0].energy_j
        and (.energies[1].energy_j - 250 * .seconds | fabs) < 0.001 * .energies[1].energy_j)
    and ([.warnings[].code] | contains(["replayed", "external_meter"]))
    and (.commands[0].meters | map(.energy_j.basis)) == ["replayed", "measured"]' stdout >/dev/null ||
    fail "run: $(jq -c '[.meters, .runs, .warnings]' stdout)"
! kill -0 "$(cat meter.pid)" 2>/dev/null || fail "run left the metering program behind"
run run "${both[@]}" -- sleep 2.2
grep -q 'J, replayed' stderr || fail "the summary does not say replayed: $(cat stderr)"
"$ECOCOMPUTE" run --help >help
grep -q -- '--allow-commands' help || fail "run --help does not tell --allow-commands"
finish
