#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # dollars of jq; the rows are called by name
#
# docs/field.md, C3: time, throttling, statistics. A gap, a slow-down, an early end are told and the numbers kept; warming
# up is no part of what is counted; every energy says how it was read and over which tokens.
set -euo pipefail
# shellcheck source=tests/cli/lib_field.sh
. "$(dirname "$(readlink -f "$0")")/lib_field.sh"

measured hot $'counter none\nthrottle 0x48\ntemp_c 83' --window 1.5 &
measured drifting $'counter none\nsm_clock_drift_mhz_per_s -60' --blocks 2 --window 1.5 &
measured few $'counter none\nstep_us.fp16 50000' --prompt-tokens 1 --tokens 4 &
watched hot_run $'throttle 0x40' -- sleep 2.3 &
# Stopped for a second and a half in the middle.
stopped() {
    printf '%s\n' 'counter none' >stopped.script
    mkfifo began
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/stopped.script "$ECOCOMPUTE" run --json -- sh -c 'echo >began; sleep 2.8' \
        >stopped.json 2>stopped.err </dev/null &
    local pid=$!
    read -r _ <began
    kill -STOP "$pid"
    sleep 1.5
    kill -CONT "$pid"
    wait "$pid"
}
stopped &
# What a second costs in driver calls: the same command for one second and for three.
calls_in() {
    printf '%s\n' 'counter none' >"calls$1.script"
    ECO_FAKE_CALLS=$DIR/calls$1 LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/calls$1.script "$ECOCOMPUTE" run --json -- sleep "$1" \
        >"calls$1.json" 2>"calls$1.err" </dev/null
}
calls_in 1 &
calls_in 3 &
wait

# Ten years back on the wall clock in the middle of a run: time is monotonic.
row_57() {
    case ${ECO_TEST_BUILD:-release} in
    asan | tsan) return ;; # a sanitizer's library and a preloaded one do not go together
    esac
    LD_PRELOAD=$FAKES/libfake_io.so ECO_IO_WALL_BACK=$PWD/back scripted '' run --json -- sh -c 'sleep 0.2; : >back; sleep 0.2'
    is_status 0
    holds stdout '.runs[0].seconds > 0.39 and .runs[0].seconds < 5 and .runs[0].start_s >= 0'
}

row_59() {
    holds stopped.json '.runs[0].energies[0].longest_gap_s > 1.4 and ([.warnings[].code] | index("sample_gap") != null)'
}

# What the command leaves running is not waited for, and is told.
row_61() {
    scripted '' run --json -- sh -c 'sleep 20 >/dev/null 2>&1 & echo $! >left; exit 0'
    kill "$(cat left)"
    holds stdout '.runs[0].left_running'
    scripted '' run -- sh -c 'sleep 20 >/dev/null 2>&1 & echo $! >left; exit 0'
    kill "$(cat left)"
    says stderr 'run 1 left processes running'
    scripted '' run --json -- sh -c 'sleep 0.05 & wait; exit 0'
    holds stdout '.runs[0].left_running == false'
}

# Throttled all the time: every number is there, and the flag.
row_62() {
    measured_is hot 0
    near "$(jq .results.energy_per_token_mj hot/energy.json)" 1980 60
    holds hot/energy.json '.warnings[] | select(.code == "throttled") | .invalidates'
    holds hot_run.json '.runs[0].energies[0].energy_j > 100 and ([.warnings[].code] | index("throttled") != null)'
}

row_63() {
    measured_is drifting 0
    holds drifting/energy.json '[.warnings[].code] | index("clocks_moved") != null'
    holds drifting/energy.json '[.trials.arms[0].windows[] | .sm_clock_min_mhz > 500 and .sm_clock_max_mhz >= .sm_clock_min_mhz]
        | length >= 2 and all'
    holds hot/energy.json '[.warnings[].code] | index("clocks_moved") == null'
}

row_65() {
    holds hot/energy.json '[.trials.arms[0].windows[] | .temperature_start_c == 83 and .temperature_end_c == 83] | length >= 1 and all'
}

# The burn-in comes before the first block and is none. (Row 68 too.)
row_67() {
    holds drifting/energy.json '.measurement.warmup == 1 and .trials.blocks_finished == 2'
    awk -F , 'NR == 1 { next } $7 == "burn_in" { if ($6 != 0 || counted) bad = 1; warm++ } $7 == "decode" { counted++ }
        END { exit !(warm > 5 && counted > 5 && !bad) }' drifting/power_trace_fp16.csv ||
        fail "row_67: $(cut -d , -f 6,7 drifting/power_trace_fp16.csv | uniq -c | tr '\n' ' ')"
    # Nothing that was loaded, probed or warmed lies inside a window.
    holds drifting/energy.json '[.trials.arms[0].windows[] | select(.kind == "decode") | .block] == [1, 2]'
}

# At most twenty readings a second, slow ones once; no list of processes among them.
row_70() {
    local one three
    read -r one _ <calls1.nvml
    read -r three _ <calls3.nvml
    if [ $((three - one)) -lt 20 ] || [ $((three - one)) -gt 62 ]; then
        fail "row_70: two seconds more are $((three - one)) driver calls; 40 of power and 2 times 2 slow ones are meant"
    fi
    holds hot/energy.json '.measurement.sample_rate_hz_achieved <= 22'
}

# The defaults have what the upstream list misses: five blocks, shuffled order, cooling, a window without the load.
row_71() {
    scripted '' measure --dry-run --json
    holds stdout '.blocks == 5 and .window_min_s >= 5 and .thermal_mode == "cold" and .protocol == "paired"'
    holds stdout '.order | length == 5 and (map(.[0]) | (map(select(. == "FP16")) | length) as $n | $n == 2 or $n == 3)'
    holds drifting/energy.json '.results.tokens_generated > 50'
}

# A report without its batch or its lengths is none.
row_72() {
    local key
    for key in batch_size context_length; do
        jq "del(.workload.$key)" hot/energy.json >less.json
        run validate less.json
        is_status 4
        says stdout "workload\.$key"
    done
    holds hot/energy.json '.workload | .prompt_tokens == 128 and .generated_tokens == 256 and .batch_size == 1'
}

# Too few tokens are told, and a count that is changed is found.
row_73() {
    measured_is few 0
    holds few/energy.json '.warnings[] | select(.code == "tokens_short") | .invalidates'
    cp -r hot forged
    jq '.trials.arms[0].windows[0].tokens *= 2' hot/energy.json >forged/energy.json
    run validate --recompute forged/energy.json
    is_status 4
    says stdout 'windows\[0\]\.tokens'
}

# Beside the number stands which tokens it is for.
row_74() {
    says hot.out '128 prompt \+ 256 generated tokens \(mJ per generated token\)'
}

# No energy without how it was read.
row_75() {
    jq 'del(.measurement.method)' hot/energy.json >less.json
    run validate less.json
    is_status 4
    says stdout 'measurement\.method'
    holds hot_run.json '.meters[0] | (.energy_field | length > 5) and (.basis == "measured")'
}

field_rows
