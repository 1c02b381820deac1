#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --protocol published and --resume. True: FP16 495 W for 4000 us a step, NF4 327 W for 3500 us; 4 generations in a window,
# each a chunk for the prompt of 10, its logits by the FP16 head and 40 steps (counted as 10 + 40), so a generated token
# costs 1980 * 42/40 = 2079 mJ and (1144.5 * 41 + 1980)/40 = 1222.613 mJ. Killed in block 2 of 3, then gone on with. Must
# come out: block 1 as it was, every window once, sums over these windows and no others, the warm-up before each window of
# the second process too, no burn-in, and the true energies.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/lab/lib_lab.sh
. "$here/lib_lab.sh"
# shellcheck source=tests/lab/lib_journal.sh
. "$here/lib_journal.sh"

# No counter: power that changes often gives short windows their energy.
lab_script plain.script <<'S'
counter none
update_ms 20
S
options=(--protocol published --iterations 4 --warmup 1 --tokens 40 --prompt-tokens 10 --blocks 3 --cooldown-max 0.2)

journal_at dead '^generation .* block 2' 1 0 journal_kill plain.script "${options[@]}" --output-dir dead
lab_status dead 137
lab_is dead .trials.blocks_finished 1
lab_valid dead
cp -r dead before

# Other counts of the protocol are another plan.
lab_run plain.script dead "${options[@]}" --iterations 5 --resume --quiet
lab_status dead 2
journal_says dead "--iterations differs (iterations): the run in dead has '4', this command '5'"
lab_run plain.script dead --blocks 3 --resume --quiet
lab_status dead 2
diff -r dead before || lab_fail "dead: a refusal changed something"

lab_run plain.script dead "${options[@]}" --resume
lab_status dead 0
journal_whole dead 3
lab_is dead '.measurement | [.protocol, .window, .iterations, .warmup, .tokens_per_run] | map(tostring) | join(" ")' \
    "published generation 4 1 40"
lab_is dead '[.trials.arms[].windows[] | .kind + (.block | tostring)] | join(" ")' \
    "generation1 generation2 generation3 generation1 generation2 generation3"
lab_is dead '.uncertainty.ci95_repeat.n' 3
lab_is dead '[.trials.pairs[].block] | tostring' "[1,2,3]"
[ "$(journal_windows dead 1)" = "$(journal_windows before 1)" ] || lab_fail "dead: block 1 changed"
lab_is dead '(.results.tokens_generated - ([.trials.arms[1].windows[].tokens] | add) * 40 / 50) | fabs < 0.01' true
lab_is dead '(.results.total_energy_joules - ([.trials.arms[1].windows[].energy_j] | add)) | fabs < 0.01' true
lab_warns dead resumed
lab_is dead '.warnings[] | select(.code == "resumed") | .detail' '1 time: at block 2 of 3'
for name in before dead; do
    ! grep -q '^burn-in' "$name.err" 2>/dev/null || lab_fail "$name: a burn-in beside the protocol's own warm-up"
done
lab_within "FP16 mJ/token" "$(lab_get dead .results.fp16_energy_per_token_mj)" 2079 "$(lab_pct 2079 3)"
lab_within "NF4 mJ/token" "$(lab_get dead .results.energy_per_token_mj)" 1222.613 "$(lab_pct 1222.613 3)"

# One generation of 50 steps is done when a window opens, and the rows of the killed block 2 are not in the traces.
for trace in dead/power_trace_*.csv; do
    awk -F , -v file="$trace" '
        $7 == "generation" && $4 != "" && !($6 in first) { first[$6] = $4; opened[$6] = $1 }
        $7 == "generation" && $6 in opened && $1 < opened[$6] { print file ": block " $6 " goes back"; bad = 1 }
        $1 + 0 < last && NR > 2 { print file ": time goes back in line " NR; bad = 1 }
        NR > 1 { last = $1 + 0 }
        END {
            for (block = 1; block <= 3; block++) {
                if (!(first[block] >= 50)) { print file ": block " block " opens at " first[block] " steps"; bad = 1 }
            }
            exit bad
        }' "$trace" || lab_fail "$trace: warm-up or order of time"
done
lab_done
