#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Somebody else's process on the card: from the beginning; the same, measured all the same with --force; or one that
# comes after our own context.
# True: FP16 1980 mJ, NF4 1144.5 mJ, change -42.197 % (this tenant draws nothing, which nobody could know). Must come out:
# refused before anything runs, the process named; otherwise contended, which is invalid for profile paired-1.
set -euo pipefail
# shellcheck source=tests/lab/lib_lab.sh
. "$(dirname "$(readlink -f "$0")")/lib_lab.sh"
LAB_SIDE_BY_SIDE=yes

lab_script tenant.script <<'S'
other_tenant_pid 4242
other_tenant_name trainer
S
lab_script newcomer.script <<'S'
other_tenant_pid 4243
other_tenant_from_s 11
S
lab_run tenant.script tenant --quiet --quick
lab_row_refused other_tenant tenant 1 1144.5 -
grep -q "pid 4242 trainer" tenant.err || lab_fail "tenant: $(cat tenant.err)"

lab_run tenant.script forced --quick --blocks 1 --force &
lab_run newcomer.script newcomer --quick --blocks 1 &
wait
for name in forced newcomer; do
    lab_status "$name" 0
    lab_is "$name" '.warnings[] | select(.code == "contended") | .invalidates' true
    lab_valid "$name"
done
lab_is forced .environment.other_processes_before 1
lab_is newcomer .environment.other_processes_before 0
lab_is newcomer .environment.other_processes_most 1
lab_row other_tenant_forced forced 1980 1144.5 contended
lab_row newcomer newcomer 1980 1144.5 contended
lab_done
