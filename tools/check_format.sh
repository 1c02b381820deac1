#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_format.sh [--fix] [ROOT]: clang-format 14 over all C files. Another major version lays out differently, so
# without 14 the check is skipped (exit 77); --fix formats in place.
set -euo pipefail

fix=0
if [ "${1:-}" = "--fix" ]; then
    fix=1
    shift
fi
cd "${1:-$(dirname "$0")/..}"
if ! command -v clang-format-14 >/dev/null; then
    echo "skip: clang-format-14 is not installed"
    exit 77
fi
folders=()
for folder in include src cli wasm tests; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done
mapfile -t files < <(find "${folders[@]}" -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort)
if [ "$fix" -eq 1 ]; then
    clang-format-14 -i "${files[@]}"
else
    clang-format-14 --dry-run -Werror "${files[@]}"
fi
echo "formatted: ${#files[@]} files"
