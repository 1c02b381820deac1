#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A sensor that reads 5 W too much, the most that docs/uncertainty.md declares, on a card so small that it matters.
# True: FP16 62 W for 4000 us (248 mJ), NF4 41 W for 3500 us (143.5 mJ), change -42.137 %. Must come out: joules 8 and 12
# % too high and a change 2.2 points off, as such a sensor shows them; both held by the offset terms of u_expanded.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script offset.script <<'S'
power_w.fp16 62
power_w.nf4 41
power_w.read 79
power_w.launch 22
context_w 15
idle_bare_w 10
offset_w 5
S
lab_measure offset.script offset --quick --blocks 2
lab_within "NF4 mJ/token as the sensor must show it" "$(lab_get offset .results.energy_per_token_mj)" 161 5
lab_row offset_error offset 248 143.5
lab_valid offset
lab_done
