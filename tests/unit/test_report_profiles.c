/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles on two made-up reports that conform. Each rule is broken alone, by changing the text, and must give the one
 * line that names it and its field; what the rules allow must give none.
 */
#include "ecocompute/report.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char core[] =
    "{\"schema_version\": \"ecocompute-energy/1.3\", \"measurement_source\": \"direct-nvml\","
    "\"workload\": {\"precision\": \"NF4\", \"batch_size\": 1, \"context_length\": 268, "
    "\"decoding\": \"greedy\"},"
    "\"measurement\": {\"method\": \"NVML power sampling\", \"sample_rate_hz\": 20, "
    "\"tokens_per_run\": 256,"
    " \"iterations\": 10, \"warmup\": 2, \"window\": \"generation\"},"
    "\"software\": {\"python\": \"3.10\", \"packages\": {\"torch\": \"2\", \"transformers\": \"4\","
    " \"bitsandbytes\": \"0.43\"}, \"nvidia_driver\": \"580.1\"},"
    "\"results\": {\"basis\": \"measured\", \"fp16_energy_per_token_mj\": 2, "
    "\"vs_fp16_energy_pct\": -1},"
    "\"thermal\": {\"mode\": \"cold\", \"basis\": \"measured\", \"warmup_runs\": 2, "
    "\"cooldown_s\": 3.5,"
    " \"temperature_start_c\": 40, \"temperature_end_c\": 50, \"temperature_peak_c\": 51,"
    " \"steady_state_reached\": false, \"arm_order\": \"randomized\", \"note\": \"\"}}";

#define WINDOW "{\"kind\": \"decode\", \"t_open_s\": 10, \"t_close_s\": 15.1}"
#define WINDOWS                                            \
    "[" WINDOW "," WINDOW "," WINDOW "," WINDOW "," WINDOW \
    ", {\"kind\": \"prefill\", \"t_open_s\": 1, \"t_close_s\": 2}]"
static const char paired[] =
    "{\"run_id\": \"r\", \"system_under_test\": {\"gpu\": \"H\", \"host\": \"L\", \"cpu\": \"C\"},"
    "\"workload\": {\"precision\": \"NF4\"},"
    "\"measurement\": {\"window\": \"decode\", \"boundary\": \"gpu\"},"
    "\"software\": {\"tool\": \"t\", \"commit\": \"c\", \"build_type\": \"b\", \"nvidia_driver\": "
    "\"d\"},"
    "\"results\": {\"basis\": \"measured\"},"
    "\"uncertainty\": {\"ci95_repeat\": {\"lo_pct\": -2, \"hi_pct\": -1},"
    " \"u_expanded\": {\"ratio_pct\": 1, \"absolute_pct\": 6}},"
    "\"environment\": {\"gpu_uuid_hash\": \"h\", \"power_limit_w\": 700, \"vbios\": \"v\","
    " \"compute_capability\": \"9.0\", \"memory_bytes\": 1, \"sm_clock_max_mhz\": 1980,"
    " \"persistence_enabled\": false},"
    "\"thermal\": {\"arm_order\": \"randomized\"},"
    "\"trials\": {\"blocks_finished\": 5, \"order_seed\": \"1\","
    " \"arms\": [{\"windows\": " WINDOWS "}, {\"windows\": " WINDOWS "}]},"
    "\"power_trace\": {\"files\": [{\"sha256\": \"" HASH64 "\"}, {\"sha256\": \"" HASH64 "\"}]},"
    "\"meters\": {\"counter_to_integral\": 1.01},"
    "\"warnings\": [{\"code\": \"few_blocks\", \"invalidates\": false}]}";

/* The report with the first `from` changed to `to`; findings of the profile. */
static void judged(const char *base, const char *from, const char *to, const char *profile,
                   eco_findings *out) {
    eco_report *report = NULL;
    eco_error err = {0};
    const char *at = strstr(base, from);
    if (at == NULL) {
        print_error("'%s' is not in the report\n", from);
        fail();
        return;
    }
    const size_t size = strlen(base) + strlen(to) + 1;
    char *text = calloc(1, size);
    assert_non_null(text);
    snprintf(text, size, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
    ASSERT_OK(eco_report_read(text, strlen(text), "energy.json", &report, &err), &err);
    *out = (eco_findings){0};
    assert_true(eco_report_check_profile(report, profile, out));
    eco_report_free(report);
    free(text);
}

typedef struct change {
    const char *from, *to, *finding; /* NULL: none */
} change;

static void check(const char *base, const char *profile, const change *changes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        eco_findings findings;
        char wanted[256] = "";
        judged(base, changes[i].from, changes[i].to, profile, &findings);
        if (changes[i].finding != NULL) {
            snprintf(wanted, sizeof wanted, "%s %s\n", profile, changes[i].finding);
        }
        const char *got = findings.lines.data != NULL ? findings.lines.data : "";
        if (strcmp(got, wanted) != 0) {
            print_error("'%s' -> '%s':\n got      %s wanted   %s", changes[i].from, changes[i].to,
                        got, wanted);
            fail();
        }
        assert_int_equal(findings.n, changes[i].finding != NULL ? 1 : 0);
        eco_findings_free(&findings);
    }
}

static void v1_1_core(void **state) {
    (void)state;
    static const change changes[] = {
        {"x", "x", NULL}, /* as it is: every report holds an x somewhere */
        {"energy/1.3", "energy/1.0",
         "schema-version: schema_version: 1.0 lacks the fields of this profile"},
        {"energy/1.3", "energy/1.2", NULL},
        {"direct-nvml", "direct",
         "source: measurement_source: is \"direct\", expected \"direct-nvml\""},
        {"\"NVML power", "\"RAPL power", "method: measurement.method: does not name NVML"},
        {"\"NVML power", "\"with nvml", NULL},
        {"_hz\": 20", "_hz\": 9",
         "sample-rate: measurement.sample_rate_hz: is 9, expected at least 10"},
        {"_hz\": 20", "_hz\": 10", NULL},
        {"\"fp16_energy_per_token_mj\": 2", "\"fp16_energy_per_token_mj\": null",
         "baseline: results.fp16_energy_per_token_mj: is missing"},
        {", \"vs_fp16_energy_pct\": -1", "", "baseline: results.vs_fp16_energy_pct: is missing"},
        {"\"batch_size\": 1", "\"batch_size\": 2", "batch: workload.batch_size: is 2, expected 1"},
        {"_run\": 256", "_run\": 128", "tokens: measurement.tokens_per_run: is 128, expected 256"},
        {"\"tokens_per_run\": 256,", "", "tokens: measurement.tokens_per_run: is missing"},
        {"\"iterations\": 10", "\"iterations\": 1",
         "iterations: measurement.iterations: is 1, expected 10"},
        {"\"iterations\": 10", "\"iterations\": \"10\"",
         "iterations: measurement.iterations: is \"10\", expected 10"},
        {"greedy", "sampled", "decoding: workload.decoding: is \"sampled\", expected \"greedy\""},
        {"\"warmup\": 2", "\"warmup\": 0",
         "warm-up: measurement.warmup: is 0, expected at least 1"},
        {"\"context_length\": 268,", "", "context: workload.context_length: is missing"},
        {"\"generation\"", "\"decode\"",
         "window: measurement.window: is \"decode\", expected \"generation\""},
        {"\"python\": \"3.10\",", "", "software: software.python: is missing"},
        {"\"torch\": \"2\"", "\"torch\": \"\"", "software: software.packages.torch: is missing"},
        {"\"transformers\"", "\"transformer\"",
         "software: software.packages.transformers: is missing"},
        {"\"nvidia_driver\": \"580.1\"", "\"nvidia_driver\": null",
         "software: software.nvidia_driver: is missing"},
        {"\"python\"", "\"differs_from_reference_pins\": [\"torch 2 != 3\"], \"python\"",
         "pins: software.matches_reference_pins: is not false, although "
         "software.differs_from_reference_pins names packages"},
        {"\"python\"",
         "\"differs_from_reference_pins\": [\"a\"], \"matches_reference_pins\": false, \"python\"",
         NULL},
        {"\"python\"", "\"differs_from_reference_pins\": [], \"python\"", NULL},
        {"\"mode\": \"cold\"", "\"mode\": \"hot\"",
         "thermal: thermal.mode: is neither cold nor steady"},
        {"\"cooldown_s\": 3.5,", "", "thermal: thermal.cooldown_s: is missing"},
        {"\"temperature_peak_c\": 51", "\"temperature_peak_c\": null",
         "thermal: thermal.temperature_peak_c: is missing"},
        {"\"mode\": \"cold\"", "\"mode\": \"steady\"", NULL}, /* not reached, and says so */
        {"\"steady_state_reached\": false,", "",
         "thermal: thermal.temperature_steady_c: is missing, and thermal.steady_state_reached is "
         "not false"},
        {"\"steady_state_reached\": false", "\"steady_state_reached\": true",
         "thermal: thermal.temperature_steady_c: is missing, and thermal.steady_state_reached is "
         "not false"},
        {"\"steady_state_reached\": false",
         "\"steady_state_reached\": true, \"temperature_steady_c\": 60", NULL},
        {"randomized", "baseline first",
         "arm-order: thermal.arm_order: is neither randomized, counterbalanced nor fixed"},
        {"randomized", "fixed, baseline first",
         "arm-order: thermal.note: does not disclose the fixed order"},
        {"randomized\", \"note\": \"", "fixed\", \"note\": \"disclosed", NULL},
        {"randomized", "counterbalanced", NULL},
        {"\"arm_order\"", "\"order\"", "arm-order: thermal.arm_order: is missing"},
    };
    check(core, "v1.1-core", changes, sizeof changes / sizeof changes[0]);
}

/* What a condition excuses. A card whose temperature cannot be read may say so. */
static void v1_1_core_conditions(void **state) {
    (void)state;
    eco_findings findings;
    judged(core,
           "\"basis\": \"measured\", \"warmup_runs\": 2, \"cooldown_s\": 3.5, "
           "\"temperature_start_c\": 40, \"temperature_end_c\": 50, \"temperature_peak_c\": 51,",
           "\"basis\": \"unavailable\",", "v1.1-core", &findings);
    assert_int_equal(findings.n, 0);
    eco_findings_free(&findings);
    judged(core, "\"precision\": \"NF4\"", "\"precision\": \"FP16\"", "v1.1-core", &findings);
    assert_int_equal(findings.n, 0);
    eco_findings_free(&findings);
    judged("{\"results\": {\"basis\": \"unavailable\"}, \"x\": 0}", "x", "y", "v1.1-core",
           &findings);
    assert_int_equal(findings.n, 16); /* an empty report: every rule that applies */
    eco_findings_free(&findings);
}

static void paired_1(void **state) {
    (void)state;
    static const change changes[] = {
        {"run_id", "run_id", NULL},
        {"\"basis\": \"measured\"", "\"basis\": \"replayed\"",
         "basis: results.basis: is \"replayed\", expected \"measured\""},
        {"\"blocks_finished\": 5", "\"blocks_finished\": 4",
         "blocks: trials.blocks_finished: is 4, expected at least 5"},
        {"15.1", "14.999999", NULL}, /* the printed rounding of five seconds */
        {"15.1", "14.99", "window: trials.arms[0].windows[0]: 4.990 s; at least 5 s are expected"},
        {"\"kind\": \"decode\"", "\"kind\": \"generation\"",
         "window: trials.arms[0].windows: has fewer decode windows than finished blocks"},
        {"randomized", "fixed", "order: thermal.arm_order: is not randomized"},
        {"\"order_seed\": \"1\",", "", "order: trials.order_seed: is missing"},
        {"1.01", "null", "counter-to-integral: meters.counter_to_integral: is missing"},
        {"\"" HASH64 "\"", "\"0123\"", "traces: power_trace.files[0].sha256: is no SHA-256"},
        {"{\"sha256\": \"" HASH64 "\"}, ", "",
         "traces: power_trace.files: does not name a trace for each arm"},
        {"\"lo_pct\": -2", "\"lo_pct\": null",
         "uncertainty: uncertainty.ci95_repeat.lo_pct: is missing"},
        {"\"ratio_pct\": 1,", "", "uncertainty: uncertainty.u_expanded.ratio_pct: is missing"},
        {"\"commit\": \"c\"", "\"commit\": \"\"", "identity: software.commit: is missing"},
        {"\"vbios\": \"v\",", "", "identity: environment.vbios: is missing"},
        {"\"power_limit_w\": 700", "\"power_limit_w\": null",
         "identity: environment.power_limit_w: is missing"},
        {"\"few_blocks\", \"invalidates\": false", "\"contended\", \"invalidates\": true",
         "flags: warnings[0]: \"contended\" invalidates the report"},
        {"\"few_blocks\"", "\"throttled\"", /* cleared by hand */
         "flags: warnings[0]: \"throttled\" invalidates the report"},
        {"\"few_blocks\", \"invalidates\": false", "\"new_code\"",
         "flags: warnings[0]: \"new_code\" invalidates the report"},
    };
    check(paired, "paired-1", changes, sizeof changes / sizeof changes[0]);
}

/* On a CPU there is no card to identify. */
static void paired_1_cpu(void **state) {
    (void)state;
    eco_findings findings;
    judged(paired, "\"gpu_uuid_hash\": \"h\", \"power_limit_w\": 700, \"vbios\": \"v\",", "",
           "paired-1", &findings);
    assert_int_equal(findings.n, 3);
    eco_findings_free(&findings);
    judged("{\"measurement\": {\"boundary\": \"cpu-package\"}}", "cpu-package", "cpu-package",
           "paired-1", &findings);
    assert_null(strstr(findings.lines.data, "environment."));
    assert_non_null(
        strstr(findings.lines.data, "paired-1 identity: system_under_test.cpu: is missing\n"));
    eco_findings_free(&findings);
}

static void names(void **state) {
    (void)state;
    assert_string_equal(eco_profile_name(0), "v1.1-core");
    assert_string_equal(eco_profile_name(1), "paired-1");
    assert_string_equal(eco_profile_name(2), "dataset-eligible");
    assert_null(eco_profile_name(3));
    eco_report *report = eco_report_new();
    eco_findings findings = {0};
    assert_false(eco_report_check_profile(report, "v1.1", &findings));
    assert_int_equal(findings.n, 0);
    eco_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v1_1_core), cmocka_unit_test(v1_1_core_conditions),
        cmocka_unit_test(paired_1),  cmocka_unit_test(paired_1_cpu),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
