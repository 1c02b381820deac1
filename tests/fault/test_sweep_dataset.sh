#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# energy_estimate answering from the dataset, with every n-th allocation, read, write, open, sync and rename failing, once
# and with all that follow, until none is left to fail. Each run must end without a crash: with 0 and the same report as
# without a fault (or one whose fault only cost the card's name or the link), or with 1 or 2, one reason and no new report.
set -uo pipefail
: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}"
[ -f "$FAKES/fault_preload.so" ] || {
    echo "skip: this build has no fault_preload.so (the thread sanitizer stands in its place)"
    exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
printf 'precision: NF4\ngpu_arch: ada\n' >task.yaml

failed=0
runs=0
complain() {
    echo "FAILED: $kind $nth ${after:+and after}: $*; said: $(tail -n 1 stderr)"
    failed=1
}
numbers() {
    jq -c '[.results.energy_per_token_mj, .results.fp16_energy_per_token_mj, .results.vs_fp16_energy_pct, .results.basis,
        .measurement_source]' "$1"
}

# one: a run with the fault of $kind, $nth, $after; its status in $rc, the number of calls that failed in $hits.
one() {
    rm -rf out counts
    rc=0
    timeout -k 5 60 env ${nth:+ECO_FAULT_KIND="$kind" ECO_FAULT_NTH="$nth"} ${after:+ECO_FAULT_AFTER="$after"} \
        ECO_FAULT_COUNTS="$PWD/counts" \
        ASAN_OPTIONS=verify_asan_link_order=0:exitcode=99:detect_leaks=1:allocator_may_return_null=1 \
        LD_PRELOAD="$FAKES/fault_preload.so" \
        "$ECOCOMPUTE" energy_estimate --parameters_file task.yaml --output_dir out --share --dry_run >stdout 2>stderr \
        </dev/null || rc=$?
    hits=$(awk -v k="$kind" '$1 == k { print $3 }' counts 2>/dev/null)
    runs=$((runs + 1))
}

judge() {
    case $rc in
    0)
        if ! "$ECOCOMPUTE" validate out/energy.json >check 2>&1 || [ "$(numbers out/energy.json)" != "$good" ]; then
            complain "status 0 and another report: $(numbers out/energy.json 2>&1)"
        fi
        ;;
    1 | 2) [ -s stderr ] || complain "status $rc without a reason" ;;
    *) complain "status $rc" ;;
    esac
    if [ -n "$(find out -name '*.tmp-*' 2>/dev/null)" ]; then
        complain "a half-written file is left"
    fi
}

kind=none nth='' after='' rc=0 hits=0
one
[ "$rc" = 0 ] || complain "status $rc without a fault"
good=$(numbers out/energy.json)
[ "$good" = '[2087.48,1585.71,31.6,"interpolated","ecocompute-dataset (no local GPU)"]' ] || complain "without a fault: $good"
for kind in alloc read write open sync rename make; do
    for after in '' 1; do
        for ((nth = 1; nth <= 400; nth++)); do
            one
            judge
            [ "${hits:-0}" != 0 ] || break
        done
    done
done
[ "$runs" -gt 60 ] || complain "only $runs runs: the faults do not reach the program"
echo "$runs runs"
exit "$failed"
