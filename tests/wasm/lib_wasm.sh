# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the WebAssembly module share: the tools it takes, or a skip that names the first that is missing, and
# the module and its wrapper, built once a build folder. ECO_WASM_REQUIRED=1 makes a missing tool a failure, as CI needs.
: "${ECO_SOURCE_DIR:?the source tree}" "${ECO_BUILD_DIR:?the build folder}"
WASM_DIR=$ECO_BUILD_DIR/wasm
export LC_ALL=C

missing() {
    if [ -n "${ECO_WASM_REQUIRED:-}" ]; then
        echo "FAILED: $*"
        exit 1
    fi
    echo "skip: $*"
    exit 77
}

# Debian's npm, or the one that node.js's own package brings.
npm() {
    if [ -n "$(type -P npm)" ]; then
        command npm "$@"
    else
        node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"
    fi
}

needs_tools() {
    local tool
    for tool in clang-19 wasm-ld-19 node; do
        command -v "$tool" >/dev/null || missing "$tool is not installed (Debian: clang-19, lld-19, nodejs)"
    done
    [ -e /usr/include/wasm32-wasi/stdlib.h ] || missing "no C library for WebAssembly (Debian: wasi-libc)"
    [ -e "$(clang-19 -print-resource-dir)/lib/wasi/libclang_rt.builtins-wasm32.a" ] ||
        missing "no compiler runtime for WebAssembly (Debian: libclang-rt-19-dev-wasm32)"
    npm --version >/dev/null 2>&1 || missing "npm is not installed"
}

# What the lock file of web/core pins (TypeScript; ajv for tests/schema), in the build folder; from the npm registry when
# it is not there yet.
install_packages() {
    local npm_dir=$WASM_DIR/npm
    mkdir -p "$npm_dir"
    if [ ! -x "$npm_dir/node_modules/.bin/tsc" ] ||
        ! cmp -s "$ECO_SOURCE_DIR/web/core/package-lock.json" "$npm_dir/package-lock.json"; then
        cp "$ECO_SOURCE_DIR"/web/core/package.json "$ECO_SOURCE_DIR"/web/core/package-lock.json "$npm_dir"
        (cd "$npm_dir" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) || {
            local reason
            reason=$(grep -m 1 'ERR!' "$npm_dir/npm.log" || tail -n 1 "$npm_dir/npm.log")
            rm -f "$npm_dir/package-lock.json"
            missing "TypeScript and ajv could not be installed: $reason"
        }
    fi
}

# WASM_DIR/ecocompute_core.wasm and WASM_DIR/web/*.js; one test at a time, the others find it done.
build_wasm() {
    needs_tools
    mkdir -p "$WASM_DIR"
    exec 9>"$WASM_DIR/lock"
    flock 9
    install_packages
    (cd "$ECO_SOURCE_DIR" && cmake --preset wasm -B "$WASM_DIR" >"$WASM_DIR/configure.log" 2>&1 &&
        cmake --build "$WASM_DIR" >"$WASM_DIR/build.log" 2>&1) || {
        echo "FAILED: the module could not be built"
        tail -n 40 "$WASM_DIR/configure.log" "$WASM_DIR/build.log"
        exit 1
    }
    "$WASM_DIR/npm/node_modules/.bin/tsc" -p "$ECO_SOURCE_DIR/web/core" --outDir "$WASM_DIR/web"
    cp "$ECO_SOURCE_DIR/web/core/package.json" "$WASM_DIR/web" # says that they are ES modules
    flock -u 9
}
