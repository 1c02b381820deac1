#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # the rows are called by name
#
# docs/field.md, C1: sensors that are missing, wrong or zero. What cannot be read is null with a reason, never 0, never a
# crash of the user's job; what can be read instead is taken and labelled.
set -euo pipefail
# shellcheck source=tests/cli/lib_field.sh
. "$(dirname "$(readlink -f "$0")")/lib_field.sh"

card=gpu:GPU-fa4e0000-0000-0000-0000-000000000000
cat >some.sh <<'SH'
i=0
while :; do
    i=$((i + 1))
    [ $((i % 3)) -ne 0 ] && echo power_w 250 || echo 'power_w N/A'
    sleep 0.02
done
SH
printf 'while :; do echo power_w 0; sleep 0.02; done\n' >zero.sh
measured blind $'power no\ncounter none' &
measured p100 $'name Tesla P100-PCIE-16GB\ncounter none' &
measured unready 'return.nvmlDeviceGetTotalEnergyConsumption 27' &
measured frozen $'counter frozen\nread_cost_energy_us 100' &
measured slow $'update_ms 250\nread_cost_energy_us 100' &
measured fast $'update_ms 20\nread_cost_energy_us 100\ntemp_c 51' &
measured bursts $'counter none\nfail_from_s 1\nfail_every_s 0.3\nfail_for_s 0.15' &
measured some '' --meter-exec "sh some.sh" --meter-boundary $card &
measured zero '' --meter-exec "sh zero.sh" --meter-boundary $card &
for bad in 0 1; do
    watched board$bad "devices 2
name.0 Zero
name.1 One
counter none
power.$bad no" -- sleep 2.3 &
done
watched failing $'counter none\nfail_from_s 0.5\nfail_every_s 0.5\nfail_for_s 0.2' -- sleep 2.4 &
watched brief '' -r 3 -- sleep 0.4 &
steady slipped 'counter step_back_at_s 1.2 100' -- sleep 2.3 &
steady clean '' -- sleep 2.3 &
steady reset 'counter reset_at_s 1' -r 2 -- sleep 2.3 &
watched mig $'mig on\nmig_uuid MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f' -- sleep 2.3 &
wait

# A run of the child ends as the child does, whatever the meters are.
row_3() {
    local code
    for code in 1 2 3 4 9 12 18 999; do
        scripted "return.nvmlInit_v2 $code" run -- sh -c 'exit 7'
        is_status 7
        says stderr '^no energy: nvml: .*init: '
    done
    mkdir broken
    echo 'no library at all' >broken/libnvidia-ml.so.1
    LD_LIBRARY_PATH=$PWD/broken run run -- sh -c 'exit 7'
    is_status 7
    says stderr '^no energy: .*libnvidia-ml'
    scripted 'lost_at_s 0' run -- sh -c 'exit 7'
    is_status 7
    says stderr '^no energy: .*GPU is lost'
    # Asked for by name it is required, and then nothing runs.
    scripted 'return.nvmlInit_v2 999' run --meter nvml -- touch ran
    is_status 125
    [ ! -e ran ] || fail "row_3: the command ran without the meter that was required"
}

# One line names the GPU and how energy is read.
row_4() {
    measured_is p100 0
    says p100.out '^warning \[no_energy_counter\]: .*Tesla P100-PCIE-16GB: integrated NVML power \(no energy counter\)'
    holds p100/energy.json '.measurement.energy_source == "integrated power" and .results.basis == "measured"'
    near "$(jq .results.energy_per_token_mj p100/energy.json)" 1980 60
    holds failing.json '.meters[0] | .energy_field == null and .power_field == "NVML_FI_DEV_POWER_INSTANT"'
}

row_6() {
    local words
    for words in $'power no\ncounter none' $'power zero\ncounter none' $'power denied\ncounter denied'; do
        scripted "$words"$'\nname GTX 1050 Ti' meters
        says stdout 'GTX 1050 Ti.* (offers neither power|no permission to read power)'
        scripted "$words"$'\nname GTX 1050 Ti' run --json -- sh -c 'exit 3'
        is_status 3
        holds stdout '.meters == [] and .runs[0].energies == [] and (.no_meter | test("GTX 1050 Ti"))'
    done
    measured_is blind 3
    holds blind/energy.json '.results | .basis == "unavailable" and .energy_per_token_mj == null and
        .avg_power_watts == null and (.note | test("neither power"))'
    # No quantity of the whole report is 0 for want of a sensor.
    holds blind/energy.json '[paths(type == "number" and . == 0) | map(tostring) | join(".")
        | select(test("(_w|_j|_mj|_kwh|_c|joules|watts)$"))] == []'
    # Readings of zero are no measurement either.
    measured_is zero 1
    says zero.err 'the meter reads 0 W under load'
    [ ! -e zero/energy.json ] || fail "row_6: a report of zeros"
}

# The other board is read as ever, and the bad one is told of.
row_7() {
    holds board0.json '[.meters[].device] == ["One"] and .runs[0].energies[0].energy_j > 100 and
        (.left_out | test("nvml: Zero GPU-.* offers neither power"))'
    holds board1.json '[.meters[].device] == ["Zero"] and .runs[0].energies[0].energy_j > 100 and
        (.left_out | test("nvml: One GPU-.* offers neither power"))'
    holds clean.json '.left_out == null'
    scripted $'devices 2\nname.0 Zero\nname.1 One\nlost_at_s.0 0' meters
    says stdout 'device 0: nvml: device 0: GPU is lost'
    says stdout 'device 1: One, '
}

# A rate counts readings that were there, not attempts.
row_8() {
    measured_is bursts 0
    holds bursts/energy.json '.measurement.sample_rate_hz_achieved > 4 and .measurement.sample_rate_hz_achieved < 15'
    holds bursts/energy.json '[.warnings[].code] | index("read_errors") != null'
    near "$(jq .results.energy_per_token_mj bursts/energy.json)" 1980 60
    holds failing.json '.warnings[] | select(.code == "read_errors") | .detail | test("[1-9][0-9]* of them")'
}

# Too short for the sensor: no energy, and no guess from power and time either. (Row 12 too.)
row_11() {
    holds brief.json '[.runs[].energies[0] | [.energy_j, .window_j, .code]] | unique == [[null, null, "short_window"]]'
    holds brief.json '.commands[0].meters[0].energy_j | .value == null and .n == 0 and .basis == "unavailable"'
    holds p100/energy.json '.warnings | map(select(.code == "short_window" and .invalidates)) | length == 1'
}

# A window spans twenty updates, however slow they are.
row_13() {
    measured_is slow 0
    holds slow/energy.json '.trials.arms[0].windows[0] | .t_close_s - .t_open_s >= 4.9 and .ticks >= 19.5'
    near "$(jq .results.energy_per_token_mj slow/energy.json)" 1980 40
    holds slow/energy.json '[.warnings[].code] | index("short_window") == null or
        (index("sample_gap") != null)'
}

# The update period is this board's, found at the start.
row_14() {
    near "$(jq .meters.counter_update_period_s slow/energy.json)" 0.25 10
    near "$(jq .meters.counter_update_period_s fast/energy.json)" 0.02 25
}

# 100 J lost in the middle of a run of 170 J: both readings are kept, and the disagreement is told. (Row 16 too.)
row_15() {
    holds slipped.json '[.warnings[].code] | index("counter_integral_disagree") != null'
    holds slipped.json '.runs[0].energies[0] | .counter_to_integral < 0.75 and .integral_j > 150 and .energy_j != null'
    holds clean.json '[.warnings[].code] | index("counter_integral_disagree") == null'
}

# A counter that never moves, as on some virtual GPUs: power is integrated, and the report says why.
row_20() {
    measured_is frozen 0
    holds frozen/energy.json '.results.basis == "measured" and .measurement.energy_source == "integrated power" and
        (.measurement.method | test("does not move"))'
    holds frozen/energy.json '.warnings[] | select(.code == "no_energy_counter") | .detail | test("does not move")'
    near "$(jq .results.energy_per_token_mj frozen/energy.json)" 1980 60
    run validate --recompute frozen/energy.json
    is_status 0
}

# A reset in one run of a series takes that run out whole; the mean is of the others.
row_24() {
    holds reset.json '[.runs[].energies[0] | [.energy_j == null, .code]] == [[true, "counter_reset"], [false, null]]'
    holds reset.json '.commands[0].meters[0].energy_j.n == 1 and ([.warnings[].code] | index("counter_reset") != null)'
    near "$(jq '.commands[0].meters[0].energy_j.value' reset.json)" 180 10
}

# On a card in MIG mode the number is the whole card's and says so; it is there once. (Rows 26 and 29 too.)
row_27() {
    holds mig.json '(.meters | length == 1) and ([.warnings[].code] | index("mig_shared") != null)'
    scripted $'mig on' meters
    [ "$(grep -c 'device [0-9]*:' stdout)" -eq 1 ] || fail "row_27: devices: $(cat stdout)"
}

# Where WSL keeps the driver is among the places looked at.
row_31() {
    run meters
    says stdout 'libnvidia-ml\.so\.1 not found \(.*:/usr/lib/wsl/lib:'
    run engines
    says stdout 'libcuda\.so\.1 not found \(.*/usr/lib/wsl/lib'
}

# One line that is no number spoils neither the others nor the run.
row_32() {
    measured_is some 0
    holds some/energy.json '.results.avg_power_watts == 250 and ([.warnings[].code] | index("read_errors") != null)'
}

# Nothing is scraped from nvidia-smi: it is never called.
row_33() {
    mkdir -p bin
    printf '#!/bin/sh\necho called >>%s/called\n' "$PWD" >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    local PATH=$PWD/bin:$PATH
    nvidia-smi probe
    [ -s called ] || fail "row_33: the trap does not work"
    rm called
    scripted '' meters
    scripted '' doctor
    scripted '' run -- true
    scripted '' measure --dry-run
    [ ! -e called ] || fail "row_33: $(cat called)"
}

field_rows
