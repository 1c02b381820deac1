#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Wrong use: status 2 and one line on standard error that names the nearest valid name or what was expected; nothing is
# measured and no folder is made.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

# refused EXPECTED ARG...
refused() {
    local expected="ecocompute: $1"
    shift
    run "$@"
    is_status 2
    is_stderr "$expected"
}

refused "unknown command 'measrue', did you mean 'measure'?; \`ecocompute --help\` lists them" measrue
refused "unknown command 'xyzzy'; \`ecocompute --help\` lists them" xyzzy
refused "command sweep is not in this version" sweep

refused "unknown option '--modle', did you mean '--model'?" measure --modle Qwen2-7B
refused "unknown option '--modle', did you mean '--model'?" measure --modle=Qwen2-7B
refused "unknown option '--recompote', did you mean '--recompute'?" validate --recompote x.json
refused "unknown option '--charactrize', did you mean '--characterize'?" meters --charactrize
refused "--model: unknown model 'Qwen2-8B', did you mean 'Qwen2-7B'?; \`ecocompute models\` lists them" \
    measure --model Qwen2-8B
refused "--model: unknown model 'zzzzzzzzzzzz'; \`ecocompute models\` lists them" measure --model zzzzzzzzzzzz
refused "--precision: unknown precision 'NF5', did you mean 'NF4'?; \`ecocompute formats\` lists them" \
    measure --precision NF5
refused "--precision: unknown precision 'W8A15', did you mean 'W8A16'?; \`ecocompute formats\` lists them" \
    measure --precision q4_0,W8A15
refused "--baseline: unknown precision 'FP15', did you mean 'FP16'?; \`ecocompute formats\` lists them" \
    measure --baseline FP15
refused "--baseline: NF4 is not a baseline; expected FP16 or BF16" measure --baseline nf4 --precision W8A16
refused "--precision: unknown precision ''; \`ecocompute formats\` lists them" measure --precision NF4,
refused "--precision: NF4 is named twice (the baseline counts)" measure --precision NF4,NF4
refused "--device: unknown device 'cud', did you mean 'cuda'?; expected auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…" \
    measure --device cud
refused "--meter: unknown meter 'nvm', did you mean 'nvml'?; \`ecocompute meters\` lists them" measure --meter nvm
refused "--engine: 'nativ' is not known; expected native" measure --engine nativ
refused "--order: 'sorted' is not known; expected shuffled or fixed" measure --order sorted
refused "--color: 'blue' is not known; expected auto, always or never" models --color blue
refused "measure: unexpected argument 'extra'" measure extra
refused "meters: unexpected argument 'extra'" meters extra
refused "--device: only with --characterize" meters --device cuda
refused "validate: a report is expected, such as ecocompute-out/latest/energy.json" validate

for option in quantize-head quality no-quality share parameters-file; do
    refused "--$option is not in this version" measure "--$option"
done
refused "--gpu-arch: not with --plan, whose experiments get no answer of the dataset" \
    measure --plan x.yaml --gpu-arch ada
refused "--profile: unknown profile 'dataset-eligibl', did you mean 'dataset-eligible'?" \
    validate --profile dataset-eligibl x.json
refused "--profile: unknown profile 'paired', did you mean 'paired-1'?" validate --profile paired x.json
refused "--profile: unknown profile 'zzzzzzzzzzzz'; expected v1.1-core, paired-1 or dataset-eligible" validate --profile zzzzzzzzzzzz x.json
refused "--engine openai is not in this version" measure --engine openai
refused "--weights real is not in this version" measure --weights real
refused "--protocol: 'publish' is not known; expected paired or published" measure --protocol publish
refused "--thermal-mode: 'hot' is not known; expected cold or steady" measure --thermal-mode hot
# Options of one protocol or thermal mode are refused in the other, not ignored.
refused "--iterations: only with --protocol published" measure --iterations 10
refused "--warmup: only with --protocol published" measure --protocol paired --warmup 2
refused "--steady-max: only with --thermal-mode steady" measure --steady-max 30
refused "--window: not with --protocol published, whose window is --iterations generations" \
    measure --protocol published --window 5
refused "--quick: not with --protocol published; fewer --iterations or --tokens are quicker" \
    measure --quick --protocol published
refused "--cooldown-max: not with --thermal-mode steady, which has no cooldown" \
    measure --thermal-mode steady --cooldown-max 1
refused "--iterations: '0' is not usable; expected a whole number from 1 to 1000" measure --protocol published --iterations 0
refused "--iterations: '1001' is not usable; expected a whole number from 1 to 1000" \
    measure --protocol published --iterations 1001
refused "--steady-max: '4' is not usable; expected a number from 5 to 600" measure --thermal-mode steady --steady-max 4
refused "--batch: '65' is not usable; expected a whole number from 1 to 64" measure --batch 65
refused "--batch: '0' is not usable; expected a whole number from 1 to 64" measure --batch 0
refused "probe: unexpected argument 'extra'" probe extra
refused "--device: unknown device 'cud', did you mean 'cuda'?; expected auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…" \
    probe --device cud

# Numbers: no rest, no sign where none belongs, no overflow, no comma, no NaN.
for bad in abc '' 1x 1,5 nan inf 0.1 601 1e999 -1; do
    refused "--window: '$bad' is not usable; expected a number from 0.2 to 600" measure "--window=$bad"
done
for bad in abc '' 1.5 -1 +1 ' 1' 0x10 65 18446744073709551616; do
    refused "--blocks: '$bad' is not usable; expected a whole number from 1 to 64" measure "--blocks=$bad"
done
refused "--blocks: '0' is not usable; expected a whole number from 1 to 64" measure --blocks 0
refused "--margin: '101' is not usable; expected a number from 0 to 100" measure --margin 101
refused "--cooldown-max: '-1' is not usable; expected a number from 0 to 600" measure --cooldown-max=-1
refused "--seed: '9223372036854775808' is not usable; expected a whole number from 0 to 9223372036854775807" \
    measure --seed 9223372036854775808
refused "--tokens: '0' is not usable; expected a whole number from 1 to 1048576" measure --tokens 0
refused "--prompt-tokens: '0' is not usable; expected a whole number from 1 to 1048576" measure --prompt-tokens 0
refused "--prompt-tokens + --tokens: 2049 positions; TinyLlama-1.1B has at most 2048" \
    measure --device cpu --model TinyLlama-1.1B --prompt-tokens 1025 --tokens 1024
refused "--output-dir: the path is empty or too long" measure --output-dir=
refused "--output-dir: the path is empty or too long" measure --output-dir="$(printf 'a%.0s' {1..4000})"

run measure --precision
is_status 2
run measure -x
is_status 2
run measure --b 3
is_status 2
run
is_status 2
grep -q '^Usage: ecocompute COMMAND' stderr || fail "no arguments: no usage on standard error"

[ -z "$(find . -mindepth 1 -type d)" ] || fail "a folder was made: $(find . -mindepth 1 -type d)"

# Quick: a usage error needs no driver and no model. The best of twenty is judged, a busy machine is not.
best=999999999
for _ in {1..20}; do
    begin=$(date +%s%N)
    run measure --modle x
    took=$(($(date +%s%N) - begin))
    [ "$took" -ge "$best" ] || best=$took
done
echo "usage error: $((best / 1000)) us, best of 20"
if [ "${ECO_TEST_BUILD:-release}" = release ] && [ "$best" -ge 10000000 ]; then
    fail "a usage error took $((best / 1000)) us"
fi
finish
