#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual pages: what is made of --help is fresh, and each example in a block `sh` below "# EXAMPLES" runs. A line that
# ends with "# status N" ends so (0 without it), and "# prints: TEXT" behind it is in what it printed. Blocks `console`
# need a card, gnuplot or time, and are not run.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
pages=$ECO_SOURCE_DIR/docs/man

"$ECO_SOURCE_DIR/tools/gen_man.sh" "$ECOCOMPUTE" "$pages" "$DIR/fresh"
diff -r "$pages" "$DIR/fresh" >stale || fail "stale: run tools/gen_man.sh PROGRAM docs/man
$(head -n 20 stale)"

# What the examples name.
first=$ECO_SOURCE_DIR/data/h200/first
mkdir -p bin examples/ecocompute-out/latest examples/monday examples/friday
ln -s "$ECOCOMPUTE" bin/ecocompute
cp "$first"/20261130T150901Z-92de83/* examples/ecocompute-out/latest
cp "$first"/20261130T150901Z-92de83/energy.json examples/monday
cp "$first"/20261130T151055Z-0381a1/energy.json examples/friday
ln -s "$ECO_SOURCE_DIR/data/h200/study" examples/study
ln -s "$ECO_SOURCE_DIR/data" examples/data
export PATH=$DIR/bin:$PATH

ran=0
example() { # PAGE LINE
    local expected=0 rc=0
    [[ $2 =~ '# status '([0-9]+)$ ]] && expected=${BASH_REMATCH[1]}
    (cd examples && bash -c "$2" >../printed 2>&1 </dev/null) || rc=$?
    [ "$rc" -eq "$expected" ] || fail "$1: $2: status $rc, expected $expected: $(tail -n 1 printed)"
    ran=$((ran + 1))
}

for page in "$pages"/*.1.md; do
    name=$(basename "$page" .1.md)
    # shellcheck disable=SC2016 # Markdown's backquotes
    sed -n '/^# EXAMPLES$/,$p' "$page" | sed -n '/^```sh$/,/^```$/{/^```/d;p}' >lines
    grep -q '^ecocompute' <(sed -n '/^# EXAMPLES$/,$p' "$page") || fail "$name: no example"
    while IFS= read -r line; do
        if [[ $line == '# prints: '* ]]; then
            grep -qF -- "${line#'# prints: '}" printed || fail "$name: '${line#'# prints: '}' is not in: $(head -n 5 printed)"
        else
            example "$name" "$line"
        fi
    done <lines
done

# As `make install` lays them out for man: every page has a title, and groff, where there is one, has nothing to warn of.
for page in "$pages"/*.1.md; do
    awk -f "$ECO_SOURCE_DIR/tools/md_to_man.awk" "$page" >page.1
    name=$(basename "$page" .1.md)
    [ "$(head -n 1 page.1)" = ".TH ${name^^} 1" ] || fail "$name: begins $(head -n 1 page.1)"
    # shellcheck disable=SC2016 # Markdown's backquotes
    [ "$(grep -c '^\.SH ' page.1)" -eq "$(grep -c '^# ' <(sed '/^```/,/^```$/d' "$page"))" ] || fail "$name: sections are lost"
    if command -v groff >/dev/null; then
        groff -man -K utf8 -T utf8 -ww -z page.1 2>warnings || true
        [ ! -s warnings ] || fail "$name: $(head -n 3 warnings)"
    fi
done

[ "$ran" -ge 20 ] || fail "only $ran examples ran"
echo "$ran examples"
finish
