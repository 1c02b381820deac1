#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fault_sweep.sh [BUILD [FIRST [FACTOR [TARGET...]]]]: the whole fault sweep on a build folder (build/release), or only its
# TARGETs. In every command of the list below, on the scripted drivers, a fake powercap tree, a metering program of known
# watts and a trace, the first FIRST (200) calls of each kind and from there on a power series of FACTOR (1.3) fail, one
# a run, once and with all that follow, until no call is left to fail; commands that take long have a FIRST and a number
# of runs at a time of their own. Each run must end, without a crash, with a status of its command and a reason; what it
# leaves must be valid, follow from its traces and hold no wrong number; no descriptor, thread or child may be left. On a
# build with AddressSanitizer a leak is a finding too. Prints what was wrong and a table with the number of faults.
# FAULT_JOBS runs at a time (6); with FAULT_KEEP=1 the folders of the wrong ones stay.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
first=${2:-200}
factor=${3:-1.3}
export ECOCOMPUTE=$build/ecocompute FAKES=$build/fakes
# shellcheck source=tests/fault/lib_fault.sh
. "$root/tests/fault/lib_fault.sh"
targets=("${@:4}")

# sweep MAX JOBS TARGET KIND...: FIRST and FAULT_JOBS at most as given
sweep() {
    local max=$1 jobs=$2 target=$3
    shift 3
    [ ${#targets[@]} -eq 0 ] || printf '%s\n' "${targets[@]}" | grep -qx "$target" || return 0
    FAULT_JOBS=$((jobs < all_jobs ? jobs : all_jobs)) fault_sweep $((first < max ? first : max)) "$factor" "$target" "$@"
}
all_jobs=$FAULT_JOBS
fault_setup
sweep 200 99 validate alloc read open
sweep 200 99 meters alloc read open nvml
sweep 200 99 watch_rapl alloc read open
sweep 200 99 watch_exec alloc read write open thread pipe fork
sweep 200 99 watch_replay alloc read open
sweep 200 99 run alloc read write open sync rename make room pipe fork nvml cuda
sweep 200 99 measure alloc read write open sync rename thread make room nvml cuda
sweep 200 99 characterize alloc thread nvml cuda
sweep 30 99 exec alloc read write open thread pipe fork
sweep 30 99 replay alloc read write open
sweep 30 99 resume alloc read write open sync rename thread nvml cuda
sweep 30 99 vs alloc read write pipe fork nvml
sweep 30 3 doctor alloc read open nvml cuda # polls a counter: a crowded machine would miss its ticks
sweep 5 2 rapl alloc read open # works on all processors
fault_report
