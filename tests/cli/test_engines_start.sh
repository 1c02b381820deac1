#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# engines --start: an engine as far as its first token, on the scripted card: a step of 40 ms is in the token's time, the
# parts add up, the stamps are of one clock, and the process's own age holds them all.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
printf '%s\n' 'step_us.nf4 40000' >fake.script

LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/fake.script run engines --start TinyLlama-1.1B --precision NF4 --device cuda --json
is_status 0
jq -e '.engine == "native" and .device == "NVIDIA H200" and .model == "TinyLlama-1.1B" and .precision == "NF4" and
    .prompt_tokens == 128 and .token_s >= 0.04 and .open_s >= .context_s + .compile_s and
    (.open_s + .load_s + .token_s - (.first_token_monotonic_s - .begun_monotonic_s) | fabs < 1e-4) and
    .process_s > .open_s + .load_s + .token_s - 0.02 and .process_s < .open_s + .load_s + .token_s + 2' stdout >/dev/null ||
    fail "$(cat stdout)"
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/fake.script run engines --start TinyLlama-1.1B --device cuda
is_status 0
grep -Eq '^from the start of the process to the first token: [0-9]+\.[0-9]{2} s$' stdout || fail "$(cat stdout)"
grep -q '^TinyLlama-1.1B at FP16 on NVIDIA H200 (' stdout || fail "$(cat stdout)"

run engines --start TinyLlama-1.1B --device cuda
is_status 1
grep -q '^ecocompute: .*libcuda.so.1' stderr || fail "$(cat stderr)"
run engines --start Qwen2-8B
is_status 2
is_stderr "ecocompute: --start: unknown model 'Qwen2-8B', did you mean 'Qwen2-7B'?; \`ecocompute models\` lists them"
run engines --device cpu
is_status 2
is_stderr "ecocompute: --device: only with --start MODEL"
finish
