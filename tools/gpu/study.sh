#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# study.sh OUTDIR [SECONDS [PLAN]]
# Checks the kernels of one sequence against the CPU, then measures a plan (default data/h200/study/plan.yaml) on the GPU
# of this machine for SECONDS at most (default 600): what is running then is stopped in order and kept as partial. Leaves
# OUTDIR/study.tar.gz and prints the rows of the results last. BUILD names the folder of the program and of the device
# tests (default build/release). Exit 77: no GPU.
set -uo pipefail

out=${1:?usage: study.sh OUTDIR [SECONDS [PLAN]]}
seconds=${2:-600}
root=$(cd "$(dirname "$0")/../.." && pwd)
plan=${3:-$root/data/h200/study/plan.yaml}
build=${BUILD:-$root/build/release}
check=$build/tests/device_kernels
[ -x "$check" ] || check=$build/device_kernels
mkdir -p "$out"

timeout -k 10 60 "$check" tiny >"$out/kernels.txt" 2>&1
status=$?
tail -n 1 "$out/kernels.txt"
[ "$status" -eq 0 ] || exit "$status"

study=$out/study
timeout -s INT -k 30 "$seconds" "$build/ecocompute" measure --plan "$plan" --output-dir "$study" >"$out/study.txt" 2>&1
echo "measure --plan: status $?"
mapfile -t reports < <(find "$study" -name 'energy*.json' | sort)
if [ "${#reports[@]}" -gt 0 ]; then
    "$build/ecocompute" export --format csv "${reports[@]}" >"$study/study.csv"
    "$build/ecocompute" explain "${reports[@]}" >"$study/explain.txt"
fi
tar -C "$out" -czf "$out/study.tar.gz" study
rm -rf "$study"
grep -E '%|mJ' "$out/study.txt" | tail -n 60
