# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the lab scripts on stopped runs share.

# journal_at NAME PATTERN NTH QUIET_S ACTION SCRIPT OPTION...: a run; at the NTH progress line that matches PATTERN, and
# with QUIET_S > 0 only when no further line came for that long, ACTION is called with the process id. Status in NAME.rc,
# streams in NAME.out and NAME.err. JOURNAL_WRAP: a command to run the program under.
journal_at() {
    local name=$1 pattern=$2 nth=$3 quiet_s=$4 action=$5 script=$6 seen=0 line rc=0
    shift 6
    rm -f "$name.fifo"
    mkfifo "$name.fifo"
    # shellcheck disable=SC2086
    (LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$LAB_DIR/$script exec env --default-signal=INT ${JOURNAL_WRAP:-} \
        "$ECOCOMPUTE" measure "$@" >"$name.out" 2>"$name.fifo") &
    local pid=$!
    exec {lines}<"$name.fifo"
    while IFS= read -r -u "$lines" line; do
        printf '%s\n' "$line" >>"$name.err"
        if [[ $line =~ $pattern ]]; then
            seen=$((seen + 1))
        fi
        if [ "$seen" -eq "$nth" ]; then
            if [ "$quiet_s" != 0 ] && IFS= read -r -t "$quiet_s" -u "$lines" line; then
                printf '%s\n' "unexpected: $line" >>"$name.err"
            fi
            "$action" "$pid"
            break
        fi
    done
    cat <&"$lines" >>"$name.err"
    exec {lines}<&-
    wait "$pid" 2>/dev/null || rc=$?
    [ "$seen" -eq "$nth" ] || lab_fail "$name: never came to '$pattern'"
    echo "$rc" >"$name.rc"
}

journal_kill() {
    kill -KILL "$1"
}

journal_nothing() {
    return 0
}

# journal_says NAME PATTERN: one line for the user, and it holds PATTERN.
journal_says() {
    [ "$(grep -c '^ecocompute: ' "$1.err")" -eq 1 ] || lab_fail "$1: not one line: $(grep '^ecocompute: ' "$1.err")"
    grep '^ecocompute: ' "$1.err" | grep -q -- "$2" || lab_fail "$1: '$2' is not in: $(grep '^ecocompute: ' "$1.err")"
}

# journal_windows FOLDER BLOCKS: the windows of the first BLOCKS blocks with their numbers.
journal_windows() {
    jq -c --argjson n "$2" '[.trials.arms[].windows[] | select(.block >= 1 and .block <= $n)
        | [.block, .order, .t_open_s, .t_close_s, .energy_j, .tokens, .energy_per_token_mj]]' "$1/energy.json"
}

# journal_whole FOLDER BLOCKS: every block once, nothing partial, all numbers from the traces, nothing half written.
journal_whole() {
    lab_is "$1" .trials.blocks_finished "$2"
    lab_is "$1" '[.trials.arms[].windows | [.[] | select(.block > 0) | .block] == [range(1; '"$2"' + 1)]] | all' true
    lab_warns_not "$1" partial
    lab_valid "$1"
    lab_clean "$1"
}
