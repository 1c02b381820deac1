#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# RAPL through the whole program, on a fake tree that counts 60 W and wraps every 15 s: listed, watched, measured on the CPU with no
# power reading to check against, marked as stand-in; and refused for work that it does not see.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

bash "$(dirname "$(readlink -f "$0")")/../fakes/fake_powercap.sh" "$DIR/tree" 60 900000000 &
writer=$!
# shellcheck disable=SC2064
trap "kill $writer; rm -rf '$DIR'" EXIT
while [ ! -e tree/ready ]; do
    kill -0 "$writer"
done

run meters --meter rapl --meter-root "$DIR/tree"
is_status 0
grep -q '^  usable: package-0; inside: core; not counted: dram, psys by powercap; wrap-around is followed if read every 0.65 s$' stdout ||
    fail "$LAST: $(cat stdout)"
grep -q "read under $DIR/tree, not from this machine" stdout || fail "$LAST: the root is not called out"
! grep -q '^nvml' stdout || fail "$LAST: lists another meter"

run meters --watch --count 2 --json --meter rapl --meter-root "$DIR/tree"
is_status 0
jq -e 'length == 2 and all(.[]; .[0] | .meter == "rapl" and .from_counter and .power_w > 50 and .power_w < 70
    and .temperature_c == null and (.parts | test("package-0 .* W, core .* W \\(not counted\\), dram .* \\(not counted\\)")))' \
    stdout >/dev/null || fail "$LAST: $(cat stdout)"
run meters --watch --count 1 --meter rapl --meter-root "$DIR/tree"
is_status 0
grep -Eq '^rapl .*: [56][0-9]\.[0-9] W from its counter \[package-0 ' stdout || fail "$LAST: $(cat stdout)"
run meters --count 1
is_stderr "ecocompute: --count: only with --watch"

run measure --dry-run --device cpu --meter-root "$DIR/tree"
grep -qx 'energy: measured' stdout || fail "$LAST: $(grep ^energy stdout)"
grep -q '^check: meter rapl usable: package-0' stdout || fail "$LAST: $(grep ^check stdout)"
grep -q '^blocks: 5, window at least 5.0 s' stdout || fail "$LAST: a metered CPU gets the whole protocol"
run measure --dry-run --device cpu --json --meter-root "$DIR/tree"
jq -e '.energy == "measured" and .meter == "rapl" and .meter_usable' stdout >/dev/null || fail "$LAST: $(cat stdout)"

run measure --device cpu --meter-root "$DIR/tree" --require-measured --precision FP16 --quick --blocks 1 --window 2 \
    --prompt-tokens 2 --tokens 4 --output-dir out
is_status 0
jq -e '.results.basis == "measured" and .measurement_source == "direct-rapl" and .measurement.boundary == "cpu-package" and
    .measurement.energy_source == "counter" and .measurement.sample_rate_hz == 0 and (.measurement.method | test("^RAPL package")) and
    .meters.name == "rapl" and .meters.domains == "package-0; inside: core; not counted: dram, psys" and
    .meters.counter_update_period_s < 0.01 and (.software | has("nvml_path") | not) and
    (.environment | has("gpu_uuid_hash") | not)' out/energy.json >/dev/null || fail "report: $(jq -c '[.measurement, .meters]' out/energy.json)"
jq -e '.results.avg_power_watts > 58 and .results.avg_power_watts < 62 and .environment.idle_loaded_w > 50 and
    .environment.idle_loaded_w < 70' out/energy.json >/dev/null || fail "power: $(jq -c '[.results, .environment]' out/energy.json)"
codes=$(jq -r '.warnings[].code' out/energy.json)
grep -qx source_overridden <<<"$codes" || fail "the stand-in root is not marked"
for code in counter_integral_disagree no_energy_counter sample_gap counter_reset short_window boundary_mismatch idle_unsettled; do
    ! grep -qx "$code" <<<"$codes" || fail "warning $code without cause"
done
! grep -q "$DIR" <<<"$(jq -r .software.command out/energy.json)" || fail "the command line names the folder"
run validate --recompute out/energy.json
is_status 0

# Work on the GPU is not what it sees, nor work on the CPU what nvml sees: time is measured, energy refused.
export LD_LIBRARY_PATH=$FAKES
fake_measure gpu --device cuda --meter rapl --meter-root "$DIR/tree"
[ "$(cat gpu.rc)" = 3 ] || fail "gpu: status $(cat gpu.rc)"
jq -e '.results.basis == "unavailable" and .results.energy_per_token_mj == null and
    (.results.note | test("no device of rapl here sees the work on gpu")) and
    (.warnings | map(select(.code == "boundary_mismatch" and .invalidates)) | length == 1)' gpu/energy.json >/dev/null ||
    fail "gpu: $(jq -c '[.results, .warnings]' gpu/energy.json)"
grep -q 'meter rapl not usable: rapl: does not see work on boundary gpu' gpu.out || fail "gpu: $(cat gpu.out)"
run measure --dry-run --device cpu --meter nvml
grep -q '^energy: unavailable' stdout || fail "$LAST: $(grep ^energy stdout)"
run measure --device cpu --meter nvml --require-measured
is_status 3
grep -q 'nvml: does not see work on boundary cpu-package' stderr || fail "$LAST: $(cat stderr)"
finish
