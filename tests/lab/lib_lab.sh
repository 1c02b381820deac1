# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the lab scripts share: the real program against the scripted libcuda and libnvidia-ml of tests/fakes. A script
# sets true power and step times, so the true energy per token is power_w * step_us / 1000 mJ and a report can be
# judged against it. Every check goes on after a failure; lab_done ends with 1 if there was one.
: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}"
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE
export LC_ALL=C
LAB_DIR=$(mktemp -d)
LAB_FAILED=0
# shellcheck disable=SC2064
trap "rm -rf '$LAB_DIR'" EXIT
# The script's lines of the table of scenarios (test_z_table.sh). The first names the program, so that lines of another
# build do not count; what an earlier run of the script left is gone.
LAB_ROWS=${ECO_LAB_RESULTS:+$ECO_LAB_RESULTS/$(basename "$0" .sh).rows}
if [ -n "$LAB_ROWS" ]; then
    mkdir -p "$ECO_LAB_RESULTS"
    rm -f "$LAB_ROWS"
fi
cd "$LAB_DIR" || exit 1

lab_fail() {
    echo "FAILED: $*"
    LAB_FAILED=1
}

lab_done() {
    [ "$LAB_FAILED" -eq 0 ] || exit 1
    echo "all checks hold"
    exit 0
}

# lab_script FILE: the script from standard input. Steps of milliseconds, so that the eight graphs in flight carry the
# load over a late host thread; the truth is FP16 1980 mJ, NF4 1144.5 mJ, ratio -42.197 %, unless the script says more.
# LAB_SIDE_BY_SIDE set: several runs at once, so counter reads are cheap: busy reads of one would disturb the others.
lab_script() {
    {
        printf '%s\n' 'step_us.fp16 4000' 'step_us.nf4 3500' 'power_w.fp16 495' 'power_w.nf4 327'
        if [ -n "${LAB_SIDE_BY_SIDE:-}" ]; then
            echo 'read_cost_energy_us 200'
        fi
        cat
    } >"$1"
}

# lab_run SCRIPT FOLDER OPTION...: one measurement; its status in FOLDER.rc, streams in FOLDER.out and FOLDER.err.
lab_run() {
    local script=$1 folder=$2 rc=0
    shift 2
    LD_LIBRARY_PATH=${LAB_LIBRARIES:-$FAKES} ECO_FAKE_SCRIPT=$PWD/$script \
        "$ECOCOMPUTE" measure --output-dir "$folder" "$@" >"$folder.out" 2>"$folder.err" || rc=$?
    echo "$rc" >"$folder.rc"
}

# lab_disturbed FOLDER: the record itself says that the machine was not quiet (a late edge or a long gap), whatever the
# energies are.
lab_disturbed() {
    jq -e '[.trials.arms[].windows[] | .edge_time_half_width_s > 0.007 or .longest_gap_s > 0.09] | any' \
        "$1/energy.json" >/dev/null
}

# lab_measure SCRIPT FOLDER OPTION...: as lab_run, again (twice at most) when the machine was disturbed.
lab_measure() {
    local script=$1 folder=$2 attempt
    shift 2
    for attempt in 1 2 3; do
        rm -rf "$folder"
        lab_run "$script" "$folder" "$@"
        if [ ! -f "$folder/energy.json" ]; then
            cat "$folder.err"
            lab_fail "$folder: no report"
            lab_done
        fi
        lab_disturbed "$folder" || break
        echo "$folder: attempt $attempt was disturbed by other work on this machine"
    done
    lab_status "$folder" 0
}

lab_status() {
    [ "$(cat "$1.rc")" = "$2" ] || {
        lab_fail "$1: exit status $(cat "$1.rc"), expected $2"
        tail -n 3 "$1.err"
    }
}

# lab_get FOLDER FILTER: one value of the report.
lab_get() {
    jq -r "$2" "$1/energy.json"
}

# lab_is FOLDER FILTER WANTED
lab_is() {
    local got
    got=$(lab_get "$1" "$2")
    [ "$got" = "$3" ] || lab_fail "$1: $2 is '$got', expected '$3'"
}

# lab_within NAME GOT TRUTH TOLERANCE [what the tolerance is]: |GOT - TRUTH| <= TOLERANCE; anything that is no number fails.
lab_within() {
    local number='^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$'
    if [[ $2 =~ $number && $4 =~ $number ]] &&
        awk -v g="$2" -v t="$3" -v d="$4" 'BEGIN { exit !((g > t ? g - t : t - g) <= d) }'; then
        echo "ok: $1 is $2, true $3, allowed $4 ${5:-}"
    else
        lab_fail "$1 is $2, true $3, allowed $4 ${5:-}"
    fi
}

# lab_pct VALUE PERCENT: that share of a value.
lab_pct() {
    awk -v v="$1" -v p="$2" 'BEGIN { printf "%.6f", (v < 0 ? -v : v) * p / 100 }'
}

# lab_energies FOLDER FP16 NF4 PERCENT: both arms and every decode window.
lab_energies() {
    local folder=$1 arm truth=("$2" "$3") value
    for arm in 0 1; do
        lab_within "$folder arm $arm mJ/token" "$(lab_get "$folder" ".trials.arms[$arm].energy_per_token_mj")" \
            "${truth[$arm]}" "$(lab_pct "${truth[$arm]}" "$4")"
        while read -r value; do
            lab_within "$folder arm $arm window mJ/token" "$value" "${truth[$arm]}" "$(lab_pct "${truth[$arm]}" "$4")"
        done < <(lab_get "$folder" ".trials.arms[$arm].windows[] | select(.kind == \"decode\") | .energy_per_token_mj")
    done
}

# lab_delta FOLDER TRUTH_PCT: the change holds within its interval from repetition plus its expanded uncertainty.
lab_delta() {
    local allowed
    allowed=$(lab_get "$1" '(.uncertainty.ci95_repeat | (.hi_pct - .lo_pct) / 2)
        + .uncertainty.u_expanded.ratio_pct * (1 + .results.vs_fp16_energy_pct / 100)')
    lab_within "$1 change %" "$(lab_get "$1" .results.vs_fp16_energy_pct)" "$2" "$allowed" "(ci95_repeat + u_expanded)"
}

# lab_absolute FOLDER FP16 NF4: the joules hold within u_expanded.absolute_pct.
lab_absolute() {
    local pct
    pct=$(lab_get "$1" .uncertainty.u_expanded.absolute_pct)
    lab_within "$1 FP16 mJ/token" "$(lab_get "$1" .results.fp16_energy_per_token_mj)" "$2" "$(lab_pct "$2" "$pct")" \
        "(absolute_pct $pct)"
    lab_within "$1 NF4 mJ/token" "$(lab_get "$1" .results.energy_per_token_mj)" "$3" "$(lab_pct "$3" "$pct")" \
        "(absolute_pct $pct)"
}

lab_warns() {
    lab_get "$1" '.warnings[].code' | grep -qx "$2" || lab_fail "$1: no warning $2"
}

lab_warns_not() {
    if lab_get "$1" '.warnings[].code' | grep -qx "$2"; then
        lab_fail "$1: warning $2 without cause: $(lab_get "$1" ".warnings[] | select(.code == \"$2\") | .detail")"
    fi
}

# lab_valid FOLDER: the program's own check, numbers re-derived from the traces.
lab_valid() {
    "$ECOCOMPUTE" validate --recompute "$1/energy.json" >"$1.check" 2>&1 || {
        lab_fail "$1: validate --recompute says no"
        cat "$1.check"
    }
}

# lab_no_zero FOLDER: no physical quantity of the report is 0.
lab_no_zero() {
    local zeros
    zeros=$(lab_get "$1" '[paths(type == "number" and . == 0) | map(tostring) | join(".")
        | select(test("(_w|_j|_mj|_c|_mhz|joules|watts|tokens_per_s|_bytes|_hz_achieved)$"))] | join(" ")')
    [ -z "$zeros" ] || lab_fail "$1: zeros: $zeros"
}

# lab_clean FOLDER: nothing half-written is left, and no report or trace holds a NaN or an infinity.
lab_clean() {
    local found
    found=$(find "$1" -mindepth 1 ! -name 'energy.json' ! -name 'energy.*.json' ! -name 'power_trace_*.csv' ! -name journal 2>/dev/null || true)
    [ -z "$found" ] || lab_fail "$1: left over: $found"
    if grep -rniE '(^|[^a-z])(nan|inf|infinity)([^a-z]|$)' "$1" --include='*.json' --include='*.csv'; then
        lab_fail "$1: not a number in a file"
    fi
}

# ---- the table of scenarios ----

# lab_row_add SCENARIO TRUE_MJ REPORTED_MJ HALF_MJ TRUE_PCT REPORTED_PCT HALF_PCT VERDICT
lab_row_add() {
    local IFS='|'
    echo "row: $*"
    [ -n "$LAB_ROWS" ] || return 0
    [ -f "$LAB_ROWS" ] || sha256sum <"$ECOCOMPUTE" >"$LAB_ROWS"
    printf '%s\n' "$*" >>"$LAB_ROWS"
}

# lab_row SCENARIO FOLDER FP16_MJ NF4_MJ [CODE...]: the report against the truth, by the uncertainty that the report itself
# states: joules of both arms within u_expanded.absolute_pct, the change within ci95_repeat (where there is one) plus
# u_expanded.ratio_pct. Its warnings must be CODE... and no others. A report that is outside counts as flagged only if one
# of the codes invalidates it.
lab_row() {
    local scenario=$1 folder=$2 fp16=$3 nf4=$4 numbers verdict
    shift 4
    lab_codes "$folder" "$@"
    numbers=$(jq -r --argjson a "$fp16" --argjson b "$nf4" '
        def off($x; $y): ($x - $y) | fabs;
        .results as $r | .uncertainty as $u | (($b / $a - 1) * 100) as $change
        | ((($u.ci95_repeat.hi_pct // 0) - ($u.ci95_repeat.lo_pct // 0)) / 2
            + $u.u_expanded.ratio_pct * (1 + $r.vs_fp16_energy_pct / 100)) as $half_pct
        | ($u.u_expanded.absolute_pct / 100) as $part
        | (off($r.fp16_energy_per_token_mj; $a) <= $part * $a and off($r.energy_per_token_mj; $b) <= $part * $b
            and off($r.vs_fp16_energy_pct; $change) <= $half_pct) as $within
        | [$b, $r.energy_per_token_mj, $part * $b, $change, $r.vs_fp16_energy_pct, $half_pct, $within,
            (.warnings | map(select(.invalidates) | .code) | join(" "))] | map(tostring) | join("|")' "$folder/energy.json")
    IFS='|' read -r -a numbers <<<"$numbers"
    verdict=within
    if [ "$#" -gt 0 ]; then
        verdict="flagged $*"
    fi
    if [ "${numbers[6]:-}" != true ]; then
        local code invalid=
        for code in "$@"; do
            [[ " ${numbers[7]:-} " != *" $code "* ]] || invalid=yes
        done
        if [ -n "$invalid" ]; then
            verdict+=" (outside)"
        else
            verdict=OUTSIDE
            lab_fail "$folder: outside its stated uncertainty: ${numbers[*]}"
        fi
    fi
    lab_row_add "$scenario" "${numbers[@]:0:6}" "$verdict"
}

# lab_row_refused SCENARIO FOLDER STATUS TRUE_MJ CODE: no energy. CODE is a warning of the report, or - where there must be
# no report at all.
lab_row_refused() {
    local scenario=$1 folder=$2 status=$3 known_mj=$4 code=$5 verdict
    lab_status "$folder" "$status"
    if [ "$code" = - ]; then
        verdict="refused, exit $status"
        [ -z "$(ls "$folder" 2>/dev/null)" ] || lab_fail "$folder: left over: $(ls "$folder")"
        [ "$(grep -c '^ecocompute: ' "$folder.err")" -eq 1 ] || lab_fail "$folder: not one reason: $(cat "$folder.err")"
    else
        verdict="refused $code, exit $status"
        lab_codes "$folder" "$code"
        lab_is "$folder" '[.results.energy_per_token_mj, .results.vs_fp16_energy_pct, .results.basis] | map(tostring) | join(" ")' \
            "null null unavailable"
    fi
    lab_row_add "$scenario" "$known_mj" - - - - - "$verdict"
}

# lab_codes FOLDER CODE...: the warnings are these, beside those that every short run on the stand-in libraries has.
lab_codes() {
    local folder=$1 got wanted
    shift
    got=$(lab_get "$folder" '.warnings[].code' |
        grep -vxE 'driver_library_path|few_blocks|synthetic_weights|debug_build' | LC_ALL=C sort | tr '\n' ' ' || true)
    wanted=$(printf '%s\n' "$@" | LC_ALL=C sort | tr '\n' ' ')
    [ "${got% }" = "${wanted% }" ] || lab_fail "$folder: warnings '${got% }', expected '${wanted% }': $(jq -c '.warnings | map(.detail)' "$folder/energy.json")"
}
