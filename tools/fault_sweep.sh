#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fault_sweep.sh [BUILD [FIRST [FACTOR]]]: the whole fault sweep on a build folder (build/release). In measure, validate
# --recompute, meters and meters --characterize on the scripted drivers, the first FIRST (200) calls of each kind and
# from there on a power series of FACTOR (1.3) fail, one a run, once and with all that follow, until no call is left to fail. Each run
# must end, without a crash, with a sensible status and a reason; what it leaves must be valid, follow from its traces
# and hold no wrong number. Prints what was wrong and a table with the number of faults. FAULT_JOBS runs at a time (6);
# with FAULT_KEEP=1 the folders of the wrong ones stay.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
first=${2:-200}
factor=${3:-1.3}
export ECOCOMPUTE=$build/ecocompute FAKES=$build/fakes
# shellcheck source=tests/fault/lib_fault.sh
. "$root/tests/fault/lib_fault.sh"
fault_setup
fault_sweep "$first" "$factor" validate alloc read open
fault_sweep "$first" "$factor" meters alloc nvml
fault_sweep "$first" "$factor" measure alloc read write open sync rename thread make room nvml cuda
fault_sweep "$first" "$factor" characterize alloc thread nvml cuda
fault_report
