#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: a clean energy counter, 100 ms ticks; FP16 495 W for 4000 us a token (1980 mJ), NF4 327 W for 3500 us (1144.5
# mJ), change -42.197 %. Must come out: every arm and every window within 0.5 % of that; the change within its interval
# plus u_expanded; counter and integral within 2 %; basis measured; the stand-in libraries named in a warning; a report
# that follows from its traces.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script clean.script </dev/null
lab_measure clean.script clean --quick --blocks 3
lab_energies clean 1980 1144.5 0.5
lab_delta clean -42.197
lab_row clean_counter clean 1980 1144.5

while read -r ratio; do
    lab_within "window counter/integral" "$ratio" 1 0.02
done < <(lab_get clean '.trials.arms[].windows[].counter_to_integral')
while read -r seconds; do
    awk -v s="$seconds" 'BEGIN { exit !(s >= 1.95) }' || lab_fail "a window of $seconds s"
done < <(lab_get clean '.trials.arms[].windows[] | .t_close_s - .t_open_s')
# W of a window is its joules over its seconds.
lab_is clean '[.trials.arms[].windows[] | (.energy_j / (.t_close_s - .t_open_s) - .power_w) | fabs < 0.001] | all' true

lab_is clean .results.basis measured
lab_is clean .results.time_basis measured
lab_is clean .results.verdict saves
lab_is clean .measurement.energy_source counter
lab_is clean .measurement.boundary gpu
lab_is clean .trials.blocks_finished 3
lab_is clean '[.trials.pairs[].log_ratio] | length' 3
lab_within "printed change from the printed energies" \
    "$(lab_get clean '(.results.energy_per_token_mj / .results.fp16_energy_per_token_mj - 1) * 100')" \
    "$(lab_get clean .results.vs_fp16_energy_pct)" 0.002

# Identity: the hash of the UUID, never the UUID.
uuid=GPU-fa4e0000-0000-0000-0000-000000000000
lab_is clean .environment.gpu_uuid_hash "$(printf %s "$uuid" | sha256sum | cut -c 1-16)"
if grep -rq 'GPU-fa4e' clean; then
    lab_fail "the UUID itself is in a file"
fi

lab_warns clean driver_library_path
lab_is clean '.warnings[] | select(.code == "driver_library_path") | .detail | startswith("'"$(readlink -f "$FAKES")"'/lib")' true
lab_warns clean few_blocks
lab_warns clean synthetic_weights
if [ "${ECO_TEST_BUILD:-release}" = release ]; then
    lab_warns_not clean debug_build
else
    lab_warns clean debug_build
fi
for code in partial contended throttled counter_reset counter_integral_disagree no_energy_counter short_window \
    tokens_short sample_gap below_physical_floor mig_shared persistence_off; do
    lab_warns_not clean "$code"
done

# Files: exact header, rows counted, hashes true.
for trace in fp16 nf4; do
    file=power_trace_$trace.csv
    [ "$(head -n 1 "clean/$file")" = "t_s,power_w,energy_j,tokens,temp_c,block,phase" ] || lab_fail "$file: header"
    lab_is clean ".power_trace.files[] | select(.file == \"$file\") | .sha256" "$(sha256sum <"clean/$file" | cut -d ' ' -f 1)"
    lab_is clean ".power_trace.files[] | select(.file == \"$file\") | .samples" "$(($(wc -l <"clean/$file") - 1))"
done
lab_clean clean
lab_valid clean
lab_done
