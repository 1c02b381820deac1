#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_length.sh [ROOT]: length of files and functions, see check_length.awk.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"
folders=()
for folder in include src cli wasm tests; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done
mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort)
awk -f "$tools/check_length.awk" "${files[@]}"
