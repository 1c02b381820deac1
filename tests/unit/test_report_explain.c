/* SPDX-License-Identifier: Apache-2.0
 *
 * What bounds an arm, from bytes, launches, time and energy against probed ceilings; and the sentences made of it.
 */
#include "ecocompute/report.h"
#include "ecocompute/trace.h"
#include "test_helpers.h"

#include <string.h>

/* A card that reads 4 TB/s at 600 W (150 pJ a byte) and needs 2 us a kernel. */
static eco_bound_input card(double bytes, double token_us, double launches) {
    return (eco_bound_input){.bytes_per_token = bytes,
                             .token_s = token_us * 1e-6,
                             .read_bytes_per_s = 4e12,
                             .read_j_per_byte = 150e-12,
                             .launch_s = 2e-6,
                             .launches_per_token = launches};
}

static const char *bound_of(eco_bound_input input) {
    return eco_explain_bound(&input).name;
}

static void bounds(void **state) {
    (void)state;
    eco_bound_input input = card(2e9, 1000.0, 150.0);
    input.mj_per_token = 450.0;
    const eco_bound b = eco_explain_bound(&input);
    ASSERT_NEAR(b.roofline_s, 500e-6, 1e-15);
    ASSERT_NEAR(b.bandwidth_share, 0.5, 1e-12);
    ASSERT_NEAR(b.launch_share, 0.3, 1e-12);
    ASSERT_NEAR(b.roofline_j, 0.3, 1e-12);
    ASSERT_NEAR(b.energy_factor, 1.5, 1e-12);
    assert_false(b.below_floor);
    assert_string_equal(b.name, "bandwidth-bound"); /* together they explain it, bytes the larger */

    assert_string_equal(bound_of(card(2e9, 800.0, 10.0)), "bandwidth-bound"); /* 62 % */
    assert_string_equal(bound_of(card(2e9, 900.0, 10.0)),
                        "kernel-bound"); /* 56 %, rest unexplained */
    assert_string_equal(bound_of(card(4e8, 400.0, 120.0)), "launch-bound");  /* 25 % and 60 % */
    assert_string_equal(bound_of(card(4e7, 400.0, 120.0)), "launch-bound");  /* 2.5 % and 60 % */
    assert_string_equal(bound_of(card(4e8, 1000.0, 120.0)), "kernel-bound"); /* 10 % and 24 % */
}

/* 200 TFLOP/s of products. The larger of the two shares names the bound; without a rate nothing changes. */
static void arithmetic(void **state) {
    (void)state;
    eco_bound_input input = card(2e8, 100.0, 1.0); /* 50 % of the bandwidth */
    input.matrix_flops_per_s = 200e12;
    input.flops_per_token = 14e9; /* 70 us of 100 */
    const eco_bound b = eco_explain_bound(&input);
    ASSERT_NEAR(b.compute_s, 70e-6, 1e-15);
    ASSERT_NEAR(b.compute_share, 0.7, 1e-12);
    assert_string_equal(b.name, "compute-bound");
    input.flops_per_token = 11e9; /* 55 %: below the share that names a bound */
    assert_string_equal(bound_of(input), "kernel-bound");
    input.flops_per_token = 13e9; /* 65 % of arithmetic, 75 % of the bandwidth */
    input.bytes_per_token = 3e8;
    assert_string_equal(bound_of(input), "bandwidth-bound");
    input.matrix_flops_per_s = 0.0;
    input.bytes_per_token = 2e8;
    assert_string_equal(bound_of(input), "kernel-bound");
    ASSERT_NEAR(eco_explain_bound(&input).compute_share, 0.0, 0.0);
    input.matrix_flops_per_s = 200e12;
    input.flops_per_token = 14e9;
    input.power_capped = true;
    assert_string_equal(bound_of(input), "power-capped");
    eco_text text = {0};
    input.power_capped = false;
    const eco_bound compute = eco_explain_bound(&input);
    eco_explain_advice(&compute, "INT8", &text);
    assert_non_null(strstr(text.data, "INT8 is limited by arithmetic"));
    eco_text_free(&text);
}

static void limits_come_first(void **state) {
    (void)state;
    eco_bound_input input = card(2e9, 600.0, 100.0);
    input.power_capped = true;
    assert_string_equal(bound_of(input), "power-capped");
    input.throttled = true;
    assert_string_equal(bound_of(input), "throttled");
    input = card(2e9, 600.0, 100.0);
    input.read_bytes_per_s = 0.0; /* no probe: not known, not zero */
    const eco_bound b = eco_explain_bound(&input);
    assert_string_equal(b.name, "unknown");
    ASSERT_NEAR(b.bandwidth_share, 0.0, 0.0);
    input = card(2e9, 0.0, 100.0); /* no time */
    assert_string_equal(bound_of(input), "unknown");
}

static void energy_below_what_the_bytes_need(void **state) {
    (void)state;
    eco_bound_input input = card(2e9, 1000.0, 100.0);
    input.mj_per_token = 271.0; /* 90.3 % of 300 mJ: within what one probe can tell */
    assert_false(eco_explain_bound(&input).below_floor);
    input.mj_per_token = 269.0;
    assert_true(eco_explain_bound(&input).below_floor);
    input.mj_per_token = 0.0; /* no energy: nothing to say */
    assert_false(eco_explain_bound(&input).below_floor);
}

static void sentences(void **state) {
    (void)state;
    const eco_bound base = {.name = "bandwidth-bound", .bandwidth_share = 0.62};
    eco_bound arm = {.name = "kernel-bound", .bandwidth_share = 0.21};
    eco_text text = {0};
    eco_explain_why(&base, &arm, "FP16", "NF4", -42.197, 0.329, 0.875, 0.661, &text);
    assert_string_equal(
        text.data, "NF4 reads 67 % fewer bytes a token than FP16, takes 12 % less time and draws "
                   "34 % less power: energy falls by 42.2 %. FP16 is bandwidth-bound (62 % of the "
                   "probed bandwidth), NF4 is kernel-bound (21 % of it).");
    eco_text_free(&text);
    arm.bandwidth_share = 0.0;
    eco_explain_why(&base, &arm, "FP16", "NF4", 6.04, 0.5, 1.3, 1.02, &text);
    assert_string_equal(
        text.data,
        "NF4 reads 50 % fewer bytes a token than FP16, takes 30 % more time and draws 2 % "
        "more power: energy rises by 6.0 %. FP16 is bandwidth-bound, NF4 is "
        "kernel-bound.");
    eco_text_free(&text);
}

static void advice(void **state) {
    (void)state;
    static const struct {
        const char *bound, *word;
    } rows[] = {{"launch-bound", "between kernels"}, {"bandwidth-bound", "fewer bytes"},
                {"kernel-bound", "faster kernels"},  {"power-capped", "power limit"},
                {"throttled", "cool the card"},      {"unknown", "not known"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_bound arm = {.name = rows[i].bound};
        eco_text text = {0};
        eco_explain_advice(&arm, "NF4", &text);
        assert_non_null(strstr(text.data, rows[i].word));
        assert_non_null(strstr(text.data, "NF4"));
        assert_int_equal(text.data[text.length - 1], '.');
        assert_null(strchr(text.data, '\n'));
        eco_text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),     cmocka_unit_test(limits_come_first),
        cmocka_unit_test(arithmetic), cmocka_unit_test(energy_below_what_the_bytes_need),
        cmocka_unit_test(sentences),  cmocka_unit_test(advice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
