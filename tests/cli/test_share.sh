#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# share: the published link of a measured report, read back by another program and by --decode; nothing that names the
# machine travels; no change, no link (3); what is no link is refused in one line (1).
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
report=$ECO_SOURCE_DIR/data/h200/first/20261130T150901Z-92de83/energy.json

# base64url without padding, undone by the system's own base64.
blob_of() {
    local blob=${1#*overlay=}
    while [ $((${#blob} % 4)) -ne 0 ]; do
        blob=$blob=
    done
    printf %s "$blob" | tr -- -_ +/ | base64 -d
}

# SPEC §7.1, case 10: site and parameters as published, and a, N, p, e, b as in the report.
run share "$report"
is_status 0
[ "$(wc -l <stdout)" -eq 1 ] || fail "more than one line"
link=$(cat stdout)
[[ $link == 'https://quantenergy.tech/?tab=run&overlay='* ]] || fail "link: $link"
blob=$(blob_of "$link")
expected='{"m":"TinyLlama-1.1B (shape only)","N":1.1,"a":"hopper","p":"NF4","e":-23.79,"b":"measured","g":"NVIDIA H200","x":"native","w":"synthetic"}'
[ "$blob" = "$expected" ] || fail "blob
  is       $blob
  expected $expected"

run share --decode "$link" --json
is_status 0
jq -e --slurpfile r "$report" '$r[0] as $r | length == 1 and (.[0] |
    .arch == $r.system_under_test.gpu_arch and .params_b == $r.workload.params_b and
    .precision == $r.workload.precision and .basis == $r.results.basis and
    .delta_pct == ($r.results.vs_fp16_energy_pct * 100 | round / 100) and .source == null)' stdout >/dev/null ||
    fail "$LAST: $(cat stdout)"
run share --decode "${link#*overlay=}"
is_status 0
grep -qx 'change     -23.79 % energy per token against FP16 (negative saves)' stdout || fail "$LAST: $(cat stdout)"
run share --site http://localhost:8000/ "$report"
is_status 0
[ "$(cat stdout)" = "http://localhost:8000/${link#*tech/}" ] || fail "$LAST: $(cat stdout)"
run share --json "$report"
jq -e --arg link "$link" '.share_url == $link and .reason == null' stdout >/dev/null || fail "$LAST: $(cat stdout)"

# SPEC §7.1, case 11: no change, no link; FP16 alone neither.
jq '.results.vs_fp16_energy_pct = null' "$report" >none.json
run share none.json
is_status 3
is_stderr "ecocompute: none.json: no link: results.vs_fp16_energy_pct: the report has no change of energy against FP16"
run share --json none.json
is_status 3
jq -e '.share_url == null and (.reason | startswith("no link: results.vs_fp16"))' stdout >/dev/null || fail "$LAST: $(cat stdout)"
jq '.workload.precision = "FP16" | .results.vs_fp16_energy_pct = 0.0' "$report" >fp16.json
run share fp16.json
is_status 3

# What names the machine: not in the link, whatever the report holds.
jq '.workload.model_name = "/home/ann/models/llama-7b" |
    .system_under_test.gpu = "H200 GPU-01234567-89ab-cdef-0123-456789abcdef" |
    .system_under_test.host = "build7" | .software.command = "ecocompute measure --key SECRET"' "$report" >named.json
run share named.json
is_status 0
blob=$(blob_of "$(cat stdout)")
[[ $blob == '{"m":"llama-7b",'*'"g":"H200 [redacted]",'* ]] || fail "not redacted: $blob"
[[ $blob != *ann* && $blob != *build7* && $blob != *SECRET* && $blob != *01234567* ]] || fail "named: $blob"

# Links of others.
refused() {
    run share --decode "$1"
    is_status 1
    is_stderr "ecocompute: $2"
}
refused 'https://quantenergy.tech/?tab=run' \
    "link: no overlay in it; SITE/?tab=run&overlay=… or what follows overlay= is expected"
refused 'https://x/?overlay=e30=' "link: overlay: no base64url without padding at character 4"
refused "$(printf '[%.0s' {1..3000} | base64 -w 0 | tr -d = | tr +/ -_)" "link:1:65: nested deeper than 64 levels"
refused "$(printf '{"N":1,"N":2,"e":1}' | base64 -w 0 | tr -d = | tr +/ -_)" "link:1:19: duplicate key \"N\" in the object that ends here"
refused "$(printf '{"N":1,"e":NaN}' | base64 -w 0 | tr -d = | tr +/ -_)" "link:1:12: expected a value"
run share --json --decode 'x?'
is_status 1
jq -e '.error | startswith("link: no overlay")' stdout >/dev/null || fail "$LAST: $(cat stdout)"
run share --decode "$(printf '{"N":1,"e":1,"m":"\\u001b[2J\\nverdict"}' | base64 -w 0 | tr -d = | tr +/ -_)"
is_status 0
[ "$(head -n 1 stdout)" = 'model      \u001b[2J\u000averdict' ] || fail "$LAST: $(cat stdout)"

run share nowhere.json
is_status 1
is_stderr "ecocompute: nowhere.json: cannot read: No such file or directory"
run share
is_status 2
is_stderr "ecocompute: share: a report is expected, such as ecocompute-out/latest/energy.json"
run share --decode x "$report"
is_status 2
is_stderr "ecocompute: share: a report or --decode, not both"
run share --site 'javascript:alert(1)' "$report"
is_status 2
is_stderr "ecocompute: share: site 'javascript:alert(1)': http:// or https:// and a host is expected, without query"
finish
