#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_kernels.sh OUTDIR [tiny|cut|adversarial|speed|all]
# Runs the CUDA backend against the CPU backend on the GPU of this machine and leaves the whole output in
# OUTDIR/kernels.txt; a short table comes last. BUILD names the build folder (default build/release), which holds
# tests/device_kernels or at least libecocompute.a. Exit 77: no GPU.
set -uo pipefail

out=${1:?usage: check_kernels.sh OUTDIR [tiny|cut|adversarial|speed|all]}
what=${2:-all}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build/release}
program=$build/tests/device_kernels
mkdir -p "$out"

if [ ! -x "$program" ]; then
    if [ ! -f "$build/libecocompute.a" ]; then
        echo "check_kernels: no build in $build (cmake --preset release && cmake --build --preset release)" >&2
        exit 2
    fi
    program=$out/device_kernels
    "${CC:-cc}" -std=c17 -O2 -I "$root/include" -I "$root/src" "$root/tests/device/device_kernels.c" \
        "$build/libecocompute.a" -lm -ldl -lpthread -o "$program" || exit 1
fi
# Kernels here have no loop that waits for another, but a driver can hang: four minutes are several times what it takes.
timeout -k 10 240 "$program" "$what" >"$out/kernels.txt" 2>&1
status=$?

if [ "$status" -eq 77 ]; then
    cat "$out/kernels.txt"
    exit 77
fi
head -3 "$out/kernels.txt"
echo "--- worst of each family (relative error of the logits)"
awk '/ tokens +[0-9.]+e/ {
    format = ""; for (i = 2; i <= NF; i++) if ($i == "FP16" || $i == "NF4") { format = $i; break }
    name = $2; for (j = 3; j < i; j++) name = name " " $j
    if (name ~ /^random/) name = "random shapes"
    key = name "\t" format; error = $(i + 3) + 0
    if (!(key in worst)) order[++n] = key
    if (!(key in worst) || !(error <= worst[key])) worst[key] = error
} END { for (k = 1; k <= n; k++) { split(order[k], p, "\t"); printf "%-34s %-5s %.2e\n", p[1], p[2], worst[order[k]] } }' \
    "$out/kernels.txt"
echo "--- adversarial weights: cases and the worst of each format"
awk '/^(ok|FAIL) .* x[0-9]+ / { format = ""; for (i = 2; i <= NF; i++) if ($i ~ /^(FP16|BF16|NF4|W8A16|Q4_0|Q8_0|FP8|INT8)$/) { format = $i; break }
    n[format]++; if (!(format in worst) || !($NF + 0 <= worst[format])) worst[format] = $NF + 0
} END { for (f in n) printf "%-6s %4d %.2e\n", f, n[f], worst[f] }' "$out/kernels.txt" | sort
echo "--- speed"
grep -E ' us each| prepared in ' "$out/kernels.txt"
grep -E '^FAIL|^skip' "$out/kernels.txt"
if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    echo "timed out; the last line was: $(tail -1 "$out/kernels.txt")"
fi
tail -1 "$out/kernels.txt"
exit "$status"
