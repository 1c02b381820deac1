#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every command that reads reports, on reports made to do harm: script and markup in strings, what drives a terminal, what
# a spreadsheet would run, 200 MB, a million levels, the same key twice, NaN, traces by absolute path or symbolic link.
# Each ends soon with a status of its own, prints nothing that acts, and neither opens nor changes what it was not given.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
: "${ECO_SOURCE_DIR:?the source tree}"
source=$ECO_SOURCE_DIR/data/h200/published

# The commands under test, each with the options that make it read the most.
calls=(
    "validate" "validate --recompute" "validate --json --recompute" "validate --profile dataset-eligible"
    "explain" "explain --json" "export --no-redact --format csv" "export --format jsonl"
    "export --no-redact --format md"
    "plot --output-dir pictures" "plot --output-dir pictures --kind power" "check" "check --json --across-stacks"
    "compare" "compare --json" "share" "share --json"
)
# No command that says it reads reports is left out of the list.
while read -r command; do
    # Here-strings: grep -q ends a pipe early, and whoever still writes would fail.
    if grep -q '^Usage: .*REPORT' <<<"$("$ECOCOMPUTE" "$command" --help)" &&
        ! grep -q "^$command\b" <<<"$(printf '%s\n' "${calls[@]}")"; then
        fail "$command reads reports and is not tested here"
    fi
done < <(sed -n 's/^ECO_COMMAND(\([a-z_]*\),.*/\1/p' "$ECO_SOURCE_DIR/cli/commands.def")

# call FILE: runs the current command on it, given twice where two are compared, with a limit on time.
call() {
    local files=("$1") rc=0 words
    read -ra words <<<"$command"
    if [ "${words[0]}" = compare ]; then
        files+=("$1")
    fi
    timeout 20 "$ECOCOMPUTE" "${words[@]}" "${files[@]}" >stdout 2>stderr </dev/null || rc=$?
    LAST="$command $1"
    echo "$rc" >status
}
# harmless FILE...: no control character but the line feed, no bidirectional override.
harmless() {
    local file
    for file in "$@"; do
        if LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$file"; then
            fail "$LAST: $file drives a terminal: $(head -c 300 "$file" | cat -v)"
        fi
    done
}

# ---- reports that are read
mkdir good
cp "$source"/energy.json "$source"/power_trace_*.csv good
cp good/power_trace_nf4.csv canary.csv
ln -s ../canary.csv good/link.csv
evil=$'=`touch pwned`\'"$(touch pwned)HYPERLINK("http://x")|cmd<script>alert(1)</script><img src=x onerror=alert(1)>\e[2J\e]0;t\a\xc2\x9b2J\xe2\x80\xae\r\n@SUM(1)'
jq --arg e "$evil" '(.. | strings) |= (if test("^(ecocompute-energy|[0-9a-f]{64}$|NF4$|FP16$|measured|power_trace_|cold$|steady$|csv$|primary$|fp16_b|decode$|generation$|prefill$|SingleStream|Offline|baseline$|under_test$|inconclusive|saves|costs|native$)")
    then . else $e end)' good/energy.json >good/strings.json
jq --arg f "$DIR/canary.csv" '.power_trace.files[0].file = $f' good/energy.json >good/absolute.json
jq '.power_trace.files[0].file = "link.csv"' good/energy.json >good/symlink.json
jq '.power_trace.files[0].file = "../canary.csv"' good/energy.json >good/upward.json
jq '.workload.params_b = 1e308 | .results.energy_per_token_mj = 1e308 | .results.vs_fp16_energy_pct = -1e308 |
    .trials.arms[].windows[].tokens = 0 | .measurement.iterations = 9223372036854775807' good/energy.json >good/numbers.json
jq '.trials = [] | .results = null | .warnings = {} | .power_trace = "x" | .explain = [[]] | .workload = 7' \
    good/energy.json >good/shapes.json
sum=$(sha256sum good/*.csv canary.csv good/*.json)

for command in "${calls[@]}"; do
    for file in good/strings.json good/absolute.json good/symlink.json good/upward.json good/numbers.json good/shapes.json; do
        rm -rf pictures
        mkdir pictures
        call "$file"
        case $(cat status) in
        0 | 1 | 3 | 4) ;;
        *) fail "$LAST: status $(cat status): $(head -n 2 stderr)" ;;
        esac
        harmless stdout stderr
        if find pictures -name '*.svg' -exec grep -liE '<script|<img|onload=' {} + | grep -q .; then
            fail "$LAST: markup of the report is in a picture"
        fi
        [ "$(find pictures ! -type d ! -name '*.svg' ! -name '*.gp' | wc -l)" -eq 0 ] ||
            fail "$LAST: an unexpected file: $(ls pictures)"
    done
done
[ "$(sha256sum good/*.csv canary.csv good/*.json)" = "$sum" ] || fail "a file that was only to be read has changed"

if [ -e pwned ] || [ -e pictures/pwned ]; then
    fail "a command in a report was run"
fi
if command -v gnuplot >/dev/null; then
    command="plot --output-dir pictures --kind power"
    call good/strings.json
    is_status 0
    grep -q '&lt;script' pictures/power.svg || fail "the picture does not show the name: the check above sees nothing"
fi

# No cell of a table begins as a formula does, and Markdown holds no tag.
command="export --no-redact --format csv"
call good/strings.json
is_status 0
if tail -n +2 stdout | grep -qE '(^|,)"?[=+@\t]'; then
    fail "a cell is a formula: $(head -c 400 stdout)"
fi
grep -q "'=.touch pwned.*HYPERLINK" stdout || fail "the device's name is not in the table: $(head -c 400 stdout)"
command="export --no-redact --format md"
call good/strings.json
is_status 0
if grep -qE '(^|[^\\])<' stdout; then
    fail "a tag in Markdown: $(head -c 400 stdout)"
fi
command="share"
call good/energy.json
is_status 0
link=$(cat stdout)
case $link in
*[!A-Za-z0-9:/.?=\&_-]*) fail "the link holds more than a link's characters: $link" ;;
esac

# A trace is opened only beside its report and only if it is a file.
for file in absolute symlink upward; do
    command="validate --recompute"
    call "good/$file.json"
    is_status 4
    grep -q '^power_trace.files\[0\].file: ' stdout || fail "$LAST: $(cat stdout)"
    command="plot --output-dir pictures --kind power"
    call "good/$file.json"
    [ "$(cat status)" -ne 0 ] || fail "$LAST: a picture of a trace that is not beside the report"
done

# ---- reports that are not read: 1, and one line that says why
truncate -s 200M large.json
{
    printf '{"a": '
    head -c 1000000 /dev/zero | tr '\0' '['
} >deep.json
jq -c . good/energy.json | sed 's/^{/{"schema_version": "ecocompute-energy\/1.0",/' >twice.json
sed 's/"total_energy_joules": [0-9.]*/"total_energy_joules": NaN/' good/energy.json >nan.json
sed 's/"total_energy_joules": [0-9.]*/"total_energy_joules": 1e999/' good/energy.json >huge.json
printf '{"a": "%b"}' '\xed\xa0\x80' >surrogate.json
ln -s /dev/zero zero.json
ln -s loop.json loop.json
mkdir folder.json
mkfifo pipe.json
declare -A reason=(
    [large]='large' [deep]='64 levels' [twice]='duplicate key "schema_version"' [nan]='' [huge]='beyond the range'
    [surrogate]='UTF-8' [zero]='regular file' [loop]='' [folder]='regular file' [pipe]='regular file' [absent]=''
)
for command in "${calls[@]}"; do
    for name in "${!reason[@]}"; do
        rm -rf pictures
        mkdir pictures
        call "$name.json"
        is_status 1
        harmless stdout stderr
        [ "$(wc -l <stderr)" -eq 1 ] || fail "$LAST: not one line: $(head -n 3 stderr)"
        grep -qF "$name.json" stderr || fail "$LAST: the file is not named: $(cat stderr)"
        grep -qF "${reason[$name]}" stderr || fail "$LAST: '${reason[$name]}' is not in: $(cat stderr)"
    done
done
finish
