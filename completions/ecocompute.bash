# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# bash completion for ecocompute. Commands, options, models and formats are asked of the program itself, so that they are
# always those of the installed version; a few fixed values stand in the table below.

_ecocompute_commands() {
    "$1" --help 2>/dev/null | sed -nE 's/^  ([a-z_]+) +[^ ].*/\1/p'
}

# Long options of PROGRAM COMMAND, as its help lists them; with "=" behind those that take a value.
_ecocompute_options() {
    "$1" "$2" --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z][a-z0-9_-]*)(=?).*/\2\3/p'
}

# Names in the first column of `PROGRAM models` or `PROGRAM formats`.
_ecocompute_names() {
    "$1" "$2" 2>/dev/null | sed -nE '2,$s/^ *([A-Za-z0-9][A-Za-z0-9._-]*) .*/\1/p'
}

# Values of an option of a command; nothing where a file or a number is meant.
_ecocompute_values() {
    case $3 in
    --model) _ecocompute_names "$1" models ;;
    --precision | --precisions) _ecocompute_names "$1" formats ;;
    --baseline) printf '%s\n' FP16 BF16 ;;
    --color) printf '%s\n' auto always never ;;
    --device) printf '%s\n' auto cpu cuda ;;
    --engine)
        if [ "$2" = estimate ]; then
            printf '%s\n' transformers llama.cpp native
        else
            printf '%s\n' native
        fi
        ;;
    --order) printf '%s\n' shuffled fixed ;;
    --profile) printf '%s\n' v1.1-core dataset-eligible paired-1 ;;
    --protocol) printf '%s\n' paired published ;;
    --rules) printf '%s\n' current published-1.1 ;;
    --thermal-mode) printf '%s\n' cold steady ;;
    esac
}

_ecocompute() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} option=''
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_ecocompute_commands "$program") --help --version" -- "$current")
        return
    fi
    # "=" is a word of its own: --model = Tiny
    if [ "$current" = = ]; then
        option=${COMP_WORDS[COMP_CWORD - 1]}
        current=''
    elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $current != -* ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_ecocompute_options "$program" "${COMP_WORDS[1]}")" -- "$current")
        # No blank behind an option that waits for its value.
        if [ "${#COMPREPLY[@]}" -eq 1 ] && [[ ${COMPREPLY[0]} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
    elif [[ $option == --* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_ecocompute_values "$program" "${COMP_WORDS[1]}" "$option")" -- "$current")
    fi
}

complete -o default -F _ecocompute ecocompute
