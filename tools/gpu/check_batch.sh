#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_batch.sh OUTDIR [parts|speed|all]
# Times of batched decoding and prefill on the GPU of this machine (check_kernels.sh has the errors): each mode's whole
# output goes to OUTDIR/batch_<mode>.txt, short tables come last. BUILD names the build folder (default build/release), which holds tests/device_batch or at
# least libecocompute.a. Exit 77: no GPU.
set -uo pipefail

out=${1:?usage: check_batch.sh OUTDIR [parts|speed|all]}
what=${2:-all}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build/release}
program=$build/tests/device_batch
mkdir -p "$out"

if [ ! -x "$program" ]; then
    if [ ! -f "$build/libecocompute.a" ]; then
        echo "check_batch: no build in $build (cmake --preset release && cmake --build --preset release)" >&2
        exit 2
    fi
    program=$out/device_batch
    "${CC:-cc}" -std=c17 -O2 -D_GNU_SOURCE -I "$root/include" -I "$root/src" "$root/tests/device/device_batch.c" \
        "$build/libecocompute.a" -lm -ldl -lpthread -o "$program" || exit 1
fi
modes=$what
[ "$what" = all ] && modes="speed parts"
bad=0
for mode in $modes; do
    # Kernels here have no loop that waits for another, but a driver can hang.
    timeout -k 10 240 "$program" "$mode" >"$out/batch_$mode.txt" 2>&1
    status=$?
    if [ "$status" -eq 77 ]; then
        cat "$out/batch_$mode.txt"
        exit 77
    fi
    [ "$status" -eq 0 ] || bad=1
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        echo "$mode timed out; the last line was: $(tail -1 "$out/batch_$mode.txt")"
    fi
done
for mode in $modes; do
    echo "--- $mode"
    grep -E ' us ' "$out/batch_$mode.txt" | cut -c1-150
    tail -1 "$out/batch_$mode.txt"
done
exit "$bad"
