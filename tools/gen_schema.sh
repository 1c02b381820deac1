#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gen_schema.sh WRITE_SCHEMA [OUT_DIR]: the schema file and its page in docs, by the built program
# tests/write_schema, under OUT_DIR (default: this tree, which renews the committed files).
set -euo pipefail

program=${1:?usage: gen_schema.sh WRITE_SCHEMA [OUT_DIR]}
out=${2:-$(cd "$(dirname "$0")/.." && pwd)}
mkdir -p "$out/schema" "$out/docs"
"$program" json >"$out/schema/energy-1.3.schema.json"
"$program" page >"$out/docs/schema.md"
