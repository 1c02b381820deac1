#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# True: one thing wrong with the scripted card at a time. Must come out: the doctor names that thing, by its row and its
# state, and nothing else about the card; on a clean card only the stand-in libraries. The host's own rows (load,
# deadlines, cost of reads, room) are what they are on this machine and are judged apart.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"

host='["sampler_deadlines","cpu_load","cpu_steal","cpu_governor","cgroup_cpu","virtual_machine","container","memory",
    "disk_space","clock","build","rapl","read_cost"]'

# doctor NAME SCRIPT-LINES OPTION...
doctor() {
    local name=$1 rc=0
    printf '%s\n' "$2" >"$name.script"
    shift 2
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$PWD/$name.script "$ECOCOMPUTE" doctor --json "$@" >"$name.json" \
        2>"$name.err" || rc=$?
    echo "$rc" >"$name.rc"
}
status_is() {
    [ "$(cat "$1.rc")" = "$2" ] || lab_fail "$1: status $(cat "$1.rc"), expected $2: $(head -n 1 "$1.err")"
}
# found NAME "code state": exactly these rows about the card are not ok, beside driver_library_path.
found() {
    local got
    got=$(jq -r ".findings[] | select(.state != \"ok\" and .code != \"driver_library_path\")
        | select(.code as \$c | $host | index(\$c) | not) | \"\\(.code) \\(.state)\"" "$1.json" | sort | tr '\n' ';')
    if [ "$got" = "$2" ]; then
        echo "ok: $1: $got"
    else
        lab_fail "$1: found '$got', expected '$2'"
    fi
}

doctor clean ""
status_is clean 4
found clean ""
jq -e '.findings[] | select(.code == "driver_library_path") | .state == "bad" and (.remedy | length > 10)' clean.json \
    >/dev/null || lab_fail "clean: the stand-in libraries are not named"
jq -e '[.findings[] | (.state == "ok") == (.remedy == null)] | all' clean.json >/dev/null ||
    lab_fail "a row that is not ok has no remedy, or an ok one has"
for code in nvml cuda driver_versions device_mapping device other_processes persistence mig ecc power_limit throttle \
    clocks_locked temperature power_readable power_field read_cost energy_counter counter_update sampler_deadlines \
    cpu_load cpu_steal cpu_governor cgroup_cpu virtual_machine container memory disk_space clock build; do
    jq -e --arg c "$code" '.findings | map(select(.code == $c)) | length == 1' clean.json >/dev/null ||
        lab_fail "clean: no row, or two, of $code"
done
jq -r '.findings[] | select(.code == "counter_update") | .seen' clean.json | grep -qE '^every (9[5-9]|10[0-5])\.' ||
    lab_fail "clean: update period: $(jq -r '.findings[] | select(.code == "counter_update") | .seen' clean.json)"

while IFS='|' read -r name script wanted; do
    doctor "$name" "$(printf '%b' "$script")"
    status_is "$name" 4
    found "$name" "$wanted"
done <<'T'
tenant|other_tenant_pid 4242\nother_tenant_name trainer|other_processes bad;
persistence|persistence off|persistence warn;
mig|mig on|mig bad;
sliced|mig on\nmig_uuid MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f|mig bad;
ecc|ecc off|ecc warn;
limit|power_limit_w 450|power_limit warn;
heat|throttle 0x40|throttle bad;
brake|throttle 0x80|throttle bad;
cap|throttle 0x4|throttle warn;
locked|throttle 0x2|clocks_locked warn;
hot|temp_c 88|temperature warn;
frozen|counter frozen 0|energy_counter bad;
none|counter none|energy_counter warn;
slow|update_ms 400|counter_update warn;
average|instant_field no|power_field warn;
T

doctor stall $'stall_every_s 0.3\nstall_ms 40'
jq -e '.findings[] | select(.code == "read_cost") | .state == "warn"' stall.json >/dev/null || lab_fail "stall: not seen"
jq -r '.findings[] | select(.code == "other_processes") | .seen' tenant.json | grep -q 'pid 4242 trainer' ||
    lab_fail "tenant: not named"

# A card that reads nothing: nothing can be measured. CUDA's order is not NVML's, and the mapping says so.
doctor unreadable $'power no\ncounter none\ninstant_field no'
status_is unreadable 3
jq -e '.verdict == "nothing"' unreadable.json >/dev/null || lab_fail "unreadable: verdict"
doctor two $'devices 2\ncuda_order "1 0"'
found two ""
jq -r '.findings[] | select(.code == "device_mapping") | .seen' two.json | grep -qx 'cuda:0 is NVML 1, cuda:1 is NVML 0' ||
    lab_fail "two: $(jq -r '.findings[] | select(.code == "device_mapping") | .seen' two.json)"
doctor nocuda "init_code 803"
status_is nocuda 4
found nocuda "cuda bad;"
doctor novml "return.nvmlInit_v2 18"
jq -e '.findings[] | select(.code == "nvml") | .state == "warn" and (.seen | test("mismatch"; "i"))' novml.json >/dev/null ||
    lab_fail "novml: $(jq -c '.findings[] | select(.code == "nvml")' novml.json)"
lab_done
