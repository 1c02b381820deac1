/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole report explained: bytes by part at a batch, the published protocol's share of the prefill, what throttling does
 * to the bound, a lent rate, and reports that cannot be explained.
 */
#include "test_helpers.h"

#include "ecocompute/explain.h"

#include <string.h>

/* Qwen2-7B at FP16 and NF4, batch 16, positions 128 to 383; counts as this program makes them, speeds made up. */
static eco_report *make_report(uint32_t batch) {
    static const eco_format formats[] = {ECO_FORMAT_FP16, ECO_FORMAT_NF4};
    const eco_model_shape *shape = eco_model_find("Qwen2-7B");
    eco_report *r = eco_report_new();
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, "Qwen2-7B (shape only)");
    eco_report_set_string(r, ECO_FIELD_SUT_GPU, ECO_TOP, "NVIDIA H200");
    eco_report_set_string(r, ECO_FIELD_WL_ENGINE, ECO_TOP, "native");
    eco_report_set_string(r, ECO_FIELD_WL_DEVICE, ECO_TOP, "cuda");
    eco_report_set_string(r, ECO_FIELD_WL_HEAD, ECO_TOP, "FP16");
    eco_report_set_string(r, ECO_FIELD_ME_PROTOCOL, ECO_TOP, "paired");
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, batch);
    eco_report_set_integer(r, ECO_FIELD_WL_PROMPT, ECO_TOP, 128);
    eco_report_set_integer(r, ECO_FIELD_WL_TOKENS, ECO_TOP, 256);
    eco_report_set_number(r, ECO_FIELD_RE_DELTA, ECO_TOP, -50.0);
    eco_report_set_number(r, ECO_FIELD_EX_BW, ECO_TOP, 4000.0);
    eco_report_set_number(r, ECO_FIELD_EX_MJ_GB, ECO_TOP, 150.0);
    eco_report_set_number(r, ECO_FIELD_EX_LAUNCH_US, ECO_TOP, 1.0);
    eco_report_set_number(r, ECO_FIELD_EN_LIMIT, ECO_TOP, 700.0);
    for (uint32_t i = 0; i < 2; i++) {
        const eco_at at = ECO_AT1(i);
        const eco_token_bytes bytes =
            eco_model_batch_token_bytes(shape, formats[i], ECO_FORMAT_FP16, 256.0, batch);
        eco_report_set_string(r, ECO_FIELD_AR_PRECISION, at, i == 0 ? "FP16" : "NF4");
        eco_report_set_string(r, ECO_FIELD_AR_ROLE, at, i == 0 ? "baseline" : "under_test");
        eco_report_set_number(r, ECO_FIELD_AR_TPS, at, 2000.0);
        eco_report_set_number(r, ECO_FIELD_AR_MJ, at, i == 0 ? 300.0 : 150.0);
        eco_report_set_number(r, ECO_FIELD_AR_W, at, i == 0 ? 600.0 : 300.0);
        eco_report_set_integer(r, ECO_FIELD_AR_LAUNCHES, at, 160);
        eco_report_set_number(r, ECO_FIELD_EA_BYTES, at, bytes.total);
        eco_report_set_string(r, ECO_FIELD_EA_BOUND, at, "kernel-bound");
    }
    return r;
}

static eco_explanation explain(const eco_report *r, const eco_explain_lent *lent) {
    eco_explanation e;
    eco_error err = {0};
    ASSERT_OK(eco_report_explain(r, lent, &e, &err), &err);
    return e;
}

static void batch_of_sixteen(void **state) {
    (void)state;
    eco_report *r = make_report(16);
    eco_explanation e = explain(r, NULL);
    assert_int_equal(e.batch, 16);
    assert_int_equal(e.n_layers, 28);
    assert_int_equal(e.n_arms, 2);
    const eco_explained_arm *a = &e.arms[0];
    assert_true(a->split_known);
    /* 28 layers of 233,046,016 weights (3584·(3584 + 2·512 + 3584) and 3·3584·18944), two bytes, a sixteenth each. */
    ASSERT_NEAR_REL(a->bytes.linear, 28.0 * (3584.0 * 8192.0 + 3.0 * 3584.0 * 18944.0) * 2.0 / 16.0,
                    1e-12);
    /* The cache of a sequence is its own: 4 bytes x 28 layers x 512 x 256 positions. */
    ASSERT_NEAR_REL(a->bytes.kv_read, 4.0 * 28.0 * 512.0 * 256.0, 1e-12);
    ASSERT_NEAR(a->token_s, 500e-6, 1e-15);
    ASSERT_NEAR(a->step_s, 8e-3, 1e-12);
    ASSERT_NEAR(a->layer_s, 8e-3 / 28.0, 1e-12);
    ASSERT_NEAR(a->bound.launch_share, 160e-6 / 8e-3, 1e-12);
    ASSERT_NEAR_REL(a->bound.bandwidth_share, a->bytes_per_token / 4e12 / 500e-6, 1e-12);
    ASSERT_NEAR_REL(a->bound.energy_factor, 0.3 / (a->bytes_per_token * 150e-12), 1e-12);
    assert_true(a->flops_per_token > 1.4e10 && a->flops_per_token < 1.6e10);
    assert_false(e.lent);
    assert_non_null(strstr(e.why.data, "energy falls by 50.0 %"));
    eco_text text = {0};
    eco_explanation_text(&e, &text);
    assert_non_null(strstr(text.data, "batch 16, positions 128 to 383"));
    assert_non_null(strstr(text.data, "600.0 W of a limit of 700 W (86 %)"));
    assert_non_null(strstr(text.data, "8000.0 us a step of 16"));
    eco_text_free(&text);
    eco_explanation_free(&e);
    eco_report_free(r);
}

/* 7.07e9 parameters in products, two operations each: 14.9 GFLOP a token in 500 us is 29.8 TFLOP/s. */
static void lent_rate(void **state) {
    (void)state;
    const eco_explain_lent lent = {.matrix_fp16_ops_per_s = 40e12, .from = "probe of 2026-01-01"};
    eco_report *r = make_report(16);
    eco_explanation e = explain(r, &lent);
    assert_true(e.lent);
    assert_string_equal(e.arms[0].bound.name, "compute-bound");
    assert_string_equal(e.arms[0].stored_bound, "kernel-bound");
    eco_text text = {0};
    eco_explanation_text(&e, &text);
    assert_non_null(strstr(text.data, "FP16: compute-bound (the report says kernel-bound)"));
    assert_non_null(strstr(text.data, "probe of 2026-01-01"));
    eco_text_free(&text);
    eco_explanation_free(&e);
    /* The report's own rate stands before a lent one. */
    eco_report_set_number(r, ECO_FIELD_EX_FP16, ECO_TOP, 900.0);
    e = explain(r, &lent);
    assert_false(e.lent);
    ASSERT_NEAR(e.arms[0].matrix_flops_per_s, 900e12, 1.0);
    assert_string_not_equal(e.arms[0].bound.name, "compute-bound");
    eco_explanation_free(&e);
    eco_report_free(r);
}

/* A published token carries its share of the prefill: (128 + 256) / 256 of a step at the mean position 192. */
static void published(void **state) {
    (void)state;
    eco_report *r = make_report(1);
    const eco_model_shape *shape = eco_model_find("Qwen2-7B");
    eco_report_set_string(r, ECO_FIELD_ME_PROTOCOL, ECO_TOP, "published");
    for (uint32_t i = 0; i < 2; i++) {
        eco_report_set_number(r, ECO_FIELD_EA_BYTES, ECO_AT1(i),
                              1.5 * eco_model_token_bytes(shape,
                                                          i == 0 ? ECO_FORMAT_FP16 : ECO_FORMAT_NF4,
                                                          ECO_FORMAT_FP16, 192.0)
                                        .total);
    }
    eco_explanation e = explain(r, NULL);
    assert_true(e.published);
    assert_true(e.arms[0].split_known);
    ASSERT_NEAR_REL(e.arms[0].bytes.kv_read, 1.5 * 4.0 * 28.0 * 512.0 * 192.0, 1e-12);
    ASSERT_NEAR_REL(e.arms[0].step_s, 500e-6 / 1.5, 1e-12);
    ASSERT_NEAR_REL(e.arms[0].bound.launch_share, 160e-6 * 1.5 / 500e-6, 1e-12);
    eco_explanation_free(&e);
    eco_report_free(r);
}

/* A count that this version does not arrive at is not divided, only used. */
static void foreign_count(void **state) {
    (void)state;
    eco_report *r = make_report(16);
    double bytes = 0.0;
    assert_true(eco_report_number(r, ECO_FIELD_EA_BYTES, ECO_AT1(0), &bytes));
    eco_report_set_number(r, ECO_FIELD_EA_BYTES, ECO_AT1(0), bytes * 1.01);
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, ECO_AT1(1), "Q5_K");
    eco_explanation e = explain(r, NULL);
    assert_false(e.arms[0].split_known);
    assert_false(e.arms[1].split_known);
    ASSERT_NEAR_REL(e.arms[0].bytes_per_token, bytes * 1.01, 1e-12);
    assert_true(e.arms[1].bound.bandwidth_share > 0.0);
    eco_explanation_free(&e);
    eco_report_free(r);
}

/* Only the windows of the headline count: a cap seen in another kind, or after the blocks, leaves the bound. */
static void caps(void **state) {
    (void)state;
    static const struct {
        const char *kind, *reason, *bound;
        int64_t block;
    } rows[] = {{"decode", "power_cap", "power-capped", 1}, {"decode", "thermal", "throttled", 2},
                {"decode", "power_brake", "throttled", 1},  {"decode", "user_clocks", NULL, 1},
                {"decode", "power_cap", NULL, 0},           {"generation", "power_cap", NULL, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_report *r = make_report(16);
        eco_report_set_string(r, ECO_FIELD_WI_KIND, ECO_AT2(0, 0), rows[i].kind);
        eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, ECO_AT2(0, 0), rows[i].block);
        eco_report_add_string(r, ECO_FIELD_WI_THROTTLE, ECO_AT2(0, 0), rows[i].reason);
        eco_explanation e = explain(r, NULL);
        if (rows[i].bound != NULL) {
            assert_string_equal(e.arms[0].bound.name, rows[i].bound);
        } else {
            assert_null(strstr("power-capped throttled", e.arms[0].bound.name));
        }
        assert_null(strstr("power-capped throttled", e.arms[1].bound.name));
        eco_explanation_free(&e);
        eco_report_free(r);
    }
}

static void nothing_to_explain(void **state) {
    (void)state;
    eco_explanation e;
    eco_error err = {0};
    eco_report *r = eco_report_new();
    assert_int_equal(eco_report_explain(r, NULL, &e, &err), ECO_E_INVALID);
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, ECO_AT1(0), "FP16");
    assert_int_equal(eco_report_explain(r, NULL, &e, &err), ECO_E_INVALID);
    /* Numbers that no report can hold do not get into a quotient. */
    eco_report_set_number(r, ECO_FIELD_AR_TPS, ECO_AT1(0), 1e300);
    assert_int_equal(eco_report_explain(r, NULL, &e, &err), ECO_E_INVALID);
    eco_report_set_number(r, ECO_FIELD_AR_TPS, ECO_AT1(0), 1000.0);
    eco_report_set_number(r, ECO_FIELD_EX_BW, ECO_TOP, 1e300);
    eco_report_set_number(r, ECO_FIELD_AR_MJ, ECO_AT1(0), -5.0);
    ASSERT_OK(eco_report_explain(r, NULL, &e, &err), &err);
    assert_string_equal(e.arms[0].bound.name, "unknown");
    ASSERT_NEAR(e.arms[0].mj_per_token, 0.0, 0.0);
    eco_text text = {0};
    eco_explanation_text(&e, &text);
    assert_non_null(strstr(text.data, "no bandwidth was probed"));
    eco_text_free(&text);
    ASSERT_OK(eco_explanation_json(&e, &text, &err), &err);
    assert_non_null(strstr(text.data, "\"bandwidth_share\": null"));
    eco_text_free(&text);
    eco_explanation_free(&e);
    eco_report_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_of_sixteen),
                                       cmocka_unit_test(lent_rate),
                                       cmocka_unit_test(published),
                                       cmocka_unit_test(foreign_count),
                                       cmocka_unit_test(caps),
                                       cmocka_unit_test(nothing_to_explain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
