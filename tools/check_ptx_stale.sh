#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_ptx_stale.sh CLANG|none WORK_DIR
# Regenerates the PTX into WORK_DIR and compares it byte for byte with the committed text. Two compilers do not write
# the same text, so only the major version the committed text comes from can judge; without it: exit 77, a skip.
set -euo pipefail

clang_major=19
clang=${1:?usage: check_ptx_stale.sh CLANG|none WORK_DIR}
work_dir=${2:?usage: check_ptx_stale.sh CLANG|none WORK_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
shopt -s nullglob
sources=("$root"/src/kernels/gpu/*.c)
committed=("$root"/src/kernels/gpu/ptx/*.ptx)

if [ "${#sources[@]}" -eq 0 ] && [ "${#committed[@]}" -eq 0 ]; then
    echo "skip: no GPU kernels in src/kernels/gpu"
    exit 77
fi
if [ "$clang" = none ]; then
    echo "skip: no clang 17 or newer; the committed PTX text is used unchecked"
    exit 77
fi
version=$("$clang" -dumpversion)
if [ "${version%%.*}" != "$clang_major" ]; then
    echo "skip: the committed PTX text comes from clang $clang_major, here is $version"
    exit 77
fi

rm -rf "$work_dir"
"$root/tools/gen_ptx.sh" "$clang" "$work_dir" "${sources[@]}"
bad=0
for file in "${sources[@]}"; do
    name=$(basename "$file" .c)
    if ! cmp "$root/src/kernels/gpu/ptx/$name.ptx" "$work_dir/$name.ptx"; then
        echo "stale: src/kernels/gpu/ptx/$name.ptx is not what clang $version makes of $name.c; run the target ptx" >&2
        bad=1
    fi
done
for file in "${committed[@]}"; do
    name=$(basename "$file" .ptx)
    if [ ! -f "$root/src/kernels/gpu/$name.c" ]; then
        echo "stale: src/kernels/gpu/ptx/$name.ptx has no $name.c" >&2
        bad=1
    fi
done
if [ "$bad" -eq 0 ]; then
    echo "${#sources[@]} PTX texts are fresh"
fi
exit "$bad"
