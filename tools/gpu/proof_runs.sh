#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What only a real card can show of the proof: doctor, a measurement while another process computes on the card (refused
# without --force, flagged with it), and the published protocol on Qwen2-7B. Changes nothing on the card.
# usage: ECOCOMPUTE=build/release/ecocompute tools/gpu/proof_runs.sh OUTDIR
set -uo pipefail
program=$(realpath "${ECOCOMPUTE:-build/release/ecocompute}")
mkdir -p "${1:?usage: $0 OUTDIR}"
out=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

echo "== doctor"
"$program" doctor 2>&1 | tee "$out/doctor.txt"
echo "doctor: exit status ${PIPESTATUS[0]}"

echo "== published protocol, Qwen2-7B"
"$program" measure --protocol published --model Qwen2-7B --output-dir published >published.txt 2>published.err
echo "published: exit status $?"
cat published.txt
tail -n 3 published.err
"$program" validate --recompute published/energy.json
"$program" validate --profile v1.1-core published/energy.json
cp published.txt published.err published/
tar -czf "$out/published.tar.gz" published

echo "== another process on the card"
"$program" measure --quick --blocks 9 --output-dir neighbour >neighbour.txt 2>neighbour.err &
neighbour=$!
until grep -q burn-in neighbour.err 2>/dev/null || ! kill -0 "$neighbour" 2>/dev/null; do
    sleep 0.2
done
"$program" measure --quick --output-dir refused >refused.txt 2>refused.err
echo "while another computes, without --force: exit status $?"
tail -n 1 refused.err
"$program" measure --quick --blocks 2 --force --output-dir forced >forced.txt 2>forced.err
echo "with --force: exit status $?"
grep -E 'contended|energy per token' forced.txt
kill -TERM "$neighbour" 2>/dev/null
wait "$neighbour"
echo "the neighbour, stopped: exit status $?"
tar -czf "$out/forced.tar.gz" forced
