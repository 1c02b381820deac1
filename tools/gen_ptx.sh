#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gen_ptx.sh CLANG OUT_DIR FILE.c...
# Compiles GPU kernels written in C to PTX 7.0 text (7.1 for batch_gemm.c), one OUT_DIR/<name>.ptx a file: for sm_70, or for sm_80 where
# the kernels use tensor cores (batch*.c, rates.c). The frontend is called
# directly (-cc1) because the ordinary driver command pins a newer PTX version, which older drivers refuse.
# Paths in the text would make it depend on the machine, so the compiler runs in the repository root.
set -euo pipefail

if [ "$#" -lt 3 ]; then
    echo "usage: gen_ptx.sh CLANG OUT_DIR FILE.c..." >&2
    exit 2
fi
clang=$1
out_dir=$(mkdir -p "$2" && cd "$2" && pwd)
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
for file in "$@"; do
    file=$(realpath "$file")
    name=$(basename "$file" .c)
    ptx=+ptx70
    level=-O2
    case $name in
    batch) # many small kernels; loops that matter are written out in the source
        cpu=sm_80
        level=-Os
        ;;
    batch_gemm) # phases of barriers by their parity
        cpu=sm_80
        ptx=+ptx71
        ;;
    probe | rates | stream) cpu=sm_80 ;;
    *) cpu=sm_70 ;;
    esac
    (cd "$root" && "$clang" -cc1 -triple nvptx64-nvidia-cuda -target-cpu "$cpu" -target-feature "$ptx" "$level" -std=c2x \
        -ffreestanding -ffp-contract=on -Wall -Wextra -Werror -I src -I src/kernels/gpu -S -x c \
        "${file#"$root"/}" -o "$out_dir/$name.ptx.new")
    # Comments, indentation and empty lines go: a third of the text, which the driver would skip. Names are
    # shortened: a kernel has one parameter, p, and labels are counted in each.
    # shellcheck disable=SC2016 # the label's $ is meant
    sed -E 's/[ \t]*\/\/.*$//; s/^[ \t]+//; s/[ \t]+/ /g; s/, /,/g; s/eco_[a-z0-9_]+_param_0/p/g
        s/\$L__BB/$L/g; s/%rd/%d/g; /^$/d' "$out_dir/$name.ptx.new" >"$out_dir/$name.ptx"
    rm "$out_dir/$name.ptx.new"
done
