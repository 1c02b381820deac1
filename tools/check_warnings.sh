#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # backquotes of Markdown
#
# check_warnings.sh [ROOT]: every code of warnings.def has exactly one row in the table of docs/protocol.md, and every
# test that the row says raises it does claim so, in a line that fails when the warning is missing: a call of the shell
# tests' functions with the code among its words, or a case of test_protocol_warnings.c. A comment or a message does not
# count, nor does a claim that the warning is absent.
set -euo pipefail

cd "${1:-$(dirname "$0")/..}"
table=docs/protocol.md
failed=0

complain() {
    printf 'check_warnings: %s\n' "$*" >&2
    failed=1
}

# raises FILE CODE
raises() {
    case $1 in
    *.c) grep -qE "^ *\{\"$2\", [a-z_]+\},$" "$1" ;;
    *) grep -E '^ *(lab_warns|warns|lab_codes|lab_row|lab_row_refused) ' "$1" | grep -qE "[ ('\"]$2( |\"|$)" ;;
    esac
}

mapfile -t codes < <(sed -nE 's/^ECO_WARNING\([A-Z_]+, "([a-z_]+)".*/\1/p' include/ecocompute/warnings.def)
[ "${#codes[@]}" -gt 0 ] || complain "include/ecocompute/warnings.def: no row"
for code in "${codes[@]}"; do
    row=$(grep -E "^\| \`$code\` \|" "$table" || true)
    if [ -z "$row" ] || [ "$(wc -l <<<"$row")" -ne 1 ]; then
        complain "$table: not one row of $code"
        continue
    fi
    mapfile -t files < <(cut -d '|' -f 3 <<<"$row" | grep -oE '`[a-z_]+\.(sh|c)`' | tr -d '`')
    [ "${#files[@]}" -gt 0 ] || complain "$table: $code: no test raises it"
    for name in "${files[@]}"; do
        file=$(find tests -name "$name" -type f)
        if [ -z "$file" ]; then
            complain "$table: $code: there is no test $name"
        elif ! raises "$file" "$code"; then
            complain "$file: does not raise $code, though $table says so"
        fi
    done
    [ -n "$(cut -d '|' -f 4 <<<"$row" | tr -d ' ')" ] || complain "$table: $code: no run without it is named"
done
while read -r code; do
    grep -qx "$code" <<<"$(printf '%s\n' "${codes[@]}")" || complain "$table: $code is no code of warnings.def"
done < <(sed -n '/^| code |/,/^$/p' "$table" | sed -nE 's/^\| `([a-z_]+)` \|.*/\1/p')
[ "$failed" -eq 0 ] || exit 1
echo "each warning has a test that raises it: ${#codes[@]} codes"
