#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fit and architectures: the published curves from the published table, tables of held-out errors, refusals in one line.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
DATA=$ECO_SOURCE_DIR/data

# Every value of the published curves.json comes out again, but for the one N* that means nothing (ampere NF4: S is 0).
run fit "$DATA/published/measured.csv" -o curves.json
is_status 0
grep -q '^leave-one-out error: 20.45 points of dE% in the mean over 23 points$' stdout || fail "$LAST: $(cat stdout)"
[ "$(grep -c '^warning \[fit_at_bound\]' stdout)" -eq 6 ] || fail "$LAST: not all six curves sit on a bound"
[ "$(grep -c '^warning \[nstar_arbitrary\] ampere NF4' stdout)" -eq 1 ] || fail "$LAST: no warning of the arbitrary N*"
jq -n --slurpfile want "$DATA/published/curves.json" --slurpfile got curves.json '
    ($want[0] | del(.curves.ampere.NF4.Nstar)) as $w | $got[0] as $g |
    [$w | paths(scalars)] | map(select(. as $p | ($g | getpath($p)) != ($w | getpath($p))) | map(tostring) | join("."))' \
    >different
[ "$(jq length different)" -eq 0 ] || fail "curves.json differs from the published one: $(cat different)"
[ "$(jq -c 'keys_unsorted' curves.json)" = '["model","s_cap","arch_label","borrow","curves","fp16_energy","hardware","fit"]' ] ||
    fail "curves.json: keys $(jq -c keys_unsorted curves.json)"

# --json is the same document; the exact minimum lies within 0.001 of where the published program stops.
run fit "$DATA/published/measured.csv" --json
is_status 0
cmp -s stdout curves.json || fail "$LAST: not what -o writes"
run fit "$DATA/published/measured.csv" --rules current --json
jq -e --slurpfile p curves.json '[.curves | .. | objects | select(has("Nstar") and has("resid_std")) | .A, .S] as $c
    | [$p[0].curves | .. | objects | select(has("Nstar") and has("resid_std")) | .A, .S] as $d
    | [range($c | length) | ($c[.] - $d[.]) | fabs] | max < 0.001 and max > 0' stdout >/dev/null || fail "$LAST: $(cat stdout)"

# The tidy table gives the same curves: one corrected baseline moves one of them in the third decimal.
run fit "$DATA/anchors.csv" --json
is_status 0
jq -e --slurpfile p curves.json '.fit.rows == 29 and .curves.ada.NF4.A == $p[0].curves.ada.NF4.A
    and (.curves.ada.INT8.S - $p[0].curves.ada.INT8.S | fabs) < 0.01
    and (.curves.ada.NF4.band.points | length) == 5 and .curves.turing.NF4.band == null' stdout >/dev/null ||
    fail "$LAST: $(jq -c '.fit, .curves.ada.NF4' stdout)"

# Held-out errors, row by row: the published rules answer 9 of 29 rows when a card is left out.
run fit "$DATA/published/measured.csv" --validate
is_status 0
[ "$(grep -c '^Leave one \(session\|card\) out' stdout)" -eq 2 ] || fail "$LAST: $(cat stdout)"
run fit "$DATA/published/measured.csv" --validate --json
is_status 0
jq -e '(.session | length) == 29 and (.card | map(select(.published_pct != null)) | length) == 9' stdout >/dev/null ||
    fail "$LAST: $(head -c 600 stdout)"

# Our own study is an engine of its own.
run fit "$DATA/h200/study/study.csv" --engine native --json
is_status 0
jq -e '.curves.hopper.NF4.anchors | map(.N) == [0.5, 1.1, 7]' stdout >/dev/null || fail "$LAST: $(cat stdout)"
run fit "$DATA/h200/study/study.csv"
is_status 1
is_stderr "ecocompute: fit: no row to fit: none of engine 'transformers' with in_published_fit 1 has both energies"

# Refusals: file, line, column; a failure leaves the old file.
printf 'gpu,arch,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k\nX,ada,m,1,NF4,100,nan\n' >bad.csv
cp curves.json before.json
run fit bad.csv -o curves.json
is_status 1
is_stderr "ecocompute: bad.csv:2: energy_quant_j1k: 'nan' is not usable; expected a number"
cmp -s curves.json before.json || fail "$LAST: the old file was touched"
run fit missing.csv
is_status 1
grep -q '^ecocompute: missing.csv: ' stderr || fail "$LAST: $(cat stderr)"
run fit "$DATA/published/measured.csv" -o nowhere/curves.json
is_status 1
run fit
is_status 2
is_stderr 'ecocompute: fit: a CSV of energies is expected, such as data/anchors.csv'
run fit "$DATA/anchors.csv" --rules published
is_status 2
is_stderr "ecocompute: --rules: 'published' is not known; expected published-1.1 or current"
run fit "$DATA/anchors.csv" --rows some
is_status 2

run architectures
is_status 0
grep -q '^hopper .*borrows from ampere' stdout || fail "$LAST: $(cat stdout)"
run architectures --json
is_status 0
jq -e 'keys_unsorted == ["ada", "ampere", "blackwell", "turing", "hopper"]
    and .ada.precisions.NF4 == {measured_range_b: [0.5, 7], crossover_b: 3.728}
    and .hopper == {label: "Hopper (H100/H200)", borrows_from: "ampere", precisions: {}}' stdout >/dev/null ||
    fail "$LAST: $(cat stdout)"
finish
