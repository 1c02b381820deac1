#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh SECONDS [TARGET...]: builds the fuzz preset in build/fuzz, runs each libFuzzer target for SECONDS, one a
# processor at a time, on its committed corpus and what earlier runs found (build/fuzz/found, not committed), and prints a
# table. Status 1 when there was a finding; its input lies in build/fuzz/findings. ECO_FUZZ_BUILD names another build folder.
set -euo pipefail

seconds=${1:?"usage: fuzz.sh SECONDS [TARGET...]"}
shift
cd "$(dirname "$0")/.."
build=${ECO_FUZZ_BUILD:-build/fuzz}
cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target fuzzers >/dev/null
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

# The keys of a report, so that a mutation can make one; words of the other formats stand in their corpora.
mkdir -p "$build/found" "$build/findings"
grep -v '^ECO_FIELD(id' include/ecocompute/fields.def | sed -n 's/^ECO_FIELD([A-Z0-9_]*, *"\([^"]*\)".*/\1/p' |
    tr '.' '\n' | tr -d '[]' | LC_ALL=C sort -u | sed 's/.*/"\\"&\\":"/' >"$build/report.dict"

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in tests/fuzz/fuzz_*.c; do
        name=$(basename "$file" .c)
        [ "$name" = fuzz_replay ] || targets+=("${name#fuzz_}")
    done
fi

# fuzz_one TARGET: the run, its row, and what it found.
fuzz_one() {
    local target=$1 findings=0 n rate coverage
    local found=$build/found/$target log=$build/$target.log
    mkdir -p "$found"
    local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="$build/findings/$target-")
    case $target in
    report) options+=(-dict="$build/report.dict" -max_len=65536) ;;
    resume) options+=(-max_len=16384) ;;
    num) options+=(-max_len=512) ;;
    names) options+=(-max_len=160) ;;
    esac
    "$build/fuzz/fuzz_$target" "${options[@]}" "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1 || findings=1
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    {
        printf '%-12s %14s %14s %10s %10s %9s\n' "$target" "${n:--}" "${rate:--}" "$(find "$found" -type f | wc -l)" \
            "${coverage:--}" "$findings"
        if [ "$findings" -ne 0 ] || [ "${n:-0}" -eq 0 ]; then
            grep -m 3 -E 'ERROR|does not hold|SUMMARY|runtime error' "$log" || tail -n 3 "$log"
        fi
    } >"$log.row"
    cat "$log.row" # in one write: others print too
    [ "$findings" -eq 0 ] && [ "${n:-0}" -gt 0 ]
}

printf '%-12s %14s %14s %10s %10s %9s\n' target executions executions/s corpus coverage findings
export -f fuzz_one
export seconds build
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I TARGET bash -c 'fuzz_one TARGET' || exit 1
