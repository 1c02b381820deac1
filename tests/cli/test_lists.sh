#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Help, version, and what is built in, for people and as JSON.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

for command in measure run probe explain export plot fit architectures meters engines models formats validate doctor; do
    run "$command" --help
    is_status 0
    grep -q "^Example: ecocompute $command" stdout || fail "$LAST: no example"
    run --help
    grep -q "^  $command " stdout || fail "--help does not list $command"
done
# Every option of the contract that this version has is in the help.
run measure --help
for option in model precision baseline engine device weights seed batch prompt-tokens tokens blocks window quick margin \
    protocol thermal-mode cooldown-max order order-seed meter output-dir force plan resume dry-run require-measured json quiet color; do
    grep -q -- "--$option\b" stdout || fail "measure --help does not tell --$option"
done
for flag in --version -V; do
    run "$flag"
    is_status 0
    grep -Eq '^ecocompute [0-9]+\.[0-9]+\.[0-9]+ \(commit .*, .* build, .+\)$' stdout || fail "$flag: $(cat stdout)"
done

run models
is_status 0
run models --json
is_status 0
names=$(jq -r '.[].name' stdout)
for name in Qwen2-0.5B TinyLlama-1.1B Qwen2-1.5B Qwen2.5-3B Qwen2-7B Mistral-7B Llama-3.1-8B Yi-1.5-9B Qwen2.5-14B \
    SmolLM2-135M; do
    grep -qx "$name" <<<"$names" || fail "models: no $name"
done
# TinyLlama: 1.100 B weights, 2 bytes each but the embedding rows not read, KV cache at position 256 on top.
jq -e '.[] | select(.name == "TinyLlama-1.1B") | .params == 1100048384 and .layers == 22 and .kv_heads == 4
    and (.gb_per_token_FP16 > 2.07 and .gb_per_token_FP16 < 2.08) and .gb_per_token_NF4 < 0.4 * .gb_per_token_FP16' \
    stdout >/dev/null || fail "models: TinyLlama's row: $(jq -c '.[] | select(.name == "TinyLlama-1.1B")' stdout)"

run formats
is_status 0
run formats --json
is_status 0
jq -e 'map({(.name): .bits_per_weight}) | add == {"FP16": 16, "BF16": 16, "NF4": 4.5, "NF4-DQ": 4.12695312, "INT8": 8,
    "W8A16": 8, "Q4_0": 4.5, "Q8_0": 8.5, "FP8": 8}' stdout >/dev/null || fail "formats: $(cat stdout)"
jq -e 'all(.cpu) and (map(select(.quantizes_activations).name) == ["INT8"])
    and all(.cuda)' stdout >/dev/null || fail "formats: devices: $(cat stdout)"

# Without driver libraries: listed, not usable, with the reason and the places looked at.
run engines
is_status 0
grep -q 'cuda: not usable: libcuda.so.1 not found (' stdout || fail "engines: $(cat stdout)"
run engines --json
jq -e '.[0] | .name == "native" and .cpu and (.cuda | not) and (.cuda_reason | test("libcuda.so.1 not found"))' stdout \
    >/dev/null || fail "engines --json: $(cat stdout)"
run meters
is_status 0
grep -q 'not usable: libnvidia-ml.so.1 not found (' stdout || fail "meters: $(cat stdout)"
run meters --json
jq -e '.[0] | .name == "nvml" and (.usable | not) and .devices == []' stdout >/dev/null || fail "meters --json"
run meters --characterize
is_status 3
[ "$(wc -l <stderr)" -eq 1 ] || fail "$LAST: not one line: $(cat stderr)"

# With them: the device, its library and what it can read.
export LD_LIBRARY_PATH=$FAKES
run engines --json
jq -e '.[0].cuda' stdout >/dev/null || fail "engines --json with the stand-ins: $(cat stdout)"
run meters
grep -q 'outside the known driver folders' stdout || fail "meters: the stand-in library is not called out"
run meters --json
jq -e '.[0] | .usable and (.devices | length == 1) and (.devices[0] | .energy_field ==
    "nvmlDeviceGetTotalEnergyConsumption" and .power_field == "NVML_FI_DEV_POWER_INSTANT" and
    .uuid == "GPU-fa4e0000-0000-0000-0000-000000000000")' stdout >/dev/null || fail "meters --json: $(cat stdout)"
printf 'devices 2\ncounter none\n' >two.script
export ECO_FAKE_SCRIPT=$PWD/two.script
run meters --json
jq -e '.[0].devices | length == 2 and .[0].energy_field == ""' stdout >/dev/null || fail "meters --json, two: $(cat stdout)"
finish
