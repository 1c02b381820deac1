#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The fault sweep, thinned out to stay under 90 s: every fault of validate and of the list of meters, a few in each part
# of a measurement and of a characterisation. tools/fault_sweep.sh does all.
set -uo pipefail
[ -f "${FAKES:-}/fault_preload.so" ] || {
    echo "skip: this build has no fault_preload.so (the thread sanitizer stands in its place)"
    exit 77
}
FAULT_JOBS=${FAULT_JOBS:-10}
# shellcheck source=tests/fault/lib_fault.sh
. "$(dirname "$(readlink -f "$0")")/lib_fault.sh"
fault_setup
fault_sweep 200 1.3 validate alloc read open
fault_sweep 200 1.3 meters nvml
fault_sweep 1 8 meters alloc
fault_sweep 1 12 measure alloc write sync rename thread
fault_sweep 1 40 measure nvml cuda
fault_sweep 1 200 characterize alloc nvml cuda
fault_report
