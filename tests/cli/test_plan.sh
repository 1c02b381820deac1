#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# measure --plan before anything runs: the table, its JSON, what does not fit or takes too long, and everything a plan file
# is refused for, with its place.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
export LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/fake.script
printf '%s\n' 'memory_mib 4000' >fake.script

cat >plan.yaml <<'YAML'
version: 1
name: sizes
defaults:
  precisions: [NF4]
  blocks: 3
  window: 2
experiments:
  - model: SmolLM2-135M
  - model: TinyLlama-1.1B
  - model: Qwen2-7B
YAML
run measure --plan plan.yaml --dry-run
is_status 0
grep -q '^plan: sizes: 3 experiments, ' stdout || fail "$(head -n 1 stdout)"
grep -Eq '^  01-smollm2-135m-b1 +1 +3 +[0-9]+ to [0-9]+ .* together .*FP16 NF4$' stdout || fail "$(grep 01- stdout)"
# 2.2 and 0.8 GB of about 3.7 GB: both at once.
grep -Eq '^  02-tinyllama-1.1b-b1 .* together ' stdout || fail "$(grep 02- stdout)"
# 15 GB.
grep -Eq '^  03-qwen2-7b-b1 .* does not fit ' stdout || fail "$(grep 03- stdout)"
[ ! -e ecocompute-out ] || fail "--dry-run made a folder"
run measure --plan plan.yaml --dry-run --json
is_status 0
jq -e '.plan == "sizes" and (.experiments | length == 3) and .memory_free_bytes > 3e9 and .memory_free_bytes < 4.3e9 and
    (.experiments[2] | .in_memory == "does not fit" and .largest_arm_bytes > 1.4e10 and .arms == ["FP16", "NF4"]) and
    (([.experiments[].shortest_s] | add) - .shortest_s | fabs < 1e-6) and
    ([.experiments[] | .longest_s >= .shortest_s and (.too_long | not)] | all)' stdout >/dev/null ||
    fail "--json: $(cat stdout)"
printf '%s\n' 'memory_mib 3200' >fake.script
run measure --plan plan.yaml --dry-run
grep -Eq '^  02-tinyllama-1.1b-b1 .* one at a time ' stdout || fail "$(grep 02- stdout)"

# Too little shared memory for the widest input of 7B in INT8: said with the reason, before anything is loaded.
printf '%s\n' 'n_sm 132' 'shared_bytes 81920' >fake.script
sed 's/\[NF4\]/INT8/' plan.yaml >int8.yaml
run measure --plan int8.yaml --dry-run
is_status 0
grep -Eq '^  03-qwen2-7b-b1 .* not supported .*FP16 INT8  cuda: model Qwen2-7B in INT8 does not fit the 81920 bytes of shared memory of ' stdout ||
    fail "$(grep 03- stdout)"
grep -Eq '^  02-tinyllama-1.1b-b1 .* together .*FP16 INT8$' stdout || fail "$(grep 02- stdout)"
run measure --plan int8.yaml --dry-run --json
jq -e '(.experiments[1].refusal == "") and (.experiments[2].refusal | test("shared memory"))' stdout >/dev/null ||
    fail "--json: $(cat stdout)"

# Too long for one experiment: the whole plan is refused with the numbers, unless --force; --dry-run shows it.
sed 's/blocks: 3/blocks: 40/' plan.yaml >long.yaml
run measure --plan long.yaml --output-dir long
is_status 2
[ "$(grep -c 'may take .* s, more than the 360 s of an experiment that is never split' stderr)" -eq 3 ] ||
    fail "long: $(cat stderr)"
grep -q '^ecocompute: long.yaml:8: 01-smollm2-135m-b1 may take ' stderr || fail "long: no place: $(cat stderr)"
[ ! -e long ] || fail "a refused plan made a folder"
run measure --plan long.yaml --dry-run
is_status 0
[ "$(grep -c '(too long)$' stdout)" -eq 3 ] || fail "long: $(cat stdout)"

# refused MESSAGE: of the plan on standard input.
refused() {
    cat >bad.yaml
    run measure --plan bad.yaml --output-dir bad
    is_status "$2"
    is_stderr "ecocompute: $1"
    [ ! -e bad ] || fail "$1: a folder was made"
}
refused "bad.yaml:3:12: unknown model 'Qwen2-8B', did you mean 'Qwen2-7B'?" 1 <<<'version: 1
experiments:
  - model: Qwen2-8B'
refused "bad.yaml:4:5: unknown key 'command'" 1 <<<'version: 1
experiments:
  - model: Qwen2-7B
    command: touch EVIL'
refused "bad.yaml:3:8: aliases are not allowed" 1 <<<'version: 1
experiments:
  - x: *y'
refused "bad.yaml:3: --window: not with --protocol published, whose window is --iterations generations" 2 <<<'version: 1
experiments:
  - model: Qwen2-7B
    protocol: published
    window: 3'
refused "bad.yaml:3: --prompt-tokens + --tokens: 2304 positions; TinyLlama-1.1B has at most 2048" 2 <<<'version: 1
experiments:
  - model: TinyLlama-1.1B
    prompt_tokens: 2048'
: >empty.yaml
run measure --plan empty.yaml
is_status 1
is_stderr "ecocompute: empty.yaml:1:1: the file is empty"
run measure --plan nowhere.yaml
is_status 1
is_stderr "ecocompute: nowhere.yaml: cannot read: No such file or directory"
mkfifo pipe
run measure --plan pipe
is_status 1

# What the file says of each experiment cannot be said beside it.
for option in "--model Qwen2-7B" "--precision NF4" "--batch 4" "--blocks 3" "--quick" "--seed 1" "--order fixed" \
    "--protocol paired" "--iterations 3" "--steady-max 30" "--tokens 9"; do
    # shellcheck disable=SC2086
    run measure --plan plan.yaml $option
    is_status 2
    is_stderr "ecocompute: ${option%% *}: not with --plan, whose file says it for each experiment"
done
run measure --plan plan.yaml --resume
is_status 2
is_stderr "ecocompute: --resume: with --plan the folder is named by --output-dir"
run measure --plan plan.yaml --resume --output-dir nothing
is_status 1
is_stderr "ecocompute: nothing/plan.json: cannot read: No such file or directory"
# The example of the repository is a plan, each experiment short enough.
for example in "$ECO_SOURCE_DIR"/examples/*.yaml; do
    printf '%s\n' 'memory_mib 143771' >fake.script
    run measure --plan "$example" --dry-run --json
    is_status 0
    jq -e '[.experiments[].too_long] | any | not' stdout >/dev/null || fail "$example: too long"
done
finish
