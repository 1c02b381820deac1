#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# plot: without gnuplot the script is written and one line says what is missing; with it each picture is made, names the
# card and has its axes; what a report says can neither run nor draw anything.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"
data=$ECO_SOURCE_DIR/data/h200
first=$data/first/20261130T150901Z-92de83/energy.json

for bad in "--kind: 'pie' is not known; expected power, size, batch, roofline or crossover|--kind|pie" \
    "--format: 'pdf' is not known; expected svg or png|--format|pdf"; do
    IFS='|' read -r message option value <<<"$bad"
    run plot "$option" "$value" "$first"
    is_status 2
    is_stderr "ecocompute: $message"
done
run plot --curves
is_status 2
is_stderr "ecocompute: --curves is not in this version"
run plot
is_status 2
run plot nowhere.json
is_status 1
is_stderr "ecocompute: nowhere.json: cannot read: No such file or directory"
printf 'a,b\n1,2\n' >other.csv
run plot other.csv
is_status 1
is_stderr "ecocompute: other.csv:1: not a study: the columns gpu, model and precision are expected in the first line"

# A trace that is not the one the report was made from is not drawn.
mkdir touched
cp "$(dirname "$first")"/* touched/
sed -i 's/412.429/512.429/' touched/power_trace_nf4.csv
run plot --kind power touched/energy.json
is_status 1
grep -q '^ecocompute: touched/energy.json: power_trace.files\[0\].sha256: ' stderr || fail "touched: $(cat stderr)"
[ ! -e power.gp ] || fail "a script from a touched trace"

mkdir bare
PATH=$DIR/bare run plot --kind power --output-dir none "$first"
is_status 1
[ "$(cat stderr)" = "ecocompute: gnuplot is not here, so no picture was made (Debian: gnuplot-nox); scripts were written" ] ||
    fail "without gnuplot: $(cat stderr)"
[ "$(cat stdout)" = none/power.gp ] || fail "the script is not named: $(cat stdout)"
[ -s none/power.gp ] || fail "the script was not kept"
[ ! -e none/power.svg ] || fail "a picture without gnuplot"
# All scripts, not the first alone.
PATH=$DIR/bare run plot --kind power,roofline,size --json --output-dir none "$first"
is_status 1
[ "$(jq -c 'map([.picture, .script])' stdout)" = '[[null,"none/power.gp"],[null,"none/size.gp"],[null,"none/roofline.gp"]]' ] ||
    fail "without gnuplot: $(cat stdout)"
for script in roofline size; do
    [ -s "none/$script.gp" ] || fail "not every script was written: $(ls none)"
done
[ "$(grep -c . stderr)" -eq 1 ] || fail "not one line: $(cat stderr)"
printf '#!/bin/sh\nexit 7\n' >bare/gnuplot
chmod +x bare/gnuplot
PATH=$DIR/bare:$PATH run plot --kind power --output-dir none "$first"
is_status 1
is_stderr "ecocompute: gnuplot ended with status 7"
printf '#!/bin/sh\nexit 0\n' >bare/gnuplot
PATH=$DIR/bare:$PATH run plot --kind power --output-dir none "$first"
is_status 1
is_stderr "ecocompute: gnuplot made no none/power.svg"

if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot here: the pictures themselves were not looked at"
    finish
fi
run export "$data"/first/*/energy.json "$data/published/energy.json"
cp stdout study.csv
run plot --output-dir pictures study.csv
is_status 0
for kind in size crossover roofline; do
    grep -qx "pictures/$kind.svg pictures/$kind.gp" stdout || fail "$kind is not named: $(cat stdout)"
    grep -q 'NVIDIA H200' "pictures/$kind.svg" || fail "$kind: the card is not named"
    grep -q 'engine native' "pictures/$kind.svg" || fail "$kind: the engine is not named"
done
grep -q 'energy per token, mJ' pictures/size.svg || fail "size: no unit"
grep -q 'share of the probed read bandwidth, %' pictures/roofline.svg || fail "roofline: no unit"
grep -q 'change, % (below 0 the format saves)' pictures/crossover.svg || fail "crossover: no unit"
[ ! -e pictures/batch.svg ] || fail "a picture over one batch"
[ ! -e pictures/power.svg ] || fail "power out of a table"
# The script alone makes the same picture again, in its own folder.
mkdir again
cp pictures/size.gp again/
(cd again && gnuplot -d size.gp)
cmp -s again/size.svg pictures/size.svg || fail "the script makes another picture"
run plot --json --kind power,roofline --format png --output-dir "it's here" "$first"
is_status 0
[ "$(jq -r '.[].picture' stdout)" = "$(printf "it's here/power.png\nit's here/roofline.png")" ] || fail "$(cat stdout)"
for picture in power roofline; do
    [ "$(head -c 4 "it's here/$picture.png" | tail -c 3)" = PNG ] || fail "$picture.png is no PNG"
done
run plot --kind batch study.csv
is_status 0

# Hostile names stay text: no command runs, no option is set.
cat >hostile.csv <<'CSV'
gpu,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k
"x'; system ""touch EVIL""; #",m`touch EVIL`,7,"N' @system",1000,400
"{/Symbol a}",m,1,NF4,100,40
CSV
run plot --kind size,crossover --output-dir hostile hostile.csv
is_status 0
[ -z "$(find . -name EVIL)" ] || fail "a command of the table ran"
grep -q '{/Symbol a}' hostile/size.svg || fail "markup was drawn, not shown"
finish
