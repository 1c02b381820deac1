#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# COUNT default measurements on this machine's GPU, each in its own folder, with what they printed, and one table at the
# end. Changes nothing on the card. Options after COUNT go to `ecocompute measure`.
# usage: ECOCOMPUTE=build/release/ecocompute tools/gpu/measure_runs.sh OUTDIR COUNT [options]
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: $0 OUTDIR COUNT [measure options]" >&2
    exit 2
fi
program=$(realpath "${ECOCOMPUTE:-build/release/ecocompute}")
mkdir -p "$1"
out=$(realpath "$1")
count=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((run = 1; run <= count; run++)); do
    mkdir "$work/$run"
    begin=$(date +%s.%N)
    status=0
    (cd "$work/$run" && "$program" measure "$@") >"$work/$run/stdout.txt" 2>"$work/$run/stderr.txt" || status=$?
    end=$(date +%s.%N)
    awk -v run="$run" -v status="$status" -v begin="$begin" -v end="$end" \
        'BEGIN { printf "run %d: exit status %d, %.1f s of wall time\n", run, status, end - begin }'
    tail -n 3 "$work/$run/stderr.txt"
    cat "$work/$run/stdout.txt"
    "$program" validate --recompute "$work/$run"/ecocompute-out/latest/energy*.json || true
    for folder in "$work/$run"/ecocompute-out/2*; do
        [ -d "$folder" ] || continue
        cp "$work/$run/stdout.txt" "$work/$run/stderr.txt" "$folder/"
        tar -C "$(dirname "$folder")" -czf "$out/$(basename "$folder").tar.gz" "$(basename "$folder")"
    done
done
grep -h 'energy per token' "$work"/*/stdout.txt || true
