#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_headers.sh [ROOT]: each public header compiles alone, as C17 and as C++17, without a warning.
set -euo pipefail

cd "${1:-$(dirname "$0")/..}"
flags=(-fsyntax-only -Iinclude -Wall -Wextra -Wpedantic -Werror)
bad=0
n=0
for header in include/ecocompute/*.h; do
    n=$((n + 1))
    printf '#include "%s"\n' "${header#include/}" | ${CC:-cc} -std=c17 -x c "${flags[@]}" - || bad=1
    printf '#include "%s"\n' "${header#include/}" | ${CXX:-c++} -std=c++17 -x c++ "${flags[@]}" - || bad=1
done
if [ "$bad" -eq 0 ]; then
    echo "public headers stand alone in C and C++: $n"
fi
exit "$bad"
