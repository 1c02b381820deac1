#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The fault sweep of the meters rapl, exec and replay behind the live line, thinned out. tools/fault_sweep.sh does all, and
# measurements too.
set -uo pipefail
[ -f "${FAKES:-}/fault_preload.so" ] || {
    echo "skip: this build has no fault_preload.so (the thread sanitizer stands in its place)"
    exit 77
}
FAULT_JOBS=${FAULT_JOBS:-10}
# shellcheck source=tests/fault/lib_fault.sh
. "$(dirname "$(readlink -f "$0")")/lib_fault.sh"
fault_setup
fault_sweep 2 3 watch_exec alloc read write open thread pipe fork & # mostly sleeps
exec_pid=$!
fault_sweep 2 3 watch_rapl alloc read open
fault_sweep 2 3 watch_replay alloc read open
wait "$exec_pid"
fault_report
