#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_layers.sh [ROOT]: the include table of tools/layers.txt over include/, src/, cli/ and wasm/.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
folders=()
for folder in include src cli wasm; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done
find "${folders[@]}" -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.inc' \) | LC_ALL=C sort >"$list"
mapfile -t files <"$list"
awk -v files="$list" -f "$tools/check_layers.awk" "$tools/layers.txt" "${files[@]}"
