#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bench_run_overhead.sh PROGRAM FAKES [RUNS]: what `ecocompute run` adds to a command, with a scripted meter whose reads are
# free, with one whose reads cost what an H200's do, and with no meter; beside the time of the command alone.
set -euo pipefail
program=$(readlink -f "${1:?path of ecocompute}")
fakes=$(readlink -f "${2:?folder of the scripted driver libraries}")
runs=${3:-200}
folder=$(mktemp -d)
# shellcheck disable=SC2064
trap "rm -rf '$folder'" EXIT
cd "$folder"

# beyond NAME: medians over the runs, in milliseconds: from start to start less the child, and the child.
beyond() {
    jq -r --arg name "$1" '[.runs as $r | range(0; ($r | length) - 1)
        | ($r[. + 1].start_s - $r[.].start_s - $r[.].seconds) * 1e3] as $beyond
        | [.runs[].seconds * 1e3] as $child
        | "\($name): \($beyond | sort | .[length / 2 | floor]) ms beyond the child (worst \($beyond | max)), child \($child
            | sort | .[length / 2 | floor]) ms, n = \($beyond | length)"' "$1.json"
}

printf '%s\n' 'read_cost_energy_us 0' 'read_cost_power_us 0' 'read_cost_slow_us 0' >free.script
printf '%s\n' 'read_cost_energy_us 4600' 'read_cost_power_us 6' >h200.script
for script in free h200; do
    LD_LIBRARY_PATH=$fakes ECO_FAKE_SCRIPT=$PWD/$script.script "$program" run --json -r "$runs" -- true >$script.json
    beyond $script
done
"$program" run --json -r "$runs" -- true >none.json
beyond none
start=$EPOCHREALTIME
for ((i = 0; i < runs; i++)); do
    env true
done
end=$EPOCHREALTIME
awk -v a="$start" -v b="$end" -v n="$runs" 'BEGIN { printf "env true from a shell: %.3f ms each\n", (b - a) * 1e3 / n }'
