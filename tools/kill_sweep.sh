#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill_sweep.sh N [SEED]: N runs on the scripted drivers, each killed with SIGKILL at a random moment: half at a random
# time over all phases, half at a random write, fsync, rename or ftruncate (a write then has half of its bytes out); every
# fourth is killed again while it goes on. After each: the journal loads, --resume completes, no block is counted twice,
# and every block that a report had called finished is in the last report with the same numbers.
# On a crowded machine the stand-in sensor itself may spoil a window: that ends the run in order, with its reason, and is a
# stop like another: the run goes on, four times at most, and the table counts them.
# ECOCOMPUTE: the program; FAKES: folder of the stand-in libraries; JOBS: at a time (default 4).
set -euo pipefail

: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}"
export LC_ALL=C
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE

# ---- one trial ----
fail() {
    echo "trial $trial: FAILED: $*"
    echo failed >"$folder.word"
    exit 1
}

# spoiled: the last run ended because a window was no good, not because of its folder or its journal.
spoiled() {
    grep -a '^ecocompute: ' "$folder.log" | tail -n 1 |
        grep -qE 'holds no usable|counter (stepped back|did not)|no power sample|no tick' || return 1
    echo spoiled >>"$folder.spoiled"
}

# kill_once TIME_S STEP OPTION...: one run; killed after TIME_S seconds, or at STEP when that is not 0.
kill_once() {
    local time_s=$1 step=$2 rc=0 pid
    shift 2
    if [ "$step" -ne 0 ]; then
        LD_PRELOAD=$FAKES/libfake_io.so ECO_IO_KILL_AT=$step \
            "$ECOCOMPUTE" measure --output-dir "$folder" "$@" >>"$folder.log" 2>&1 || rc=$?
    else
        "$ECOCOMPUTE" measure --output-dir "$folder" "$@" >>"$folder.log" 2>&1 &
        pid=$!
        sleep "$time_s"
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" || rc=$?
    fi
    echo "killed: status $rc" >>"$folder.log"
    case $rc in
    0 | 137) ;;
    *) spoiled || fail "status $rc before any kill: $(grep -a '^ecocompute: ' "$folder.log" | tail -n 1)" ;;
    esac
    killed=$((killed + (rc == 137)))
}

# What the report on the disk calls finished: block, arm and the numbers of its window, one a line.
claims() {
    if [ ! -f "$folder/energy.json" ]; then
        return 0
    fi
    jq -r '.trials.blocks_finished as $n | .trials.arms[] | .precision as $p | .windows[]?
        | select(.kind == "decode" and .block >= 1 and .block <= $n)
        | [.block, $p, .order, .t_open_s, .t_close_s, .energy_j, .tokens, .energy_per_token_mj] | @tsv' \
        "$folder/energy.json" || fail "the report left behind is not whole"
}

# Its number before is not lost: each line claimed so far stands in the new report.
keep_claims() {
    claims >"$folder.now"
    if [ -n "$(comm -23 <(sort "$folder.claimed") <(sort "$folder.now"))" ]; then
        fail "a block reported as finished is gone or changed: $(comm -23 <(sort "$folder.claimed") <(sort "$folder.now"))"
    fi
    cp "$folder.now" "$folder.claimed"
    if [ -s "$folder.now" ]; then
        "$ECOCOMPUTE" validate --recompute "$folder/energy.json" >"$folder.check" 2>&1 ||
            fail "the report left behind does not follow: $(cat "$folder.check")"
        jq -r '.power_trace.files[] | .file + " " + .sha256' "$folder/energy.json" | while read -r name sum; do
            [ "$(sha256sum <"$folder/$name" | cut -c1-64)" = "$sum" ] || echo ahead >"$folder.ahead"
        done
    fi
}

check_end() {
    local blocks n
    "$ECOCOMPUTE" validate --recompute "$folder/energy.json" >"$folder.check" 2>&1 || fail "$(cat "$folder.check")"
    jq -e --arg id "$(grep -ao '"run_id": "[^"]*"' "$folder/journal" | cut -d '"' -f 4)" \
        '.run_id == $id and ($id | length) > 10' "$folder/energy.json" >/dev/null || fail "another run's name"
    jq -e '.trials as $t | $t.blocks_finished == $t.blocks_planned
        and all($t.arms[]; [.windows[] | select(.block > 0) | .block] == [range(1; $t.blocks_planned + 1)])
        and ([$t.pairs[].block] == [range(1; $t.blocks_planned + 1)])
        and ([.warnings[].code] | any(. == "partial") | not)' "$folder/energy.json" >/dev/null ||
        fail "not every block once: $(jq -c '[.trials.blocks_finished, (.trials.arms[] | [.windows[].block])]' "$folder/energy.json")"
    blocks=$(grep -ao '"record": "block","block": [0-9]*' "$folder/journal" | awk '{ print $NF }' | sort -n | uniq -d)
    [ -z "$blocks" ] || fail "the journal holds block $blocks twice"
    n=$(grep -ac '"record": "resume"' "$folder/journal" || true)
    jq -e --argjson n "$n" '(.trials.resumed // 0) == $n and ([.warnings[].code] | any(. == "resumed")) == ($n > 0)' \
        "$folder/energy.json" >/dev/null || fail "went on $n times, the report says otherwise"
    [ -z "$(find "$folder" -mindepth 1 -name '*.tmp-*')" ] || fail "left over: $(ls "$folder")"
    tail -n 1 "$folder/journal" | grep -q '"how": "finished"' || fail "the journal has no end"
}

one_trial() {
    trial=$1
    folder=$PWD/t$trial
    killed=0
    local attempt
    RANDOM=$2
    local options=(--quick --window 0.4 --cooldown-max 0 --blocks 3) time_s step=0 rc=0 steps=62 all_ms=19000
    if [ $((trial % 5)) -eq 0 ]; then # with the windows after the blocks
        options=(--window 0.4 --cooldown-max 0 --blocks 2)
        all_ms=30000
        steps=56
    fi
    exec 2>>"$folder.log" # where the shell says who was killed, too
    : >"$folder.claimed"
    time_s=$(awk -v r="$RANDOM" -v a="$all_ms" 'BEGIN { printf "%.3f", r / 32768 * a / 1000 }')
    [ $((trial % 2)) -eq 0 ] || step=$((RANDOM % steps + 1))
    kill_once "$time_s" "$step" "${options[@]}"
    if [ ! -e "$folder/journal" ]; then
        # Before anything was begun: going on says so, and there is nothing that could be lost.
        [ ! -e "$folder/energy.json" ] || fail "a report without a journal"
        "$ECOCOMPUTE" measure --output-dir "$folder" --resume "${options[@]}" >>"$folder.log" 2>&1 && fail "went on with nothing"
        echo not_begun >"$folder.word"
        return
    fi
    keep_claims
    "$ECOCOMPUTE" measure --output-dir "$folder" --resume --dry-run "${options[@]}" >>"$folder.log" 2>&1 ||
        fail "the journal does not load: $(tail -n 1 "$folder.log")"
    if [ $((trial % 4)) -eq 1 ]; then
        time_s=$(awk -v r="$RANDOM" -v a="$all_ms" 'BEGIN { printf "%.3f", r / 32768 * a / 2000 }')
        [ "$step" -eq 0 ] || step=$((RANDOM % 30 + 1))
        kill_once "$time_s" "$step" --resume "${options[@]}"
        keep_claims
    fi
    echo "$(wc -l <"$folder.claimed") claims" >>"$folder.log"
    for attempt in 1 2 3 4 5; do
        rc=0
        "$ECOCOMPUTE" measure --output-dir "$folder" --resume "${options[@]}" >>"$folder.log" 2>&1 || rc=$?
        keep_claims
        if [ "$rc" -eq 0 ] || [ "$attempt" -eq 5 ] || ! spoiled; then
            break
        fi
    done
    [ "$rc" -eq 0 ] || fail "--resume ended with status $rc: $(grep -a '^ecocompute: ' "$folder.log" | tail -n 1)"
    check_end
    echo "killed_$killed" >"$folder.word"
}

if [ "${1:-}" = one ]; then
    one_trial "$2" "$3"
    exit 0
fi

# ---- all ----
n=${1:?how many runs}
seed=${2:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# Windows of 0.4 s, which need power that changes often; no counter, whose ticks a crowded machine would spoil.
printf '%s\n' 'step_us.fp16 4000' 'step_us.nf4 3500' 'power_w.fp16 495' 'power_w.nf4 327' 'update_ms 20' \
    'counter none' >script
export LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$work/script
self=${BASH_SOURCE[0]}
case $self in /*) ;; *) self=$OLDPWD/$self ;; esac
bad=0
awk -v n="$n" -v seed="$seed" 'BEGIN { srand(seed); for (i = 1; i <= n; i++) print i, int(rand() * 32767) + 1 }' |
    xargs -L 1 -P "${JOBS:-4}" "$self" one || bad=1
count() {
    (grep -lx "$1" ./*.word 2>/dev/null || true) | wc -l
}
total_blocks=$(cat ./*.claimed | wc -l)
printf '%-58s %s\n' 'runs' "$n" 'killed once, went on, complete' "$(count killed_1)" \
    'killed twice, went on twice, complete' "$(count killed_2)" 'ended before the moment came' "$(count killed_0)" \
    'killed before the folder had a journal; --resume said so' "$(count not_begun)" \
    'killed between traces and report (the report still follows)' "$(find . -name '*.ahead' | wc -l)" \
    'windows spoiled by the crowded machine (gone on after)' "$(cat ./*.spoiled 2>/dev/null | wc -l)" \
    'windows checked against an earlier report' "$total_blocks" 'failed' "$(count failed)"
judged=$(($(count killed_0) + $(count killed_1) + $(count killed_2) + $(count not_begun)))
if [ "$bad" -ne 0 ] || [ "$judged" -ne "$n" ]; then
    [ -z "${KEEP:-}" ] || cp -r "$work" "$KEEP"
    exit 1
fi
echo "all held (seed $seed)"
