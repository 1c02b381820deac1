#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_basis.sh [ROOT]: the files that hold the identifier ECO_BASIS_MEASURED are exactly those listed here (and
# tests). One place creates a measured number; the list makes a second one a visible decision.
set -euo pipefail

root=${1:-$(dirname "$0")/..}
cd "$root"

# file, then why it may.
allowed="
include/ecocompute/record.h   the enumerator itself
src/record/basis.c            the table of names, for writing and parsing
src/protocol/run.c            every measured window closes here
src/model/anchors.inc         generated from data/anchors.csv, which names its sources
src/model/anchors_csv.c       parser: a table without a basis is in the published format, which holds measurements only
src/model/curves.inc          generated from the published curves.json
src/model/curves_read.c       parser: the same of a curves.json
"

expected=$(printf '%s\n' "$allowed" | awk 'NF { print $1 }' | LC_ALL=C sort)
folders=()
for folder in include src cli wasm; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done
found=$(grep -rlw --include='*.[ch]' --include='*.def' --include='*.inc' ECO_BASIS_MEASURED "${folders[@]}" |
    LC_ALL=C sort || true)
if [ "$expected" != "$found" ]; then
    echo "check_basis: the files holding ECO_BASIS_MEASURED are not those listed (< expected, > found):" >&2
    diff <(printf '%s\n' "$expected") <(printf '%s\n' "$found") >&2 || true
    exit 1
fi
echo "ECO_BASIS_MEASURED stands where it should: $(printf '%s\n' "$found" | wc -l) files"
