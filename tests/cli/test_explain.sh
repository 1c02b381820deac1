#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# explain: every report of the H200 runs; what it works out is what the report's own numbers give, and the parts of a
# count add up to it. What cannot be explained is status 1 and one line.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
export XDG_CACHE_HOME=$DIR/no-cache # nothing is lent
data=$ECO_SOURCE_DIR/data/h200

shopt -s globstar nullglob
reports=("$data"/**/energy*.json)
[ "${#reports[@]}" -ge 8 ] || fail "only ${#reports[@]} reports under data/h200"
for report in "${reports[@]}"; do
    run explain --json "$report"
    if [ "$(jq .trials.blocks_finished "$report")" = 0 ]; then # stopped before there was a speed
        is_status 1
        grep -q 'no arm with a speed' stderr || fail "$report: $(cat stderr)"
        continue
    fi
    is_status 0
    jq -e --slurpfile r "$report" '
        def near(a; b): ((a - b) / b | fabs < 1e-3) or (a - b | fabs < 6e-5);
        $r[0] as $r | .[0].explanation as $e |
        $e.arms | length == ($r.trials.arms | length) and
        ([range(length) as $i | .[$i] as $a | $r.explain.arms[$i] as $own |
            near($a.bytes_linear + $a.bytes_head + $a.bytes_kv + $a.bytes_other; $a.bytes_per_token) and
            near($a.bandwidth_share; $own.bandwidth_share) and near($a.roofline_us; $own.roofline_us) and
            near($a.energy_over_roofline; $own.energy_over_roofline) and near($a.launch_share; $own.launch_share) and
            $a.bound_in_report == $own.bound and $a.flops_per_token > 1e8] | all)' stdout >/dev/null ||
        fail "$report: $(head -c 600 stdout)"
done

first=$data/first/20261130T150901Z-92de83/energy.json
run explain "$first"
is_status 0
[ ! -s stderr ] || fail "stderr: $(cat stderr)"
# 1 GB = 1e9 B; 22 layers; the numbers stand in the report.
grep -q '^  bytes     2.075 GB a token (linear 1.938 GB, head 131.072 MB, KV 5.790 MB, other 188.416 kB)$' stdout ||
    fail "bytes: $(grep bytes stdout)"
grep -q 'time      1073.5 us a token, 48.79 us a layer and step (22 layers, head included); the bytes alone need 453.8 us: 42.3 %' \
    stdout || fail "time: $(grep time stdout)"
grep -q '^  power     411.4 W of a limit of 700 W (59 %)$' stdout || fail "power: $(grep power stdout)"
grep -q '^  launches  136 a step, 12.3 % of the time$' stdout || fail "launches: $(grep launches stdout)"
grep -q 'no matrix rate was probed' stdout || fail "a matrix rate out of nothing"
[ "$(grep '^why: ' stdout)" = "why: $(jq -r .explain.why "$first")" ] || fail "why: $(grep '^why: ' stdout)"
# Several reports: each is named, and JSON is one list.
run explain "$first" "$data/published/energy.json"
is_status 0
[ "$(grep -c "^/.*energy.json: " stdout)" -eq 2 ] || fail "the reports are not named"
grep -q 'batch 1, positions 0 to 267, prefill included$' stdout || fail "published: $(grep positions stdout)"
run explain --json "$first" "$data/published/energy.json"
jq -e 'length == 2' stdout >/dev/null || fail "--json: no list of two"

# A changed report: the cap of a window of the headline names the bound, and the report's own word is told.
jq '.trials.arms[0].windows[0].throttle = ["power_cap"]' "$first" >capped.json
run explain capped.json
grep -q '^FP16: power-capped (the report says kernel-bound)' stdout || fail "capped: $(grep ^FP16 stdout)"
# With a rate in the report, and time that the operations explain: 2.115 GFLOP in 1073 us is 1.97 TFLOP/s.
jq '.explain.matrix_fp16_tflop_per_s = 2.5' "$first" >slow.json
run explain slow.json
grep -q '^FP16: compute-bound (the report says kernel-bound)' stdout || fail "slow: $(grep ^FP16 stdout)"
grep -q '^  work      2.115 GFLOP a token: 78.8 % of the matrix rate (2.500 TFLOP/s)$' stdout || fail "$(grep work stdout)"
# Text from outside cannot drive a terminal.
jq '.workload.model_name = "x\u001b[31m" | .trials.arms[0].kernels = "y\u001b]0;z\u0007"' "$first" >hostile.json
run explain hostile.json
is_status 0
if grep -q $'\033' stdout; then
    fail "an escape sequence went through"
fi
grep -q 'not known here: not divided' stdout || fail "an unknown model was divided"

run explain nowhere.json
is_status 1
is_stderr "ecocompute: nowhere.json: cannot read: No such file or directory"
echo '{}' >empty.json
run explain empty.json
is_status 1
is_stderr "ecocompute: empty.json: trials.arms: no arm with a speed, so there is nothing to explain"
# One that cannot be explained does not hide the others.
run explain empty.json "$first"
is_status 1
grep -q 'kernel-bound' stdout || fail "the second report is missing"
run explain --json empty.json "$first"
is_status 1
jq -e 'length == 1' stdout >/dev/null || fail "not a list of the one that can be explained"
run explain --json empty.json
is_status 1
jq -e 'length == 0' stdout >/dev/null || fail "not an empty list"
run explain
is_status 2
is_stderr "ecocompute: explain: a report is expected, such as ecocompute-out/latest/energy.json"
finish
