#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_kernels.sh OUTDIR [tiny|cut|adversarial|batch|speed]...
# The CUDA backend against the CPU backend on the GPU of this machine, part after part (default: tiny adversarial batch):
#   tiny         one sequence, odd shapes of each family and random ones
#   cut          one sequence, two layers of every model at its true width
#   adversarial  weights that no model has, in each kind of matrix, one sequence and five
#   batch        batches and prompts by chunks: odd shapes, and every model's two layers
#   speed        times of one sequence's kernels (check_batch.sh has the others')
# A part's whole output goes to OUTDIR/<part>.txt; for each format its cases and the worst relative error of logits beside
# the bound come last. All parts together get LIMIT_S seconds (default 130); what is cut off then is a failure that says
# so, with the table of what was done. BUILD names the build folder (default build/release), which holds the programs
# or at least libecocompute.a. Exit 0: all within bounds; 1: not; 77: no GPU.
set -uo pipefail

out=${1:?usage: check_kernels.sh OUTDIR [tiny|cut|adversarial|batch|speed]...}
shift
[ "$#" -gt 0 ] || set -- tiny adversarial batch
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build/release}
limit=${LIMIT_S:-130}
mkdir -p "$out"

# program NAME: the test program's path, compiled here where the build has only the library.
program() {
    local place
    for place in "$build/tests/$1" "$build/$1" "$out/$1"; do
        [ -x "$place" ] && echo "$place" && return
    done
    if [ ! -f "$build/libecocompute.a" ]; then
        echo "check_kernels: no build in $build (cmake --preset release && cmake --build --preset release)" >&2
        return 1
    fi
    "${CC:-cc}" -std=c17 -O2 -D_GNU_SOURCE -I "$root/include" -I "$root/src" "$root/tests/device/$1.c" \
        "$build/libecocompute.a" -lm -ldl -lpthread -o "$out/$1" && echo "$out/$1"
}

# table FILE: each line of a case has a format and "ERROR of BOUND"; an error that is no number is the worst.
table() {
    awk '/^(ok|FAIL) / {
        format = ""; error = ""
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^(FP16|BF16|NF4|NF4-DQ|W8A16|Q4_0|Q8_0|FP8|INT8)$/) format = $i
            if ($i == "of" && $(i - 1) ~ /^-?(nan|inf|[0-9.]+e)/) { error = $(i - 1); bound[format] = $(i + 1) }
        }
        if (format == "" || error == "") next
        if (!(format in n)) order[++formats] = format
        n[format]++
        if ($1 == "FAIL") bad[format]++
        if (error !~ /^[0-9]/) worst[format] = error
        else if (!(format in worst) || (worst[format] ~ /^[0-9]/ && error + 0 > worst[format] + 0)) worst[format] = error
    } END { for (k = 1; k <= formats; k++) { f = order[k]
        printf "%-7s %5d cases, %d bad, worst %s, bound %s\n", f, n[f], bad[f], worst[f], bound[f] } }' "$1"
}

bad=0
for part in "$@"; do
    case $part in
    tiny | cut | adversarial | speed) command=(device_kernels "$part") ;;
    batch) command=(device_batch check) ;;
    *)
        echo "check_kernels: unknown part $part" >&2
        exit 2
        ;;
    esac
    path=$(program "${command[0]}") || exit 2
    left=$((limit - SECONDS))
    echo "--- $part"
    if [ "$left" -le 0 ]; then
        echo "not run: the $limit s are over"
        bad=1
        continue
    fi
    begin=$SECONDS
    # A driver can hang: the limit is for that, too.
    timeout -k 5 "$left" "$path" "${command[@]:1}" >"$out/$part.txt" 2>&1
    status=$?
    if [ "$status" -eq 77 ]; then
        cat "$out/$part.txt"
        exit 77
    fi
    [ "$status" -eq 0 ] || bad=1
    if [ "$part" = speed ]; then
        grep -E ' us each| prepared in ' "$out/$part.txt"
    else
        table "$out/$part.txt"
    fi
    grep -E '^FAIL' "$out/$part.txt" | head -5
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        echo "cut off after $left s; the last line was: $(tail -1 "$out/$part.txt")"
    else
        echo "$(tail -1 "$out/$part.txt") ($((SECONDS - begin)) s)"
    fi
done
exit "$bad"
