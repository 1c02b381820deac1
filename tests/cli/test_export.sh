#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# export: a row a report, the first columns those of the published data set; numbers are the report's; a cell that a
# spreadsheet would compute is disarmed; what names a person or a machine stays at home unless asked for; what cannot be
# read stops with status 1.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
data=$ECO_SOURCE_DIR/data/h200
first=$data/first/20261130T150901Z-92de83/energy.json
published=gpu,arch,vram_gb,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k,n_runs,n_trials,energy_quant_std_j1k,note

run export "$data"/first/*/energy.json "$data/published/energy.json"
is_status 0
[ "$(wc -l <stdout)" -eq 8 ] || fail "$(wc -l <stdout) lines, expected a head and seven rows"
[ "$(head -n 1 stdout | cut -d , -f 1-12)" = "$published" ] || fail "columns: $(head -n 1 stdout)"
[ "$(sed -n 2p stdout | cut -d , -f 1-10)" = "NVIDIA H200,hopper,140,TinyLlama-1.1B,1.1,NF4,441.604,336.552,1,5" ] ||
    fail "row: $(sed -n 2p stdout)"
# The scatter of the five decode windows, from the report itself.
truth=$(jq '[.trials.arms[1].windows[] | select(.kind == "decode" and .block > 0) | .energy_per_token_mj] |
    (add / length) as $m | (map((. - $m) * (. - $m)) | add / (length - 1) | sqrt) * 1000 | round / 1000' "$first")
[ "$(sed -n 2p stdout | cut -d , -f 11)" = "$truth" ] || fail "scatter $(sed -n 2p stdout | cut -d , -f 11), true $truth"
columns=$(head -n 1 stdout | awk -F , '{ print NF }')
awk -F , -v n="$columns" 'NF != n { exit 1 }' stdout || fail "a row has another number of cells"

run export --format jsonl "$first"
is_status 0
jq -e --slurpfile r "$first" '$r[0] as $r | .delta_pct == $r.results.vs_fp16_energy_pct and
    .ci95_lo_pct == $r.uncertainty.ci95_repeat.lo_pct and .ci95_hi_pct == $r.uncertainty.ci95_repeat.hi_pct and
    .u_expanded_ratio_pct == $r.uncertainty.u_expanded.ratio_pct and .u_expanded_ratio_pct > 0 and
    .u_expanded_absolute_pct == $r.uncertainty.u_expanded.absolute_pct and .u_expanded_absolute_pct > 5 and
    .engine == "native" and .batch == 1 and .context == 256 and .bytes_per_token == $r.explain.arms[1].bytes_per_token and
    .session == $r.run_id and .basis == "measured" and .card == $r.environment.gpu_uuid_hash and
    (.report | endswith("20261130T150901Z-92de83/energy.json") and (startswith("/") | not))' stdout >/dev/null ||
    fail "jsonl: $(cat stdout)"
run export --format md "$first"
is_status 0
[ "$(wc -l <stdout)" -eq 3 ] || fail "md: $(cat stdout)"

# Formulas, quotes, line ends; a missing interval is an empty cell.
jq '.system_under_test.gpu = "=cmd|calc" | .system_under_test.gpu_arch = "a,\"b\"\nc" | .workload.engine = "+x" |
    del(.uncertainty)' "$first" >hostile.json
run export hostile.json
is_status 0
[ "$(wc -l <stdout)" -eq 2 ] || fail "a cell broke its line: $(cat stdout)"
sed -n 2p stdout | grep -q "^'=cmd|calc,\"a,\"\"b\"\"\\\\u000ac\",140," || fail "not disarmed: $(sed -n 2p stdout)"
sed -n 2p stdout | grep -q ",'+x," || fail "not disarmed: $(sed -n 2p stdout)"
run export --format jsonl hostile.json
jq -e '.ci95_lo_pct == null and .gpu == "=cmd|calc"' stdout >/dev/null || fail "jsonl: $(cat stdout)"

# A secret in each text of a report in turn, and in all at once: none comes out, in a table or in a link.
uuid=GPU-01234567-89ab-cdef-0123-456789abcdef
secrets=("/home/ann/secret/" "x $uuid" "user=ann" "ann@build7" "run --token ann" "pid 471147" "gpu7ann.local 10.99.7.4" "=/srv/ann/secret/")
mkdir -p home/ann/secret
jq -c --argjson secrets "$(printf '%s\n' "${secrets[@]}" | jq -R . | jq -s .)" '. as $r |
    [paths(strings)] - [["schema_version"]] | to_entries[] | .key as $i | .value as $p |
    $r | setpath($p; $secrets[$i % ($secrets | length)])' "$first" | split -l 1 -a 3 - home/ann/secret/one.
for i in "${!secrets[@]}"; do
    jq --arg s "${secrets[$i]}" '.schema_version as $v | (.. | strings) |= $s | .schema_version = $v' "$first" \
        >"home/ann/secret/all.$i"
done
[ "$(find home -type f | wc -l)" -gt 100 ] || fail "$(find home -type f | wc -l) reports with a secret: too few strings"
for format in csv jsonl md; do
    run export --format "$format" "$PWD"/home/ann/secret/*
    is_status 0
    [ "$(wc -l <stdout)" -gt 100 ] || fail "$format: $(wc -l <stdout) rows"
    for word in ann@ /ann secret/ user=ann 'token ann' 471147 "$uuid" gpu7ann 10.99.7.4 "$PWD"; do
        if grep -qF -- "$word" stdout; then
            fail "export --format $format tells '$word': $(grep -m 1 -oF -- "$word" stdout)"
        fi
    done
    run export --no-redact --format "$format" "$PWD"/home/ann/secret/*
    is_status 0
    for word in ann@ user=ann 471147 gpu7ann; do
        grep -qF -- "$word" stdout || fail "export --no-redact --format $format lacks '$word'"
    done
done
run export --no-redact "$PWD"/home/ann/secret/one.aaa
grep -qF ",$PWD/home/ann/secret/one.aaa" stdout || fail "the path is not kept: $(cat stdout)"
for file in home/ann/secret/all.* home/ann/secret/one.*; do
    run share "$file"
    if [ -s stdout ]; then
        run share --decode "$(cat stdout)"
        if grep -qE "ann@|/ann|user=|471147|0123-4567|gpu7ann|10\.99\.7|secret/" stdout; then
            fail "share $file tells a secret: $(cat stdout)"
        fi
        echo "$file" >>shared
    fi
done
[ "$(wc -l <shared)" -gt 90 ] || fail "$(wc -l <shared) links: the check above sees too few"

run export nowhere.json
is_status 1
is_stderr "ecocompute: nowhere.json: cannot read: No such file or directory"
echo '{}' >empty.json
run export empty.json
is_status 1
is_stderr "ecocompute: empty.json: not a report: it has no schema_version"
run export "$first" nowhere.json
is_status 1
[ ! -s stdout ] || fail "half a table"
run export --format xml "$first"
is_status 2
is_stderr "ecocompute: --format: 'xml' is not known; expected csv, jsonl or md"
run export --json "$first"
is_status 2
is_stderr "ecocompute: --json: not with export; --format jsonl is an object a line"
run export
is_status 2
finish
