#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh Debian or Ubuntu to a measurement: installs what is missing, builds, measures (or tests).
# Every command is printed before it runs; --dry-run prints and changes nothing.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: ./quickstart.sh [--dry-run]         install the build packages, build, run `ecocompute measure`
       ./quickstart.sh [--dry-run] test    install the test packages too, build, run the tests
       ./quickstart.sh --help

Packages are installed with apt-get, as root or through sudo; those that are there already are left alone, and when all
are there apt-get is not called. Every command is printed before it runs; --dry-run prints them and changes nothing.
`test` leaves out the tests labelled long, unless CI is set in the environment; `ctest --preset release` runs all.
TEXT
}

build_packages=(build-essential cmake ninja-build git libyaml-dev)
test_packages=(libcmocka-dev jq gnuplot-nox)

dry_run=0
job=measure
for argument in "$@"; do
    case $argument in
    --dry-run) dry_run=1 ;;
    --help | -h)
        usage
        exit 0
        ;;
    test) job="test" ;;
    *)
        echo "quickstart.sh: unknown argument '$argument'; --help lists what there is" >&2
        exit 2
        ;;
    esac
done

# run CMD...: prints the command and, unless --dry-run, runs it.
run() {
    printf '+ %s\n' "$*"
    if [ "$dry_run" -eq 0 ]; then
        "$@"
    fi
}

package_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# install PACKAGE...: those that are missing.
install_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "quickstart.sh: no apt-get here; needed are a C compiler, cmake 3.25, ninja, libyaml and (for the tests) cmocka" >&2
        return
    fi
    local missing=()
    local package
    for package in "$@"; do
        if ! package_installed "$package"; then
            missing+=("$package")
        fi
    done
    if [ "${#missing[@]}" -eq 0 ]; then
        echo "Already installed: $*"
        return
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "quickstart.sh: ${missing[*]} must be installed by root, and there is no sudo" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    run "${as_root[@]}" apt-get update
    run "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

cd "$(dirname "$0")"
if [ "$job" = "test" ]; then
    install_packages "${build_packages[@]}" "${test_packages[@]}"
    run cmake --preset release -DECO_TESTS=ON
    run cmake --build --preset release
    # Label long: tests of about a minute, and one that fetches NVIDIA's assembler from PyPI. CI runs them too.
    # There a failed test is run once more, and the log shows both: lab tests run in real time, and a virtual machine's
    # host may stop it for a moment.
    options=(-LE '^long$')
    if [ -n "${CI:-}" ]; then
        options=(--repeat until-pass:2)
    fi
    run ctest --preset release --parallel "$(nproc)" "${options[@]}"
    exit 0
fi

install_packages "${build_packages[@]}"
# A tree that is set up for the tests stays so.
if [ ! -f build/release/build.ninja ]; then
    run cmake --preset release -DECO_TESTS=OFF
fi
run cmake --build --preset release
status=0
run build/release/ecocompute measure || status=$?
if [ "$status" -eq 3 ]; then
    echo
    echo "Built and run. Nothing could be measured on this machine; the lines above say what is missing."
    echo "With an NVIDIA GPU and its driver the same command gives energy per token."
    exit 0
fi
exit "$status"
