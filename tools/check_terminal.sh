#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_terminal.sh [ROOT]: commands print through cli_out, cli_err and cli_print only, which escape what could drive a
# terminal. cli.c, where these are, and lines that print to a `stream` given by name (the help text, fixed) may not.
set -euo pipefail

cd "${1:-$(dirname "$0")/..}"
found=$(grep -HnE '(^|[^a-z_])(v?f?printf|f?puts|f?putc|putchar|fwrite|dprintf|perror|psignal)\(' cli/*.c |
    grep -vE '^cli/cli\.c:|fprintf\(stream, ' || true)
if [ -n "$found" ]; then
    echo "check_terminal: not through cli_out or cli_err:" >&2
    printf '%s\n' "$found" >&2
    exit 1
fi
echo "commands print through the escaping functions only: $(find cli -name '*.c' | wc -l) files"
