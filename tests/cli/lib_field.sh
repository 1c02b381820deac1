# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts on others' faults share (docs/field.md): the program on scripted boards, and a runner. A function
# row_NN holds what row NN of that table demands; all that are defined are called.
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib_cli.sh"

# scripted LINES ARGUMENT...: one call of the program; its streams and status as after `run`.
scripted() {
    printf '%s\n' "$1" >field.script
    shift
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/field.script run "$@"
}

# measured NAME LINES OPTION...: the shortest measurement of FP16 (495 W, 4 ms a token: 1980 mJ); report in NAME/, streams
# and status in NAME.out, NAME.err, NAME.rc. May run beside others.
measured() {
    local name=$1 rc=0
    printf '%s\n' 'step_us.fp16 4000' "$2" >"$name.script"
    shift 2
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/$name.script "$ECOCOMPUTE" measure --quick --blocks 1 --window 0.3 \
        --precision FP16 --output-dir "$name" "$@" >"$name.out" 2>"$name.err" </dev/null || rc=$?
    echo "$rc" >"$name.rc"
}

# watched NAME LINES ARGUMENT...: `run --json` with these arguments; the document in NAME.json, the rest as of `measured`. May
# run beside others.
watched() {
    local name=$1 rc=0
    printf '%s\n' 'read_cost_energy_us 100' "$2" >"$name.script"
    shift 2
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/$name.script "$ECOCOMPUTE" run --json "$@" >"$name.json" 2>"$name.err" \
        </dev/null || rc=$?
    echo "$rc" >"$name.rc"
}

# steady NAME LINES ARGUMENT...: as watched, again (twice at most) where the record itself says that this machine stood
# still; for what judges a number.
steady() {
    local attempt
    for attempt in 1 2 3; do
        watched "$@"
        jq -e '[.runs[].energies[] | .code == "sample_gap" or .code == "short_window" or (.longest_gap_s // 0) > 0.12] | any | not' \
            "$1.json" >/dev/null && return
        echo "$1: attempt $attempt was disturbed by other work on this machine"
    done
}

# holds FILE FILTER: jq's filter is true of the file.
holds() {
    jq -e "$2" "$1" >/dev/null || fail "${FUNCNAME[1]}: not so in $1: $2: $(jq -c . "$1" | head -c 1200)"
}

says() {
    grep -qE -- "$2" "$1" || fail "${FUNCNAME[1]}: '$2' is not in $1: $(head -c 400 "$1" | tr '\n' ' ')"
}

# near VALUE TRUTH PERCENT
near() {
    awk -v v="$1" -v t="$2" -v p="$3" 'BEGIN { exit !(v + 0 == v && (v > t ? v - t : t - v) <= t * p / 100) }' ||
        fail "${FUNCNAME[1]}: $1 is not within $3 % of $2"
}

measured_is() {
    [ "$(cat "$1.rc")" = "$2" ] || fail "${FUNCNAME[1]}: $1: status $(cat "$1.rc"), expected $2: $(tail -n 1 "$1.err")"
}

field_rows() {
    local row
    for row in $(declare -F | awk '$3 ~ /^row_[0-9]/ { print $3 }'); do
        "$row"
        echo "$row"
    done
    finish
}
