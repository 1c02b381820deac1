#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_field.sh [ROOT]: docs/field.md. Every row number of its lists has one row in a table, under the list's heading and
# with a test or the reason why there is none; every test it names exists: `ctest_name` or `ctest_name:function`.
set -euo pipefail

cd "${1:-$(dirname "$0")/..}"
doc=docs/field.md
bad=0

complain() {
    echo "check_field: $*" >&2
    bad=1
}

# The file of a CTest name, by the rules of cmake/tests.cmake.
file_of() {
    local file
    case $1 in
    test_*) for file in tests/unit/"$1".c tests/kernels/"$1".c; do [ ! -f "$file" ] || break; done ;;
    cli_* | lab_* | fault_* | kernels_* | valgrind_* | device_*) file=tests/${1%%_*}/${1#*_}.sh ;;
    fuzz_*) file=tests/fuzz/$1.c ;;
    check_*) file=tools/$1.sh ;;
    coverage) file=tests/coverage/coverage.c ;;
    *) return 1 ;;
    esac
    [ -f "$file" ] && echo "$file"
}

# check_test ROW NAME[:FUNCTION]
check_test() {
    local file function=${2#*:}
    if ! file=$(file_of "${2%%:*}"); then
        complain "$doc: row $1: there is no test ${2%%:*}"
    elif [ "$function" = "$2" ]; then
        return
    elif [[ $file == *.c ]]; then
        if ! grep -qE "^static void $function\(" "$file" ||
            ! grep -qE "cmocka_unit_test[a-z_]*\($function\>" "$file"; then
            complain "$doc: row $1: $file has no test function $function"
        fi
    else
        grep -qE "^$function\(\) \{" "$file" || complain "$doc: row $1: $file has no function $function"
    fi
}

listed=$(sed -nE 's/^- Rows of (C[0-9]): ([0-9 ]+)$/\1 \2/p' "$doc" | awk '{ for (i = 2; i <= NF; i++) print $1, $i }')
tabled=$(awk '/^## C[0-9]\. / { section = substr($2, 1, 2) }
    /^\| [0-9]+ \|/ { split($0, cell, /[ ]*\|[ ]*/); print section, cell[2] }' "$doc")
[ -n "$listed" ] || complain "$doc: no line '- Rows of C1: …'"
while read -r row; do
    n=$(grep -cx "$row" <<<"$tabled" || true)
    [ -z "$row" ] || [ "$n" -eq 1 ] || complain "$doc: row $row stands $n times in its table"
done <<<"$listed"
while read -r row; do
    grep -qx "$row" <<<"$listed" || complain "$doc: row $row is not in the list of rows"
done <<<"$tabled"

while IFS='|' read -r _ row where fault test rest; do
    row=${row// /}
    if [ -z "${where// /}" ] || [ -z "${fault// /}" ] || [ -z "${test// /}" ] || [ -n "${rest// /}" ]; then
        complain "$doc: row $row: not four full cells"
    fi
    # shellcheck disable=SC2016 # Markdown's own quotes
    names=$(grep -oE '`[a-z0-9_]+(:[a-z0-9_]+)?`' <<<"$test" | tr -d '`' | grep -E '^(test|cli|lab|fault|kernels|valgrind|device|fuzz|check)_|^coverage$' || true)
    [ -n "$names" ] || [[ $test =~ ^\ (waits for|does not apply:)\  ]] ||
        complain "$doc: row $row: neither a test nor 'waits for …' nor 'does not apply: …'"
    for name in $names; do
        check_test "$row" "$name"
    done
done < <(grep -E '^\| [0-9]+ \|' "$doc")
if [ "$bad" -eq 0 ]; then
    echo "every row has its test or its reason: $(wc -l <<<"$tabled") rows"
fi
exit "$bad"
