#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The example reports: valid, never certified, the measured one follows from its traces and is the committed run, and the
# one without a GPU is what the program answers today.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
examples=${ECO_SOURCE_DIR:?the source tree}/examples

run validate "$examples/measured-h200/energy.json" "$examples/no-gpu/energy.json"
is_status 0
for report in measured-h200 no-gpu; do
    jq -e '.certified_benchmark_result == false and .schema_version == "ecocompute-energy/1.3"' \
        "$examples/$report/energy.json" >/dev/null || fail "$report: version or certification"
done
run validate --recompute "$examples/measured-h200/energy.json"
is_status 0
for file in energy.json power_trace_nf4.csv power_trace_fp16.csv; do
    cmp "$ECO_SOURCE_DIR/data/h200/published/$file" "$examples/measured-h200/$file" || fail "$file is another"
done
jq -e '.results.basis == "measured" and .measurement_source == "direct-nvml"' \
    "$examples/measured-h200/energy.json" >/dev/null || fail "the measured example does not say so"

run energy_estimate --dry_run --model_name Qwen/Qwen2-7B --gpu_arch ada --precision NF4 --output_dir fresh
is_status 0
# What a run alone decides (time, host, build, wording) is left aside.
facts='[.schema_version, .scenario, .system_under_test.gpu, .system_under_test.gpu_arch, .workload, .measurement_source,
    .measurement.method, (.results | del(.note))]'
[ "$(jq -cS "$facts" fresh/energy.json)" = "$(jq -cS "$facts" "$examples/no-gpu/energy.json")" ] ||
    fail "examples/no-gpu is not what energy_estimate answers: $(jq -cS "$facts" fresh/energy.json)"
jq -e '.results.basis != "measured" and (.measurement_source | contains("no local GPU")) and
    (.measurement.method | startswith("reference estimate"))' fresh/energy.json >/dev/null || fail "labels: $(jq -c .results fresh/energy.json)"
finish
