#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The schema file, read by ajv, and the check in C give the same verdict on 2,000 mutated reports of every version.
# Skipped with a reason where node, npm or ajv cannot be had.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
: "${ECOCOMPUTE:?path of the program}"
# shellcheck source=tests/wasm/lib_wasm.sh
. "$here/../wasm/lib_wasm.sh"

command -v node >/dev/null || missing "node is not installed (Debian: nodejs)"
npm --version >/dev/null 2>&1 || missing "npm is not installed"
mkdir -p "$WASM_DIR"
exec 9>"$WASM_DIR/lock"
flock 9
install_packages
flock -u 9

folder=$(mktemp -d)
# shellcheck disable=SC2064
trap "rm -rf '$folder'" EXIT
golden=$ECO_SOURCE_DIR/tests/golden
node "$here/agree.mjs" "$ECOCOMPUTE" "$ECO_SOURCE_DIR/schema/energy-1.3.schema.json" \
    "$WASM_DIR/npm/node_modules/ajv" "$folder" "$golden"/published_1_{0,1,2,3}.json "$golden/energy_1_3_ours.json" \
    "$ECO_SOURCE_DIR"/examples/{measured-h200,no-gpu}/energy.json
