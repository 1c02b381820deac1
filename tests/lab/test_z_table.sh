#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The lab's answer in one table: every scenario once, from the lines that the other scripts left (lab_row in lib_lab.sh).
# Fails when a scenario is missing, was run with another build of the program, is here twice, or is outside the
# uncertainty that its own report states. Writes and prints the table in any case, as Markdown: CTest shows it at its end,
# and it stays in lab-results/table.md of the build folder.
set -euo pipefail
: "${ECOCOMPUTE:?path of the program}" "${ECO_LAB_RESULTS:?folder of the lines}"

# In the order of the design: every way in which a card, its sensor or its neighbours can be wrong.
wanted="clean_counter trailing_average part_time_sensor gain_error offset_error no_counter power_still
    counter_reset counter_step_back counter_slip counter_freeze read_bursts read_bursts_long read_stalls
    device_lost device_lost_cuda driver_stuck other_tenant other_tenant_forced newcomer throttle power_cap
    card_slows sensor_clock mig mig_by_uuid two_gpus_swapped
    visible_indices visible_uuid visible_uuid_short visible_until_bad visible_none visible_empty"

failed=0
here=$(sha256sum <"$ECOCOMPUTE")
rows=$(for file in "$ECO_LAB_RESULTS"/*.rows; do
    if [ -f "$file" ] && [ "$(head -n 1 "$file")" = "$here" ]; then
        tail -n +2 "$file"
    fi
done)
# shellcheck disable=SC2086 # words
for scenario in $wanted; do
    case $(cut -d '|' -f 1 <<<"$rows" | grep -cx "$scenario" || true) in
    1) ;;
    0) echo "MISSING: $scenario: its script did not come so far" && failed=1 ;;
    *) echo "TWICE: $scenario" && failed=1 ;;
    esac
done
while IFS='|' read -r scenario _; do
    grep -qw -- "$scenario" <<<"$wanted" || { echo "UNKNOWN: $scenario" && failed=1; }
done < <(grep . <<<"$rows")
if grep -q '|OUTSIDE$' <<<"$rows"; then
    echo "OUTSIDE: $(grep '|OUTSIDE$' <<<"$rows" | cut -d '|' -f 1 | tr '\n' ' ')"
    failed=1
fi

awk -F '|' -v wanted="$wanted" '
    function number(text, places) { return text == "-" || text == "null" ? "-" : sprintf("%." places "f", text) }
    { line[$1] = $0 }
    END {
        print "| scenario | true mJ/token | reported | ± stated | ratio | true change % | reported | ± stated | verdict |"
        print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
        n = split(wanted, names, /[ \n]+/)
        for (i = 1; i <= n; i++) {
            if (!(names[i] in line)) {
                continue
            }
            split(line[names[i]], f, "|")
            ratio = f[3] == "-" || f[3] == "null" ? "-" : sprintf("%.4f", f[3] / f[2])
            printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", names[i], number(f[2], 1), number(f[3], 1),
                number(f[4], 1), ratio, number(f[5], 2), number(f[6], 2), number(f[7], 2), f[8]
        }
    }' <<<"$rows" >"$ECO_LAB_RESULTS/table.new"
echo "
$("$ECOCOMPUTE" --version | head -n 1), $(date -u +%Y-%m-%d); scripted driver, not a real card" >>"$ECO_LAB_RESULTS/table.new"
cat "$ECO_LAB_RESULTS/table.new"
[ "$failed" -eq 0 ] || exit 1
echo "every scenario is there, and each is within its stated uncertainty, flagged or refused"
