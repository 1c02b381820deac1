#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every case in a headless Chromium, under a strict content security policy and with no name but this machine's to be
# resolved: the module says byte for byte what the native library says.
set -euo pipefail
# shellcheck source=tests/wasm/lib_wasm.sh
. "$(dirname "$(readlink -f "$0")")/lib_wasm.sh"
command -v chromium >/dev/null || missing "chromium is not installed (Debian: chromium)"
build_wasm
node "$ECO_SOURCE_DIR/tests/wasm/run_browser.mjs" "$ECO_SOURCE_DIR" "$ECO_BUILD_DIR"
