# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # rc_good: for lib_case.sh; command, kind, nth, rc: its
#
# What lib_case.sh holds a run against: an end with a status of the contract and one line that says why, nothing left behind,
# and numbers that are the truth within their stated uncertainty, or absent with a reason. What is not so goes to `bad`,
# a number that is not the truth to `wrong`.
bad=()
wrong=()
note=
rc_good=0 # of a run without a fault

# within VALUE TRUTH PERCENT
within() {
    awk -v g="$1" -v t="$2" -v p="$3" 'BEGIN { d = g - t; d = d < 0 ? -d : d; t = t < 0 ? -t : t; exit !(d <= t * p / 100) }'
}
# near VALUE TRUTH ALLOWED
near() {
    awk -v g="$1" -v t="$2" -v a="$3" 'BEGIN { d = g - t; exit !((d < 0 ? -d : d) <= a) }'
}

# ---- how it ended

judge_end() {
    local statuses='0 1 3 4'
    case $command in
    run | vs) statuses='0 125' ;;
    resume) statuses='0 1 2 3 4' ;; # 2: without CUDA or its meter other options come about
    doctor) rc_good=4 ;; # the libraries are stand-ins
    replay) rc_good=3 ;; # a replay is no measurement
    esac
    if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
        bad+=("does not end")
    elif [ "$rc" -eq 99 ]; then
        bad+=("a sanitizer's finding: $(grep -m 1 -E 'ERROR|SUMMARY' stderr)")
    elif [ "$rc" -ge 128 ]; then
        bad+=("crashed with signal $((rc - 128))")
    elif ! grep -qw "$rc" <<<"$statuses"; then
        bad+=("status $rc")
    else
        judge_reason
    fi
}

# A status that is not 0 comes with one line that says why, or with an answer that does.
judge_reason() {
    local lines
    [ "$rc" -ne 0 ] || return
    lines=$(grep -cE '^ecocompute: .{10}' stderr)
    [ "$lines" -gt 0 ] || lines=$(grep -cE '^no energy: .{10}' stderr)
    case $command:$rc in
    validate:4) [ "$lines" -gt 0 ] || [ "$(wc -l <stdout)" -ge 2 ] || bad+=("status 4 without a reason") ;;
    doctor:3 | doctor:4) [ -s stdout ] || bad+=("status $rc and no findings") ;;
    replay:3)
        if jq -e '.results.basis == "replayed"' out/energy.json >/dev/null 2>&1; then
            grep -q '^energy was replayed' stdout || bad+=("replayed, and not said so")
        else
            grep -qE '^(no energy: |nothing could be metered)' stdout stderr || bad+=("status 3 without a reason")
        fi
        ;;
    *) [ "$lines" -eq 1 ] || bad+=("status $rc with $lines reasons") ;;
    esac
}

# ---- what it left to others

judge_left() {
    local name n
    while read -r name n; do
        [ "$n" = 0 ] || bad+=("$name $n")
    done < <(grep '^left_' counts 2>/dev/null)
    if [ -f meter.pid ] && [ -d "/proc/$(cat meter.pid)" ] && ! grep -q '^State:.Z' "/proc/$(cat meter.pid)/status"; then
        bad+=("the metering program lives on")
        kill -KILL "$(cat meter.pid)"
    fi
}

# ---- reports

# Millijoules a token at FP16 and NF4, and the change in percent; 0 = not known, for the meter knows nothing of steps: its
# watts are (meter_watts).
report_truth() {
    case $command in
    exec | replay | rapl) echo "0 0 0" ;;
    *) echo "1980 1144.5 -42.197" ;;
    esac
}
declare -A meter_watts=([rapl]=60 [exec]=250 [replay]=80)

# Numbers of the report: the truth, or not there, or a warning that makes them invalid (a short window alone does not
# excuse a wrong number, nor that what was read is a stand-in).
judge_report() {
    local report=$1 value truth percent fp16 nf4 delta
    jq -e . "$report" >/dev/null 2>&1 || { bad+=("$report is no JSON"); return; }
    if ! "$ECOCOMPUTE" validate --recompute "$report" >check 2>&1; then
        bad+=("$report: $(head -n 2 check | tr '\n' ' ')")
    fi
    if jq -e '[.warnings[] | select(.invalidates) | .code | select(. != "short_window" and . != "driver_library_path" and
        . != "debug_build" and . != "partial" and . != "source_overridden" and . != "external_meter" and . != "replayed")] | length > 0' \
        "$report" >/dev/null; then
        note=flagged
    fi
    read -r fp16 nf4 delta < <(report_truth)
    while read -r value truth percent; do
        [ "$value" = null ] && continue
        note=${note:-measured}
        [ "$truth" = 0 ] || within "$value" "$truth" "$percent" || [ "$note" = flagged ] ||
            wrong+=("$report: $value where $truth is true, $percent % allowed")
    done < <(jq -r --argjson fp16 "$fp16" --argjson nf4 "$nf4" --argjson delta "$delta" '
        (.trials.arms[] | "\(.energy_per_token_mj) \(if .precision == "FP16" then $fp16 else $nf4 end) 5"),
        "\(.results.vs_fp16_energy_pct) \($delta) 8"' "$report")
    [ -z "${meter_watts[$command]:-}" ] || judge_watts "$report" "${meter_watts[$command]}"
    [ "$command" != replay ] || jq -e '.results.basis == "replayed" or .results.basis == "unavailable"' "$report" >/dev/null ||
        bad+=("a replay is called $(jq -r .results.basis "$report")")
}

# Mean power, and that of every window, by a meter of known watts.
judge_watts() {
    local report=$1 truth=$2 value
    while read -r value; do
        [ "$value" = null ] || [ "$note" = flagged ] || within "$value" "$truth" 5 ||
            wrong+=("$report: $value W where $truth is true")
    done < <(jq -r '.results.avg_power_watts, (.trials.arms[]?.windows[]? | select(.energy_j != null)
        | .energy_j / (.t_close_s - .t_open_s))' "$report")
}

# What a person saw: the table's lines on standard output, and the blocks' on standard error.
judge_printed() {
    local value truth fp16 nf4
    read -r fp16 nf4 _ < <(report_truth)
    while read -r value truth; do
        [ "$truth" = 0 ] || within "$value" "$truth" 5 || [ "$note" = flagged ] ||
            wrong+=("printed: $value where $truth is true")
    done < <(awk -v fp16="$fp16" -v nf4="$nf4" '
        /^  (FP16|NF4) +[0-9]/ { print $2, $1 == "FP16" ? fp16 : nf4 }
        /^decode / { for (i = 4; i <= NF; i++) if ($i ~ /^mJ\/token/) print $(i - 1), $2 == "FP16" ? fp16 : nf4 }' \
        stdout stderr)
}

# A run that was stopped and could not go on loses nothing by that: without the fault it goes on.
judge_again() {
    local again=0
    LD_LIBRARY_PATH="$FAKES" ECO_FAKE_SCRIPT="$FAULT_DIR/base.script" "$ECOCOMPUTE" "${words[@]}" >again 2>&1 </dev/null ||
        again=$?
    [ "$again" -eq 0 ] || bad+=("cannot go on after it: status $again: $(tail -n 1 again)")
    jq -e '.trials.blocks_finished == 2' out/energy.json >/dev/null 2>&1 || bad+=("did not go on to the end")
    note=
    judge_report out/energy.json
    note=went-on
}

judge_measure() {
    local report left
    shopt -s nullglob
    for report in out/energy*.json; do
        judge_report "$report"
    done
    judge_printed
    left=$(find out -mindepth 1 ! -name 'energy*.json' ! -name 'power_trace_*.csv' ! -name journal 2>/dev/null)
    [ -z "$left" ] || bad+=("left over: $left")
    [ "$rc" -ne 0 ] || [ -f out/energy.json ] || bad+=("status 0 and no report")
    [ ! -e out/energy.json ] || grep -q . out/energy.json || bad+=("an empty report")
    if [ "$command" = resume ]; then
        [ "$rc" -ne 0 ] || jq -e '.trials.blocks_finished == 2' out/energy.json >/dev/null || bad+=("status 0, not whole")
        [ "$rc" -eq 0 ] || judge_again
    fi
}

# ---- run

# The load draws 300 W (A) or 336 W (B) for 2.1 s, in phases of a hundred tokens each, and the card 78 W besides. With
# --vs the summary is for people, and the document is the file.
judge_run() {
    local what value truth allowed left document=stdout phases=2
    if [ "$command" = vs ]; then
        document=out/run.json
        phases=1
        [ "$rc" -ne 0 ] || [ "$(grep -c ' J' stderr)" -ge 2 ] || grep -q 'no energy' stderr || bad+=("status 0 and no summary")
    fi
    [ -s "$document" ] || { [ "$rc" -ne 0 ] || bad+=("status 0 and no document"); return; }
    jq -e . "$document" >/dev/null 2>&1 || { bad+=("the document is no JSON"); return; }
    [ "$command" = vs ] || [ "$(jq .exit_status stdout)" = "$rc" ] ||
        bad+=("the document says status $(jq .exit_status stdout)")
    jq -e '[.runs[] | .energies[], .phases[].energies[] | (.energy_j == null) == (.code != null)] | all' "$document" \
        >/dev/null || bad+=("an energy is absent without a code, or both are there")
    jq -e '.no_meter != null or (.meters | length > 0)' "$document" >/dev/null || bad+=("no meter and no reason")
    while read -r what value truth allowed; do
        [ "$value" = null ] && continue
        note=measured
        near "$value" "$truth" "$allowed" || wrong+=("$what $value where $truth is true, $allowed allowed")
    done < <(jq -r --argjson phases "$phases" 'def watts(c): if c == "A" then 300 else 336 end;
        (.runs[] | .command as $c | .seconds as $s | (watts($c) * 2.1 + 78 * ($s - 2.1)) as $j | ($phases * 100) as $n
            | (.energies[] | "energy_j \(.energy_j) \($j) \((.edge_half_width_j // 0) + $j / 100)",
                "energy_per_token_mj \(.energy_per_token_mj) \($j * 1e3 / $n) \(((.edge_half_width_j // 0) + $j / 100) * 1e3 / $n)"),
            "tokens \(.tokens) \($n) 0",
            (.phases[] | "phase_tokens \(.tokens) 100 0", (watts($c) * .seconds) as $p
                | .energies[] | "phase_energy_j \(.energy_j) \($p) \((.edge_half_width_j // 0) + $p / 100)")),
        ((.runs | map(select(.counted))) as $runs | .commands[] | .name as $c
            | ([$runs[] | select(.command == $c) | .energies[0].energy_j | values]) as $all
            | "mean_energy_j \(.meters[0].energy_j.value) \(if $all == [] then -1 else ($all | add / length) end) 0.000001"),
        (([.commands[].meters[0] | 112 * (.edge_half_width_j // 0) / (.energy_j.value // 1)] | add) as $edges
            | .b_against_a[]? | "change_pct \(.change_pct) 11.85 \($edges + 1.5)")' "$document")
    left=$(find out -mindepth 1 ! -name run.json ! -name 'power_trace_?_run???_meter?.csv' 2>/dev/null)
    [ -z "$left" ] || bad+=("left over: $left")
    [ "$rc" -eq 0 ] || return
    [ -e out/run.json ] || bad+=("status 0 and no run.json")
    [ "$command" = vs ] || cmp -s out/run.json stdout || bad+=("run.json is not the document")
    [ "$(find out -name '*.csv' | wc -l)" -eq "$(jq '(.runs | length) * (.meters | length)' "$document")" ] ||
        bad+=("status 0 and traces are missing")
}

# ---- doctor

# Rows about the machine itself are what they are; the others say what they said without a fault, or are not ok.
judge_doctor() {
    local row
    [ "$rc" -ne 1 ] || return
    jq -e '.verdict and (.findings | length > 5)' stdout >/dev/null 2>&1 || { bad+=("no findings"); return; }
    jq -e '[.findings[] | (.seen | length > 0) and ((.state == "ok") == (.remedy == null))] | all' stdout >/dev/null ||
        bad+=("a row without what was seen, or without its remedy")
    while IFS= read -r row; do
        wrong+=("row $row")
    done < <(jq -r --slurpfile good "$FAULT_DIR/doctor.json" '
        ["sampler_deadlines", "cpu_load", "cpu_steal", "memory", "disk_space", "clock", "read_cost", "temperature",
            "clocks_locked", "counter_update", "rapl", "cgroup_cpu", "cpu_governor", "virtual_machine", "container"] as $host
        | ([$good[0].findings[] | {key: .code, value: .seen}] | from_entries) as $said
        | .findings[] | select(.state == "ok" and (.code as $c | $host | index($c) | not))
        | select(.seen | test("unknown|not told|says nothing|not shown") | not)
        | select((.seen | gsub("[0-9]+ of [0-9]+ reads"; "")) != ($said[.code] // "" | gsub("[0-9]+ of [0-9]+ reads"; "")))
        | "\(.code) is ok with \(.seen)"' stdout)
    # A crowded machine misses ticks, and says that it is one.
    row=$(jq -r 'if [.findings[] | select((.code == "cpu_load" or .code == "cpu_steal") and .state != "ok")] == [] then
        .findings[] | select(.code == "counter_update" and .state != "unknown") | .seen else "" end' stdout)
    [[ ! $row =~ ^every\ ([0-9.]+)\ ms ]] || within "${BASH_REMATCH[1]}" 20 10 || wrong+=("counter_update: $row")
    note=found
}

# ---- the rest

judge_watch() {
    local name value meter=${command#watch_}
    declare -A part=([core]=30 [dram]=30 [psys]=120 [package-0]=60)
    [ "$rc" -eq 0 ] || return
    jq -e 'length == 1 and all(.[][]; (.power_w == null) == (.absence != "present"))' stdout >/dev/null 2>&1 ||
        { bad+=("status 0 and no line, or a power absent without why"); return; }
    value=$(jq -r '.[0][0].power_w' stdout)
    [ "$value" = null ] || { note=measured; within "$value" "${meter_watts[$meter]}" 5 || wrong+=("$value W"); }
    while read -r name value; do
        within "$value" "${part[$name]:-0}" 5 || wrong+=("$name $value W")
    done < <(jq -r '.[0][0].parts' stdout | grep -oE '[a-z]+(-0)? [0-9.]+ W' || true)
}

judge_characterize() {
    local name value truth percent
    # Not the update period of the power: the scripted power hardly changes, so it has none to find.
    while read -r name value truth percent; do
        [ "$value" = null ] || within "$value" "$truth" "$percent" || wrong+=("$name $value where $truth is true")
    done < <(jq -r '"counter_update \(.counter_update_period_s) 0.02 30",
        "bare \(.idle_bare_w) 78 1", "context \(.idle_context_w) 121 5", "loaded \(.idle_loaded_w) 121 1",
        "ratio \(.counter_to_integral) 1 5"' stdout || echo "output 0 1 0")
}

judge_answer() {
    case $command in
    measure | resume | rapl | exec | replay) judge_measure ;;
    watch_*) judge_watch ;;
    run | vs) judge_run ;;
    doctor) judge_doctor ;;
    validate) [ "$rc" -ne 0 ] || grep -q ': valid, every' stdout || bad+=("status 0 without saying valid") ;;
    characterize) [ "$rc" -ne 0 ] || judge_characterize ;;
    meters)
        [ "$rc" -ne 0 ] || jq -e 'length > 0 and all(.[]; .usable or (.reason | length > 5))' stdout >/dev/null 2>&1 ||
            bad+=("status 0 and no list with reasons")
        ;;
    esac
    if grep -niE '(^|[^a-z])(nan|inf|infinity)([^a-z]|$)' stdout out/*.json out/*.csv >found 2>/dev/null; then
        bad+=("not a number: $(head -n 1 found)")
    fi
}
