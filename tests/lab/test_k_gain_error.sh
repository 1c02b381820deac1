#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A sensor that reads 5 % too much, counter and power alike: the most that docs/uncertainty.md declares.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 %. Must come out: joules 5 % too high, for nothing on the board can
# tell; the truth within absolute_pct; the change right, because a gain multiplies both arms.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

lab_script gain.script <<'S'
gain 1.05
S
lab_measure gain.script gain --quick --blocks 2
lab_within "NF4 mJ/token as the sensor must show it" "$(lab_get gain .results.energy_per_token_mj)" 1201.725 18
lab_row gain_error gain 1980 1144.5
lab_valid gain
lab_done
