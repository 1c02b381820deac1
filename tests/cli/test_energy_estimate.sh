#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# energy_estimate where nothing is measured: the numbered cases of the published test suite (SPEC 7.1), the values of the
# current published curves, precedence of file and flags, the links, exits. The values were computed apart from this
# program, in double precision from data/published/curves.json: FP16 by log-log between anchors, change by
# A - S x/(1+x), x = N/N*.
set -euo pipefail
# shellcheck source=tests/cli/lib_cli.sh
. "$(dirname "$(readlink -f "$0")")/lib_cli.sh"

: "${ECO_SOURCE_DIR:?the source tree}"
estimate() { # estimate FOLDER FLAG...
    local folder=$1
    shift
    run energy_estimate --output_dir "$folder" "$@"
}
is() { # is FOLDER FILTER WANTED
    local got
    got=$(jq -rc "$2" "$1/energy.json")
    [ "$got" = "$3" ] || fail "$LAST: $2 is '$got', expected '$3'"
}
valid() {
    "$ECOCOMPUTE" validate "$1/energy.json" >checked || fail "$LAST: not valid: $(cat checked)"
}
says() {
    grep -qF -- "$1" stdout || fail "$LAST: standard output lacks '$1': $(cat stdout)"
}
warns() {
    grep -qF -- "$1" stderr || fail "$LAST: standard error lacks '$1': $(cat stderr)"
}

# Cases 2, 4, 5, 7, 36, 37, 38, 42: the shipped file on a machine without a GPU. Nobody guesses an architecture.
estimate shipped --parameters_file "$ECO_SOURCE_DIR/parameters/energy_params.yaml"
is_status 0
valid shipped
is shipped '.system_under_test | .gpu_arch + " " + .gpu' "unknown unknown"
is shipped '.results | [.basis, .energy_per_token_mj, .fp16_energy_per_token_mj, .vs_fp16_energy_pct]' \
    '["unavailable",null,null,null]'
is shipped .measurement_source "ecocompute-dataset (no local GPU)"
is shipped .measurement.method "reference estimate from published dataset (no on-device measurement)"
is shipped '.scenario + " " + .scenario_note' "SingleStream a label for batch 1; no LoadGen issued the queries"
is shipped '[.certified_benchmark_result, .follows_mlcommons_energy_reporting_conventions]' '[false,true]'
is shipped '.measurement | [.warmup, .iterations, .tokens_per_run, .sample_rate_hz]' '[2,10,256,10]'
is shipped '.software | [.tool != null, has("matches_reference_pins"), has("reference_pins")]' '[true,false,false]'
is shipped '[has("quality"), has("power_trace"), has("share_url")]' '[false,false,false]'       # case 54
is shipped '.results.note | test("no GPU: libcuda.so.1 not found") and test("nothing for gpu_arch unknown")' true
says '[ecocompute-mlcube] gpu_arch auto -> unknown (no NVML here; no published curves)'
says '[ecocompute-mlcube] wrote shipped/energy.json (source=ecocompute-dataset (no local GPU))'
says '[ecocompute-mlcube] schema: valid'
[ "$(grep -vc '^\[ecocompute-mlcube\] ' stdout stderr | awk -F: '{ n += $2 } END { print n }')" = 0 ] ||
    fail "a line without the published prefix: $(cat stdout stderr)"
[ "$(find shipped -type f | wc -l)" = 1 ] || fail "other files: $(ls shipped)"

# Case 6.
estimate bert --parameters_file="$ECO_SOURCE_DIR/parameters/bert_bs32.yaml"
is_status 0
valid bert
is bert '[.scenario, .workload.batch_size, .workload.context_length, .workload.params_b]' '["Offline",32,512,0.11]'
is bert '.results | [.energy_per_token_mj, .fp16_energy_per_token_mj, .vs_fp16_energy_pct, .basis]' \
    '[129.9,131.25,-1,"extrapolated"]'
is bert '.results.note | test("measured at batch 1, and batch 32 is not in the numbers")' true

# Cases 3 and 4: flags land in workload; --model_name wins over --model; both forms of a flag.
estimate flags --dry_run --model=a/b-3B --batch_size=8 --precision int8 --gpu_arch ampere --params_b 13
is flags '.workload | [.model_name, .batch_size, .precision, .params_b]' '["a/b-3B",8,"INT8",13]'
is flags '[.scenario, .system_under_test.gpu_arch]' '["Offline","ampere"]'
estimate flags --dry_run --model_name first --model second --params_b 1
is flags .workload.model_name first

# Precedence: default, then file, then flag.
printf 'precision: INT8\ngpu_arch: turing\ntokens: 64\nbatch_sise: 2\n' >some.yaml
estimate layers --dry_run --parameters_file some.yaml --gpu_arch blackwell
is layers '[.workload.precision, .system_under_test.gpu_arch, .measurement.tokens_per_run, .measurement.iterations]' \
    '["INT8","blackwell",64,10]'
warns "some.yaml:4:1: unknown key 'batch_sise' is passed over; did you mean 'batch_size'?"
estimate layers --dry_run --parameters_file nowhere.yaml
is_status 0
warns 'parameters_file nowhere.yaml: no such file; going on without it'
printf 'precision: FP8\n' >bad.yaml
estimate bad --parameters_file bad.yaml
is_status 2
is_stderr "ecocompute: bad.yaml:1:12: precision: 'FP8' is not usable; expected FP16, NF4 or INT8"
[ ! -e bad ] || fail "a refused file left a folder"

# The current curves: SPEC 1.7's list and more. ARCH SIZE PRECISION MJ FP16 PCT BASIS GPU
while read -r arch size precision wanted; do
    estimate curve --dry_run --gpu_arch "$arch" --params_b "$size" --precision "$precision"
    is_status 0
    is curve '[.results.energy_per_token_mj, .results.fp16_energy_per_token_mj, .results.vs_fp16_energy_pct,
        .results.basis, .system_under_test.gpu]' "$wanted"
    valid curve
done <<'T'
ada 1.1 NF4 [2087.48,1585.71,31.6,"interpolated","RTX 4090D"]
ada 7 NF4 [4348.6,5467.88,-20.5,"interpolated","RTX 4090D"]
ada 13 NF4 [4753.77,7789.95,-39,"extrapolated","RTX 4090D"]
ada 1.1 INT8 [4330.76,1585.71,173.1,"interpolated","RTX 4090D"]
blackwell 1.1 NF4 [2153.68,1659,29.8,"interpolated","RTX 5090"]
blackwell 3 FP16 [3382.64,3382.64,0,"interpolated","RTX 5090"]
blackwell 1.1 INT8 [null,null,null,"unavailable","RTX 5090"]
turing 3 NF4 [10950.17,11267.69,-2.8,"interpolated","T4"]
ampere 13 INT8 [14608.03,6997.23,108.8,"interpolated","A800"]
hopper 7 NF4 [null,null,null,"unavailable","hopper"]
volta 7 NF4 [null,null,null,"unavailable","volta"]
T

# Cards by name are read as their class; an explicit value is never made into another (case 34).
for pair in 'RTX 4090:ada' 'NVIDIA L40S:ada' 'RTX 3090:ampere' '4090d:ada' 'GTX 1660:turing' 'H20:H20' 'moon:moon'; do
    estimate named --dry_run --params_b 3 --gpu_arch "${pair%%:*}"
    is named .system_under_test.gpu_arch "${pair#*:}"
done

# Sizes: a shape's own, the name's, or none: what the name does not tell is not guessed.
for pair in 'Qwen/Qwen2-7B:7' 'some/thing-2.5b-chat:2.5' 'bert-base-uncased:null'; do
    estimate sized --dry_run --gpu_arch ada --model "${pair%%:*}"
    is sized .workload.params_b "${pair#*:}"
done
is sized .results.basis unavailable
warns "params_b: the name 'bert-base-uncased' does not tell the model's size; none is guessed, give --params_b"

# Cases 10 to 12: the link agrees with the report, in the report, in the file, on the screen.
estimate linked --dry_run --gpu_arch ada --share
is_status 0
url=$(cat linked/share_url.txt)
is linked .share_url "$url"
says "[ecocompute-mlcube] share: $url"
[[ $url == 'https://quantenergy.tech/?tab=run&overlay='* ]] || fail "link: $url"
blob=${url#*overlay=}
while [ $((${#blob} % 4)) -ne 0 ]; do blob+='='; done
point=$(tr '_-' '/+' <<<"$blob" | base64 -d)
[ "$(jq -c '[.m, .N, .a, .p, .e, .b, .g]' <<<"$point")" = \
    '["TinyLlama/TinyLlama-1.1B-Chat-v1.0",1.1,"ada","NF4",31.6,"interpolated","RTX 4090D"]' ] || fail "point: $point"
[ "$(jq -r 'keys_unsorted | join("")' <<<"$point")" = mNapebg ] || fail "order of keys: $point"
estimate linked --dry_run --gpu_arch ada --share --site https://example.org/page
[[ $(cat linked/share_url.txt) == 'https://example.org/page/?tab=run&overlay='* ||
    $(cat linked/share_url.txt) == 'https://example.org/page?tab=run&overlay='* ]] || fail "site: $(cat linked/share_url.txt)"
# Nothing to share: no link, one line, and the old link is gone.
for flags in '--gpu_arch hopper' '--gpu_arch ada --precision FP16'; do
    # shellcheck disable=SC2086
    estimate linked --dry_run --share $flags
    is_status 0
    warns '[ecocompute-mlcube] share: no link: '
    is linked 'has("share_url")' false
    [ ! -e linked/share_url.txt ] || fail "$LAST: an old link is left"
done

# Case 9: a GPU and its meter are there and the measurement fails: another source, the reason in the note.
on_fakes() {
    local rc=0
    LAST="energy_estimate $*"
    LD_LIBRARY_PATH=$FAKES ECO_FAKE_SCRIPT=${SCRIPT:-/dev/null} "$ECOCOMPUTE" energy_estimate "$@" \
        >stdout 2>stderr </dev/null || rc=$?
    echo "$rc" >status
}
on_fakes --output_dir failed --model bert-base-uncased --params_b 0.11 --gpu_arch ampere
is_status 0
valid failed
is failed .measurement_source "ecocompute-dataset (on-device measurement failed)"
is failed '.results | .basis + " " + (.note | capture("^(?<a>measurement failed: engine native has no shape)").a)' \
    "extrapolated measurement failed: engine native has no shape"
on_fakes --output_dir failed --batch_size 100 --gpu_arch ampere --params_b 7 --require_measured
is_status 3
is failed .measurement_source "ecocompute-dataset (on-device measurement failed)"
# Case 35: auto takes the family from NVML. --require_measured turns the dataset's answer into 3, whatever the reason.
printf '%s\n' 'name NVIDIA GeForce RTX 5090' 'cc 12.0' >card.script
SCRIPT=$PWD/card.script on_fakes --output_dir auto --dry_run --require_measured
is_status 3
is auto '[.system_under_test.gpu_arch, .results.energy_per_token_mj]' '["blackwell",2153.68]'
SCRIPT=$PWD/card.script on_fakes --output_dir auto --dry_run --gpu_arch ada
is auto .system_under_test.gpu_arch ada

# Prefetch: a dead port costs one line, never the run; nothing of it enters the report (case 13).
estimate asked --dry_run --gpu_arch ada --prefetch --api_base http://127.0.0.1:9
is_status 0
[ "$(grep -c 'prefetch: no answer: ' stderr)" = 1 ] || fail "prefetch: $(cat stderr)"
jq -S 'del(.timestamp_utc, .run_id, .software.command)' asked/energy.json >with
estimate asked --dry_run --gpu_arch ada
jq -S 'del(.timestamp_utc, .run_id, .software.command)' asked/energy.json | diff with - || fail "prefetch changed the report"

# Without libcurl the line says so; a file that is no library stands before it here.
mkdir no_curl
for name in libcurl.so.4 libcurl-gnutls.so.4; do
    printf 'no library\n' >"no_curl/$name"
done
rc=0
LD_LIBRARY_PATH=$PWD/no_curl "$ECOCOMPUTE" energy_estimate --output_dir asked --dry_run --gpu_arch ada --prefetch \
    >stdout 2>stderr || rc=$?
[ "$rc" = 0 ] || fail "without libcurl: status $rc"
warns '[ecocompute-mlcube] prefetch: no answer: libcurl is not on this machine'

# What would drive a terminal is shown, not sent.
estimate hostile --dry_run --gpu_arch $'\e]0;x\a' --model $'\e[31mred'
is_status 0
if grep -q $'\e' stdout stderr hostile/energy.json; then
    fail "an escape reached the terminal or the report"
fi
is hostile .workload.model_name $'\e[31mred'

# Quality flags are taken and answered (case 54: no quality key, ever).
estimate quality --dry_run --gpu_arch ada --quality_text nowhere.txt --quality_seq_len 512 --no_quality_probe
is_status 0
warns 'quality: no perplexity: the probe needs real weights'
is quality 'has("quality")' false

# What names a person or a machine is not in the command of the report.
estimate "$PWD/private" --dry_run --model /home/somebody/model-7B --gpu_arch ada --parameters_file /home/somebody/p.yaml
is private .software.command \
    "ecocompute energy_estimate --output_dir=… --dry_run --model=… --gpu_arch ada --parameters_file=…"

# --json: one document on standard output.
estimate json --dry_run --gpu_arch ada --json
diff stdout json/energy.json || fail "--json is not the report"

# Exits and the old stumbling lines.
refused() {
    local expected="ecocompute: $1"
    shift
    run "$@"
    is_status 2
    is_stderr "$expected"
}
refused "--output_dir: the path is empty or too long" energy_estimate --output_dir= --dry_run
refused "the command is missing before '--model'; the published task is \`ecocompute energy_estimate --model …\`" \
    --model TinyLlama/TinyLlama-1.1B-Chat-v1.0
refused "the command is missing before '--output_dir=x'; the published task is \`ecocompute energy_estimate --output_dir=x …\`" \
    --output_dir=x
refused "run measures another program here; the published task, there also called run, is \`ecocompute energy_estimate --model …\`" \
    run --model x
refused "unknown command 'energy-estimate', did you mean 'energy_estimate'?; \`ecocompute --help\` lists them" energy-estimate
refused "unknown option '--batch-size', did you mean '--batch_size'?" energy_estimate --batch-size 2
refused "--precision: 'FP8' is not usable; expected FP16, NF4 or INT8" energy_estimate --precision FP8
refused "--batch_size: '0' is not usable; expected a whole number from 1 to 4096" energy_estimate --batch_size 0
refused "--thermal_mode: 'hot' is not usable; expected cold or steady" energy_estimate --thermal_mode=hot
refused "--site: 'javascript:x' is not usable; expected an http:// or https:// address" energy_estimate --site javascript:x
refused "energy_estimate: unexpected argument 'x'" energy_estimate x
printf 'a file\n' >taken
run energy_estimate --dry_run --output_dir taken
is_status 1
[ "$(wc -l <stderr)" = 1 ] || fail "unwritable: $(cat stderr)"
finish
