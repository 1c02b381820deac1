# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the page share: the tools, or a skip with the reason (ECO_WASM_REQUIRED=1: a failure), and the page,
# built once a build folder: WEB_PAGE.
# shellcheck source=tests/wasm/lib_wasm.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../wasm/lib_wasm.sh"
WEB_PAGE=$ECO_BUILD_DIR/wasm/page
WEB_SITE=$ECO_SOURCE_DIR/web/site

build_page() {
    command -v chromium >/dev/null || missing "chromium is not installed (Debian: chromium)"
    [ -n "$(fc-list 'Noto Sans CJK SC' 2>/dev/null)" ] || missing "no Chinese font (Debian: fonts-noto-cjk)"
    build_wasm
    exec 8>"$WASM_DIR/page.lock"
    flock 8
    if ! cmp -s "$WEB_SITE/package-lock.json" "$WEB_SITE/node_modules/.installed-lock.json"; then
        (cd "$WEB_SITE" && npm ci --ignore-scripts --no-audit --no-fund >"$WASM_DIR/npm-site.log" 2>&1) ||
            missing "the page's packages could not be installed: $(grep -m 1 'ERR!' "$WASM_DIR/npm-site.log")"
        cp "$WEB_SITE/package-lock.json" "$WEB_SITE/node_modules/.installed-lock.json"
    fi
    (cd "$WEB_SITE" && node_modules/.bin/tsc --noEmit &&
        node build.mjs --core "$WASM_DIR/ecocompute_core.wasm" --out "$WEB_PAGE") >"$WASM_DIR/page.log" 2>&1 || {
        echo "FAILED: the page could not be built"
        tail -n 40 "$WASM_DIR/page.log"
        exit 1
    }
    flock -u 8
}
