#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# memcheck over what runs on the scripted drivers: the unit tests that load them and one short measurement of the real
# program. An invalid access, a use of what was never written or a leak fails; so does a measurement that goes wrong.
# The scripted machine's numbers are not judged here: valgrind runs one thread at a time.
set -uo pipefail
command -v valgrind >/dev/null || {
    echo "skip: valgrind is not installed (Debian: valgrind)"
    exit 77
}
case ${ECO_TEST_BUILD:-} in
asan | tsan | fuzz)
    echo "skip: a build with sanitizers cannot run under valgrind"
    exit 77
    ;;
esac
: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}" "${ECO_BUILD_DIR:?}"
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE LD_LIBRARY_PATH
dir=$(mktemp -d)
# shellcheck disable=SC2064
trap "rm -rf '$dir'" EXIT
failed=0
kinds=definite,indirect,possible
check=(valgrind --quiet --error-exitcode=99 --leak-check=full "--show-leak-kinds=$kinds" "--errors-for-leak-kinds=$kinds"
    --fair-sched=yes)

# memcheck NAME COMMAND...: fails unless it ends with 0 and valgrind found nothing.
memcheck() {
    local name=$1 rc=0
    shift
    timeout 500 "${check[@]}" --log-file="$dir/$name.%p.valgrind" "$@" >"$dir/$name.out" 2>&1 </dev/null || rc=$?
    if [ "$rc" -ne 0 ] || grep -qE '== .*(Invalid|uninitialised|lost in|Mismatched)' "$dir/$name".*.valgrind; then
        echo "FAILED: $name: status $rc"
        head -n 60 "$dir/$name".*.valgrind
        tail -n 12 "$dir/$name.out"
        failed=1
    else
        echo "ok: $name"
    fi
}

# On the library path from the start: these tests would else start themselves again, out of valgrind's hands.
export LD_LIBRARY_PATH=$FAKES
for name in test_meter_nvml test_cuda_driver test_sys_dl test_sys_file test_protocol_output test_report_recompute; do
    if [ -x "$ECO_BUILD_DIR/tests/$name" ]; then
        memcheck "$name" "$ECO_BUILD_DIR/tests/$name"
    else
        echo "FAILED: $name is not built"
        failed=1
    fi
done

printf '%s\n' 'step_us.fp16 20000' 'step_us.nf4 20000' 'step_us.read 20000' 'step_us.launch 200' \
    'read_cost_energy_us 200' >"$dir/script"
export ECO_FAKE_SCRIPT=$dir/script
memcheck measure "$ECOCOMPUTE" measure --quick --blocks 1 --window 0.3 --tokens 8 --prompt-tokens 4 --cooldown-max 0 \
    --output-dir "$dir/out"
[ -f "$dir/out/energy.json" ] || {
    echo "FAILED: no report"
    failed=1
}
memcheck validate "$ECOCOMPUTE" validate --recompute "$dir/out/energy.json"
exit "$failed"
