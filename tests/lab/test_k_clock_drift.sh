#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two clocks that are not what they seem. The card's: its SM clock falls by 8 MHz a second from 1980 MHz, and steps become
# longer by 6 % a minute at the same power. The sensor's: counter and power change every 97.3 ms instead of 100 ms.
# True: each window of the first run costs power * 4000 us * (1 + 0.001 * t) mJ a token, t being its middle in seconds from
# the start, so the truth is the geometric mean over the windows; the change is -42.197 % in every block, but for what the
# order of the arms adds. The second run: 1980 and 1144.5 mJ. Must come out: right within the stated uncertainty;
# clocks_moved in the first run only; the period found.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script slows.script <<'S'
sm_clock_drift_mhz_per_s -8
drift_pct 6
S
lab_script ticks.script <<'S'
update_ms 97.3
S
# The clock of the scripted card and of the journal: seconds since the system's start.
read -r started _ </proc/uptime
lab_run slows.script slows --quick --blocks 3 &
lab_run ticks.script ticks --quick --blocks 2 &
wait
lab_status slows 0
lab_status ticks 0
origin=$(grep -o '"origin_ns": *[0-9]*' slows/journal | head -n 1 | grep -o '[0-9]*$')
since=$(awk -v o="$origin" -v s="$started" 'BEGIN { printf "%.3f", o / 1e9 - s }')
echo "the report's times begin $since s after the program"
# truth ARM STEP_MJ: geometric mean over the blocks.
truth() {
    jq --argjson since "$since" --argjson mj "$2" ".trials.arms[$1].windows | map(select(.kind == \"decode\")
        | \$mj * (1 + 0.001 * (\$since + (.t_open_s + .t_close_s) / 2)) | log) | add / length | exp" slows/energy.json
}
lab_row card_slows slows "$(truth 0 1980)" "$(truth 1 1144.5)" clocks_moved
lab_is slows '.warnings[] | select(.code == "clocks_moved") | .invalidates' false
lab_is slows '.results.energy_per_token_mj > 1155' true
lab_row sensor_clock ticks 1980 1144.5
lab_within "period of the counter, s" "$(lab_get ticks .meters.counter_update_period_s)" 0.0973 0.002
lab_valid slows
lab_valid ticks
lab_done
