# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the command line's tests share. run ARG... leaves stdout, stderr and the status in files; is_* judge them. Checks
# go on after a failure; finish ends with 1 if there was one.
: "${ECOCOMPUTE:?path of the program}" "${FAKES:?folder of the scripted driver libraries}"
unset CUDA_VISIBLE_DEVICES ECO_FAKE_PAGE LD_LIBRARY_PATH NO_COLOR
export LC_ALL=C
DIR=$(mktemp -d)
FAILED=0
# shellcheck disable=SC2064
trap "rm -rf '$DIR'" EXIT
cd "$DIR" || exit 1

fail() {
    echo "FAILED: $*"
    FAILED=1
}

finish() {
    [ "$FAILED" -eq 0 ] || exit 1
    echo "all checks hold"
    exit 0
}

run() {
    local rc=0
    LAST="ecocompute $*"
    "$ECOCOMPUTE" "$@" >stdout 2>stderr </dev/null || rc=$?
    echo "$rc" >status
}

is_status() {
    [ "$(cat status)" = "$1" ] || fail "$LAST: status $(cat status), expected $1: $(head -n 2 stderr)"
}

# is_stderr TEXT: exactly this on standard error, and nothing on standard output.
is_stderr() {
    [ "$(cat stderr)" = "$1" ] || fail "$LAST: stderr
  is       $(cat stderr)
  expected $1"
    [ ! -s stdout ] || fail "$LAST: something on standard output: $(head -n 1 stdout)"
}

# fake_measure FOLDER OPTION...: the shortest measurement on the scripted card, integrated power; status in FOLDER.rc.
fake_measure() {
    local folder=$1 rc=0
    shift
    printf '%s\n' 'counter none' 'step_us.fp16 4000' >"$DIR/fake.script"
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=$DIR/fake.script "$ECOCOMPUTE" measure --quick --blocks 1 --window 0.3 \
        --precision FP16 --output-dir "$folder" "$@" >"$folder.out" 2>"$folder.err" </dev/null || rc=$?
    echo "$rc" >"$folder.rc"
}
