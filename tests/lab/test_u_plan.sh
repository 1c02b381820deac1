#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A plan on the scripted card: FP16 495 W for 4000 us a token, 1980 mJ. Must come out: each experiment in a folder of its
# own with the true energy; one that does not fit fails before it is loaded and the next goes on; a plan stopped by SIGINT
# goes on at the experiment that was stopped, whose first attempt stays, and what is done is not run again.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
# shellcheck source=tests/lab/lib_journal.sh
. "$(dirname "$(readlink -f "$0")")/lib_journal.sh"

lab_script plan.script <<<'memory_mib 2000'
cat >plan.yaml <<'YAML'
version: 1
name: lab
defaults: {precisions: FP16, quick: yes, blocks: 1, window: 0.5}
experiments:
  - model: SmolLM2-135M
  - model: TinyLlama-1.1B # 2.2 GB
  - {model: SmolLM2-135M, prompt_tokens: 64}
YAML

plan_state() {
    jq -r '[.experiments[] | .state] | join(" ")' "$1/plan.json"
}

# Stopped in the third experiment.
mkdir out
interrupt() {
    # shellcheck disable=SC2317 # called by journal_at
    kill -INT "$1"
}
journal_at stopped '^probing' 2 0 interrupt plan.script --plan plan.yaml --output-dir out
[ "$(cat stopped.rc)" = 130 ] || lab_fail "stopped: status $(cat stopped.rc), expected 130"
[ "$(plan_state out)" = "done failed interrupted" ] || lab_fail "stopped: $(plan_state out)"
lab_within "first experiment mJ/token" "$(jq .results.energy_per_token_mj out/01-smollm2-135m-b1/energy.json)" 1980 "$(lab_pct 1980 5)" "(short windows)"
reason=$(jq -r '.experiments[1].attempts[0].reason' out/plan.json)
[[ $reason =~ ^02-tinyllama-1.1b-b1:\ the\ largest\ arm\ wants\ 2\.2[0-9]*\ GB,\ 1\.[0-9]*\ GB\ are\ free$ ]] ||
    lab_fail "the reason: $reason"
[ ! -e out/02-tinyllama-1.1b-b1/energy.json ] || lab_fail "an experiment that does not fit has a report"
grep -q 'loading TinyLlama' stopped.err && lab_fail "a model that does not fit was loaded"
session=$(jq -r .session out/01-smollm2-135m-b1/energy.json)
[ "$session" != null ] || lab_fail "no session in the report"

# Without --resume the folder is refused; with another plan too.
rc=0
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/plan.script "$ECOCOMPUTE" measure --plan plan.yaml --output-dir out 2>again.err || rc=$?
[ "$rc" = 2 ] || lab_fail "begun twice: status $rc"
sed 's/0.5}/0.6}/' plan.yaml >other.yaml
rc=0
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/plan.script "$ECOCOMPUTE" measure --plan other.yaml --output-dir out --resume \
    2>other.err || rc=$?
[ "$rc" = 2 ] || lab_fail "another plan: status $rc"
grep -q 'belongs to another plan' other.err || lab_fail "another plan: $(cat other.err)"

before=$(sha256sum <out/01-smollm2-135m-b1/energy.json)
rc=0
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/plan.script "$ECOCOMPUTE" measure --plan plan.yaml --output-dir out --resume --json \
    >resumed.out 2>resumed.err || rc=$?
[ "$rc" = 1 ] || lab_fail "resumed: status $rc, expected 1 for the experiment that does not fit"
[ "$(plan_state out)" = "done failed done" ] || lab_fail "resumed: $(plan_state out)"
cmp -s resumed.out out/plan.json || lab_fail "--json is not the index"
[ "$(sha256sum <out/01-smollm2-135m-b1/energy.json)" = "$before" ] || lab_fail "a finished experiment was run again"
[ "$(jq -r '.experiments[2].attempts | map(.folder + " " + .state) | join(", ")' out/plan.json)" = \
    "03-smollm2-135m-b1 interrupted, 03-smollm2-135m-b1.2 done" ] || lab_fail "attempts: $(jq -c '.experiments[2].attempts' out/plan.json)"
lab_within "third experiment mJ/token" "$(jq .results.energy_per_token_mj out/03-smollm2-135m-b1.2/energy.json)" 1980 "$(lab_pct 1980 5)" "(short windows)"
[ "$(jq -r .session out/03-smollm2-135m-b1.2/energy.json)" != "$session" ] || lab_fail "two sittings share a session"
[ -z "$(find out -name '*.tmp-*')" ] || lab_fail "half-written files: $(find out -name '*.tmp-*')"
lab_done
