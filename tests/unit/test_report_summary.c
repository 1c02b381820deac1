/* SPDX-License-Identifier: Apache-2.0
 *
 * The closing lines, word for word, from reports made here: a measured pair, one block, no energy, no comparison.
 */
#include "ecocompute/report.h"
#include "test_helpers.h"

#include <string.h>

static eco_report *start(void) {
    eco_report *r = eco_report_new();
    assert_non_null(r);
    eco_report_set_string(r, ECO_FIELD_SUT_GPU, ECO_TOP, "NVIDIA H200");
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, "TinyLlama-1.1B (shape only)");
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, "NF4");
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, 16);
    eco_report_set_string(r, ECO_FIELD_ME_METHOD, ECO_TOP, "the counter");
    return r;
}

static void add_arm(eco_report *r, uint32_t i, const char *name, double mj, double half, double tps,
                    double watts, const char *bound) {
    const eco_at at = ECO_AT1(i);
    eco_report_set_string(r, ECO_FIELD_AR_PRECISION, at, name);
    if (mj > 0.0) {
        eco_report_set_number(r, ECO_FIELD_AR_MJ, at, mj);
        eco_report_set_number(r, ECO_FIELD_AR_W, at, watts);
    }
    if (half > 0.0) {
        eco_report_set_number(r, ECO_FIELD_AR_MJ_LO, at, mj - half);
        eco_report_set_number(r, ECO_FIELD_AR_MJ_HI, at, mj + half);
    }
    eco_report_set_number(r, ECO_FIELD_AR_TPS, at, tps);
    eco_report_set_string(r, ECO_FIELD_EA_PRECISION, at, name);
    eco_report_set_string(r, ECO_FIELD_EA_BOUND, at, bound);
}

static void expect(const eco_report *r, const char *wanted) {
    eco_text text = {0};
    eco_report_summarise(r, &text);
    assert_false(text.failed);
    assert_string_equal(text.data, wanted);
    eco_text_free(&text);
}

#define HEAD                                                              \
    "TinyLlama-1.1B (shape only) on NVIDIA H200, batch 16, the counter\n" \
    "  arm           mJ/token    ± (95 %)    tokens/s         W  bound\n"

static void measured_pair(void **state) {
    (void)state;
    eco_report *r = start();
    add_arm(r, 0, "FP16", 396.04, 2.76, 1237.43, 490.08, "bandwidth-bound");
    add_arm(r, 1, "NF4", 229.29, 3.37, 1419.39, 325.46, "kernel-bound");
    eco_report_set_number(r, ECO_FIELD_RE_DELTA, ECO_TOP, -42.104);
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP, "measured");
    eco_report_set_string(r, ECO_FIELD_RE_VERDICT, ECO_TOP, "saves");
    eco_report_set_number(r, ECO_FIELD_UN_LO, ECO_TOP, -42.589);
    eco_report_set_number(r, ECO_FIELD_UN_HI, ECO_TOP, -41.616);
    eco_report_set_integer(r, ECO_FIELD_UN_N, ECO_TOP, 3);
    eco_report_set_number(r, ECO_FIELD_UX_PCT, ECO_TOP, 0.9774);
    eco_report_set_string(r, ECO_FIELD_EX_WHY, ECO_TOP, "Because.");
    eco_report_set_string(r, ECO_FIELD_EX_ADVICE, ECO_TOP, "Do so.");
    eco_report_warn(r, ECO_WARNING_COOLDOWN_CAP, "NF4 block 2 after 2.0 s");
    expect(
        r, HEAD
        "  FP16             396.0         2.8      1237.4     490.1  bandwidth-bound\n"
        "  NF4              229.3         3.4      1419.4     325.5  kernel-bound\n"
        "NF4 lowers energy per token: -42.10 % against FP16 (95 % interval -42.59 to -41.62 %, 3 "
        "blocks; timing and sensor ±0.98 %), measured. Verdict: saves.\n"
        "why: Because. Do so.\n"
        "warning [cooldown_cap]: the device did not cool into its idle band before the cap (NF4 "
        "block 2 after 2.0 s); raise --cooldown-max\n");
    eco_report_free(r);
}

static void one_block(void **state) {
    (void)state;
    eco_report *r = start();
    add_arm(r, 0, "FP16", 300.0, 0.0, 1000.0, 300.0, "bandwidth-bound");
    add_arm(r, 1, "NF4", 330.0, 0.0, 1000.0, 330.0, "kernel-bound");
    eco_report_set_number(r, ECO_FIELD_RE_DELTA, ECO_TOP, 10.0);
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP, "measured");
    eco_report_set_string(r, ECO_FIELD_RE_VERDICT, ECO_TOP, "inconclusive");
    eco_report_set_integer(r, ECO_FIELD_UN_N, ECO_TOP, 1);
    expect(r, HEAD "  FP16             300.0           -      1000.0     300.0  bandwidth-bound\n"
                   "  NF4              330.0           -      1000.0     330.0  kernel-bound\n"
                   "NF4, energy per token: +10.00 % against FP16 (n = 1, spread unknown), "
                   "measured. Verdict: inconclusive.\n");
    eco_report_set_string(r, ECO_FIELD_EX_WHY, ECO_TOP, "Because.");
    eco_report_set_string(r, ECO_FIELD_RE_VERDICT, ECO_TOP, "no difference");
    eco_report_set_integer(r, ECO_FIELD_UN_N, ECO_TOP, 2);
    eco_report_set_number(r, ECO_FIELD_UN_LO, ECO_TOP, -20.0);
    eco_report_set_number(r, ECO_FIELD_UN_HI, ECO_TOP, 51.25);
    eco_report_set_number(r, ECO_FIELD_AR_MJ_LO, ECO_AT1(1), 220.0);
    eco_report_set_number(r, ECO_FIELD_AR_MJ_HI, ECO_AT1(1), 495.0); /* too wide to be told by ± */
    expect(r,
           HEAD "  FP16             300.0           -      1000.0     300.0  bandwidth-bound\n"
                "  NF4              330.0  220.0 to 495.0      1000.0     330.0  kernel-bound\n"
                "NF4, energy per token: +10.00 % against FP16 (95 % interval -20.00 to 51.25 %, 2 "
                "blocks), measured. Verdict: no difference.\n"
                "why (of a change that is not settled): Because.\n");
    eco_report_free(r);
}

static void add_speed(eco_report *r, uint32_t arm, uint32_t window, double tokens_per_s) {
    eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, ECO_AT2(arm, window), (int64_t)window + 1);
    eco_report_set_number(r, ECO_FIELD_WI_TPS, ECO_AT2(arm, window), tokens_per_s);
}

static void one_arm(void **state) {
    (void)state;
    eco_report *r = start();
    add_arm(r, 0, "FP16", 300.0, 0.0, 1000.0, 300.0, "bandwidth-bound");
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, "FP16");
    eco_report_set_number(r, ECO_FIELD_RE_MJ, ECO_TOP, 300.04);
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP, "measured");
    expect(r, HEAD "  FP16             300.0           -      1000.0     300.0  bandwidth-bound\n"
                   "FP16 takes 300.0 mJ a token, measured; nothing to compare it with.\n");
    eco_report_set_number(r, ECO_FIELD_UX_ABS_PCT, ECO_TOP, 6.0374);
    expect(r, HEAD "  FP16             300.0           -      1000.0     300.0  bandwidth-bound\n"
                   "FP16 takes 300.0 mJ a token (timing and sensor ±6.04 %), measured; nothing to "
                   "compare it with.\n");
    eco_report_free(r);
}

static void time_only(void **state) {
    (void)state;
    eco_report *r = start();
    add_arm(r, 0, "FP16", 0.0, 0.0, 8.0, 0.0, "unknown");
    add_arm(r, 1, "NF4", 0.0, 0.0, 12.0, 0.0, "unknown");
    eco_report_set_string(r, ECO_FIELD_RE_BASIS, ECO_TOP, "unavailable");
    eco_report_set_string(r, ECO_FIELD_RE_NOTE, ECO_TOP, "no meter here");
    eco_report_set_null(r, ECO_FIELD_RE_DELTA, ECO_TOP);
    add_speed(r, 0, 0, 8.0); /* ratios 3/2 and 4/3: geometric mean sqrt 2 */
    add_speed(r, 0, 1, 9.0);
    add_speed(r, 1, 0, 12.0);
    add_speed(r, 1, 1, 12.0);
    add_speed(r, 0, 2, 9.0); /* of a block that was not finished: not counted */
    add_speed(r, 1, 2, 900.0);
    eco_report_set_integer(r, ECO_FIELD_TR_DONE, ECO_TOP, 2);
    expect(r, HEAD "  FP16                 -           -         8.0         -  unknown\n"
                   "  NF4                  -           -        12.0         -  unknown\n"
                   "energy: unavailable. no meter here\n"
                   "time only: NF4 runs at 1.41 times the speed of FP16 (95 % interval 0.67 to "
                   "2.99, 2 blocks).\n");
    eco_report_free(r);
}

/* FIELD C3 74: which tokens the joules are divided by is said beside them. */
static void test_field_c3_74_token_is_named(void **state) {
    (void)state;
    eco_report *r = start();
    eco_report_set_integer(r, ECO_FIELD_WL_PROMPT, ECO_TOP, 128);
    eco_report_set_integer(r, ECO_FIELD_WL_TOKENS, ECO_TOP, 256);
    eco_text text = {0};
    eco_report_summarise(r, &text);
    assert_false(text.failed);
    assert_non_null(strstr(text.data, "batch 16, 128 prompt + 256 generated tokens (mJ per "
                                      "generated token), the counter\n"));
    eco_text_free(&text);
    eco_report_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_pair), cmocka_unit_test(one_block),
                                       cmocka_unit_test(one_arm), cmocka_unit_test(time_only),
                                       cmocka_unit_test(test_field_c3_74_token_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
