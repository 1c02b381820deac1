#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# probe on the scripted card: a pass over the reading buffer takes 8 ms at 635 W (so that eight in flight carry the load
# over a late host thread), a launch 20 us; the idles are 78 W bare and 121 W with a context. Must come out: these, each
# with its interval or n = 1, in under 20 s; the second call gives the cache with its date and reads nothing; a spoilt
# cache counts as none; a measurement does not use it.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
export XDG_CACHE_HOME=$LAB_DIR/cache

lab_script probe.script <<'SCRIPT'
step_us.read 8000
step_us.launch 20
SCRIPT

# probe NAME OPTION...
probe() {
    local name=$1 rc=0
    shift
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$LAB_DIR/probe.script "$ECOCOMPUTE" probe "$@" >"$name.out" 2>"$name.err" || rc=$?
    echo "$rc" >"$name.rc"
    lab_status "$name" 0
}

# Again (twice at most) when its own interval says that the machine was not quiet.
for attempt in 1 2 3; do
    begin=$SECONDS
    probe fresh --json --refresh
    [ $((SECONDS - begin)) -lt 20 ] || lab_fail "the probe took $((SECONDS - begin)) s"
    jq -e '.read_bandwidth | (.ci95_hi - .ci95_lo) / .value > 0.06' fresh.out >/dev/null || break
    echo "attempt $attempt was disturbed by other work on this machine"
done
jq -e '.cached == false and .seconds < 20 and .device == "NVIDIA H200" and (.libraries_known | not)' fresh.out >/dev/null ||
    lab_fail "$(head -c 500 fresh.out)"
# What is read in 8 ms: the power over the rate is the energy of a gigabyte, whatever the buffer's size.
lab_within "W while reading" "$(jq '.read_bandwidth.value * .read_energy.value / 1000' fresh.out)" 635 "$(lab_pct 635 3)"
lab_within "us a launch" "$(jq .launch.value fresh.out)" 20 4
lab_within "idle bare" "$(jq .idle_bare.value fresh.out)" 78 1
lab_within "idle with a context" "$(jq .idle_context.value fresh.out)" 121 2
lab_within "idle loaded" "$(jq .idle_loaded.value fresh.out)" 121 2
jq -e '[.read_bandwidth, .read_energy, .launch] | all(.n == 3 and .ci95_lo <= .value and .ci95_hi >= .value and
    .basis == "measured" and (.method | length) > 10)' fresh.out >/dev/null || lab_fail "intervals: $(cat fresh.out)"
jq -e '[.idle_bare, .idle_context, .idle_loaded] | all(.n == 1 and has("ci95_lo") == false)' fresh.out >/dev/null ||
    lab_fail "idles: $(cat fresh.out)"
# Each rate is there with its interval, or says why it is not.
jq -e '[.matrix_fp16, .matrix_int8] | all((.value == null and (.why_absent | length) > 10) or (.value > 0 and .n == 3))' \
    fresh.out >/dev/null || lab_fail "matrix rates: $(jq -c '[.matrix_fp16, .matrix_int8]' fresh.out)"
grep -rq 'GPU-fa4e' cache && lab_fail "the UUID itself is in the cache"

file=$(find cache/ecocompute -name 'probe-*.json')
[ "$(wc -l <<<"$file")" = 1 ] || lab_fail "cache: $file"
probe cached
grep -q "^from the cache, probed at $(jq -r .probed_utc fresh.out); " cached.out || lab_fail "not from the cache: $(cat cached.out)"
[ ! -s cached.err ] || lab_fail "a cached answer probed: $(cat cached.err)"
probe cached --json
[ "$(jq -c 'del(.cached)' cached.out)" = "$(jq -c 'del(.cached)' fresh.out)" ] || lab_fail "the cache says something else"

# A spoilt cache: nothing of it is used.
sed -i 's/"n": 3/"n": 0/' "$file"
probe spoilt --json
jq -e '.cached == false' spoilt.out >/dev/null || lab_fail "a spoilt cache was used"

# The cached rate is another, so a measurement that used it would show; what it reports is what it probed itself.
jq '.read_bandwidth |= (.value = 1 | .ci95_lo = 1 | .ci95_hi = 1)' "$file" >changed && mv changed "$file"
lab_run probe.script run --quick --blocks 1 --window 0.5 --precision FP16
lab_status run 0
lab_within "bandwidth of the measurement" "$(lab_get run .explain.read_bandwidth_gb_per_s)" \
    "$(jq .read_bandwidth.value fresh.out)" "$(lab_pct "$(jq .read_bandwidth.value fresh.out)" 15)" "(and not 1)"
# explain lends the matrix rate of that card, with its date, where a report has none.
jq '.matrix_fp16 = {"unit": "TFLOP/s", "value": 900, "ci95_lo": 890, "ci95_hi": 910, "n": 3, "basis": "measured",
    "method": "made up for this test"}' "$file" >changed && mv changed "$file"
jq 'del(.explain.matrix_fp16_tflop_per_s)' run/energy.json >bare.json
"$ECOCOMPUTE" explain --json bare.json >lent.out
jq -e --arg day "$(date -u +%Y-)" '.[0].explanation | .arms[0].matrix_flop_per_s == 9e14 and
    (.matrix_rate_from | startswith("probe of " + $day))' lent.out >/dev/null || lab_fail "lent: $(cat lent.out)"
lab_done
