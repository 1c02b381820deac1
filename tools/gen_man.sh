#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gen_man.sh PROGRAM FOLDER [OUT]: the manual pages FOLDER/*.1.md, one a command and one of the whole program, written to
# OUT (FOLDER itself without it). All above "# EXAMPLES" is made of --help; what stands below is written by hand and kept.
# A page without it begins with the example of the help. tests/cli/test_man.sh fails when a page is stale.
set -euo pipefail
program=$(readlink -f "$1")
folder=$2
out=${3:-$2}
unset COLUMNS ARGP_HELP_FMT
export LC_ALL=C.UTF-8

# The parts of a help text: usage, description, options, what follows them.
part() {
    awk -v want="$1" '
        { sub(/[ \t]+$/, "") }
        NR == 1 { state = "usage" }
        state == "usage" && !/^Usage:|^  or:/ { state = "description" }
        state == "description" && /^ +-/ { state = "options" }
        state == "options" && /^[^ ]/ { state = "after" }
        state == want { print }'
}

# Without blank lines at either end.
trim() {
    awk 'NF { for (; blank > 0; blank--) print ""; print; seen = 1; next } seen { blank++ }'
}

# The page as it is from "# EXAMPLES" on, or a first example.
kept() { # PAGE EXAMPLE
    if [ -e "$1" ] && grep -q '^# EXAMPLES$' "$1"; then
        sed -n '/^# EXAMPLES$/,$p' "$1"
        return
    fi
    # shellcheck disable=SC2016 # Markdown's backquotes
    printf '# EXAMPLES\n\n```sh\n%s\n```\n' "$2"
}

# The example of a help text, in one line.
example_of() {
    tr '\n' ' ' | sed -nE 's/.*Example: (.*[^ ]) *$/\1/p'
}

page() { # COMMAND SUMMARY
    local help name=ecocompute-$1.1.md after
    help=$("$program" "$1" --help)
    after=$(part after <<<"$help" | sed '/^Mandatory or optional/,/^$/d; /^Example:/,$d' | trim)
    {
        printf '%% ECOCOMPUTE-%s(1)\n\n# NAME\n\necocompute-%s - %s\n\n# SYNOPSIS\n\n' "${1^^}" "$1" "$2"
        part usage <<<"$help" | sed -E 's/^(Usage:|  or:) +/    /'
        printf '\n# DESCRIPTION\n\n'
        part description <<<"$help" | trim
        printf '\n# OPTIONS\n\n'
        part options <<<"$help" | trim | sed 's/^./    &/'
        [ -z "$after" ] || printf '\n# NOTES\n\n%s\n' "$after"
        printf '\n'
        kept "$folder/$name" "$(example_of <<<"$help")"
    } >"$scratch/$name"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
help=$("$program" --help)
{
    printf '%% ECOCOMPUTE(1)\n\n# NAME\n\necocompute - energy per token of A against B\n\n# SYNOPSIS\n\n    ecocompute COMMAND [options]\n'
    printf '\n# DESCRIPTION\n\n%s\n\n# COMMANDS\n\n' "$(sed -n 2p <<<"$help")"
    sed -nE 's/^  ([a-z_]+) +([^ ].*)/**ecocompute-\1**(1): \2\n/p' <<<"$help"
    kept "$folder/ecocompute.1.md" "ecocompute measure --quick"
} >"$scratch/ecocompute.1.md"
while read -r command summary; do
    page "$command" "$summary"
done < <(sed -nE 's/^  ([a-z_]+) +([^ ].*)/\1 \2/p' <<<"$help")
mkdir -p "$out"
cp "$scratch"/*.1.md "$out"
