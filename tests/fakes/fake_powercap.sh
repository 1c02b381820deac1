#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2017 # the counter moves in steps
#
# fake_powercap.sh ROOT WATTS RANGE_UJ: a RAPL tree under ROOT and counters that count until the script is killed:
# package-0 at WATTS, wrapping at RANGE_UJ; core inside it and dram beside it at half as much; psys at twice.
# Counters are written in place, in steps of 10 mJ and fixed width, so that an open reader sees whole values.
set -euo pipefail
root=$1 watts=$2 range=$3
zones=$root/sys/class/powercap

# zone ENTRY NAME
zone() {
    mkdir -p "$zones/$1"
    printf '%s\n' "$2" >"$zones/$1/name"
    printf '%s\n' "$range" >"$zones/$1/max_energy_range_uj"
    printf '%-20d\n' 0 >"$zones/$1/energy_uj"
}
zone intel-rapl:0 package-0
zone intel-rapl:0:0 core
zone intel-rapl:0:1 dram
zone intel-rapl:1 psys
zone intel-rapl-mmio:0 package-0
mkdir -p "$root/proc"
printf 'Linux version 6.1.0 (fake)\n' >"$root/proc/version"
start=${EPOCHREALTIME/[.,]/}
printf 'counting\n' >"$root/ready"
exec {tick}<> <(:) # a file that never has anything to read: a timer without a process
while :; do
    now=${EPOCHREALTIME/[.,]/}
    uj=$((((now - start) * watts / 10000 * 10000) % range))
    half=$((((now - start) * watts / 20000 * 10000) % range))
    printf '%-20d\n' "$uj" 1<>"$zones/intel-rapl:0/energy_uj"
    printf '%-20d\n' "$uj" 1<>"$zones/intel-rapl-mmio:0/energy_uj"
    printf '%-20d\n' "$half" 1<>"$zones/intel-rapl:0:0/energy_uj"
    printf '%-20d\n' "$half" 1<>"$zones/intel-rapl:0:1/energy_uj"
    printf '%-20d\n' $((uj * 2 % range)) 1<>"$zones/intel-rapl:1/energy_uj"
    read -r -t 0.001 -u "$tick" _ || true
done
