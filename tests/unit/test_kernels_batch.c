/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches on the CPU: every sequence is what it is alone, bit for bit; units, stops and the prompts'
 * tokens.
 */
#include "test_helpers.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/cpu_rates.h"
#include "kernels/cpu/forward.h"
#include "kernels/kernels.h"
#include "kernels/synthetic.h"

#include <string.h>

enum { BATCH = 3, VOCAB = 101, TOKENS = 6 };

static eco_error error;
static void *cpu;

static const eco_model_shape shape = {.name = "batched",
                                      .hf_id = "test/batched",
                                      .family = "llama",
                                      .params_b = 0.001,
                                      .n_layers = 2,
                                      .d_model = 36,
                                      .n_heads = 4,
                                      .n_kv_heads = 2,
                                      .d_head = 8,
                                      .d_ff = 50,
                                      .n_vocab = VOCAB,
                                      .n_positions_max = 64,
                                      .rope_theta = 10000.0,
                                      .norm_eps = 1e-6};

static void *open_arm(eco_format format, uint32_t batch) {
    const eco_workload workload = {
        .shape = &shape, .linear = format, .batch = batch, .n_prompt = 4, .n_tokens = 5, .seed = 3};
    void *arm = NULL;
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &workload, &arm, &error), &error);
    return arm;
}

static void test_a_sequence_is_what_it_is_alone(void **state) {
    (void)state;
    for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
        uint32_t tokens[BATCH][TOKENS];
        float together[BATCH][VOCAB];
        float alone[VOCAB];
        for (uint32_t b = 0; b < BATCH; b++) {
            for (uint32_t i = 0; i < TOKENS; i++) {
                tokens[b][i] = syn_batch_token(9, b, i, VOCAB);
            }
        }
        void *batched = open_arm(format, BATCH);
        void *single = open_arm(format, 1);
        ASSERT_OK(ecoi_backend_cpu.logits(batched, tokens[0], TOKENS, together[0], &error), &error);
        for (uint32_t b = 0; b < BATCH; b++) {
            ASSERT_OK(ecoi_backend_cpu.logits(single, tokens[b], TOKENS, alone, &error), &error);
            assert_memory_equal(together[b], alone, sizeof alone);
        }
        assert_memory_not_equal(together[0], together[1], sizeof alone);
        ecoi_backend_cpu.model_close(single);
        ecoi_backend_cpu.model_close(batched);
    }
}

static uint64_t units_of(void *arm, eco_work_kind kind, uint64_t n_units_max) {
    const eco_work work = {.kind = kind, .n_units_max = n_units_max};
    eco_work_result result;
    ASSERT_OK(ecoi_backend_cpu.work(arm, &work, &result, &error), &error);
    return result.n_units;
}

/* A unit is a token of one sequence; a prompt is a function of seed and sequence. */
static void test_units_are_tokens(void **state) {
    (void)state;
    void *arm = open_arm(ECO_FORMAT_FP16, BATCH);
    const eco_cpu_model *model = ecoi_cpu_arm_model(arm);
    for (uint32_t b = 0; b < BATCH; b++) {
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(model->prompt[4 * b + i], syn_batch_token(3, b, i, VOCAB));
        }
    }
    assert_int_equal(syn_batch_token(3, 0, 2, VOCAB), syn_prompt_token(3, 2, VOCAB));
    /* All sequences go a position together: three units, not divided. */
    assert_int_equal(units_of(arm, ECO_WORK_DECODE, 17), 18);
    assert_int_equal(units_of(arm, ECO_WORK_PREFILL, 13), 15);
    assert_int_equal(units_of(arm, ECO_WORK_GENERATION, 27), 27);
    ecoi_backend_cpu.model_close(arm);
}

/* Rows in the order in which they are multiplied, of one thread. */
static struct {
    const eco_cpu_matrix *matrix;
    size_t row_max, n_calls,
        n_back; /* n_back: from a row to one more than a cache's worth before it */
} seen;

static float noted_dot(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    (void)in;
    if (m != seen.matrix) {
        seen.matrix = m;
        seen.row_max = 0;
    }
    seen.n_calls++;
    seen.n_back += (seen.row_max - (row < seen.row_max ? row : seen.row_max)) * m->n_row_bytes >
                   (size_t)256 << 10;
    seen.row_max = row > seen.row_max ? row : seen.row_max;
    return 0.0f;
}

/* The head's 4 MB of weights are multiplied with all sequences while a part of them is in a cache: no row comes back once
 * 256 KB of others have come. */
static void test_weights_are_read_once_a_step(void **state) {
    (void)state;
    eco_model_shape wide = shape;
    wide.d_model = 4096;
    wide.n_vocab = 500;
    const eco_workload workload = {
        .shape = &wide, .batch = BATCH, .n_prompt = 4, .n_tokens = 5, .seed = 3};
    eco_pool *pool = NULL;
    eco_cpu_model *model = NULL;
    ASSERT_OK(ecoi_pool_open(1, &pool, &error), &error);
    ASSERT_OK(ecoi_cpu_model_new(&workload, pool, &model, &error), &error);
    eco_cpu_dot *const dots[ECO_FORMAT_COUNT] = {[ECO_FORMAT_FP16] = noted_dot};
    eco_cpu_sums sums = ecoi_cpu_sums_portable;
    sums.dots = dots;
    const uint32_t tokens[BATCH] = {1, 2, 3};
    ecoi_cpu_step_all(model, pool, &sums, tokens, 0, true);
    const size_t a_layer = 32 + 2 * 16 + 4096 + 2 * 50 + 4096;
    assert_int_equal(seen.n_calls, BATCH * (2 * a_layer + 500));
    assert_int_equal(seen.n_back, 0);
    ecoi_cpu_model_free(model);
    ecoi_pool_close(pool);
}

/* The widest instructions of this machine; a unit is worth the same whatever it takes. */
static void test_matrix_rates_count_operations(void **state) {
    (void)state;
    void *arm = open_arm(ECO_FORMAT_FP16, 1);
    uint8_t random[256];
    for (uint32_t i = 0; i < sizeof random; i++) {
        random[i] = (uint8_t)syn_mix(i + 1);
    }
    for (int int8 = 0; int8 < 2; int8++) {
        const eco_cpu_rate rate = ecoi_cpu_rate(int8 == 1);
        const eco_work work = {.kind = int8 == 1 ? ECO_WORK_MATRIX_INT8 : ECO_WORK_MATRIX_FP16,
                               .n_units_max = 3};
        eco_work_result result;
        ASSERT_OK(ecoi_backend_cpu.work(arm, &work, &result, &error), &error);
        assert_int_equal(result.n_units, 3);
        assert_true(result.busy_s > 0.0);
        ASSERT_NEAR(result.unit_ops, (double)rate.ops_per_turn * 65536, 0);
        /* Every turn adds the same to every sum: two turns are not one, and none is nothing. */
        assert_int_equal(rate.run(random, 0), 0);
        assert_int_not_equal(rate.run(random, 1), rate.run(random, 2));
        print_message("%s: %.1f G operations a second\n", rate.instruction,
                      result.unit_ops * 3e-9 / result.busy_s);
    }
    ecoi_backend_cpu.model_close(arm);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sequence_is_what_it_is_alone),
        cmocka_unit_test(test_units_are_tokens),
        cmocka_unit_test(test_weights_are_read_once_a_step),
        cmocka_unit_test(test_matrix_rates_count_operations),
    };
    if (ecoi_backend_cpu.open(NULL, 1, &cpu, &error) != ECO_OK) {
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ecoi_backend_cpu.close(cpu);
    return failed;
}
