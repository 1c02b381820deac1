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
    export FAULT_DIR
    if [ -z "${FAULT_KEEP:-}" ]; then
        # shellcheck disable=SC2064
        trap "rm -rf '$FAULT_DIR'" EXIT
    else
        echo "kept in $FAULT_DIR"
    fi
    # Fast ticks for short runs; true energy 1980 mJ a token at FP16 and 1144.5 at NF4.
    printf '%s\n' 'step_us.fp16 4000' 'step_us.nf4 3500' 'power_w.fp16 495' 'power_w.nf4 327' \
        'read_cost_energy_us 200' 'update_ms 20' >"$FAULT_DIR/base.script"
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$FAULT_DIR/base.script "$ECOCOMPUTE" measure --quiet --quick --blocks 1 \
        --window 0.3 --tokens 8 --prompt-tokens 4 --cooldown-max 0 --output-dir "$FAULT_DIR/good" >/dev/null 2>&1 || {
        echo "FAILED: the run without a fault"
        exit 1
    }
    : >"$FAULT_DIR/results"
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
    line=$(bash "$FAULT_CASE" "$command" alloc 0 once)
    for kind in "$@"; do
        calls=$(sed -n "s/.* ok 0 calls .*\b$kind=\([0-9]*\).*/\1/p" <<<"$line")
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
        $5 == "ok" { faults[key] += $8; injected[key]++; all_injected++; all_faults += $8; rc[key " " $6]++ }
        END {
            printf "%-14s %-8s %6s %9s %10s %8s %8s %8s %8s %5s\n", "command", "fails", "runs", "injected", "failures",
                "status 0", "1", "3", "4", "wrong"
            for (i = 1; i <= n; i++) {
                k = order[i]; split(k, part, " ")
                printf "%-14s %-8s %6d %9d %10d %8d %8d %8d %8d %5d\n", part[1], part[2], cases[k], injected[k], faults[k],
                    rc[k " 0"], rc[k " 1"], rc[k " 3"], rc[k " 4"], bad[k]
            }
            printf "%d faults injected in as many runs (%d failed calls), %d wrong\n", all_injected + all_bad, all_faults,
                all_bad
            exit all_bad > 0 || all_injected == 0
        }' "$FAULT_DIR/results"
}
