/* SPDX-License-Identifier: Apache-2.0
 *
 * The fit: the published curves.json from the published measured.csv, digit for digit; known curves recovered; bounds,
 * leave-one-out, bands, warnings, held-out answers.
 */
#include "ecocompute/fit.h"

#include "golden_files.h"

#include "core/rng.h"

#include <string.h>

#define MEASURED "../../data/published/measured.csv"

static const eco_fit_options published = {
    .rules = ECO_RULES_PUBLISHED_1_1, .published_rows = true, .seed = 1, .n_bootstraps = 200};

static eco_anchors *load_table(const char *file) {
    size_t length = 0;
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    char *text = golden_load(file, &length);
    ASSERT_OK(eco_anchors_read_csv(text, length, file, &anchors, &err), &err);
    free(text);
    return anchors;
}

static void check_reading(eco_reading got, eco_reading want, const char *what) {
    if (eco_reading_present(got) != eco_reading_present(want)) {
        fail_msg("%s: present %d, want %d", what, eco_reading_present(got),
                 eco_reading_present(want));
    }
    ASSERT_NEAR(got.value, want.value, 0.0);
}

static void check_curve(const eco_curve *got, const eco_curve *want) {
    assert_string_equal(got->arch, want->arch);
    assert_string_equal(got->precision, want->precision);
    ASSERT_NEAR(got->a_pct, want->a_pct, 0.0);
    ASSERT_NEAR(got->s_pct, want->s_pct, 0.0);
    if (want->s_pct > 0.0) { /* of ampere NF4 it means nothing: S is 0 */
        ASSERT_NEAR(got->nstar_b, want->nstar_b, 0.0);
    }
    ASSERT_NEAR(got->resid_std_pct, want->resid_std_pct, 0.0);
    ASSERT_NEAR(got->n_min_b, want->n_min_b, 0.0);
    ASSERT_NEAR(got->n_max_b, want->n_max_b, 0.0);
    check_reading(got->crossover_b, want->crossover_b, "crossover");
    check_reading(got->loo_mae_pct, want->loo_mae_pct, "leave-one-out");
    assert_int_equal(got->n_anchors, want->n_anchors);
    for (size_t i = 0; i < want->n_anchors; i++) {
        ASSERT_NEAR(got->anchors[i].params_b, want->anchors[i].params_b, 0.0);
        ASSERT_NEAR(got->anchors[i].delta_pct, want->anchors[i].delta_pct, 0.0);
        assert_string_equal(got->anchors[i].model, want->anchors[i].model);
        assert_string_equal(got->anchors[i].gpu, want->anchors[i].gpu);
        assert_int_equal(got->anchors[i].n_trials, want->anchors[i].n_trials);
    }
}

/* Every printed digit of every curve, anchor and FP16 energy of the published file. */
static void test_published_digits(void **state) {
    (void)state;
    eco_fit *fit = NULL;
    eco_error err = {0};
    eco_anchors *anchors = load_table(MEASURED);
    ASSERT_OK(eco_fit_table(eco_anchors_rows(anchors), &published, &fit, &err), &err);
    eco_anchors_free(anchors);
    const eco_curve_set *got = eco_fit_set(fit);
    const eco_curve_set *want = eco_curves_published();
    assert_int_equal(got->n_curves, want->n_curves);
    for (size_t i = 0; i < want->n_curves; i++) {
        check_curve(&got->curves[i], &want->curves[i]);
        assert_true(eco_fit_warned(fit, i, ECO_FIT_AT_BOUND)); /* all six do */
    }
    assert_int_equal(got->n_baselines, want->n_baselines);
    for (size_t i = 0; i < want->n_baselines; i++) {
        assert_string_equal(got->baselines[i].arch, want->baselines[i].arch);
        assert_int_equal(got->baselines[i].n_anchors, want->baselines[i].n_anchors);
        for (size_t k = 0; k < want->baselines[i].n_anchors; k++) {
            const eco_fp16_anchor *a = &got->baselines[i].anchors[k];
            const eco_fp16_anchor *b = &want->baselines[i].anchors[k];
            ASSERT_NEAR(a->params_b, b->params_b, 0.0);
            ASSERT_NEAR(a->energy_j1k, b->energy_j1k, 0.0);
            assert_string_equal(a->model, b->model);
            assert_string_equal(a->gpu, b->gpu);
        }
    }
    const eco_fit_summary summary = eco_fit_summary_of(fit);
    assert_int_equal(summary.n_rows, 29);
    assert_int_equal(summary.n_left_out, 0);
    assert_int_equal(summary.n_loo, 23);
    ASSERT_NEAR(summary.loo_mae_pct, 20.45, 0.005);
    eco_fit_free(fit);
}

/* The same file as text: what is written is read back as the same set. */
static void test_written_is_read(void **state) {
    (void)state;
    eco_fit *fit = NULL;
    eco_curve_file *file = NULL;
    eco_text json = {0};
    eco_error err = {0};
    eco_anchors *anchors = load_table(MEASURED);
    ASSERT_OK(eco_fit_table(eco_anchors_rows(anchors), &published, &fit, &err), &err);
    ASSERT_OK(eco_fit_write_json(fit, &json, &err), &err);
    ASSERT_OK(eco_curves_read(json.data, json.length, "written", &file, &err), &err);
    const eco_curve_set *got = eco_curve_file_set(file);
    assert_int_equal(got->n_curves, eco_fit_set(fit)->n_curves);
    for (size_t i = 0; i < got->n_curves; i++) {
        check_curve(&got->curves[i], &eco_fit_set(fit)->curves[i]);
    }
    assert_int_equal(got->n_hardware, 5);
    assert_string_equal(eco_curve_borrows(got, "hopper"), "ampere");
    eco_curve_file_free(file);
    eco_text_free(&json);
    eco_fit_free(fit);
    eco_anchors_free(anchors);
}

/* The published descent never ends below the exact minimum, and nearly always within a hair of it: now and then it is caught
 * where S is 0. */
static void test_descent_against_minimum(void **state) {
    (void)state;
    uint64_t seed = 7;
    int n_near = 0;
    for (int round = 0; round < 300; round++) {
        eco_fit_point points[12];
        eco_fit_result exact;
        eco_fit_result descent;
        const size_t n = 3 + ecoi_rng_below(&seed, 10);
        for (size_t i = 0; i < n; i++) {
            points[i].params_b = 0.3 + 0.01 * ecoi_rng_below(&seed, 2000);
            points[i].delta_pct = 80.0 - 90.0 * eco_curve_g(points[i].params_b / 3.0) +
                                  0.1 * ecoi_rng_below(&seed, 300);
        }
        assert_true(eco_fit_curve(ECO_RULES_CURRENT, points, n, 75.0, &exact));
        assert_true(eco_fit_curve(ECO_RULES_PUBLISHED_1_1, points, n, 75.0, &descent));
        assert_true(descent.resid_std_pct >= exact.resid_std_pct * (1.0 - 1e-9) - 1e-9);
        n_near += descent.resid_std_pct <= exact.resid_std_pct * (1.0 + 1e-4) + 1e-9;
    }
    assert_in_range(n_near, 294, 300);
}

/* Points that lie on a curve inside the bounds give it back. */
static void test_recovers(void **state) {
    (void)state;
    static const double sizes_b[] = {0.3, 0.5, 1.1, 2.0, 4.0, 7.0, 14.0, 30.0};
    static const double curves[][3] = {{60.0, 90.0, 2.0}, {20.0, 80.0, 9.0}, {100.0, 120.0, 0.8}};
    for (size_t c = 0; c < 3; c++) {
        eco_fit_point points[8];
        eco_fit_result fit;
        double loo_pct = 1.0;
        for (size_t i = 0; i < 8; i++) {
            points[i] = (eco_fit_point){
                sizes_b[i], curves[c][0] - curves[c][1] * eco_curve_g(sizes_b[i] / curves[c][2])};
        }
        assert_true(eco_fit_curve(ECO_RULES_CURRENT, points, 8, 75.0, &fit));
        ASSERT_NEAR(fit.a_pct, curves[c][0], 1e-4);
        ASSERT_NEAR(fit.s_pct, curves[c][1], 1e-4);
        ASSERT_NEAR(fit.nstar_b, curves[c][2], 1e-4);
        ASSERT_NEAR(fit.resid_std_pct, 0.0, 1e-6);
        assert_false(fit.a_at_bound || fit.s_at_bound || fit.nstar_at_bound);
        assert_true(eco_fit_loo(ECO_RULES_CURRENT, points, 8, 75.0, &loo_pct));
        ASSERT_NEAR(loo_pct, 0.0, 1e-3);
    }
}

/* No point of a fine grid over the box is better than the exact minimum. */
static void test_is_the_minimum(void **state) {
    (void)state;
    static const eco_fit_point points[] = {
        {0.5, 35.6}, {0.5, 56.1}, {1.1, 16.3}, {3.0, 25.2}, {7.0, -28.5}};
    eco_fit_result fit;
    assert_true(eco_fit_curve(ECO_RULES_CURRENT, points, 5, 75.0, &fit));
    const eco_fit_bounds *b = &fit.bounds;
    ASSERT_NEAR(b->a_hi, 106.1, 1e-9);
    ASSERT_NEAR(b->s_hi, 131.1, 1e-9);
    for (int i = 0; i <= 60; i++) {
        for (int k = 0; k <= 60; k++) {
            for (int r = 0; r <= 60; r++) {
                const double a = b->a_lo + (b->a_hi - b->a_lo) * i / 60.0;
                const double s = b->s_lo + (b->s_hi - b->s_lo) * k / 60.0;
                const double nstar_b = b->nstar_lo * pow(b->nstar_hi / b->nstar_lo, r / 60.0);
                double sse = 0.0;
                for (size_t p = 0; p < 5; p++) {
                    const double miss =
                        points[p].delta_pct - a + s * eco_curve_g(points[p].params_b / nstar_b);
                    sse += miss * miss;
                }
                assert_true(sqrt(sse / 5.0) >= fit.resid_std_pct - 1e-9);
            }
        }
    }
}

static void test_few_and_flat(void **state) {
    (void)state;
    static const eco_fit_point two[] = {{1.0, 20.0}, {4.0, 5.0}};
    static const eco_fit_point rising[] = {{7.0, -4.0}, {9.0, -1.0}, {14.0, 2.0}};
    eco_fit_result fit;
    double loo_pct = 1.0;
    for (int rules = ECO_RULES_CURRENT; rules <= ECO_RULES_PUBLISHED_1_1; rules++) {
        assert_true(eco_fit_curve((eco_rules)rules, two, 2, 75.0, &fit));
        assert_true(fit.nstar_fixed);
        ASSERT_NEAR(fit.nstar_b, 2.5, 0.0); /* the median */
        ASSERT_NEAR(fit.resid_std_pct, 0.0, 1e-9);
        assert_true(eco_fit_curve((eco_rules)rules, rising, 3, 75.0, &fit));
        assert_true(fit.nstar_arbitrary && fit.s_at_bound && !fit.nstar_at_bound);
        ASSERT_NEAR(fit.s_pct, 0.0, 1e-6);
        ASSERT_NEAR(fit.nstar_b, 9.0, 0.0);
        ASSERT_NEAR(fit.a_pct, -1.0, 1e-5);
        assert_false(eco_fit_loo((eco_rules)rules, rising, 3, 75.0, &loo_pct));
        ASSERT_NEAR(loo_pct, 0.0, 0.0);
    }
    assert_false(eco_fit_curve(ECO_RULES_CURRENT, two, 0, 75.0, &fit));
    const eco_fit_point odd[] = {{1.0, (double)NAN}, {0.0, 1.0}};
    assert_false(eco_fit_curve(ECO_RULES_CURRENT, odd, 1, 75.0, &fit));
    assert_false(eco_fit_curve(ECO_RULES_CURRENT, odd + 1, 1, 75.0, &fit));
}

static size_t curve_index(const eco_fit *fit, const char *arch, const char *precision) {
    const eco_curve *curve = eco_curve_find(eco_fit_set(fit), arch, precision);
    assert_non_null(curve);
    return (size_t)(curve - eco_fit_set(fit)->curves);
}

static void test_bands(void **state) {
    (void)state;
    eco_fit *fit = NULL;
    eco_fit *again = NULL;
    eco_fit *other = NULL;
    eco_error err = {0};
    eco_fit_options options = published;
    ASSERT_OK(eco_fit_table(eco_anchors_builtin(), &options, &fit, &err), &err);
    ASSERT_OK(eco_fit_table(eco_anchors_builtin(), &options, &again, &err), &err);
    options.seed = 2;
    options.n_bootstraps = 0;
    ASSERT_OK(eco_fit_table(eco_anchors_builtin(), &options, &other, &err), &err);
    const size_t nf4 = curve_index(fit, "ada", "NF4");
    const eco_fit_band *band = eco_fit_band_at(fit, nf4);
    assert_int_equal(band->n_sessions, 2);
    assert_int_equal(band->n_points, 5);
    assert_true(eco_fit_warned(fit, nf4, ECO_FIT_FEW_SESSIONS));
    for (size_t i = 0; i < band->n_points; i++) {
        const eco_fit_band_point *same = &eco_fit_band_at(again, nf4)->points[i];
        const double curve_pct =
            eco_curve_value(&eco_fit_set(fit)->curves[nf4], band->points[i].params_b);
        ASSERT_NEAR(band->points[i].lo_pct, same->lo_pct, 0.0);
        ASSERT_NEAR(band->points[i].hi_pct, same->hi_pct, 0.0);
        assert_true(band->points[i].lo_pct <= curve_pct + 0.01);
        assert_true(band->points[i].hi_pct >= curve_pct - 0.01);
    }
    const size_t t4 = curve_index(fit, "turing", "NF4");
    assert_int_equal(eco_fit_band_at(fit, t4)->n_points, 0);
    assert_true(eco_fit_warned(fit, t4, ECO_FIT_ONE_SESSION));
    assert_false(eco_fit_warned(fit, t4, ECO_FIT_FEW_SESSIONS));
    assert_int_equal(eco_fit_band_at(other, nf4)->n_points, 0);
    const size_t a800 = curve_index(fit, "ampere", "NF4");
    assert_true(eco_fit_warned(fit, a800, ECO_FIT_NSTAR_ARBITRARY));
    assert_true(eco_fit_warned(fit, a800, ECO_FIT_NO_LOO));
    assert_false(eco_fit_warned(fit, a800, ECO_FIT_NSTAR_FIXED));
    eco_fit_free(fit);
    eco_fit_free(again);
    eco_fit_free(other);
}

/* Engines are never pooled, batched rows do not train, and no row to fit is an error that says so. */
static void test_choice_of_rows(void **state) {
    (void)state;
    static const char csv[] =
        "gpu,arch,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k,engine,batch\n"
        "X,ada,a,1,NF4,100,120,transformers,1\n"
        "X,ada,b,2,NF4,100,110,transformers,\n"
        "X,ada,c,4,NF4,100,10,transformers,8\n"
        "X,ada,d,8,NF4,100,50,native,1\n";
    eco_anchors *anchors = NULL;
    eco_fit *fit = NULL;
    eco_error err = {0};
    eco_fit_options options = {.rules = ECO_RULES_CURRENT};
    ASSERT_OK(eco_anchors_read_csv(csv, sizeof csv - 1, "t", &anchors, &err), &err);
    ASSERT_OK(eco_fit_table(eco_anchors_rows(anchors), &options, &fit, &err), &err);
    assert_int_equal(eco_fit_summary_of(fit).n_rows, 2);
    assert_int_equal(eco_fit_summary_of(fit).n_left_out, 2);
    ASSERT_NEAR(eco_fit_set(fit)->curves[0].n_max_b, 2.0, 0.0);
    assert_true(eco_fit_warned(fit, 0, ECO_FIT_NSTAR_FIXED));
    eco_fit_free(fit);
    options.engine = "openai";
    assert_int_equal(eco_fit_table(eco_anchors_rows(anchors), &options, &fit, &err), ECO_E_INVALID);
    assert_null(fit);
    assert_non_null(strstr(err.message, "openai"));
    eco_anchors_free(anchors);
}

/* Leave the RTX 4090D out: the RTX 4090's anchors answer at their sizes; hopper would borrow; a lone class has no answer. */
static void test_holdout(void **state) {
    (void)state;
    eco_anchors *anchors = load_table(MEASURED);
    const eco_anchor_table *rows = eco_anchors_rows(anchors);
    eco_holdout_row *out = calloc(rows->n, sizeof *out);
    assert_non_null(out);
    const size_t n = eco_fit_holdout(rows, &published, ECO_HOLDOUT_CARD, out);
    assert_int_equal(n, 29);
    size_t n_answered = 0;
    for (size_t i = 0; i < n; i++) {
        const eco_anchor *row = out[i].row;
        n_answered += eco_reading_present(out[i].published_pct);
        if (strcmp(row->gpu, "RTX 4090D") == 0 && row->params_b == 0.5) {
            ASSERT_NEAR(out[i].published_pct.value, 35.635, 0.001); /* 2103.59 over 1550.92 */
            ASSERT_NEAR(out[i].delta_pct, 56.094, 0.001);
        }
        if (strcmp(row->gpu, "T4") == 0 || strcmp(row->precision, "INT8") == 0) {
            assert_false(eco_reading_present(out[i].published_pct));
        }
        assert_false(out[i].published_borrowed);
    }
    assert_int_equal(n_answered, 9); /* Ada NF4 alone was measured on two cards */
    free(out);
    eco_anchors_free(anchors);
}

static void test_holdout_borrows_and_batches(void **state) {
    (void)state;
    static const char csv[] =
        "gpu,arch,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k,batch\n"
        "A,ampere,a,1,NF4,100,80,1\n"
        "A,ampere,b,2,NF4,100,75,1\n"
        "H,hopper,c,1,NF4,100,90,1\n"
        "B,ampere,d,2,NF4,100,70,9\n";
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    eco_holdout_row out[4];
    const eco_fit_options options = {.rules = ECO_RULES_CURRENT};
    ASSERT_OK(eco_anchors_read_csv(csv, sizeof csv - 1, "t", &anchors, &err), &err);
    assert_int_equal(eco_fit_holdout(eco_anchors_rows(anchors), &options, ECO_HOLDOUT_CARD, out),
                     4);
    assert_false(
        eco_reading_present(out[0].published_pct)); /* ampere has nothing else at batch 1 */
    assert_true(out[2].published_borrowed);
    ASSERT_NEAR(out[2].published_pct.value, -20.0, 1e-6); /* the curve through two points */
    ASSERT_NEAR(out[3].published_pct.value, -12.5, 1e-6); /* −25 at its size, over 1 + 8/8 */
    eco_anchors_free(anchors);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_digits),
        cmocka_unit_test(test_written_is_read),
        cmocka_unit_test(test_descent_against_minimum),
        cmocka_unit_test(test_recovers),
        cmocka_unit_test(test_is_the_minimum),
        cmocka_unit_test(test_few_and_flat),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_choice_of_rows),
        cmocka_unit_test(test_holdout),
        cmocka_unit_test(test_holdout_borrows_and_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
