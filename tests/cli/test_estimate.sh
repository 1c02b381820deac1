#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# estimate: the published answers as the API gives them, questions in plain English, refusals in one line and as JSON.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

# is_json FILTER: holds of what stands on standard output.
is_json() {
    jq -e "$1" stdout >/dev/null || fail "$LAST: $1 does not hold of $(jq -c 'del(.anchors)' stdout 2>/dev/null || cat stdout)"
}

# The published API's own cases (SPEC §7.5).
run estimate --rules published-1.1 --json --params-b 7 --arch blackwell --precision nf4
is_status 0
is_json '.delta_pct == -11.4 and .ci == [-14.2, -8.7] and .basis == "measured" and .confidence == "high"
    and .recommendation == "quantize" and .crossover_b == 4.751 and .arch_used == "blackwell" and .modelled == false
    and .weight_gb == 3.5 and .weight_gb_fp16 == 14'
is_json '(keys_unsorted | del(.[0])) == ["delta_pct", "ci", "basis", "confidence", "recommendation", "verdict",
    "crossover_b", "anchors", "arch_used", "modelled", "weight_gb", "weight_gb_fp16", "notes"]'
is_json '.anchors | length == 4 and .[0] == {"N": 1.1, "dE": 26.49, "model": "TinyLlama-1.1B", "gpu": "RTX 5090", "n": 2}'
run estimate --rules published-1.1 --json "13B on A100 int8 batch 32 ctx 8k"
is_json '.input == {"params_b": 13, "arch": "ampere", "precision": "INT8", "batch": 32, "ctx": 8192}
    and .delta_pct == 108.8 and .ci == [19.7, 197.9] and .modelled and .confidence == "low"'
run estimate --rules published-1.1 --json --params-b 3 --arch ada
is_json '.delta_pct == 13 and .ci == [-11, 37] and .basis == "measured" and .crossover_b == 3.728'
# Whole numbers have no ".0" and nothing is -0.
grep -q '"delta_pct": 13,$' stdout || fail "$LAST: $(grep delta_pct stdout)"
# Batch 0 and NaN are not caught there, and leave the answer as it is.
for batch in 0 nan -3; do
    run estimate --rules published-1.1 --json --params-b 3 --arch ada "--batch=$batch"
    is_json '.delta_pct == 13 and .modelled == false'
done

# Current rules: the default. Cards, gate, units; each key of the contract is there.
run estimate --json "8B on RTX 3090, 8k context"
is_status 0
is_json '.input == {"params_b": 8, "arch": "ampere", "card": "RTX 3090", "precision": "NF4", "batch": 1, "ctx": 8192}
    and .basis != "measured" and .rules == "current"'
is_json '[has("delta_pct", "ci", "basis", "confidence", "recommendation", "verdict", "crossover_b", "anchors", "arch_used",
    "modelled", "weight_gb", "weight_gb_fp16", "notes", "gate", "energy")] | all'
run estimate --json --params-b 7 --arch ada
is_json '.basis == "measured" and .gate == {"zone": "allow_quant", "threshold_b": 3.728}
    and (.energy.mj_per_token - 1000 * .energy.j_per_token | fabs) < 0.051 and .energy.fp16_mj_per_token == 5467.9'
run estimate 7b ada
is_status 0
[ "$(head -n 1 stdout)" = "NF4 changes energy per token by -30.9% against FP16 on ada: quantize, it saves energy." ] ||
    fail "$LAST: $(head -n 1 stdout)"
run estimate --arch T4 7b ada # an option is stronger than the question
grep -q "FP16 on T4" stdout || fail "$LAST: $(head -n 1 stdout)"

# One line, naming the field; with --json the same as a document.
run estimate --arch ada
is_status 2
is_stderr "ecocompute: params_b: a size is expected, such as --params-b 7 or \"7B on ada\""
run estimate --params-b 7 --arch adda
is_status 2
is_stderr "ecocompute: arch: 'adda' is no known class or card, did you mean 'ada'?; expected ada, ampere, blackwell, turing, hopper, or a card such as 'RTX 4090'"
run estimate --params-b seven --arch ada
is_status 2
is_stderr "ecocompute: --params-b: 'seven' is no number"
run estimate --params-b 7 --arch ada --batch 0
is_status 2
is_stderr "ecocompute: batch: 0 is not usable; expected a whole number of sequences, 1 to 4096"
run estimate --params-b 7 --arch turing --precision INT8
is_status 1
is_stderr "ecocompute: precision: 'INT8' was not measured on turing cards"
run estimate --json --params-b nan --arch ada
is_status 2
is_json '.error == "params_b: not a number is not usable; expected billions of parameters, 0.01 to 10000"'
run estimate --rules published --params-b 7
is_status 2
is_stderr "ecocompute: --rules: 'published' is not known, did you mean 'published-1.1'?; expected published-1.1 or current"
run estimate --rules published-1.1 --params-b 0 --arch ada
is_status 2
is_stderr "ecocompute: params_b: a size above 0 is expected, in billions of parameters"
run estimate "$(head -c 1200 /dev/zero | tr '\0' x)"
is_status 2
is_stderr "ecocompute: estimate: a question of at most 1000 characters is expected"

# What a question says and we do not understand is named, not dropped.
for word in 7,5B 1e308B 1.5 1e3 q4_k_m gguf awq gptq int4 2x ampere 30B-A3B -1 RTX4090; do
    case $word in
    *B) question="$word on ada" ;;
    1.5 | 1e3 | -1) question="7B on RTX 4090 batch $word" ;;
    *) question="7B on ada $word" ;;
    esac
    run estimate --json "$question"
    is_status 2
    is_json ".error | startswith(\"question: '$word' was not understood\")"
done
run estimate --json "Qwen2-7B on RTX 4090 int8 bitsandbytes 0.43.3"
is_status 0
is_json '.input.stack == "bitsandbytes 0.43.3" and .delta_pct > 100 and .confidence == "high"'
run estimate --stack foo --params-b 7 --arch ada
is_status 2
is_stderr "ecocompute: stack: no version of bitsandbytes in 'foo'; expected such as 'bitsandbytes 0.45.5'"
run estimate --rules published-1.1 --stack "bitsandbytes 0.45.5" --params-b 7 --arch ada
is_status 2
is_stderr "ecocompute: stack: the rules published-1.1 know no stacks; leave it out"
# Another engine answers from its own rows, else the energy model's; what it did not measure is told.
run estimate --json --engine native --precision NF4 --params-b 7 --arch H200
is_status 0
is_json '.input.engine == "native" and .delta_pct == -51.4 and .basis == "measured" and .source == "anchors"'
is_json '.energy.fp16_mj_per_token == 2461.9 and .crossover_b == null and .confidence == "high"'
run estimate --json "8B on RTX 4090 q4_0 llama.cpp"
is_status 0
is_json '.input.engine == "llama.cpp" and .delta_pct == -61.9 and .confidence == "low"'
run estimate --json --engine native --precision INT8 --params-b 7 --arch "RTX 4090"
is_status 0
is_json '.basis == "estimated" and .source == "energy_model" and (.notes[0] | contains("; not on RTX 4090"))'
run estimate --json --engine transformers --params-b 7 --arch ada
is_status 0
is_json '.input.engine == "transformers" and .source == "anchors"'
run estimate --engine nativ --params-b 7 --arch H200
is_status 2
is_stderr "ecocompute: engine: unknown 'nativ', did you mean 'native'?"
run estimate --engine llama.cpp --params-b 7 --arch ada
is_status 1
is_stderr "ecocompute: precision: 'NF4' was not measured under engine llama.cpp; measured there: Q4_0, on RTX 4090"
run estimate --precision Q4_0 --params-b 7 --arch ada
is_status 1
is_stderr "ecocompute: precision: 'Q4_0' was measured on ada cards under engine llama.cpp only (1 row of the table); ask with --engine llama.cpp"
run estimate --rules published-1.1 --engine native --params-b 7 --arch ada
is_status 2
is_stderr "ecocompute: engine: the rules published-1.1 know no engines; leave it out"
run estimate --params-b 7 --arch "RTX 5060"
is_status 1
is_stderr "ecocompute: arch: no data sheet of 'RTX 5060' here, so nothing is said of this card; its class is blackwell: give --arch blackwell"
run estimate --model Qwen7B --arch ada
is_status 2
grep -q "^ecocompute: model: 'Qwen7B' is not built in" stderr || fail "$LAST: $(cat stderr)"
run estimate --model Qwen2-7B --params-b 13 --arch ada
is_status 2
is_stderr "ecocompute: --params-b: --model names the size; give one of them"
run estimate --params-b 7 --arch ada --precision NF44
is_status 2
is_stderr "ecocompute: precision: 'NF44' is no weight format, did you mean 'NF4'?"
run estimate --params-b 0x7 --arch ada
is_status 2
is_stderr "ecocompute: --params-b: '0x7' is no number"
# Errors of the command line itself are JSON too.
for words in "estimate --json --bogus" "fit --json" "fit --json nofile.csv" "check --json" "architectures --json extra"; do
    # shellcheck disable=SC2086 # the words of a command line
    run $words
    [ "$(cat status)" != 0 ] || fail "$LAST: no error"
    is_json '.error | length > 0'
done

finish
