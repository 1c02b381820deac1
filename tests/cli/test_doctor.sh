#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doctor without a driver: 3 where no other meter can be read; every row has a state and, where not ok, a remedy; --json
# is one document that says the same; wrong use is 2; nothing is left behind. The faults of a card: tests/lab.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

run doctor --json
jq -e '.verdict as $v | ["clean", "spoiled", "nothing"] | index($v) != null' stdout >/dev/null || fail "verdict: $(head -c 300 stdout)"
case $(jq -r .verdict stdout) in
clean) is_status 0 ;;
spoiled) is_status 4 ;;
nothing) is_status 3 ;;
esac
jq -e '.findings | length > 10' stdout >/dev/null || fail "few findings"
jq -e '[.findings[] | (.state == "ok") == (.remedy == null) and (.seen | length > 0)] | all' stdout >/dev/null ||
    fail "a row without what was seen, or without a remedy"
jq -e '(.verdict == "spoiled") == ([.findings[].state] | index("bad") != null) or .verdict == "nothing"' stdout >/dev/null ||
    fail "the verdict does not follow from the rows"
for code in nvml cuda; do
    jq -e --arg c "$code" '.findings[] | select(.code == $c) | .state == "warn" and (.seen | test("not found"))' stdout \
        >/dev/null || fail "$code: $(jq -c --arg c "$code" '.findings[] | select(.code == $c)' stdout)"
done

run doctor --output-dir ./missing --json
jq -e '.findings[] | select(.code == "disk_space") | .state == "bad"' stdout >/dev/null || fail "a missing folder has room"
[ ! -e missing ] || fail "doctor made a folder"

run doctor
grep -q '^warn *nvml ' stdout || fail "text: $(head -n 2 stdout)"
grep -q -- '-> ' stdout || fail "text: no remedy"
! grep -q $'\033' stdout || fail "colour on a file"
[ ! -s stderr ] || fail "doctor: stderr: $(cat stderr)"

run doctor --device cpux
is_status 2
is_stderr "ecocompute: --device: unknown device 'cpux'; expected auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…"
run doctor --device cuda:0
is_status 1
run doctor extra
is_status 2
is_stderr "ecocompute: doctor: unexpected argument 'extra'"
finish
