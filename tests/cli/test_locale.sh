#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A locale with decimal commas changes no number, neither read nor written.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

comma=$(locale -a | grep -E '^de_DE\.utf-?8$' | head -n 1 || true)
if [ -z "$comma" ]; then
    # Made here when the system has the sources of locales; it is only for this test.
    if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$DIR/de_DE.UTF-8" 2>/dev/null; then
        export LOCPATH=$DIR
        comma=de_DE.UTF-8
    else
        echo "skipped: no locale de_DE.UTF-8 here, and it cannot be made"
        exit 77
    fi
fi
unset LC_ALL
[ "$(LC_ALL=$comma locale decimal_point)" = , ] || fail "$comma has no decimal comma"

LC_ALL=C "$ECOCOMPUTE" models --json >plain.json
LC_ALL=$comma "$ECOCOMPUTE" models --json >comma.json
cmp plain.json comma.json || fail "models --json differs"
# A plan, without what differs from one call to the next: the folder, and the memory that is free.
plan() {
    "$ECOCOMPUTE" measure --dry-run --order-seed 1 "$@" 2>&1 | sed -E '/^output:/d; s/[0-9]+(.)[0-9]+ GB are free/N\1N GB are free/'
}
for args in "--window 1.5 --margin 2.5" "--window 1,5"; do
    # shellcheck disable=SC2086
    LC_ALL=C plan $args >plain.txt || true
    # shellcheck disable=SC2086
    LC_ALL=$comma plan $args >comma.txt || true
    cmp plain.txt comma.txt || fail "--dry-run $args differs: $(diff plain.txt comma.txt)"
done
LC_ALL=$comma fake_measure run --quiet
[ "$(cat run.rc)" = 0 ] || fail "run: $(cat run.err)"
jq -e '.results.energy_per_token_mj > 1500 and .results.energy_per_token_mj < 2500' run/energy.json >/dev/null ||
    fail "mJ/token: $(jq .results run/energy.json)"
for locale in C "$comma"; do
    LC_ALL=$locale "$ECOCOMPUTE" validate --recompute run/energy.json >/dev/null || fail "not valid under $locale"
done
finish
