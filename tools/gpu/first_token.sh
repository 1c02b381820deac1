#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# first_token.sh OUTDIR [COUNT]
# How long a warm start takes: from the start of the process to the first decoded token of TinyLlama-1.1B (synthetic
# weights, a prompt of 128), by `ecocompute engines --start`, COUNT times (default 10) at FP16 and at NF4 after one uncounted
# start each (files in the page cache, the driver's compile cache filled). Every start's JSON stays in OUTDIR; a table comes
# last. ECOCOMPUTE names the program (default build/release/ecocompute), DEVICE the device (default cuda).
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "usage: $0 OUTDIR [COUNT]" >&2
    exit 2
fi
program=$(realpath "${ECOCOMPUTE:-build/release/ecocompute}")
mkdir -p "$1"
out=$(realpath "$1")
count=${2:-10}
for precision in FP16 NF4; do
    for ((i = 0; i <= count; i++)); do # 0 does not count
        "$program" engines --start TinyLlama-1.1B --precision "$precision" --device "${DEVICE:-cuda}" --json \
            >"$out/start_${precision}_$i.json"
    done
done
echo "$("$program" --version | head -n 1), $(sed -n 's/.*"device": "\([^"]*\)".*/\1/p' "$out/start_FP16_0.json")"
echo "precision  n  process start to first token, s: mean sd min max  of it: context compile model prompt+token (means)"
for precision in FP16 NF4; do
    for ((i = 1; i <= count; i++)); do
        cat "$out/start_${precision}_$i.json"
    done | awk -v precision="$precision" '
        function field(name) {
            return match($0, "\"" name "\": [0-9.]+") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0 : 0
        }
        /"open_s"/ { context += field("context_s"); compile += field("compile_s"); load += field("load_s"); token += field("token_s") }
        /"process_s"/ {
            s = field("process_s"); n++; sum += s; squares += s * s
            least = n == 1 || s < least ? s : least
            most = n == 1 || s > most ? s : most
        }
        END {
            if (n == 0) { print precision ": no start was timed"; exit 1 }
            sd = n > 1 ? sqrt((squares - sum * sum / n) / (n - 1)) : 0
            printf "%-9s %2d  %.3f %.3f %.3f %.3f  %.3f %.3f %.3f %.3f\n", precision, n, sum / n, sd, least, most,
                context / n, compile / n, load / n, token / n
        }'
done
