#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Assembles every committed PTX text with NVIDIA's ptxas for sm_70 (where that ptxas still knows it), sm_80 and sm_90,
# and demands that no kernel spills registers. ptxas comes from the PATH or from PyPI (used by this test alone);
# where it is not to be had: exit 77.
set -uo pipefail

root=${ECO_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ptxas=$(command -v ptxas || true)
if [ -z "$ptxas" ]; then
    for package in nvidia-cuda-nvcc-cu12 nvidia-cuda-nvcc; do
        if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
            --dest "$work/wheel" "$package" >"$work/pip.log" 2>&1; then
            break
        fi
    done
    for wheel in "$work"/wheel/*.whl; do
        [ -e "$wheel" ] && python3 -m zipfile -e "$wheel" "$work/files"
    done
    [ -d "$work/files" ] && ptxas=$(find "$work/files" -type f -name ptxas | head -1)
    if [ -z "$ptxas" ]; then
        echo "skip: no ptxas in the PATH, and none from PyPI: $(tail -1 "$work/pip.log" 2>/dev/null)"
        exit 77
    fi
    chmod +x "$ptxas"
fi

"$ptxas" --version | tail -1
help=$("$ptxas" --help)
bad=0
n=0
# The products of batches are compiled with their format and layout as constants (cuda_batch.c): these texts, too.
mkdir "$work/texts"
cp "$root"/src/kernels/gpu/ptx/*.ptx "$work/texts"
for format in 0 1 2 3 4 5 6 7 8; do
    columns=80 # of a stage
    for layout in 08.100 10.100 20.080 40.080 40.100; do # rows of input, of a tile, hexadecimal
        sed "s/0x0ec0f100/0x0000000$format/g; s/0x0ec0f101/0x00000${layout#*.}/g; s/0x0ec0f102/0x000000$columns/g
            s/0x0ec0f103/0x00000004/g; s/0x0ec0f104/0x000000${layout%.*}/g" "$root/src/kernels/gpu/ptx/batch_gemm.ptx" \
            >"$work/texts/batch_gemm_format${format}_$layout.ptx"
    done
done
rm "$work/texts/batch_gemm.ptx"

# The kernel of one sequence likewise (cuda_stream.c), with the registers it is given.
rm "$work/texts/stream.ptx"
for format in 0 1 2 3 4 5 8 9 a b c; do
    sed "s/0x0ec0f000/0x0000000$format/g; s/0x0ec0f001/0x00000004/g; s/0x0ec0f002/0x0000000f/g
        s/0x0ec0f003/0x00000002/g" "$root/src/kernels/gpu/ptx/stream.ptx" >"$work/texts/stream_format$format.ptx"
done

for sm in 70 80 90; do
    if ! grep -q "sm_$sm\b" <<<"$help"; then
        echo "sm_$sm: this ptxas does not know it"
        continue
    fi
    for file in "$work"/texts/*.ptx; do
        needs=$(awk '$1 == ".target" { sub(/^sm_/, "", $2); print $2 + 0; exit }' "$file")
        [ "$sm" -ge "$needs" ] || continue
        options=()
        case $(basename "$file") in
        stream_* | batch.ptx) options=(-maxrregcount 128) ;;
        esac
        if ! "$ptxas" -v "${options[@]}" -arch="sm_$sm" -o "$work/out.cubin" "$file" >"$work/log" 2>&1; then
            echo "sm_$sm: $(basename "$file"): refused"
            cat "$work/log"
            bad=1
            continue
        fi
        n=$((n + 1))
        # One sequence's kernel may keep a few words, once a layer, around attention; products for 64 rows some, with
        # 128 registers of sums.
        most=0
        case $(basename "$file") in
        stream_*) most=64 ;;
        batch_gemm_*_40.*) most=144 ;;
        esac
        if awk -v most="$most" '/bytes spill|bytes stack frame/ { for (i = 1; i < NF; i++)
                if ($(i + 1) == "bytes" && $i + 0 > most) { print; found = 1 } } END { exit !found }' "$work/log"; then
            echo "sm_$sm: $(basename "$file"): spills or keeps a stack"
            bad=1
        fi
        awk -v sm="$sm" '/Compiling entry/ { gsub("\047", "", $7); name = $7 }
            / registers/ { for (i = 1; i <= NF; i++) if ($i ~ /^registers/) printf "sm_%s %-24s %3d registers (%s)\n", sm, name, $(i - 1), file }' \
            file="$(basename "$file" .ptx)" "$work/log"
    done
done
if [ "$n" -eq 0 ]; then
    echo "nothing was assembled"
    exit 1
fi
echo "$n texts assembled"
exit "$bad"
