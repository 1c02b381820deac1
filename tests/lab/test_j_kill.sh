#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A few of the killed runs of tools/kill_sweep.sh; two hundred are made by hand.
set -euo pipefail
case ${ECO_TEST_BUILD:-release} in
asan | tsan)
    echo "skipped: a sanitizer's library and a preloaded one do not go together"
    exit 77
    ;;
esac
JOBS=4 exec "${ECO_SOURCE_DIR:?}/tools/kill_sweep.sh" 8 1
