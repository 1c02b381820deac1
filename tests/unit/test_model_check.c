/* SPDX-License-Identifier: Apache-2.0
 *
 * The regression check: the published cases, and what the current rules do not grade.
 */
#include "ecocompute/check.h"

#include "test_helpers.h"

#include <string.h>

static const eco_check_subject base = {.basis = "measured",
                                       .source = "direct-nvml",
                                       .arch = "ada",
                                       .gpu = "NVIDIA GeForce RTX 4090",
                                       .precision = "INT8",
                                       .params_b = {1.1, ECO_PRESENT},
                                       .delta_pct = {137.9, ECO_PRESENT},
                                       .batch = {1, ECO_PRESENT}};

static eco_check run(const eco_check_subject *subject, eco_rules rules, double k, bool across) {
    const eco_check_options options = {.rules = rules, .k = k, .across_stacks = across};
    return eco_check_make(subject, &options);
}

/* SPEC §7.1, cases 58 to 62, under both rules. */
static void test_published_cases(void **state) {
    (void)state;
    for (int r = ECO_RULES_CURRENT; r <= ECO_RULES_PUBLISHED_1_1; r++) {
        const eco_rules rules = (eco_rules)r;
        eco_check_subject s = base;
        assert_int_equal(run(&s, rules, 2, false).result, ECO_CHECK_WITHIN);
        s.delta_pct.value = 10.0;
        assert_int_equal(run(&s, rules, 2, false).result, ECO_CHECK_OUTSIDE);
        s = base;
        s.basis = "interpolated";
        assert_int_equal(run(&s, rules, 2, false).result, ECO_CHECK_NOT_GRADABLE);
        s = base;
        s.arch = "volta";
        eco_check c = run(&s, rules, 2, false);
        assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
        assert_non_null(strstr(c.reason, "system_under_test.gpu_arch"));
        s = base;
        s.delta_pct.value = 146.0;
        c = run(&s, rules, 2, false);
        assert_int_equal(c.result, ECO_CHECK_WITHIN);
        assert_int_equal(c.n_anchors, 2);
        ASSERT_NEAR(c.reference_pct, (146.11 + 137.9) / 2, 1e-9);
        eco_text text = {0};
        eco_check_text(&c, &text);
        assert_non_null(strstr(text.data, "anchors"));
        assert_non_null(strstr(text.data, "not a confidence interval"));
        eco_text_free(&text);
    }
}

static void test_band(void **state) {
    (void)state;
    eco_check c = run(&base, ECO_RULES_PUBLISHED_1_1, 2, false);
    ASSERT_NEAR(c.band_pct, 2 * 26.5949, 1e-9);
    c = run(&base, ECO_RULES_CURRENT, 3, false);
    ASSERT_NEAR(c.band_pct, 3 * 47.455, 1e-9); /* the leave-one-out error is the larger */
    eco_check_subject s = base;
    s.params_b.value = 2; /* no anchor: the curve, at its edge and just beyond */
    c = run(&s, ECO_RULES_PUBLISHED_1_1, 2, false);
    assert_int_equal(c.n_anchors, 0);
    ASSERT_NEAR(c.reference_pct, 291.8945 - 274.5289 * (2 / 1.4423) / (1 + 2 / 1.4423), 1e-9);
    s.delta_pct.value = c.reference_pct + c.band_pct - 1e-6;
    assert_int_equal(run(&s, ECO_RULES_PUBLISHED_1_1, 2, false).result, ECO_CHECK_WITHIN);
    s.delta_pct.value = c.reference_pct + c.band_pct + 1e-6;
    assert_int_equal(run(&s, ECO_RULES_PUBLISHED_1_1, 2, false).result, ECO_CHECK_OUTSIDE);
}

static void test_borrowed(void **state) {
    (void)state;
    eco_check_subject s = base;
    s.arch = "hopper";
    s.gpu = "H100 PCIe";
    s.precision = "NF4";
    s.params_b.value = 13;
    s.delta_pct.value = -1;
    const eco_check c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_equal(c.result, ECO_CHECK_WITHIN);
    assert_true(c.borrowed);
    assert_string_equal(c.curve->arch, "ampere");
}

/* Fields that contradict each other: the change is not that of the energies, the class is not that of the card. */
static void test_contradictions(void **state) {
    (void)state;
    eco_check_subject s = base;
    s.quant_mj = eco_reading_of(1000 * (1 + s.delta_pct.value / 100) + 4); /* rounding */
    s.fp16_mj = eco_reading_of(1000);
    eco_check c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_not_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    s.quant_mj = eco_reading_of(100);
    s.fp16_mj = eco_reading_of(1502.9);
    c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    assert_non_null(strstr(c.reason, "results.vs_fp16_energy_pct"));
    c = run(&s, ECO_RULES_PUBLISHED_1_1, 2, false);
    assert_int_not_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    s = base;
    s.arch = "ada";
    s.gpu = "NVIDIA H200";
    c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    assert_non_null(strstr(c.reason, "system_under_test.gpu_arch"));
}

static eco_check_subject spoiled(size_t i) {
    eco_check_subject s = base;
    switch (i) {
    case 0:
        s.source = "replay";
        break;
    case 1:
        s.delta_pct = eco_reading_absent(ECO_ABSENT_NOT_READ);
        break;
    case 2:
        s.arch = NULL;
        break;
    case 3:
        s.precision = NULL;
        break;
    case 4:
        s.params_b = eco_reading_absent(ECO_ABSENT_NOT_READ);
        break;
    case 5:
        s.basis = NULL;
        break;
    case 6:
        s.precision = "FP8";
        break;
    default:
        s.params_b.value = -1;
        break;
    }
    return s;
}

static void test_not_gradable(void **state) {
    (void)state;
    static const char *const named[] = {"measurement_source",
                                        "results.vs_fp16_energy_pct",
                                        "system_under_test.gpu_arch",
                                        "workload.precision",
                                        "workload.params_b",
                                        "results.basis",
                                        "FP8",
                                        "workload.params_b"};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const eco_check_subject s = spoiled(i);
        for (int r = ECO_RULES_CURRENT; r <= ECO_RULES_PUBLISHED_1_1; r++) {
            const eco_check c = run(&s, (eco_rules)r, 2, false);
            assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
            assert_non_null(strstr(c.reason, named[i]));
        }
    }
    assert_int_equal(run(&base, ECO_RULES_CURRENT, 0, false).result, ECO_CHECK_NOT_GRADABLE);
    assert_int_equal(run(&base, ECO_RULES_CURRENT, (double)NAN, false).result,
                     ECO_CHECK_NOT_GRADABLE);
}

/* Another engine, window or batch, or a warning that bars comparison: published grades them, current does not. */
static void test_stacks(void **state) {
    (void)state;
    eco_check_subject s = base;
    s.engine = "native";
    s.window = "decode";
    assert_int_equal(run(&s, ECO_RULES_PUBLISHED_1_1, 2, false).result, ECO_CHECK_WITHIN);
    eco_check c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    assert_non_null(strstr(c.reason, "workload.engine"));
    assert_non_null(strstr(c.reason, "native"));
    c = run(&s, ECO_RULES_CURRENT, 2, true);
    assert_int_equal(c.result, ECO_CHECK_WITHIN);
    assert_true(c.across_stacks);
    eco_text text = {0};
    eco_check_text(&c, &text);
    assert_non_null(strstr(text.data, "across stacks: the report is of engine native"));
    eco_text_free(&text);
    s = base;
    s.window = "generation";
    s.engine = "transformers";
    assert_int_equal(run(&s, ECO_RULES_CURRENT, 2, false).result, ECO_CHECK_WITHIN);
    s.batch.value = 8;
    assert_int_equal(run(&s, ECO_RULES_CURRENT, 2, true).result, ECO_CHECK_NOT_GRADABLE);
    s = base;
    s.invalid = "throttled";
    c = run(&s, ECO_RULES_CURRENT, 2, false);
    assert_int_equal(c.result, ECO_CHECK_NOT_GRADABLE);
    assert_non_null(strstr(c.reason, "throttled"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_cases), cmocka_unit_test(test_band),
        cmocka_unit_test(test_borrowed),        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_not_gradable),    cmocka_unit_test(test_stacks),
    };
    return cmocka_run_group_tests_name("model_check", tests, NULL, NULL);
}
