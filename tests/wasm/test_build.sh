#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The module builds without a warning, imports nothing, exports what the wrapper calls, and is small enough to load; the
# wrapper's types take what a job takes and refuse what it does not.
set -euo pipefail
# shellcheck source=tests/wasm/lib_wasm.sh
. "$(dirname "$(readlink -f "$0")")/lib_wasm.sh"
build_wasm
node "$ECO_SOURCE_DIR/tests/wasm/check_module.mjs" "$WASM_DIR/ecocompute_core.wasm"
"$WASM_DIR/npm/node_modules/.bin/tsc" -p "$ECO_SOURCE_DIR/tests/wasm/tsconfig.json"
echo "types as expected"
