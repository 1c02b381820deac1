#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_planted.sh WORK_DIR: a check that cannot fail shows nothing. Builds a small tree in WORK_DIR that passes every
# check, then plants one fault at a time and demands that the check finds it and names the file.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
work=${1:?usage: check_planted.sh WORK_DIR}
bad=0

fresh_tree() {
    rm -rf "$work"
    mkdir -p "$work"/include/ecocompute "$work"/src/{core,record,model,sys,meters,protocol} "$work"/cli "$work"/tests/{unit,lab} "$work"/docs
    printf 'typedef enum { ECO_BASIS_MEASURED } eco_basis;\n' >"$work/include/ecocompute/record.h"
    printf '#include "ecocompute/record.h"\n' >"$work/src/core/num.h"
    printf '#include "core/num.h"\nint a(void) {\n    return ECO_BASIS_MEASURED;\n}\n' >"$work/src/record/basis.c"
    printf '#include "core/num.h"\n' >"$work/src/sys/file.h"
    printf '#include "sys/file.h"\n#include <stdio.h>\n' >"$work/src/meters/meter_x.c"
    printf '#include "sys/file.h"\n' >"$work/src/meters/sampler.h"
    printf '#include "meters/sampler.h"\n#include "eco_build.h"\nint b(void) {\n    return ECO_BASIS_MEASURED;\n}\n' \
        >"$work/src/protocol/run.c"
    for table in anchors.inc anchors_csv.c curves.inc curves_read.c; do
        printf '/* ECO_BASIS_MEASURED */\n' >"$work/src/model/$table"
    done
    printf '#include "ecocompute/record.h"\n' >"$work/cli/main.c"
    printf 'ECO_WARNING(ODD, "odd", true, "text", "advice")\n' >"$work/include/ecocompute/warnings.def"
    # shellcheck disable=SC2016 # Markdown
    printf '| code | raised by | not in |\n| `odd` | `test_odd.sh` | `test_even.sh` |\n' >"$work/docs/protocol.md"
    printf 'lab_warns run odd\n' >"$work/tests/lab/test_odd.sh"
    # shellcheck disable=SC2016 # Markdown
    printf -- '- Rows of C1: 1 2\n## C1. Odd\n| 1 | a #1 | b | `lab_test_odd` |\n| 2 | c #2 | d | waits for e |\n' \
        >"$work/docs/field.md"
}

# expect_pass CHECK
expect_pass() {
    if ! output=$("$tools/$1" "$work" 2>&1); then
        printf '%s refuses a tree without fault:\n%s\n' "$1" "$output" >&2
        bad=1
    fi
}

# expect_found CHECK NAMED: the check must fail and its answer must hold NAMED.
expect_found() {
    if output=$("$tools/$1" "$work" 2>&1); then
        echo "$1 did not find the fault planted in $2" >&2
        bad=1
    elif ! printf '%s\n' "$output" | grep -qF "$2"; then
        printf '%s failed, but without naming %s:\n%s\n' "$1" "$2" "$output" >&2
        bad=1
    fi
    fresh_tree
}

fresh_tree
for check in check_layers.sh check_basis.sh check_length.sh check_names.sh check_headers.sh check_terminal.sh \
    check_warnings.sh check_field.sh; do
    expect_pass "$check"
done

printf '#include "meters/meter_x.h"\n' >>"$work/src/protocol/run.c"
printf '\n' >"$work/src/meters/meter_x.h"
expect_found check_layers.sh src/protocol/run.c
printf '#  include "sys/file.h" /* odd spacing */\n' >>"$work/src/core/num.h"
expect_found check_layers.sh src/core/num.h
printf '#include <sys/file.h>\n' >>"$work/src/core/num.h"
expect_found check_layers.sh src/core/num.h
printf '#include "core/num.h"\n' >>"$work/cli/main.c"
expect_found check_layers.sh cli/main.c
printf '#include "../src/core/num.h"\n' >>"$work/cli/main.c"
expect_found check_layers.sh cli/main.c
mkdir "$work/wasm"
printf '#include "core/num.h"\n' >"$work/wasm/exports.c"
expect_found check_layers.sh wasm/exports.c
mkdir "$work/src/other"
printf '\n' >"$work/src/other/x.c"
expect_found check_layers.sh "module 'other'"

printf 'int c = ECO_BASIS_MEASURED;\n' >"$work/src/meters/meter_x.c"
expect_found check_basis.sh src/meters/meter_x.c
printf '\n' >"$work/src/protocol/run.c"
expect_found check_basis.sh src/protocol/run.c

{
    printf 'static int long_one(int first,\n    int second) {\n'
    for _ in $(seq 69); do printf '    first += second;\n'; done
    printf '}\n'
} >"$work/src/core/num.c"
expect_found check_length.sh src/core/num.c:2
for _ in $(seq 801); do printf '\n'; done >"$work/src/core/num.c"
expect_found check_length.sh "src/core/num.c: 801 lines"

printf '\n' >"$work/cli/num.h"
expect_found check_names.sh cli/num.h
printf '\n' >"$work/cli/BadName.c"
expect_found check_names.sh cli/BadName.c

printf 'typedef struct eco_y { int class; } eco_y;\n' >"$work/include/ecocompute/y.h"
expect_found check_headers.sh class

printf 'void f(const char *s) { printf("%%s", s); }\n' >>"$work/cli/main.c"
expect_found check_terminal.sh cli/main.c

printf 'ECO_WARNING(NEW, "new_one", true, "text", "advice")\n' >>"$work/include/ecocompute/warnings.def"
expect_found check_warnings.sh new_one
printf '# odd\nlab_warns_not run odd\nlab_warns run oddity\n' >"$work/tests/lab/test_odd.sh"
expect_found check_warnings.sh tests/lab/test_odd.sh
rm "$work/tests/lab/test_odd.sh"
expect_found check_warnings.sh "no test test_odd.sh"
# shellcheck disable=SC2016 # Markdown
printf '| `gone` | `test_odd.sh` | `test_even.sh` |\n' >>"$work/docs/protocol.md"
expect_found check_warnings.sh "gone is no code"

sed -i '/^| 2 /d' "$work/docs/field.md"
expect_found check_field.sh "row C1 2 stands 0 times"
sed -i 's/1 2$/1/' "$work/docs/field.md"
expect_found check_field.sh "row C1 2 is not in the list"
sed -i 's/lab_test_odd/lab_test_gone/' "$work/docs/field.md"
expect_found check_field.sh "no test lab_test_gone"
sed -i 's/lab_test_odd/lab_test_odd:row_1/' "$work/docs/field.md"
expect_found check_field.sh "no function row_1"
sed -i 's/waits for e/surely fine/' "$work/docs/field.md"
expect_found check_field.sh "row 2: neither a test"

if command -v clang-format-14 >/dev/null; then
    cp "$tools/../.clang-format" "$work/"
    printf 'int  c ;\n' >"$work/src/core/num.c"
    expect_found check_format.sh src/core/num.c
fi
if [ "$bad" -eq 0 ]; then
    echo "every planted fault was found"
fi
exit "$bad"
