/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of curves: the built-in one is the published file, look-ups, the reader's refusals, the list of architectures.
 */
#include "ecocompute/curve.h"

#include "golden_files.h"

#include <string.h>

static void check_same(const eco_curve_set *a, const eco_curve_set *b) {
    assert_string_equal(a->model, b->model);
    assert_int_equal(a->n_caps, b->n_caps);
    assert_int_equal(a->n_labels, b->n_labels);
    assert_int_equal(a->n_borrows, b->n_borrows);
    assert_int_equal(a->n_curves, b->n_curves);
    assert_int_equal(a->n_baselines, b->n_baselines);
    assert_int_equal(a->n_hardware, b->n_hardware);
    for (size_t i = 0; i < a->n_caps; i++) {
        assert_string_equal(a->caps[i].precision, b->caps[i].precision);
        ASSERT_NEAR(a->caps[i].s_cap_pct, b->caps[i].s_cap_pct, 0.0);
    }
    for (size_t i = 0; i < a->n_labels; i++) {
        assert_string_equal(a->labels[i].arch, b->labels[i].arch);
        assert_string_equal(a->labels[i].value, b->labels[i].value);
    }
    for (size_t i = 0; i < a->n_hardware; i++) {
        assert_string_equal(a->hardware[i].gpu, b->hardware[i].gpu);
        ASSERT_NEAR(a->hardware[i].mem_bw_gb_per_s, b->hardware[i].mem_bw_gb_per_s, 0.0);
        ASSERT_NEAR(a->hardware[i].fp16_tflops, b->hardware[i].fp16_tflops, 0.0);
        assert_string_equal(a->hardware[i].source, b->hardware[i].source);
    }
    for (size_t i = 0; i < a->n_baselines; i++) {
        assert_int_equal(a->baselines[i].n_anchors, b->baselines[i].n_anchors);
        for (size_t k = 0; k < a->baselines[i].n_anchors; k++) {
            ASSERT_NEAR(a->baselines[i].anchors[k].energy_j1k,
                        b->baselines[i].anchors[k].energy_j1k, 0.0);
        }
    }
}

/* Two readers of one file: the awk that generated the table, and the strict one in C. */
static void test_builtin_is_published(void **state) {
    (void)state;
    size_t length = 0;
    eco_curve_file *file = NULL;
    eco_error err = {0};
    char *text = golden_load("../../data/published/curves.json", &length);
    ASSERT_OK(eco_curves_read(text, length, "curves.json", &file, &err), &err);
    free(text);
    const eco_curve_set *read = eco_curve_file_set(file);
    const eco_curve_set *builtin = eco_curves_published();
    check_same(read, builtin);
    size_t n_anchors = 0;
    for (size_t i = 0; i < read->n_curves; i++) {
        const eco_curve *a = &read->curves[i];
        const eco_curve *b = &builtin->curves[i];
        assert_string_equal(a->arch, b->arch);
        assert_string_equal(a->precision, b->precision);
        ASSERT_NEAR(a->a_pct, b->a_pct, 0.0);
        ASSERT_NEAR(a->s_pct, b->s_pct, 0.0);
        ASSERT_NEAR(a->nstar_b, b->nstar_b, 0.0);
        ASSERT_NEAR(a->resid_std_pct, b->resid_std_pct, 0.0);
        assert_int_equal(a->crossover_b.absence, b->crossover_b.absence);
        ASSERT_NEAR(a->crossover_b.value, b->crossover_b.value, 0.0);
        ASSERT_NEAR(a->loo_mae_pct.value, b->loo_mae_pct.value, 0.0);
        assert_int_equal(a->n_anchors, b->n_anchors);
        for (size_t k = 0; k < a->n_anchors; k++) {
            ASSERT_NEAR(a->anchors[k].delta_pct, b->anchors[k].delta_pct, 0.0);
            assert_string_equal(a->anchors[k].gpu, b->anchors[k].gpu);
            assert_int_equal(a->anchors[k].basis, ECO_BASIS_MEASURED);
            assert_int_equal(b->anchors[k].basis, ECO_BASIS_MEASURED);
        }
        n_anchors += a->n_anchors;
    }
    assert_int_equal(n_anchors, 29);
    eco_curve_file_free(file);
}

static void test_lookups(void **state) {
    (void)state;
    const eco_curve_set *set = eco_curves_published();
    const eco_curve *curve = eco_curve_find(set, "blackwell", "NF4");
    assert_non_null(curve);
    /* SPEC section 4.2: 5 B on blackwell is −1.3, on ada 13 B INT8 is far outside and positive. */
    ASSERT_NEAR(eco_curve_value(curve, 5.0), -1.3, 0.05);
    ASSERT_NEAR(eco_curve_value(curve, 0.0), curve->a_pct, 0.0);
    ASSERT_NEAR(eco_curve_value(curve, curve->nstar_b), curve->a_pct - curve->s_pct / 2.0, 1e-12);
    assert_null(eco_curve_find(set, "hopper", "NF4"));
    assert_null(eco_curve_find(set, "turing", "INT8"));
    assert_string_equal(eco_curve_borrows(set, "hopper"), "ampere");
    assert_null(eco_curve_borrows(set, "ada"));
    assert_string_equal(eco_curve_label(set, "turing"), "Turing (T4)");
    ASSERT_NEAR(eco_curve_cap_pct(set, "INT8"), 50.0, 0.0);
    ASSERT_NEAR(eco_curve_cap_pct(set, "NF4"), 75.0, 0.0);
    ASSERT_NEAR(eco_curve_cap_pct(set, "FP8"), 75.0, 0.0);
    ASSERT_NEAR(eco_curve_hardware(set, "hopper")->mem_bw_gb_per_s, 3350.0, 0.0);
    ASSERT_NEAR(eco_curve_baseline(set, "ada")->anchors[0].energy_j1k, 1525.33, 0.0);
    assert_null(eco_curve_baseline(set, "hopper"));
}

static void test_crossover(void **state) {
    (void)state;
    ASSERT_NEAR(eco_curve_crossover(40.0, 100.0, 6.0, 7.0).value, 4.0, 1e-12);
    assert_false(
        eco_reading_present(eco_curve_crossover(40.0, 100.0, 6.0, 3.9))); /* beyond the data */
    assert_false(eco_reading_present(eco_curve_crossover(40.0, 40.0, 6.0, 7.0)));
    assert_false(eco_reading_present(eco_curve_crossover(-1.0, 10.0, 6.0, 7.0)));
}

#define CURVE_HEAD "{\"curves\":{\"ada\":{\"NF4\":{"
#define CURVE_REST "\"A\":1,\"S\":2,\"Nstar\":3,\"resid_std\":1,\"n_min\":1,\"n_max\":7,"
#define CURVE_TAIL "\"anchors\":[{\"N\":1,\"dE\":5}]}}}"

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[]", "t: an object is expected"},
        {"{}", "t: curves: not there; a curves.json is expected"},
        {"{\"curves\":[]}", "t: curves: an object of at most 64 members is expected"},
        {"{\"curves\":{\"ada\":1}}", "t: curves.ada: an object of at most 64 members is expected"},
        {"{\"curves\":{\"\":{}}}", "t: curves: a name in it is empty, too long or holds a NUL"},
        {"{\"curves\":{\"ada\":{\"NF4\":2}}}",
         "t: curves.ada.NF4: an object, one of at most 64, is expected"},
        {CURVE_HEAD "}}}}", "t: curves.ada.NF4.A: a number from -1e+06 to 1e+06 is expected"},
        {CURVE_HEAD "\"A\":\"1\"}}}}",
         "t: curves.ada.NF4.A: a number from -1e+06 to 1e+06 is expected"},
        {CURVE_HEAD "\"A\":1,\"S\":2,\"Nstar\":0}}}}",
         "t: curves.ada.NF4.Nstar: a number from 1e-06 to 100000 is expected"},
        {CURVE_HEAD CURVE_REST "\"anchors\":[]}}}}",
         "t: curves.ada.NF4.anchors: a list of 1 to 256 anchors is expected"},
        {CURVE_HEAD CURVE_REST "\"anchors\":[1]}}}}",
         "t: curves.ada.NF4.anchors.0: an object is expected"},
        {CURVE_HEAD CURVE_REST "\"anchors\":[{\"N\":1,\"dE\":-101}]}}}}",
         "t: curves.ada.NF4.anchors.0.dE: a number from -100 to 1e+06 is expected"},
        {CURVE_HEAD CURVE_REST "\"anchors\":[{\"N\":1,\"dE\":1,\"basis\":\"sure\"}]}}}}",
         "t: curves.ada.NF4.anchors.0.basis: measured or another basis is expected"},
        {CURVE_HEAD CURVE_REST CURVE_TAIL ",\"s_cap\":{\"NF4\":101}}",
         "t: s_cap.NF4: a number from 0 to 100 is expected"},
        {CURVE_HEAD CURVE_REST CURVE_TAIL ",\"borrow\":{\"hopper\":5}}",
         "t: borrow.hopper: a text of at most 200 bytes is expected"},
        {CURVE_HEAD CURVE_REST CURVE_TAIL
         ",\"fp16_energy\":{\"ada\":{\"n_min\":1,\"n_max\":2,"
         "\"anchors\":[{\"N\":2,\"e_j1k\":5},{\"N\":1,\"e_j1k\":5}]}}}",
         "t: fp16_energy.ada.anchors.1.N: larger sizes are expected to follow smaller ones"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_curve_file *file = NULL;
        eco_error err = {0};
        const eco_status status =
            eco_curves_read(rows[i].text, strlen(rows[i].text), "t", &file, &err);
        assert_int_equal(status, ECO_E_INVALID);
        assert_null(file);
        assert_string_equal(err.message, rows[i].message);
    }
    eco_curve_file *file = NULL;
    eco_error err = {0};
    static const char fine[] = CURVE_HEAD CURVE_REST CURVE_TAIL "}";
    ASSERT_OK(eco_curves_read(fine, sizeof fine - 1, "t", &file, &err), &err);
    assert_int_equal(eco_curve_file_set(file)->n_curves, 1);
    assert_string_equal(eco_curve_file_set(file)->curves[0].anchors[0].gpu, "");
    eco_curve_file_free(file);
}

static void test_architectures(void **state) {
    (void)state;
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_curves_write_architectures(eco_curves_published(), &text, &err), &err);
    assert_non_null(strstr(text.data, "\"borrows_from\": \"ampere\""));
    assert_non_null(strstr(text.data, "\"crossover_b\": 3.728"));
    assert_true(strstr(text.data, "\"ada\"") < strstr(text.data, "\"hopper\""));
    eco_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builtin_is_published),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_crossover),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_architectures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
