#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# validate: a report that was touched, or whose traces were, is refused with 4 and the finding; what cannot be read is
# status 1 and one line. The report checked is a fresh one of the scripted card.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

fake_measure good --precision NF4
[ "$(cat good.rc)" = 0 ] || fail "measure: $(cat good.err)"
run validate --recompute good/energy.json
is_status 0
[ "$(cat stdout)" = "good/energy.json: valid, every headline number follows from the traces" ] || fail "$(cat stdout)"
run validate good/energy.json
is_status 0
[ "$(cat stdout)" = "good/energy.json: valid" ] || fail "$(cat stdout)"

# Profiles: each violation is a line with rule and field, and the status is 4; the report itself stays valid.
run validate --profile v1.1-core good/energy.json
is_status 4
grep -qx 'v1.1-core tokens: measurement.tokens_per_run: is 128, expected 256' stdout && fail "a rule that holds is named"
grep -qx 'v1.1-core window: measurement.window: is "decode", expected "generation"' stdout || fail "$(cat stdout)"
grep -qx 'v1.1-core iterations: measurement.iterations: is 1, expected 10' stdout || fail "$(cat stdout)"
grep -qx 'v1.1-core software: software.packages.torch: is missing' stdout || fail "$(cat stdout)"
[ "$(grep -vc '^v1.1-core [a-z-]*: [a-z_.]*: ' stdout)" -eq 1 ] || fail "a line without rule and field: $(cat stdout)"
run validate --json --profile paired-1 good/energy.json
is_status 4
jq -e '.[0] | .profile == "paired-1" and .verdict == "schema-valid" and (.valid | not) and
    (.findings | contains("paired-1 blocks: trials.blocks_finished: is 1, expected at least 5\n") and
        contains("paired-1 flags: warnings[") and contains("paired-1 window: trials.arms[0].windows[0]: "))' stdout \
    >/dev/null || fail "$(cat stdout)"
# The same report made to say what the published protocol asks for conforms, to the schema and the rules.
mkdir made
jq '.measurement.window = "generation" | .measurement.iterations = 10 | .software.python = "3.10" |
    .software.packages = {"torch": "2", "transformers": "4", "bitsandbytes": "0.43"}' good/energy.json >made/energy.json
run validate --profile v1.1-core made/energy.json
is_status 0
[ "$(cat stdout)" = "made/energy.json: valid, conforms to v1.1-core" ] || fail "$(cat stdout)"
run validate --json --profile v1.1-core made/energy.json
is_status 0
jq -e '.[0] | .valid and .verdict == "protocol-conformant"' stdout >/dev/null || fail "$(cat stdout)"
# ... but its traces know better.
cp good/power_trace_*.csv made
run validate --recompute made/energy.json
is_status 4
jq '.workload.batch_size = "1"' made/energy.json >made/schema.json
run validate --json --profile v1.1-core made/schema.json
is_status 4
jq -e '.[0].verdict == "schema-invalid"' stdout >/dev/null || fail "$(cat stdout)"

# Fixtures of the published form, and what the statuses 0, 1 and 2 of the published validator are here: 0, 4, 4.
golden=${ECO_SOURCE_DIR:?}/tests/golden
run validate "$golden"/published_1_{0,1,2,3}.json
is_status 0
run validate --profile dataset-eligible "$golden/published_1_3.json"
is_status 0
grep -q 'published_1_3.json: valid, conforms to dataset-eligible$' stdout || fail "$(cat stdout)"
grep -q '^note: how many sessions and cards ' stdout || fail "no note on the dataset: $(cat stdout)"
run validate --json --profile dataset-eligible "$golden/published_1_3.json"
is_status 0
jq -e '.[0].verdict == "dataset-eligible" and (.[0].notes | startswith("how many sessions"))' stdout >/dev/null ||
    fail "$(cat stdout)"
run validate --profile v1.1-core "$golden/published_1_2.json"
is_status 4
[ "$(grep -c '^v1.1-core ' stdout)" -eq 3 ] || fail "not three violations: $(cat stdout)"
jq '.results |= del(.basis)' "$golden/published_1_3.json" >invalid.json
run validate --json --profile v1.1-core invalid.json
is_status 4
jq -e '.[0].verdict == "schema-invalid" and (.[0].findings | startswith("results.basis: "))' stdout >/dev/null ||
    fail "$(cat stdout)"

# altered NAME FINDING COMMAND: the command alters a copy in $copy; recompute must find it.
altered() {
    copy=$DIR/$1
    cp -r good "$copy"
    eval "$3"
    run validate --recompute "$1/energy.json"
    is_status 4
    grep -q -- "$2" stdout || fail "$1: '$2' is not in: $(cat stdout)"
    [ ! -s stderr ] || fail "$1: stderr: $(cat stderr)"
}
# edit FILTER: the copy's report, changed.
# shellcheck disable=SC2317
edit() {
    jq "$1" good/energy.json >"$copy/energy.json"
}
# resign: the hashes made to fit the altered traces, as somebody with intent would.
# shellcheck disable=SC2317
resign() {
    local file
    for file in power_trace_nf4.csv power_trace_fp16.csv; do
        jq --arg f "$file" --arg h "$(sha256sum <"$copy/$file" | cut -d ' ' -f 1)" \
            '(.power_trace.files[] | select(.file == $f) | .sha256) = $h' "$copy/energy.json" >"$copy/new"
        mv "$copy/new" "$copy/energy.json"
    done
}
altered digit 'power_trace.files\[0\].sha256' "sed -i '20{s/^7/8/;t;s/^[0-9]/7/}' \"\$copy/power_trace_nf4.csv\""
altered line 'power_trace.files\[0\].sha256' "sed -i 20d \"\$copy/power_trace_nf4.csv\""
altered swapped 'power_trace.files\[0\].sha256' "cp good/power_trace_fp16.csv \"\$copy/power_trace_nf4.csv\""
altered missing 'power_trace.files\[1\].file' "rm \"\$copy/power_trace_fp16.csv\""
altered symlink 'power_trace.files\[0\].file' \
    "mv \"\$copy/power_trace_nf4.csv\" \"\$copy/real.csv\"; ln -s real.csv \"\$copy/power_trace_nf4.csv\""
altered absolute 'power_trace.files\[0\].file' \
    "edit \".power_trace.files[0].file = \\\"\$DIR/good/power_trace_nf4.csv\\\"\""
altered upward 'power_trace.files\[0\].file' "edit '.power_trace.files[0].file = \"../good/power_trace_nf4.csv\"'"
altered no_traces 'power_trace.files' "edit '.power_trace.files = []'"
altered headline 'results.energy_per_token_mj' "edit '.results.energy_per_token_mj -= 1'"
altered change 'results.vs_fp16_energy_pct' "edit '.results.vs_fp16_energy_pct -= 0.1'"
altered baseline 'results.fp16_energy_per_token_mj' "edit '.results.fp16_energy_per_token_mj += 1'"
altered watts 'results.avg_power_watts' "edit '.results.avg_power_watts += 1'"
altered speed 'results.throughput_tokens_per_s' "edit '.results.throughput_tokens_per_s += 1'"
altered window 'windows\[0\].energy_j' "edit '.trials.arms[1].windows[0].energy_j -= 1'"
# Uncertainty and explanation: a little off in each (of its size: on a busy machine some are large), and both values are told.
for field in tick read sampling sensor_offset sensor_gain; do
    altered "$field" "uncertainty.u_expanded.${field}_pct: printed [0-9.]*, re-derived [0-9.]*" \
        "edit '.uncertainty.u_expanded.${field}_pct |= 1.01 * . + 0.01'"
done
altered u_ratio 'uncertainty.u_expanded.ratio_pct: printed' "edit '.uncertainty.u_expanded.ratio_pct |= 0.99 * . - 0.01'"
altered u_absolute 'uncertainty.u_expanded.absolute_pct: printed' "edit '.uncertainty.u_expanded.absolute_pct |= 0.99 * . - 0.01'"
altered declared 'uncertainty.u_expanded.sensor_gain_pct: printed' "edit '.uncertainty.u_expanded.declared_gain_pct = 1'"
altered bandwidth 'explain.read_bandwidth_gb_per_s: printed' "edit '.explain.read_bandwidth_gb_per_s += 1'"
altered read_power 'explain.read_power_w: printed' "edit '.explain.read_power_w += 0.01'"
altered read_energy 'explain.read_mj_per_gb: printed' "edit '.explain.read_mj_per_gb += 0.01'"
altered bytes 'explain.arms\[1\].bytes_per_token: printed' "edit '.explain.arms[1].bytes_per_token += 1'"
altered token_us 'explain.arms\[0\].token_us: printed' "edit '.explain.arms[0].token_us += 0.01'"
altered roofline 'explain.arms\[1\].roofline_us: printed' "edit '.explain.arms[1].roofline_us += 0.01'"
altered share 'explain.arms\[1\].bandwidth_share: printed' "edit '.explain.arms[1].bandwidth_share += 0.001'"
altered bound 'explain.arms\[1\].bound: printed "no-bound", re-derived "' "edit '.explain.arms[1].bound = \"no-bound\"'"
altered why 'explain.why: printed ".*", re-derived "' "edit '.explain.why |= sub(\"[0-9] %\"; \"x %\")'"
altered basis 'results.basis' "edit '.results.basis = \"guessed\"'"
altered schema 'results' "edit 'del(.results)'"
altered type 'results.energy_per_token_mj' "edit '.results.energy_per_token_mj = \"low\"'"
# Power in the window doubled and the hash made to fit: the numbers no longer follow.
altered forged 'results.energy_per_token_mj' \
    "awk -F , -v OFS=, '\$7 == \"decode\" && \$2 != \"\" { \$2 *= 0.9 } { print }' good/power_trace_nf4.csv \
        >\"\$copy/power_trace_nf4.csv\"; resign"
# Rows relabelled as another block: the window is not there.
altered relabelled 'NF4\|windows\|results' \
    "awk -F , -v OFS=, '\$7 == \"decode\" { \$7 = \"ramp\" } { print }' good/power_trace_nf4.csv \
        >\"\$copy/power_trace_nf4.csv\"; resign"

# Every committed report of a real card follows from its traces, those by older commits too, which lack some fields; what
# such a report has is held all the same.
mapfile -t committed < <(find "${ECO_SOURCE_DIR:?}/data" -name energy.json | LC_ALL=C sort)
[ "${#committed[@]}" -ge 8 ] || fail "no committed reports"
run validate --recompute "${committed[@]}"
is_status 0
[ "$(grep -c ': valid, every headline number follows from the traces$' stdout)" = "${#committed[@]}" ] || fail "$(cat stdout)"
for report in "${committed[@]}"; do
    rm -rf older
    mkdir older
    cp "$(dirname "$report")"/power_trace*.csv older
    jq '.uncertainty.u_expanded.tick_pct += 0.002 | .explain.arms[0].roofline_us += 0.01
        | .explain.why |= sub("reads [0-9]"; "reads x")' "$report" >older/energy.json
    run validate --recompute older/energy.json
    is_status 4
    for finding in uncertainty.u_expanded.tick_pct 'explain.arms\[0\].roofline_us' explain.why; do
        grep -q "^$finding: printed .*, re-derived " stdout || fail "$report: no finding on $finding: $(cat stdout)"
    done
done
run validate --recompute --json good/energy.json headline/energy.json
is_status 4
jq -e 'length == 2 and .[0].valid and (.[1].valid | not) and (.[1].findings | test("results.energy_per_token_mj"))' stdout \
    >/dev/null || fail "--json: $(cat stdout)"

# unreadable NAME PATTERN: status 1 and one line.
unreadable() {
    run validate "$1"
    is_status 1
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$1: not one line: $(cat stderr)"
    grep -q -- "$2" stderr || fail "$1: '$2' is not in: $(cat stderr)"
    [ ! -s stdout ] || fail "$1: stdout: $(cat stdout)"
}
: >empty.json
echo 'no JSON' >text.json
printf '%100000s' '' | tr ' ' '[' >deep.json
head -c 2000 good/energy.json >cut.json
echo '{"a": 1, "a": 2}' >twice.json
echo '{"a": NaN}' >nan.json
printf '{"a": "\xff\xfe"}' >bytes.json
echo '[1, 2]' >array.json
mkdir folder.json
mkfifo pipe.json
unreadable empty.json empty.json
unreadable text.json text.json
unreadable deep.json deep.json
unreadable cut.json cut.json
unreadable twice.json twice.json
unreadable nan.json nan.json
unreadable bytes.json bytes.json
unreadable array.json array.json
unreadable folder.json folder.json
unreadable pipe.json pipe.json
unreadable absent.json absent.json
# One that cannot be read does not hide another's finding, and counts more.
run validate --recompute headline/energy.json absent.json good/energy.json
is_status 1
grep -q 'good/energy.json: valid' stdout || fail "the third report was not looked at"
finish
