#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # dollars of jq and of a child's shell; the rows are called by name
#
# docs/field.md, C2: the wrong device, the wrong sum, somebody else's load. A board is known by its UUID; what the command
# cannot use is not billed to it; boards are never added; nothing is guessed from sizes.
set -euo pipefail
# shellcheck source=tests/cli/lib_field.sh
. "$(dirname "$(readlink -f "$0")")/lib_field.sh"

two=$'devices 2\nname.0 Zero\nname.1 One\nidle_bare_w.0 78\nidle_bare_w.1 61\nread_cost_energy_us 100'
measured pair "$two"$'\ncuda_order "1 0"\ncontext_w.1 95\nstep_us.fp16.1 6000\npower_w.fp16.1 250' &
watched apart "$two" -- sleep 2.3 &
wait

# Every order of CUDA's and of NVML's, every subset: the headline meter is the board that CUDA calls first.
row_36() {
    local cuda nvml visible n names=(Zero One) first
    for cuda in "0 1" "1 0"; do
        for nvml in "0 1" "1 0"; do
            for visible in "" 0 1 1,0 GPU-fa4e0000-0000-0000-0000-000000000000 GPU-fa4e0000-0000-0000-0000-000000000001; do
                case $visible in
                GPU-*) first=$((10#${visible##*-})) ;;
                1*) first=${cuda#* } ;;
                *) first=${cuda% *} ;;
                esac
                (
                    [ -z "$visible" ] || export CUDA_VISIBLE_DEVICES=$visible
                    scripted "$two"$'\n'"cuda_order \"$cuda\""$'\n'"nvml_order \"$nvml\"" run --json -- true
                )
                [ "$(jq -r '.meters[0].device' stdout)" = "${names[first]}" ] ||
                    fail "row_36: CUDA $cuda, NVML $nvml, visible '$visible': $(jq -c '[.meters[].device]' stdout)"
            done
            for n in 0 1; do
                scripted "$two"$'\n'"cuda_order \"$cuda\""$'\n'"nvml_order \"$nvml\"" run --json \
                    --device "cuda:GPU-fa4e0000-0000-0000-0000-00000000000$n" -- true
                [ "$(jq -r '.meters[0].device' stdout)" = "${names[n]}" ] ||
                    fail "row_36: by UUID $n, CUDA $cuda, NVML $nvml: $(jq -c '[.meters[].device]' stdout)"
            done
        done
    done
}

# A dry run judges the chosen board, not any board.
row_37() {
    local bad=$'\npower.0 no\ncounter.0 none' device
    for device in cuda:0 cuda auto cuda:GPU-fa4e0000-0000-0000-0000-000000000000; do
        scripted "$two$bad" measure --dry-run --device "$device"
        is_status 0
        says stdout '^energy: unavailable'
    done
    scripted "$two$bad" measure --dry-run --device cuda:1
    says stdout '^energy: measured$'
    scripted "$two$bad"$'\ncuda_order "1 0"' measure --dry-run
    says stdout '^energy: measured$'
    scripted "$two" measure --dry-run --device cuda:2
    is_status 1
    is_stderr "ecocompute: cuda: no device 2: 2 visible, counted from 0"
    scripted "$two" measure --dry-run --device cuda:-1
    is_status 2
}

# What is no device name is refused, not cut to a number that is one.
row_38() {
    local name
    for name in cuda:-1 cuda:+1 'cuda: 1' cuda:1.0 cuda:0x1 cuda:4294967297 cuda:18446744073709551617 cuda:1,0 cuda:GPU- \
        cuda:GPU-fa4e cuda:0000:01:00.0; do
        scripted "$two" run --device "$name" -- touch ran
        is_status 2
    done
    for name in cuda:2 cuda:GPU-00000000-0000-0000-0000-000000000000; do
        scripted "$two" run --device "$name" -- touch ran
        is_status 125
    done
    [ ! -e ran ] || fail "row_38: the command ran"
}

# A board that is hidden from the command is not billed to it.
row_43() {
    local visible
    for visible in 0 1; do
        CUDA_VISIBLE_DEVICES=$visible scripted "$two" run --json -- true
        [ "$(jq -r '[.meters[].device] | join(",")' stdout)" = "$([ "$visible" = 0 ] && echo Zero || echo One)" ] ||
            fail "row_43: visible $visible: $(jq -c '[.meters[].device]' stdout)"
    done
    for visible in "" -1 7; do
        CUDA_VISIBLE_DEVICES=$visible scripted "$two" run --json -- true
        holds stdout '.meters == [] and (.no_meter | test("CUDA_VISIBLE_DEVICES hides"))'
    done
    CUDA_VISIBLE_DEVICES=1 scripted "$two" run --json --meter nvml -- true # asked for: every board
    holds stdout '[.meters[].device] == ["One", "Zero"]'
    scripted "$two" run --json -- true
    holds stdout '.meters | length == 2'
}

row_45() {
    scripted "$two"$'\nother_tenant_pid.0 4242' run --json -- true
    holds stdout '.warnings[] | select(.code == "contended") | .detail | test("Zero: 1 other process before.* pid 4242")'
    scripted $'other_tenant_pid 4242\nother_tenant_name trainer' measure --quiet --quick --output-dir busy
    is_status 1
    is_stderr "$(cat stderr)"
    says stderr 'pid 4242 trainer'
    [ ! -e busy/energy.json ] || fail "row_45: a report in spite of it"
}

# Two series in one folder: the second gives way and the first's record stays.
row_46() {
    local pid rc=0
    mkfifo go began
    mkdir ranks
    "$ECOCOMPUTE" run --output-dir ranks -- sh -c 'echo >began; read -r _ <go' 2>first.err &
    pid=$!
    read -r _ <began
    run run --output-dir ranks -- touch ran
    is_status 125
    says stderr 'ranks: another run is at work in this folder'
    [ ! -e ran ] || fail "row_46: the second ran"
    echo >go
    wait "$pid" || rc=$?
    [ "$rc" = 0 ] || fail "row_46: the first: status $rc: $(cat first.err)"
    holds ranks/run.json '.commands[0].words[0] == "sh"'
    # The lock died with its holder; the record is kept all the same.
    run run --output-dir ranks -- touch ran
    is_status 2
    [ ! -e ran ] || fail "row_46: over a record"
}

# Each board has its own number; no sum of them is anywhere.
row_47() {
    holds apart.json '[.meters[].device] | sort == ["One", "Zero"]'
    holds apart.json '[.runs[0].energies[].energy_j] | (max > 140 and max < 215 and min > 110 and min < 170)'
    holds apart.json '([.runs[0].energies[].energy_j] | add) as $sum | [.. | numbers | select((. / $sum - 1) | fabs < 0.02)] == []'
}

# Tokens count once, however deep the phases are nested, and each phase has its own. (Row 50 too.)
row_49() {
    scripted '' run --json -- sh -c '{ echo ecocompute:begin outer; echo ecocompute:begin inner; echo ecocompute:tokens 10
        echo ecocompute:end inner; echo ecocompute:tokens 5; echo ecocompute:end outer; echo ecocompute:begin other
        echo ecocompute:tokens 7; echo ecocompute:end other; } >&"$ECOCOMPUTE_MARKER_FD"'
    holds stdout '.runs[0] | .tokens == 22 and ([.phases[] | {(.name): .tokens}] | add == {outer: 15, inner: 10, other: 7})'
}

# The idle board is reported, and is in no energy.
row_51() {
    measured_is pair 0
    near "$(jq .results.energy_per_token_mj pair/energy.json)" 1500 60
    near "$(jq .results.avg_power_watts pair/energy.json)" 250 40
    holds pair/energy.json '[.environment.idle_siblings[] | [.name, .power_w]] == [["Zero", 78]]'
    holds pair/energy.json '.system_under_test | .gpu == "One" and .accelerator_count == 1'
}

# No size of memory, no processor type turns into watts: without a meter there is no number.
row_52() {
    run run --json -- true
    holds stdout '.meters == [] and .runs[0].energies == [] and .commands[0].meters == []'
    holds stdout '[paths | map(tostring) | join(".") | select(test("ram|dram|tdp|carbon|co2|kwh"; "i"))] == []'
    holds pair/energy.json '[paths | map(tostring) | join(".") | select(test("(^|_)ram_|tdp|carbon|co2"; "i"))] == []'
}

# Three idles: bare, with a context, with the model loaded.
row_53() {
    near "$(jq .environment.idle_bare_w pair/energy.json)" 61 2
    near "$(jq .environment.idle_context_w pair/energy.json)" 95 2
    near "$(jq .environment.idle_loaded_w pair/energy.json)" 95 2
}

# Who measures nothing touches no driver, and leaves a sleeping card alone.
row_55() {
    local -a command
    while read -r -a command; do
        rm -f calls.*
        ECO_FAKE_CALLS=$PWD/calls LD_LIBRARY_PATH=$FAKES run "${command[@]}"
        [ -z "$(find . -maxdepth 1 -name 'calls.*')" ] || fail "row_55: ${command[*]}: $(cat calls.*)"
    done <<'T'
--help
--version
measure --help
models
formats
validate pair/energy.json
T
    ECO_FAKE_CALLS=$PWD/calls LD_LIBRARY_PATH=$FAKES run meters
    [ -s calls.nvml ] || fail "row_55: the count does not count"
}

field_rows
