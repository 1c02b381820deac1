#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# measure --dry-run: the plan, its time and the checks; nothing is made, nothing is measured. The order it prints is the
# one a run takes: each arm stands in each place equally often to within one, and a seed gives it again.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
export LD_LIBRARY_PATH=$FAKES

run measure --dry-run
is_status 0
[ ! -s stderr ] || fail "$LAST: stderr: $(cat stderr)"
grep -qx 'check: CUDA usable' stdout || fail "no check of CUDA"
grep -qx 'check: NVML usable' stdout || fail "no check of NVML"
grep -qx 'energy: measured' stdout || fail "energy is not announced"
grep -q '^model: TinyLlama-1.1B (shape only), synthetic weights, seed 1$' stdout || fail "model: $(grep ^model stdout)"
grep -q '^blocks: 5, window at least 5.0 s' stdout || fail "blocks: $(grep ^blocks stdout)"
grep -Eq '^time: [0-9]+ to [0-9]+ s' stdout || fail "no time"
grep -Eq '^output: ecocompute-out/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$' stdout || fail "output: $(grep ^output stdout)"
[ ! -e ecocompute-out ] || fail "a folder was made"
# The whole default run is promised in under three minutes.
awk '/^time:/ { exit !($4 < 180) }' stdout || fail "the default takes $(grep ^time stdout)"
run measure --dry-run --quick
awk '/^time:/ { exit !($4 < 45) }' stdout || fail "--quick takes $(grep ^time stdout)"
grep -q '^extra windows: none$' stdout || fail "--quick has extra windows"

# What the run would find only when it loads: too little memory on the card, or too little shared memory.
printf '%s\n' 'memory_mib 4000' >small.script
ECO_FAKE_SCRIPT=$PWD/small.script run measure --dry-run --model Qwen2-7B --precision NF4
is_status 1
grep -Eq '^check: arms do not run here: Qwen2-7B at FP16, batch 1, wants 1[0-9.]+ GB; [0-9.]+ GB are free on ' stdout ||
    fail "memory: $(cat stdout)"
grep -q '^ecocompute: Qwen2-7B at FP16, batch 1, wants ' stderr || fail "memory: $(cat stderr)"
ECO_FAKE_SCRIPT=$PWD/small.script run measure --dry-run --json --model Qwen2-7B
is_status 1
jq -e '(.arms_run | not) and (.arms_reason | test("GB are free")) and .largest_arm_bytes > .memory_free_bytes' stdout >/dev/null ||
    fail "memory: $(cat stdout)"
printf '%s\n' 'n_sm 132' 'shared_bytes 81920' >small.script
ECO_FAKE_SCRIPT=$PWD/small.script run measure --dry-run --model Qwen2-7B --precision INT8
is_status 1
grep -q '^check: arms do not run here: cuda: model Qwen2-7B in INT8 does not fit the 81920 bytes of shared memory of ' stdout ||
    fail "shared memory: $(cat stdout)"
run measure --dry-run
is_status 0
grep -Eq '^check: arms run here: the largest wants 2[0-9.]+ GB, [0-9.]+ GB are free$' stdout || fail "fits: $(cat stdout)"

for seed in 0 1 2 3 18446744073709551615; do
    for blocks in 1 4 5 11; do
        run measure --dry-run --blocks "$blocks" --order-seed "$seed"
        line=$(grep "^order (seed $seed):" stdout) || fail "seed $seed: no order"
        [ "$(grep -o '\[[^]]*\]' <<<"$line" | wc -l)" -eq "$blocks" ] || fail "$blocks blocks: $line"
        balance=$(awk '{ print gsub(/\[FP16 NF4\]/, "") - gsub(/\[NF4 FP16\]/, "") }' <<<"$line")
        case $balance in
        0) [ $((blocks % 2)) -eq 0 ] || fail "seed $seed: an arm is missing: $line" ;;
        1 | -1) [ $((blocks % 2)) -eq 1 ] || fail "seed $seed: an arm is missing: $line" ;;
        *) fail "seed $seed: not balanced: $line" ;;
        esac
        cp stdout before
        run measure --dry-run --blocks "$blocks" --order-seed "$seed"
        [ "$(grep ^order stdout)" = "$(grep ^order before)" ] || fail "seed $seed gives two orders"
    done
done
orders=$(for seed in {1..16}; do "$ECOCOMPUTE" measure --dry-run --order-seed "$seed" | sed -n 's/^order (seed [0-9]*)//p'; done |
    sort -u | wc -l)
[ "$orders" -gt 4 ] || fail "sixteen seeds give only $orders orders"
run measure --dry-run --blocks 3 --order fixed
grep -q ': \[FP16 NF4\] \[FP16 NF4\] \[FP16 NF4\]$' stdout || fail "--order fixed: $(grep ^order stdout)"

run measure --dry-run --json --order-seed 7 --blocks 4
is_status 0
jq -e '.device == "GPU" and .cuda_usable and .nvml_usable and .energy == "measured" and .model == "TinyLlama-1.1B" and
    .order_seed == "7" and (.order | length == 4 and all(sort == ["FP16", "NF4"])) and .shortest_s < .longest_s' stdout \
    >/dev/null || fail "--json: $(cat stdout)"
from_json=$(jq -r '[.order[] | "[" + join(" ") + "]"] | join(" ")' stdout)
run measure --dry-run --order-seed 7 --blocks 4
grep -qxF "order (seed 7): $from_json" stdout || fail "--json has another order: $from_json"

# The published protocol and thermal mode steady: what would run, and how long that can take.
run measure --dry-run --protocol published
is_status 0
grep -qx 'blocks: 1, window of 10 whole generations (prefill and decode) after 2 uncounted, ramp at least 1.2 s, cooldown up to 5.0 s' \
    stdout || fail "published: $(grep ^blocks stdout)"
grep -q '^workload: batch 1, positions 0 to 267,' stdout || fail "published: $(grep ^workload stdout)"
grep -qx 'protocol: published, thermal mode cold' stdout || fail "published: $(grep ^protocol stdout)"
grep -Eq '^order \(seed [0-9]+\): \[(FP16 NF4|NF4 FP16)\]$' stdout || fail "published: $(grep ^order stdout)"
awk '/^time:/ { exit !($2 < $4 && $4 > 30) }' stdout || fail "published: $(grep ^time stdout)"
run measure --dry-run --json --protocol published --iterations 4 --warmup 0 --tokens 64 --prompt-tokens 10 --blocks 2 \
    --thermal-mode steady --steady-max 20
is_status 0
jq -e '.protocol == "published" and .iterations == 4 and .warmup == 0 and .tokens == 64 and .prompt_tokens == 10 and
    .blocks == 2 and .thermal_mode == "steady" and (.order | length == 2) and (has("window_min_s") | not) and
    .shortest_s > 20 and .longest_s > 80 + 9' stdout >/dev/null || fail "published --json: $(cat stdout)"
run measure --dry-run --thermal-mode steady
grep -q 'no cooldown, under load until steady or for 60.0 s, burn-in' stdout || fail "steady: $(grep ^blocks stdout)"

run measure --dry-run --output-dir /dev/null/x
is_status 1
grep -q '^ecocompute: /dev/null/x: Not a directory$' stderr || fail "output folder: $(cat stderr)"
# What is not usable is said, with the reason.
unset LD_LIBRARY_PATH
run measure --dry-run
is_status 0
grep -q '^check: CUDA not usable: libcuda.so.1 not found' stdout || fail "CUDA: $(grep CUDA stdout)"
grep -q '^energy: unavailable' stdout || fail "energy: $(grep ^energy stdout)"
grep -q '^model: SmolLM2-135M' stdout || fail "model: $(grep ^model stdout)"
[ ! -e ecocompute-out ] || fail "a folder was made"
finish
