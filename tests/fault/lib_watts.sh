#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A metering program for the fault sweep: 250 W, as power and as a counter, fifty times a second; its process id is in
# meter.pid.
echo $$ >meter.pid
exec {timer}<> <(:) # a file that never has anything to read: a timer without a process
start=${EPOCHREALTIME/[.,]/}
while :; do
    uj=$(((${EPOCHREALTIME/[.,]/} - start) * 250))
    printf 'energy_j %d.%06d\npower_w 250\n' $((uj / 1000000)) $((uj % 1000000))
    read -r -t 0.02 -u "$timer" _ || true
done
