#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2046,SC2089,SC2090 # words are meant to be taken apart, dollars to stay
#
# run: the child's own status, 128 + signal, 125, 126, 127; its streams byte for byte; --json is one document; wrong use
# is 2; SIGINT reaches the child, the finished runs are told, and nothing is left running.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

for code in 0 1 2 3 4 42 125 126 127 130 255; do
    run run -- sh -c "exit $code"
    is_status "$code"
done
run run -- sh -c 'kill -TERM $$'
is_status 143
run run -- sh -c 'kill -KILL $$'
is_status 137
run run -- eco-no-such-program
is_status 127
is_stderr "ecocompute: eco-no-such-program: not found"
run run -- ./no/such/program
is_status 127
echo 'exit 0' >plain
run run -- ./plain
is_status 126
is_stderr "ecocompute: ./plain: Permission denied"
chmod +x plain
run run -- ./plain
is_status 126
is_stderr "ecocompute: ./plain: Exec format error"
run run --device cuda:0 -- true
is_status 125
run run --meter nvml -- true
is_status 125
grep -q 'libnvidia-ml' stderr || fail "no reason for the missing meter: $(cat stderr)"
[ ! -e ran ] || fail "the command ran"

# Streams: untouched, in both directions.
head -c 70000 /dev/urandom >bytes
"$ECOCOMPUTE" run -- cat <bytes >copy 2>/dev/null
cmp -s bytes copy || fail "standard input or output was changed"
"$ECOCOMPUTE" run -- sh -c 'printf out; printf err >&2' >out 2>err
[ "$(cat out)" = out ] || fail "standard output: $(cat out)"
[ "$(head -c 3 err)" = err ] || fail "standard error: $(head -n 1 err)"
grep -q '^no energy: ' err || fail "the reason for no energy is not told: $(cat err)"
"$ECOCOMPUTE" run --json -- sh -c 'printf out' >out 2>err
jq -e '.runs | length == 1' out >/dev/null || fail "--json is not one document: $(head -n 3 out)"
[ "$(cat err)" = out ] || fail "--json: the child's output went astray: $(cat err)"
run run --json -r 4 -- true
is_status 0
jq -e '[.runs[] | .counted and (.seconds > 0) and (.energies == [])] == [true, true, true, true]' stdout >/dev/null ||
    fail "four runs: $(cat stdout)"
jq -e '.no_meter | test("libnvidia-ml")' stdout >/dev/null || fail "no_meter: $(jq .no_meter stdout)"

# Without `--` too; options after it are the command's.
run run echo one
is_status 0
[ "$(cat stdout)" = one ] || fail "run echo one: $(cat stdout)"
run run -- printf '%s' --json -r --help
[ "$(cat stdout)" = "--json-r--help" ] || fail "the command's options: $(cat stdout)"

# --vs: words, never a shell. The files show the order and that nothing was expanded.
rm -f log
run run --json -r 6 --order-seed 3 --vs "sh -c 'echo \"B \$0\" >>log' '\$HOME *'" -- sh -c 'echo A >>log'
is_status 0
[ "$(grep -c '^A$' log)" = 6 ] || fail "A ran $(grep -c '^A$' log) times"
[ "$(grep -cxF 'B $HOME *' log)" = 6 ] || fail "B: $(cat log)"
jq -r '.runs[].command' stdout >order
[ "$(cut -c 1 log)" = "$(cat order)" ] || fail "the record's order is not the order that ran"
rm -f log
run run --vs 'eco-no-such-program' -r 1 -- true
is_status 127
run run --vs 'sh -c "exit 9"' -r 2 -- true
is_status 9

# Wrong use.
for case in "|run: a command is expected, such as ecocompute run -- sleep 3" \
    "-r 0|-r: '0' is not usable; expected a whole number from 1 to 1000" \
    "-r x|-r: 'x' is not usable; expected a whole number from 1 to 1000" \
    "--metre nvml|unknown option '--metre', did you mean '--meter'?" \
    "--meter nvm|--meter: unknown meter 'nvm', did you mean 'nvml'?; \`ecocompute meters\` lists them" \
    "--device gpu|--device: unknown device 'gpu'; expected auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…" \
    "--margin 101|--margin: '101' is not usable; expected a number from 0 to 100"; do
    # shellcheck disable=SC2086
    run run ${case%%|*} $([ -n "${case%%|*}" ] && echo "-- touch ran")
    is_status 2
    is_stderr "ecocompute: ${case#*|}"
done
run run --vs "sleep '1" -- touch ran
is_status 2
is_stderr "ecocompute: --vs: 'sleep '1' is not a command: a ' does not end"
[ ! -e ran ] || fail "the command ran in spite of a usage error"

# Files: run.json in a folder, never over another.
run run --output-dir here -r 2 -- true
is_status 0
jq -e '.runs | length == 2' here/run.json >/dev/null || fail "here/run.json"
cp here/run.json kept.json
run run --output-dir here -- true
is_status 2
cmp -s kept.json here/run.json || fail "run.json was changed"

# An interrupt reaches the child, the finished runs are told, nothing is left.
mkfifo ready
interrupt() {
    local signal=$1 wanted=$2 pid rc=0
    rm -f child
    "$ECOCOMPUTE" run --json -r 5 -- sh -c '[ -e second ] || { touch second; exit 0; }
        rm second; echo $$ >child; echo go >ready; exec sleep 60' >stdout 2>stderr </dev/null &
    pid=$!
    read -r _ <ready
    kill "-$signal" "$pid"
    wait "$pid" || rc=$?
    [ "$rc" = "$wanted" ] || fail "SIG$signal: status $rc, expected $wanted"
    ! kill -0 "$(cat child)" 2>/dev/null || fail "SIG$signal: the child is still there"
    jq -e --argjson n "$((wanted - 128))" '(.runs | length == 2) and .runs[0].counted and (.runs[1].counted | not)
        and .runs[1].signal == $n and .interrupted_by_signal == $n
        and ([.warnings[].code] | index("partial") != null)' stdout >/dev/null || fail "SIG$signal: $(cat stdout)"
}
interrupt TERM 143
interrupt INT 130
"$ECOCOMPUTE" run --help >help
for word in ECOCOMPUTE_MARKER_FD 125 126 127 "Example:"; do
    grep -q "$word" help || fail "run --help does not tell $word"
done
finish
