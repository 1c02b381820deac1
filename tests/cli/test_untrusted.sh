#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Text and files from outside. A device name, a report, a file name or an option that holds what drives a terminal (ESC,
# the C1 form of CSI, a right-to-left override, a line end) reaches neither standard output nor standard error as such;
# JSON holds it whole. --recompute opens nothing but regular files beside the report.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

esc=$'\e[2J' csi=$'\xc2\x9b2J' override=$'\xe2\x80\xae'
name="H$esc$csi${override}200"
shown='H\u001b[2J\u009b2J\u202e200'

# harmless FILE...: no control character but the line feed, no bidirectional override.
harmless() {
    local file
    for file in "$@"; do
        if LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$file"; then
            fail "$file drives a terminal: $(grep -aP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$file" |
                head -n 1 | cat -v)"
        fi
    done
}
# holds FILE TEXT
holds() {
    grep -qF -- "$2" "$1" || fail "$1 does not hold '$2': $(head -c 600 "$1" | cat -v)"
}

# ---- a device that names itself so
printf '%s\n' 'counter none' 'step_us.fp16 4000' "name $name" "driver 1$esc" >device.script
export ECO_FAKE_SCRIPT=$DIR/device.script
LD_LIBRARY_PATH=$FAKES run meters
is_status 0
harmless stdout stderr
holds stdout "$shown"
LD_LIBRARY_PATH=$FAKES run meters --json
is_status 0
harmless stdout
[ "$(jq -r '.[] | select(.name == "nvml") | .devices[0].name' stdout)" = "$name" ] || fail "--json: another name"
LD_LIBRARY_PATH=$FAKES run measure --quick --blocks 1 --window 0.3 --precision FP16 --output-dir named
is_status 0
harmless stdout stderr
holds stdout "$shown"
holds stderr "$shown"
jq -e --arg name "$name" '[.. | strings | select(contains($name))] | length > 0' named/energy.json >/dev/null ||
    fail "the report holds another name"
unset ECO_FAKE_SCRIPT

# ---- a report, its file name and an option that say so
run validate --recompute named/energy.json
is_status 0
jq --arg bad "measured$esc"$'\nok: valid' '.results.basis = $bad' named/energy.json >"named/evil$esc.json"
run validate --recompute "named/evil$esc.json"
is_status 4
harmless stdout stderr
holds stdout 'named/evil\u001b[2J.json'
[ "$(grep -c '^ok: valid' stdout)" -eq 0 ] || fail "a report wrote a line of its own"
run validate --json --recompute "named/evil$esc.json"
is_status 4
jq -e --arg name "named/evil$esc.json" '.[0].report == $name' stdout >/dev/null || fail "--json: $(cat -v stdout)"
run validate "absent$csi.json"
is_status 1
harmless stderr
holds stderr 'absent\u009b2J.json'
run measure --model "x$override"
is_status 2
harmless stderr
run "me$esc"
is_status 2
harmless stderr
run validate "$(printf 'no\377name.json')"
is_status 1
holds stderr 'no\xffname.json'
run validate --json "$(printf 'no\377name.json')"
is_status 1
jq -e '.[0].report == "no\ufffdname.json"' stdout >/dev/null || fail "--json of a name that is no text: $(cat -v stdout)"

# ---- what --recompute opens
# refused NAME FILE: the report names FILE as its trace; found to be wrong without waiting and without reading it.
refused() {
    jq --arg f "$2" '.power_trace.files[0].file = $f' named/energy.json >"named/$1.json"
    local rc=0
    timeout 10 "$ECOCOMPUTE" validate --recompute "named/$1.json" >stdout 2>stderr </dev/null || rc=$?
    [ "$rc" -eq 4 ] || fail "$1: status $rc: $(cat stdout stderr)"
    grep -q 'power_trace.files\[0\].file: ' stdout || fail "$1: $(cat stdout)"
}
mkfifo named/pipe.csv
mkdir named/folder.csv
ln -s power_trace_fp16.csv named/link.csv
ln -s /dev/zero named/zero.csv
ln -s /nonexistent named/dangling.csv
refused fifo pipe.csv
refused folder folder.csv
refused link link.csv
refused zero zero.csv
refused dangling dangling.csv
refused absolute "$DIR/named/power_trace_fp16.csv"
refused device /dev/zero
refused upward ../named/power_trace_fp16.csv
refused sub ./power_trace_fp16.csv
refused dots ..
refused empty ''
refused long "$(printf '%05000d' 0)"
if mknod named/null.csv c 1 3 2>/dev/null; then
    refused node null.csv
fi
# The report itself may be none of these either.
for file in named/pipe.csv named/zero.csv named/folder.csv; do
    rc=0
    timeout 10 "$ECOCOMPUTE" validate "$file" >stdout 2>stderr </dev/null || rc=$?
    [ "$rc" -eq 1 ] || fail "$file as a report: status $rc"
done

# ---- driver libraries, as root: none from where somebody else could have put it
if [ "$(id -u)" -eq 0 ]; then
    cp -r "$FAKES" planted
    chmod 777 planted
    LD_LIBRARY_PATH=$DIR/planted run meters
    is_status 0
    holds stdout 'other users may write it'
    chmod 755 planted
    LD_LIBRARY_PATH=planted run meters
    is_status 0
    holds stdout 'relative folder'
    LD_LIBRARY_PATH=$DIR/planted run meters
    is_status 0
    holds stdout 'nvml: NVIDIA GPU'
    grep -A 3 '^nvml:' stdout | grep -q '  usable:' || fail "a proper folder is refused: $(cat stdout)"
fi
finish
