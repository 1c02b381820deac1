#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bash completion: every command of commands.def, every option of each --help, and every value that it offers is one that
# the program knows; nothing is offered that is not there.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
# shellcheck source=/dev/null
. "$ECO_SOURCE_DIR/completions/ecocompute.bash"

# completed WORD...: what is offered at the last of these words, one a line.
completed() {
    COMP_WORDS=("$ECOCOMPUTE" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _ecocompute || true
    printf '%s\n' "${COMPREPLY[@]}"
}

same() {
    [ "$2" = "$3" ] || fail "$1
  is       $2
  expected $3"
}

mapfile -t commands < <(sed -nE 's/^ECO_COMMAND\(([a-z_]+),.*/\1/p' "$ECO_SOURCE_DIR/cli/commands.def")
[ "${#commands[@]}" -ge 10 ] || fail "only ${#commands[@]} commands in commands.def"
same commands "$(completed '')" "$(printf '%s\n' "${commands[@]}" --help --version)"
same val "$(completed val)" validate
same xyzzy "$(completed xyzzy)" ''

for command in "${commands[@]}"; do
    completed "$command" -- >offered
    # Each option that is offered is one of the command: --help behind it is an answer and no error.
    [ "$(wc -l <offered)" -ge 3 ] || fail "$command: $(wc -l <offered) options"
    while read -r option; do
        run "$command" "$option$([[ $option == *= ]] && echo 1)" --help
        ! grep -q 'unknown option\|not known\b.*option\|unrecognized' stderr || fail "$command $option: $(head -n 1 stderr)"
    done <offered
    # And every long option that its help names at the beginning of a line is offered.
    "$ECOCOMPUTE" "$command" --help | grep -oE '^ +(-., )?--[a-z][a-z0-9_-]*' | sed -E 's/.*--/--/' | sort >named
    same "$command: options" "$(tr -d = <offered | sort)" "$(cat named)"
done

# A value that is offered is one that the program takes: its complaint, if any, is not that it does not know it.
known() {
    local command=$1 option=$2 value
    shift 2
    completed "$command" "$option" = '' >offered
    [ -s offered ] || fail "$command $option: nothing is offered"
    while read -r value; do
        run "$command" "$option=$value" "$@"
        ! grep -q 'not known\|unknown\|not in this version\|not a baseline' stderr || fail "$command $option=$value: $(head -n 1 stderr)"
    done <offered
}
for option in --model --precision --baseline --color --device --engine --order --protocol --thermal-mode; do
    known measure "$option" --help
done
known validate --profile --help
known check --rules --help
known optimize --precisions --help
known estimate --engine --params-b 7 --arch H200 --precision NF4

same model "$(completed measure --model = Tiny)" TinyLlama-1.1B
same 'model, blank' "$(completed measure --model Tiny)" TinyLlama-1.1B
same 'precision ends at =' "$(completed measure --thermal-mode =)" "$(printf 'cold\nsteady')"
same 'an option that waits' "$(completed measure --thermal-m)" --thermal-mode=
same 'an option that does not' "$(completed measure --qui | sort)" "$(printf -- '--quick\n--quiet')"
same 'engines of an estimate' "$(completed estimate --engine = ll)" llama.cpp
same 'files are left to bash' "$(completed validate ener)" ''
finish
