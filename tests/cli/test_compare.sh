#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# compare: 0 where every comparison with the first report is sound, 4 with the reasons where one is not, 3 where there is
# nothing to compare. tests/unit/test_report_compare.c has the rule field by field.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
data=$ECO_SOURCE_DIR/data/h200
first=$data/first/20261130T150901Z-92de83/energy.json
again=$data/first/20261130T151055Z-0381a1/energy.json

# Six runs of one commit on one card are sound; the difference is that of the reports.
run compare "$data"/first/*/energy.json
is_status 0
[ "$(grep -c '^[B-F] against A: sound; ' stdout)" -eq 5 ] || fail "$LAST: $(grep against stdout)"
grep -q '^change (%) *-23.789 ' stdout || fail "$LAST: no row of changes"
run compare --json "$first" "$again"
is_status 0
jq -e --slurpfile a "$first" --slurpfile b "$again" '$a[0] as $a | $b[0] as $b | .comparisons[0] |
    .result == "sound" and .reasons == [] and (.energies_comparable | not) and
    (.difference_pct - ($b.results.vs_fp16_energy_pct - $a.results.vs_fp16_energy_pct) | fabs) < 0.001 and
    (.half_width_pct - ([$a, $b] | map(.uncertainty.ci95_repeat | (.hi_pct - .lo_pct) / 2 | . * .) | add | sqrt)
        | fabs) < 0.001' stdout >/dev/null || fail "$LAST: $(cat stdout)"

# The arms of one run share session and baseline: sound, joules too.
run compare --json "$data"/study/01-qwen2-7b-b1/energy.{nf4,int8}.json
is_status 0
jq -e '.comparisons[0] | .result == "sound" and .energies_comparable and .half_width_pct == null' stdout >/dev/null ||
    fail "$LAST: $(cat stdout)"

# Another commit is another stack, unless asked.
other=$data/second-card/20261130T143419Z-2834af/energy.json
run compare "$first" "$other"
is_status 4
grep -qx '  stack: software.commit: 71e56c8fd2c5 against e99db1a09f49' stdout || fail "$LAST: $(cat stdout)"
run compare --across-stacks "$first" "$other"
is_status 0
grep -qx '  note: stack: software.commit: 71e56c8fd2c5 against e99db1a09f49' stdout || fail "$LAST: $(cat stdout)"

# The published protocol measures another window; the asker cannot wish that away.
run compare --across-stacks "$first" "$data/published/energy.json"
is_status 4
grep -qx '  window: measurement.window: decode against generation' stdout || fail "$LAST: $(cat stdout)"

# One sound and one not: 4. One without a change: 3.
jq '.workload.batch_size = 8' "$first" >batch.json
run compare "$first" "$again" batch.json
is_status 4
grep -q '^B against A: sound' stdout || fail "$LAST: $(cat stdout)"
grep -qx '  workload: workload.batch_size: 1 against 8' stdout || fail "$LAST: $(cat stdout)"
jq '.results.vs_fp16_energy_pct = null' "$first" >none.json
run compare "$first" none.json
is_status 3
grep -qx 'B against A: nothing to compare: results.vs_fp16_energy_pct is not there' stdout || fail "$LAST: $(cat stdout)"

run compare "$first" nowhere.json
is_status 1
is_stderr "ecocompute: nowhere.json: cannot read: No such file or directory"
echo '{}' >empty.json
run compare "$first" empty.json
is_status 1
is_stderr "ecocompute: empty.json: not a report: it has no schema_version"
run compare --json "$first" empty.json
is_status 1
jq -e '.error | startswith("empty.json: not a report")' stdout >/dev/null || fail "$LAST: $(cat stdout)"
run compare "$first"
is_status 2
is_stderr "ecocompute: compare: two reports or more are expected"
reports=()
for _ in {1..17}; do reports+=("$first"); done
run compare "${reports[@]}"
is_status 2
is_stderr "ecocompute: compare: at most 16 reports"
finish
