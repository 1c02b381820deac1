#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every case under node: the module says byte for byte what the native library says.
set -euo pipefail
# shellcheck source=tests/wasm/lib_wasm.sh
. "$(dirname "$(readlink -f "$0")")/lib_wasm.sh"
build_wasm
node "$ECO_SOURCE_DIR/tests/wasm/run_node.mjs" "$ECO_SOURCE_DIR" "$ECO_BUILD_DIR"
