/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: orders are balanced and repeatable for every number of arms and blocks, impossible plans are refused with
 * the option named, the promised time is the sum of its parts.
 */
#include "protocol_fixture.h"
#include "test_helpers.h"

#include <stdio.h>
#include <string.h>

static eco_plan usual(void) {
    eco_plan plan = fixture_plan();
    plan.engine.device = "cpu";
    return plan;
}

/* Each block holds every arm once; each arm stands in each place equally often, to within one. */
static void check_order(const eco_plan *plan, const uint32_t *order) {
    uint32_t counts[ECO_ARMS_MAX][ECO_ARMS_MAX] = {{0}};
    for (uint32_t b = 0; b < plan->n_blocks; b++) {
        uint32_t seen = 0;
        for (uint32_t place = 0; place < plan->n_arms; place++) {
            const uint32_t arm = order[(size_t)b * plan->n_arms + place];
            assert_true(arm < plan->n_arms);
            seen |= 1u << arm;
            counts[arm][place]++;
        }
        assert_int_equal(seen, (1u << plan->n_arms) - 1u);
    }
    for (uint32_t arm = 0; arm < plan->n_arms; arm++) {
        for (uint32_t place = 0; place < plan->n_arms; place++) {
            const uint32_t floor = plan->n_blocks / plan->n_arms;
            assert_in_range(counts[arm][place], floor, floor + 1);
        }
    }
}

static void orders_are_balanced(void **state) {
    (void)state;
    eco_plan plan = usual();
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    uint32_t again[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    for (plan.n_arms = 1; plan.n_arms <= ECO_ARMS_MAX; plan.n_arms++) {
        for (plan.n_blocks = 1; plan.n_blocks <= ECO_BLOCKS_MAX; plan.n_blocks++) {
            for (plan.order_seed = 0; plan.order_seed < 20; plan.order_seed++) {
                eco_plan_order(&plan, order);
                check_order(&plan, order);
                eco_plan_order(&plan, again);
                assert_memory_equal(order, again,
                                    sizeof *order * plan.n_arms * (size_t)plan.n_blocks);
            }
        }
    }
}

/* Neither arm is favoured for the first place, and the first block does not settle the third. */
static void orders_are_random(void **state) {
    (void)state;
    eco_plan plan = usual();
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    uint32_t first = 0;
    uint32_t same = 0;
    for (plan.order_seed = 0; plan.order_seed < 4000; plan.order_seed++) {
        eco_plan_order(&plan, order);
        first += order[0];
        same += order[0] == order[4];
    }
    ASSERT_NEAR(first, 2000.0, 130.0); /* four standard deviations */
    ASSERT_NEAR(same, 2000.0, 130.0);
}

static void fixed_order(void **state) {
    (void)state;
    eco_plan plan = usual();
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    plan.shuffle = false;
    plan.n_arms = 3;
    eco_plan_order(&plan, order);
    for (uint32_t i = 0; i < 15; i++) {
        assert_int_equal(order[i], i % 3);
    }
}

static void refused(const eco_plan *plan, const char *message) {
    eco_error err = {0};
    assert_int_equal(eco_plan_check(plan, &err), ECO_E_USAGE);
    assert_string_equal(err.message, message);
    assert_int_equal(eco_plan_check(plan, NULL), ECO_E_USAGE);
}

static void impossible_plans(void **state) {
    (void)state;
    eco_error err = {0};
    eco_plan plan = usual();
    ASSERT_OK(eco_plan_check(&plan, &err), &err);
    plan.arms[1] = ECO_FORMAT_FP16;
    refused(&plan, "--precision: FP16 is named twice (the baseline counts)");
    plan = usual();
    plan.n_arms = 0;
    refused(&plan, "--precision: between 1 and 8 arms are expected");
    plan = usual();
    plan.n_blocks = 65;
    refused(&plan, "--blocks: 65 is out of range; expected 1 to 64");
    plan = usual();
    plan.window_s = (double)NAN;
    refused(&plan, "--window: nan is out of range; expected 0.2 to 600");
    plan = usual();
    plan.cooldown_max_s = -0.5;
    refused(&plan, "--cooldown-max: -0.5 is out of range; expected 0 to 600");
    plan = usual();
    plan.margin_pct = 100.5;
    refused(&plan, "--margin: 100.5 is out of range; expected 0 to 100");
    plan = usual();
    plan.n_tokens = 0;
    refused(&plan, "--tokens: 0 is out of range; expected 1 to 1048576");
    plan = usual();
    plan.batch = 65;
    refused(&plan, "--batch: 65 is out of range; expected 1 to 64");
    plan = usual();
    plan.n_prompt = 1793;
    refused(&plan, "--prompt-tokens + --tokens: 2049 positions; TinyLlama-1.1B has at most 2048");
    plan.n_prompt = 1792;
    ASSERT_OK(eco_plan_check(&plan, &err), &err);
}

static eco_plan published(void) {
    eco_plan plan = usual();
    plan.protocol = ECO_PROTOCOL_PUBLISHED;
    plan.n_prompt = 12;
    plan.n_iterations = 10;
    plan.n_warmup = 2;
    plan.n_blocks = 1;
    plan.burn_in_s = 0.0;
    plan.extra_windows = false;
    plan.engine.device = "cuda";
    return plan;
}

static void impossible_protocols(void **state) {
    (void)state;
    eco_error err = {0};
    eco_plan plan = published();
    ASSERT_OK(eco_plan_check(&plan, &err), &err);
    plan.n_iterations = 0;
    refused(&plan, "--iterations: 0 is out of range; expected 1 to 1000");
    plan.protocol = ECO_PROTOCOL_PAIRED; /* where it means nothing */
    ASSERT_OK(eco_plan_check(&plan, &err), &err);
    plan = published();
    plan.n_warmup = 1001;
    refused(&plan, "--warmup: 1001 is out of range; expected 0 to 1000");
    plan = usual();
    plan.thermal = ECO_THERMAL_STEADY;
    plan.steady_max_s = 4.9;
    refused(&plan, "--steady-max: 4.9 is out of range; expected 5 to 600");
    plan.steady_max_s = 60.0;
    ASSERT_OK(eco_plan_check(&plan, &err), &err);
}

/* Known truth: on an H200 Qwen2-7B decodes a step in 4.4 ms at FP16, and needs 60 s and more for both arms; the promise
 * must hold that, for a card nobody has seen yet and for a slow one. */
static void published_time(void **state) {
    (void)state;
    eco_plan plan = published();
    double shortest_s = 0.0;
    double longest_s = 0.0;
    plan.shape = eco_model_find("Qwen2-7B");
    eco_plan_seconds(&plan, &shortest_s, &longest_s);
    assert_true(shortest_s > 9.0 && shortest_s < 9.0 + 2 * 12 * 268 * 0.0044);
    assert_true(longest_s > 9.0 + 2 * 12 * 268 * 0.0044 + 2 * 5.0);
    /* Work grows with the generations, the rest does not. */
    double more_s = 0.0;
    double most_s = 0.0;
    plan.n_iterations = 110;
    eco_plan_seconds(&plan, &more_s, &most_s);
    const double generation_s = (more_s - shortest_s) / 100.0; /* of both arms */
    ASSERT_NEAR(generation_s,
                268.0 *
                    (eco_model_token_bytes(plan.shape, ECO_FORMAT_FP16, plan.head, 134.0).total +
                     eco_model_token_bytes(plan.shape, ECO_FORMAT_NF4, plan.head, 134.0).total) /
                    8e12,
                1e-6);
    plan.n_iterations = 10;
    plan.engine.device = "cpu";
    eco_plan_seconds(&plan, &more_s, &most_s);
    assert_true(more_s > shortest_s && most_s > longest_s);
}

static void steady_time(void **state) {
    (void)state;
    eco_plan plan = usual();
    double shortest_s = 0.0;
    double longest_s = 0.0;
    plan.thermal = ECO_THERMAL_STEADY;
    plan.steady_max_s = 60.0;
    eco_plan_seconds(&plan, &shortest_s, &longest_s);
    double cold_s = 0.0;
    double cold_longest_s = 0.0;
    plan.thermal = ECO_THERMAL_COLD;
    eco_plan_seconds(&plan, &cold_s, &cold_longest_s);
    ASSERT_NEAR(longest_s - cold_longest_s, 14 * (60.0 - 1.2 - 5.0), 1e-9); /* no cooldown */
    ASSERT_NEAR(shortest_s - cold_s, 14 * (5.0 - 1.2), 1e-9);
}

static void time_is_the_sum(void **state) {
    (void)state;
    eco_plan plan = usual();
    double shortest_s = 0.0;
    double longest_s = 0.0;
    plan.engine.device = "cuda";
    eco_plan_seconds(&plan, &shortest_s, &longest_s);
    assert_true(longest_s < 180.0); /* the default is promised in under three minutes */
    /* Ten decode and four other windows, each with its ramp and at most 0.5 s to find the ticks; 10 s of probes. */
    assert_in_range((uintmax_t)(shortest_s * 1000.0), 14 * 6200 + 3000, 14 * 6700 + 13400);
    double more_s = 0.0;
    plan.n_blocks++;
    eco_plan_seconds(&plan, &more_s, &longest_s);
    assert_in_range((uintmax_t)((more_s - shortest_s) * 1000.0), 2 * 6200, 2 * 6700);
    plan = usual();
    plan.engine.device = "cuda";
    plan.extra_windows = false;
    eco_plan_seconds(&plan, &more_s, &longest_s);
    assert_in_range((uintmax_t)((shortest_s - more_s) * 1000.0), 4 * 6200, 4 * 6700);
}

/* Known truth: SmolLM2-135M on two cores of a server reads 6 to 30 GB/s, and its 128 positions of prompt alone take 1 to 6
 * s before each window: more than the fastest machine needs, less than the promise holds. */
static void prefill_is_part_of_it(void **state) {
    (void)state;
    eco_plan plan = usual();
    plan.shape = eco_model_find("SmolLM2-135M");
    plan.n_arms = 1;
    plan.extra_windows = false;
    double shortest_s = 0.0;
    double longest_s = 0.0;
    double short_s = 0.0;
    double long_s = 0.0;
    eco_plan_seconds(&plan, &shortest_s, &longest_s);
    plan.n_prompt = 1;
    eco_plan_seconds(&plan, &short_s, &long_s);
    /* A burn-in and five windows; a position of the prompt reads the model once. */
    const double gb = eco_model_token_bytes(plan.shape, plan.arms[0], plan.head, 64.0).total * 1e-9;
    ASSERT_NEAR_REL(shortest_s - short_s, 6 * 127 * gb / 500.0, 0.02);
    ASSERT_NEAR_REL(longest_s - long_s, 6 * 127 * gb / 0.5, 0.02);
    /* A GPU takes 64 positions at a time, one sequence after the other. */
    plan.engine.device = "cuda";
    plan.n_prompt = 64;
    plan.batch = 1;
    eco_plan_seconds(&plan, &short_s, &long_s);
    plan.n_prompt = 65;
    plan.batch = 8;
    eco_plan_seconds(&plan, &shortest_s, &longest_s);
    ASSERT_NEAR_REL(longest_s - long_s, 6 * 15 * gb / 200.0, 0.02);
}

static void description(void **state) {
    (void)state;
    eco_plan plan = usual();
    plan.shuffle = false;
    eco_text text = {0};
    eco_plan_describe(&plan, &text);
    assert_false(text.failed);
    assert_non_null(
        strstr(text.data, "model: TinyLlama-1.1B (shape only), synthetic weights, seed 1\n"));
    assert_non_null(strstr(text.data, "positions 128 to 383, head FP16\n"));
    assert_non_null(strstr(text.data, "blocks: 5, window at least 5.0 s"));
    assert_non_null(strstr(text.data, "order (seed 1): [FP16 NF4] [FP16 NF4] [FP16 NF4] [FP16 NF4] "
                                      "[FP16 NF4]\n"));
    assert_non_null(strstr(text.data, "output: out\n"));
    assert_non_null(strstr(text.data, "protocol: paired, thermal mode cold\n"));
    eco_text_free(&text);
    plan = published();
    plan.thermal = ECO_THERMAL_STEADY;
    plan.steady_max_s = 60.0;
    eco_plan_describe(&plan, &text);
    assert_non_null(strstr(text.data, "positions 0 to 267, head FP16\n"));
    assert_non_null(strstr(text.data,
                           "blocks: 1, window of 10 whole generations (prefill and "
                           "decode) after 2 uncounted, ramp at least 1.2 s, no cooldown, "
                           "under load until steady or for 60.0 s\n"));
    assert_non_null(strstr(text.data, "protocol: published, thermal mode steady\n"));
    assert_null(strstr(text.data, "burn-in"));
    eco_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_balanced), cmocka_unit_test(orders_are_random),
        cmocka_unit_test(fixed_order),         cmocka_unit_test(impossible_plans),
        cmocka_unit_test(time_is_the_sum),     cmocka_unit_test(prefill_is_part_of_it),
        cmocka_unit_test(description),         cmocka_unit_test(impossible_protocols),
        cmocka_unit_test(published_time),      cmocka_unit_test(steady_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
