#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: reads of the scripted meter are free. Must come out: a run of `true` costs under 5 ms beyond the child, from start
# to start, as the median over a hundred, and nothing waits for a 100 ms tick; `short_window`, and no energy.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

printf '%s\n' 'read_cost_energy_us 0' 'read_cost_power_us 0' 'read_cost_slow_us 0' >free.script
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/free.script "$ECOCOMPUTE" run --json -r 101 -- true >true.json
beyond_ms=$(jq '[.runs as $r | range(0; 100) | ($r[. + 1].start_s - $r[.].start_s - $r[.].seconds) * 1e3] | sort | .[50]' true.json)
whole_ms=$(jq '(.runs[100].start_s - .runs[0].start_s) * 10' true.json)
echo "median $beyond_ms ms a run beyond the child; $whole_ms ms a run in all (mean)"
awk -v ms="$beyond_ms" 'BEGIN { exit !(ms < 5) }' || lab_fail "$beyond_ms ms a run beyond the child"
awk -v ms="$whole_ms" 'BEGIN { exit !(ms < 50) }' || lab_fail "$whole_ms ms a run: something waits for ticks"
jq -e '[.runs[].energies[0] | .energy_j == null and .code == "short_window"] | all' true.json >/dev/null ||
    lab_fail "an energy for a run of a millisecond"
jq -e '[.warnings[].code] | index("short_window") != null' true.json >/dev/null || lab_fail "no short_window"
lab_done
