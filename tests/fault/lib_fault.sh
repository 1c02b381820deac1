# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the fault sweeps share. fault_setup makes the folder of the runs; fault_sweep FIRST FACTOR COMMAND KIND... counts
# the calls of a fault-free run, then fails each of the first FIRST and from there on a power series of FACTOR, once and with
# all that follow, until the last call; fault_report prints the table and ends with 1 if anything was wrong.
: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}"
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE LD_LIBRARY_PATH
export LC_ALL=C ECOCOMPUTE FAKES
FAULT_CASE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib_case.sh
FAULT_JOBS=${FAULT_JOBS:-6} # a run mostly sleeps

fault_setup() {
    FAULT_DIR=$(mktemp -d)
    FAULT_TREE_PID=
    export FAULT_DIR
    trap fault_end EXIT
    [ -z "${FAULT_KEEP:-}" ] || echo "kept in $FAULT_DIR"
    # Fast ticks for short runs; true energy 1980 mJ a token at FP16 and 1144.5 at NF4.
    printf '%s\n' 'step_us.fp16 4000' 'step_us.nf4 3500' 'power_w.fp16 495' 'power_w.nf4 327' \
        'read_cost_energy_us 200' 'update_ms 20' >"$FAULT_DIR/base.script"
    : >"$FAULT_DIR/results"
}

fault_end() {
    [ -z "$FAULT_TREE_PID" ] || kill "$FAULT_TREE_PID"
    [ -n "${FAULT_KEEP:-}" ] || rm -rf "$FAULT_DIR"
}

# fault_clean ARG...: the program on the scripted card, nothing failing.
fault_clean() {
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$FAULT_DIR/base.script "$ECOCOMPUTE" "$@" </dev/null
}

# What the cases of a command start from: a finished run, one killed in its second block, a tree of RAPL counters that
# count 60 W, a trace of 80 W, the findings of a doctor.
fault_prepare() {
    local command=$1 line attempt
    local short=(--quick --window 0.3 --tokens 8 --prompt-tokens 4 --cooldown-max 0 --order fixed)
    case $command in
    validate)
        fault_clean measure --quiet "${short[@]}" --blocks 1 --output-dir "$FAULT_DIR/good" >/dev/null 2>&1 ||
            fault_stop "the run without a fault"
        ;;
    resume)
        # On a crowded machine the scripted card falls behind its script: again, until its block 1 is the truth.
        mkfifo "$FAULT_DIR/lines"
        for attempt in 1 2 3 4 5; do
            rm -rf "$FAULT_DIR/stopped"
            LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$FAULT_DIR/base.script "$ECOCOMPUTE" measure "${short[@]}" --blocks 2 \
                --output-dir "$FAULT_DIR/stopped" >/dev/null 2>"$FAULT_DIR/lines" </dev/null &
            while IFS= read -r line; do
                [[ $line != "decode "*"block 2"* ]] || kill -KILL $! 2>/dev/null
            done <"$FAULT_DIR/lines"
            wait $! 2>/dev/null
            jq -e '.trials.blocks_finished == 1 and ([.trials.arms[] | .energy_per_token_mj
                - (if .precision == "FP16" then 1980 else 1144.5 end) | fabs < 40] | all)' \
                "$FAULT_DIR/stopped/energy.json" >/dev/null && return 0
        done
        fault_stop "the run to kill, $attempt times"
        ;;
    rapl | watch_rapl)
        [ -z "$FAULT_TREE_PID" ] || return 0
        bash "$(dirname "$FAULT_CASE")/../fakes/fake_powercap.sh" "$FAULT_DIR/tree" 60 900000000 &
        FAULT_TREE_PID=$!
        while [ ! -e "$FAULT_DIR/tree/ready" ]; do
            kill -0 "$FAULT_TREE_PID" || fault_stop "the powercap tree"
        done
        ;;
    replay | watch_replay)
        awk 'BEGIN { print "t_s,power_w,energy_j,tokens,temp_c,block,phase"
            for (i = 0; i <= 20 * 120; i++) printf "%.6f,80.000,,,40.0,0,cooldown\n", i / 20 }' >"$FAULT_DIR/trace.csv"
        ;;
    doctor)
        fault_clean doctor --json >"$FAULT_DIR/doctor.json"
        [ $? -eq 4 ] || fault_stop "the doctor without a fault"
        ;;
    esac
}

fault_stop() {
    echo "FAILED: $*"
    exit 1
}

# Cases of one command and kind, one "COMMAND KIND NTH MODE" a line.
fault_cases() {
    local first=$1 factor=$2 command=$3 kind=$4 calls=$5
    awk -v first="$first" -v factor="$factor" -v calls="$calls" -v c="$command" -v k="$kind" 'BEGIN {
        for (n = 1; n <= calls; n = n < first ? n + 1 : int(n * factor) + 1) {
            print c, k, n, "once"
            print c, k, n, "after"
        }
    }'
}

fault_sweep() {
    local first=$1 factor=$2 command=$3 kind line calls
    shift 3
    fault_prepare "$command"
    line=$(bash "$FAULT_CASE" "$command" alloc 0 once)
    for kind in "$@"; do
        calls=$(sed -n "s/.* ok [0-9]* calls .*\b$kind=\([0-9]*\).*/\1/p" <<<"$line")
        if [ -z "$calls" ]; then
            echo "$command $kind 0 once BAD the run without a fault: $line" >>"$FAULT_DIR/results"
        else
            fault_cases "$first" "$factor" "$command" "$kind" "$calls"
        fi
    done | xargs -r -P "$FAULT_JOBS" -L 1 bash "$FAULT_CASE" >>"$FAULT_DIR/results" || true
}

fault_report() {
    grep BAD "$FAULT_DIR/results" || true
    awk '{ key = $1 " " $2 }
        { if (!(key in seen)) { seen[key] = 1; order[++n] = key } cases[key]++ }
        $5 == "unreached" { unreached[key]++ }
        $5 == "BAD" { bad[key]++; all_bad++ }
        $5 == "ok" && $9 == "flagged" { flagged++ }
        $5 == "ok" { faults[key] += $8; injected[key]++; all_injected++; all_faults += $8; rc[key " " $6]++ }
        END {
            printf "%-14s %-8s %6s %9s %10s %8s %8s %8s %8s %8s %5s\n", "command", "fails", "runs", "injected", "failures",
                "status 0", "1", "3", "4", "125", "wrong"
            for (i = 1; i <= n; i++) {
                k = order[i]; split(k, part, " ")
                printf "%-14s %-8s %6d %9d %10d %8d %8d %8d %8d %8d %5d\n", part[1], part[2], cases[k], injected[k], faults[k],
                    rc[k " 0"], rc[k " 1"], rc[k " 3"], rc[k " 4"], rc[k " 125"], bad[k]
            }
            printf "%d faults injected in as many runs (%d failed calls), %d wrong; %d reports barred by their own warnings\n",
                all_injected + all_bad, all_faults, all_bad, flagged
            exit all_bad > 0 || all_injected == 0
        }' "$FAULT_DIR/results"
}
