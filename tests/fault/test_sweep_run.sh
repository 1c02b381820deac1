#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The fault sweep of `run`, of a measurement that goes on and of the doctor, thinned out. tools/fault_sweep.sh does all.
set -uo pipefail
[ -f "${FAKES:-}/fault_preload.so" ] || {
    echo "skip: this build has no fault_preload.so (the thread sanitizer stands in its place)"
    exit 77
}
[ -x "${FAKES:-}/../tests/board_load" ] || {
    echo "skip: board_load is not built"
    exit 77
}
FAULT_JOBS=${FAULT_JOBS:-10}
# shellcheck source=tests/fault/lib_fault.sh
. "$(dirname "$(readlink -f "$0")")/lib_fault.sh"
fault_setup
fault_sweep 2 9 resume write & # mostly sleeps
fault_sweep 1 7 run alloc read write open sync rename pipe fork nvml
fault_sweep 1 200 doctor alloc nvml cuda
wait
fault_report
