#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the page, holds its size, and drives every view of it in a headless Chromium, from disk and without a network.
# With PAGE_SHOTS=FOLDER it leaves pictures of every view there.
set -euo pipefail
# shellcheck source=tests/web/lib_web.sh
. "$(dirname "$(readlink -f "$0")")/lib_web.sh"
build_page

size=$(gzip -9 -c "$WEB_PAGE/index.html" | wc -c)
echo "index.html: $size bytes gzipped, 300000 at most"
[ "$size" -lt 300000 ]

export LC_ALL=C.UTF-8 # in the plain C locale Chromium does not find a file whose name is not ASCII
export ECO_PAGE=$WEB_PAGE ECO_CORE=$WASM_DIR/ecocompute_core.wasm ECOCOMPUTE=$ECO_BUILD_DIR/ecocompute
if [ -n "${PAGE_SHOTS:-}" ]; then
    export ECO_PAGE_SHOTS=$PAGE_SHOTS
fi
node --test --test-concurrency=2 --test-reporter=spec "$ECO_SOURCE_DIR"/tests/web/test_*.mjs
