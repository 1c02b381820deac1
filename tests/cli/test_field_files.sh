#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2317 # a dollar of the child; the rows are called by name
#
# docs/field.md, C4 and C5: passwords, children, crashes, locks, the network, settings, streams.
set -euo pipefail
# shellcheck source=tests/cli/lib_field.sh
. "$(dirname "$(readlink -f "$0")")/lib_field.sh"

measured answer 'counter none' --quiet --json &
answer_job=$!

row_83() {
    ! grep -qaE 'sudo|pkexec|/usr/bin/su[^a-z]' "$ECOCOMPUTE" || fail "row_83: the program knows how to ask for a password"
    # Without a terminal and with nothing to read nothing waits.
    scripted 'other_tenant_pid 4242' measure --quick --quiet --output-dir asked
    is_status 1
}

# Killed in the middle: what locked the folder died too, and nothing half-written is taken for a record. (measure: the lab.)
row_87() {
    local pid child
    mkfifo began
    mkdir again
    "$ECOCOMPUTE" run --output-dir again -- sh -c 'echo $$ >began; exec sleep 60' >/dev/null 2>&1 </dev/null &
    pid=$!
    read -r child <began
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    kill "$child"
    [ ! -e again/run.json ] || fail "row_87: a record of a run that was killed"
    run run --output-dir again -- true
    is_status 0
    holds again/run.json '.runs | length == 1'
}

# No right to the driver: the rest works, and says so.
row_89() {
    scripted 'return.nvmlInit_v2 4' meters
    is_status 0
    says stdout 'nvml: .*init: Insufficient Permissions; the device files /dev/nvidia\* are closed to this user'
    scripted 'return.nvmlInit_v2 4' doctor
    says stdout '^warn +nvml .*closed to this user'
    says stdout 'ask for access to /dev/nvidia'
    scripted 'return.nvmlInit_v2 4' run -- sh -c 'exit 5'
    is_status 5
    scripted 'return.nvmlInit_v2 4' measure --dry-run
    is_status 0
    says stdout '^energy: unavailable'
}

# The program has no way to the network, so no answer of it can be wrong, and no country is guessed.
row_90() {
    command -v nm >/dev/null || return 0
    case ${ECO_TEST_BUILD:-release} in
    asan | tsan) return ;; # their libraries may
    esac
    nm -D "$ECOCOMPUTE" >symbols
    grep -q ' U fork' symbols || fail "row_90: nm shows nothing"
    ! grep -wE 'socket|connect|getaddrinfo|gethostbyname|res_query|system|popen' symbols ||
        fail "row_90: the program can use the network or a shell"
}

row_92() {
    run run -- true
    says stderr '^no energy: libnvidia-ml\.so\.1 not found \(loader:/.*\); container: --gpus all, utility capability'
    run doctor
    says stdout 'warn +cuda .*libcuda\.so\.1 not found'
    says stdout '-> install the NVIDIA driver; in a container start it with --gpus all'
}

# Settings of a card are read. There is nothing here that could change one, and so nothing to give back. (Row 96 too.)
row_95() {
    grep -qa nvmlDeviceGetPowerUsage "$ECOCOMPUTE" || fail "row_95: the names are not found at all"
    ! grep -aoE 'nvml[A-Za-z]*(Set|Reset|Clear)[A-Z][A-Za-z_0-9]*' "$ECOCOMPUTE" || fail "row_95: a setter is used"
}

# Numbers that are none never come in, so none goes out.
row_97() {
    local line
    for line in 'power_w nan' 'energy_j inf' 'power_w 1e999'; do
        printf 'echo "%s"; while :; do sleep 0.05; done\n' "$line" >line.sh
        run meters --watch --count 1 --json --meter-exec "sh line.sh" --meter-boundary host
        is_status 3
        says stderr 'printed a line that is no reading'
    done
    scripted $'gain 1e9' run --json -- true # watts beyond any card
    is_status 0
    ! grep -qiE '(^|[^a-z])(nan|inf(inity)?)([^a-z]|$)' stdout || fail "row_97: $(cat stdout)"
    holds stdout '.runs | length == 1'
}

# Answers on stdout and nothing else there; an answer that is lost is told, in each command's own status.
row_101() {
    local pair rc
    wait "$answer_job"
    measured_is answer 0
    holds answer.out '.schema_version | length > 0'
    [ ! -s answer.err ] || fail "row_101: --quiet said: $(head -n 1 answer.err)"
    for pair in "1 models" "1 formats" "1 meters" "125 run --json -- true" "0 run -- true"; do
        rc=0
        # shellcheck disable=SC2086 # words
        "$ECOCOMPUTE" ${pair#* } >/dev/full 2>stderr || rc=$?
        [ "$rc" = "${pair%% *}" ] || fail "row_101: ${pair#* }: status $rc"
        [ "$rc" = 0 ] || says stderr '^ecocompute: standard output: No space left on device$'
    done
    rc=0
    "$ECOCOMPUTE" doctor >/dev/full 2>stderr || rc=$?
    [ "$rc" != 0 ] || fail "row_101: doctor: status 0 though its answer is lost"
    says stderr '^ecocompute: standard output: No space left on device$'
    "$ECOCOMPUTE" models | head -n 1 >first || true
    [ "$(wc -l <first)" -eq 1 ] || fail "row_101: $(cat first)"
}

field_rows
