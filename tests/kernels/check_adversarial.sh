#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Weights that no model has (outliers, zeros, denormals, the largest numbers, one-hot rows), in each kind of matrix and
# each format, against the CPU, twice with poisoned buffers: the device program on the kernels' host build behind the
# scripted driver. One sequence of one shape; a real GPU runs all of it (tools/gpu/check_kernels.sh).
set -euo pipefail
: "${FAKES:?folder of the scripted driver libraries}" "${ECO_BUILD_DIR:?build folder}"
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'compute 1' >"$work/compute.script"
LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$work/compute.script \
    "$ECO_BUILD_DIR/tests/device_kernels" adversarial-small >"$work/out" || {
    grep -v '^ok ' "$work/out"
    exit 1
}
tail -n 1 "$work/out"
# Nine formats, 27 patterns in matrices: none was left out.
grep -q '^243 cases, 0 bad; ' "$work/out"
