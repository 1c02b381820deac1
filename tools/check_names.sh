#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_names.sh [ROOT]: C file names are snake_case and unique in the whole repository, so that a name in a message or
# a backtrace means one file. driver.h is the exception: one a driver family, the interface of that folder.
set -euo pipefail

cd "${1:-$(dirname "$0")/..}"
folders=()
for folder in include src cli wasm tests; do
    if [ -d "$folder" ]; then
        folders+=("$folder")
    fi
done
bad=0
names=$(find "${folders[@]}" -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -printf '%f %p\n' | LC_ALL=C sort)
twice=$(printf '%s\n' "$names" | awk '$1 != "driver.h" { print tolower($1) }' | LC_ALL=C sort | uniq -d)
for name in $twice; do
    echo "check_names: $name is the name of more than one file:" >&2
    printf '%s\n' "$names" | awk -v name="$name" 'tolower($1) == name { print "  " $2 }' >&2
    bad=1
done
odd=$(printf '%s\n' "$names" | awk '$1 !~ /^[a-z0-9_]+\.(c|h|def)$/ { print "  " $2 }')
if [ -n "$odd" ]; then
    printf 'check_names: not snake_case:\n%s\n' "$odd" >&2
    bad=1
fi
if [ "$bad" -eq 0 ]; then
    echo "names are unique: $(printf '%s\n' "$names" | wc -l) files"
fi
exit "$bad"
