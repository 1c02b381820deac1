/* SPDX-License-Identifier: Apache-2.0
 *
 * The batched kernels without a GPU, as test_cuda_kernels.c has the others: logits of every sequence
 * against the CPU backend, by decoded steps and by chunks of prompts; chosen tokens; two runs bit for
 * bit; what a step adds to the count.
 */
#define _GNU_SOURCE

#include "test_helpers.h"
#include "uneven_scales.h"

#include "kernels/kernels.h"

#include "../unit/fake_driver.h"
#include "kernels/cuda_model.h"
#include "kernels/synthetic.h"

#include <stdlib.h>
#include <string.h>

static eco_error error;
static void *cuda;
static void *cpu;

enum { SEED = 99, TOKENS_MAX = 80 };

/* Nothing divides anything: rows that fill no tile, columns that fill no step, heads of 10. */
static eco_model_shape odd_shape(bool tied) {
    return (eco_model_shape){.name = "odd",
                             .hf_id = "test/odd",
                             .family = "qwen2",
                             .params_b = 0.001,
                             .n_layers = 2,
                             .d_model = 77,
                             .n_heads = 6,
                             .n_kv_heads = 2,
                             .d_head = 10,
                             .d_ff = 131,
                             .n_vocab = 211,
                             .n_positions_max = 4096,
                             .tied_embeddings = tied,
                             .qkv_bias = tied,
                             .rope_theta = 10000.0,
                             .norm_eps = 1e-6};
}

typedef struct batch_case {
    const eco_model_shape *shape;
    eco_format linear, head;
    uint32_t batch, n_positions, n_tokens;
    double tolerance;
} batch_case;

static eco_workload workload_of(const batch_case *c) {
    return (eco_workload){.shape = c->shape,
                          .linear = c->linear,
                          .head = c->head,
                          .batch = c->batch,
                          .n_prompt = 4,
                          .n_tokens = c->n_positions - 4,
                          .seed = SEED,
                          .outlier_permille = 100};
}

static uint32_t test_token(uint32_t b, uint32_t i, uint32_t n_vocab) {
    return syn_batch_token(5, b, i, n_vocab);
}

static double relative_error(const float *got, const float *want, uint32_t n) {
    double off = 0.0;
    double size = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        off += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        size += (double)want[i] * (double)want[i];
    }
    return sqrt(off / size);
}

/* Nothing may be taken from before: NaN in all that a step or chunk writes before it reads. The
 * scripted device's memory is the host's. */
static void poison(const cuda_model *model) {
    const cuda_batch_memory *batch = &model->memory.batch;
    memset((void *)(uintptr_t)batch->x, 0xff, batch->arrived - batch->x);
    memset((void *)(uintptr_t)batch->attention_part, 0xff, batch->tokens - batch->attention_part);
}

/* Every sequence's logits, by a last decoded step and by chunks alone, twice each. */
static void assert_logits(const batch_case *c) {
    const uint32_t n_vocab = c->shape->n_vocab;
    const eco_workload work = workload_of(c);
    eco_workload single = work;
    single.batch = 1;
    void *ours = NULL;
    void *reference = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &ours, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &single, &reference, &error), &error);
    if (c->linear == ECO_FORMAT_NF4_DQ) {
        uneven_model(ours, ecoi_cpu_arm_model(reference));
    }
    const size_t n = (size_t)c->batch * n_vocab;
    uint32_t *tokens = calloc((size_t)c->batch * c->n_tokens, sizeof *tokens);
    float *got = calloc(2 * n, sizeof *got);
    float *want = calloc(n_vocab, sizeof *want);
    assert_true(tokens != NULL && got != NULL && want != NULL);
    for (uint32_t i = 0; i < c->batch * c->n_tokens; i++) {
        tokens[i] = test_token(i / c->n_tokens, i % c->n_tokens, n_vocab);
    }
    double worst = 0.0;
    for (uint32_t way = 0; way < 2; way++) {
        for (uint32_t run = 0; run < 2; run++) {
            poison(ours);
            ASSERT_OK(
                ecoi_cuda_batch_logits(ours, tokens, c->n_tokens, way == 1, got + run * n, &error),
                &error);
        }
        assert_memory_equal(got, got + n, n * sizeof *got);
        for (uint32_t b = 0; b < c->batch; b++) {
            ASSERT_OK(ecoi_backend_cpu.logits(reference, tokens + (size_t)b * c->n_tokens,
                                              c->n_tokens, want, &error),
                      &error);
            const double off = relative_error(got + (size_t)b * n_vocab, want, n_vocab);
            worst = off <= worst ? worst : off;
            ASSERT_NEAR(off, 0.0, c->tolerance);
        }
    }
    print_message("%s %s, batch %u, %u tokens: %.1e\n", c->shape->name,
                  eco_format_at(c->linear)->name, c->batch, c->n_tokens, worst);
    free(tokens);
    free(got);
    free(want);
    ecoi_backend_cpu.model_close(reference);
    ecoi_backend_cuda.model_close(ours);
}

static void test_every_batch_agrees_with_the_cpu(void **state) {
    (void)state;
    static const uint32_t batches[] = {1, 2, 3, 7, 8, 9, 16, 17, 33, 64};
    const eco_model_shape shape = odd_shape(true);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        const batch_case c = {.shape = &shape,
                              .linear = ECO_FORMAT_FP16,
                              .head = ECO_FORMAT_FP16,
                              .batch = batches[i],
                              .n_positions = 12,
                              .n_tokens = 3,
                              .tolerance = 2e-3};
        assert_logits(&c);
    }
}

static void test_every_format_agrees_with_the_cpu(void **state) {
    (void)state;
    static const eco_format formats[] = {ECO_FORMAT_BF16, ECO_FORMAT_NF4,   ECO_FORMAT_W8A16,
                                         ECO_FORMAT_Q4_0, ECO_FORMAT_Q8_0,  ECO_FORMAT_FP8,
                                         ECO_FORMAT_INT8, ECO_FORMAT_NF4_DQ};
    const eco_model_shape tied = odd_shape(true);
    const eco_model_shape untied = odd_shape(false);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        batch_case c = {.shape = &untied,
                        .linear = formats[i],
                        .head = ECO_FORMAT_FP16,
                        .batch = 3,
                        .n_positions = 12,
                        .n_tokens = 5,
                        .tolerance = 2e-3};
        assert_logits(&c);
        c.shape = &tied;
        c.head = formats[i];
        c.batch = 20;
        c.n_tokens = 2;
        assert_logits(&c);
    }
}

/* Prompts longer than a chunk, positions in several parts, tiles of 256 rows (17 rows of input, as
 * many tiles as multiprocessors), heads that share keys by 1, 7 and 9. */
static void test_chunks_parts_and_wide_tiles(void **state) {
    (void)state;
    eco_model_shape shape = odd_shape(false);
    batch_case c = {.shape = &shape,
                    .linear = ECO_FORMAT_W8A16,
                    .head = ECO_FORMAT_FP16,
                    .batch = 3,
                    .n_positions = 700,
                    .n_tokens = 50,
                    .tolerance = 2e-3};
    assert_logits(&c);
    shape.n_heads = 7;
    shape.n_kv_heads = 1;
    shape.d_head = 64;
    shape.n_layers = 1;
    c.n_positions = 300;
    c.n_tokens = 270;
    c.batch = 1;
    assert_logits(&c);
    shape.n_heads = 9;
    shape.d_head = 24;
    shape.n_vocab = 1029;
    c.batch = 17;
    c.n_tokens = 2;
    c.linear = ECO_FORMAT_Q4_0;
    c.head = ECO_FORMAT_NF4;
    assert_logits(&c);
    shape.n_kv_heads = 9;
    shape.n_vocab = 300;
    c.batch = 2;
    c.linear = ECO_FORMAT_NF4;
    assert_logits(&c);
}

/* As test_cuda_kernels.c has it for one sequence; of an odd number of blocks a row, too. */
static void test_scales_of_absmax_go_through_a_tensor(void **state) {
    (void)state;
    eco_model_shape shape = odd_shape(true);
    shape.n_layers = 1;
    shape.n_heads = 3;
    shape.n_kv_heads = 1;
    shape.d_head = 64;
    shape.d_model = 200;
    shape.d_ff = 650;
    const batch_case c = {.shape = &shape,
                          .linear = ECO_FORMAT_NF4_DQ,
                          .head = ECO_FORMAT_FP16,
                          .batch = 2,
                          .n_positions = 12,
                          .n_tokens = 2,
                          .tolerance = 2e-3};
    assert_logits(&c);
}

static void run_work(void *opened, eco_work_kind kind, uint64_t n_units_max, uint64_t n_expected) {
    const eco_work work = {.kind = kind, .n_units_max = n_units_max};
    eco_work_result result;
    eco_arm_info info;
    ASSERT_OK(ecoi_backend_cuda.work(opened, &work, &result, &error), &error);
    ecoi_backend_cuda.model_describe(opened, &info);
    assert_int_equal(result.n_units, n_expected);
    assert_int_equal(*info.progress, 0);
}

/* The CPU's greedy choice for every sequence: the prompt, then five positions, which turn. */
static void test_each_sequence_goes_its_own_way(void **state) {
    (void)state;
    enum { BATCH = 3, PROMPT = 4, ALL = 10 };
    const eco_model_shape shape = odd_shape(true);
    const batch_case c = {.shape = &shape,
                          .linear = ECO_FORMAT_FP16,
                          .head = ECO_FORMAT_FP16,
                          .batch = BATCH,
                          .n_positions = ALL - 1};
    const eco_workload work = workload_of(&c);
    eco_workload single = work;
    single.batch = 1;
    void *ours = NULL;
    void *reference = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &ours, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &single, &reference, &error), &error);
    uint32_t tokens[BATCH][ALL];
    float logits[211];
    for (uint32_t b = 0; b < BATCH; b++) {
        for (uint32_t i = 0; i < PROMPT; i++) {
            tokens[b][i] = syn_batch_token(SEED, b, i, 211);
        }
        for (uint32_t n = PROMPT; n < ALL; n++) {
            ASSERT_OK(ecoi_backend_cpu.logits(reference, tokens[b], n, logits, &error), &error);
            tokens[b][n] = 0;
            for (uint32_t i = 1; i < 211; i++) {
                tokens[b][n] = logits[i] > logits[tokens[b][n]] ? i : tokens[b][n];
            }
        }
    }
    assert_int_equal(tokens[0][1], syn_prompt_token(SEED, 1, 211));
    const cuda_model *model = ours;
    for (uint32_t n = 1; n <= 5; n++) {
        run_work(ours, ECO_WORK_DECODE, BATCH * n - 1, BATCH * n);
        struct gpu_state now;
        uint32_t chosen[BATCH];
        memcpy(&now, (const void *)(uintptr_t)model->memory.state, sizeof now);
        memcpy(chosen, (const void *)(uintptr_t)model->memory.batch.tokens, sizeof chosen);
        assert_int_equal(now.steps, BATCH * n);
        assert_int_equal(now.position, n < 5 ? PROMPT + n : PROMPT);
        for (uint32_t b = 0; b < BATCH; b++) {
            assert_int_equal(chosen[b], tokens[b][PROMPT + n]);
        }
    }
    /* 12 prompt tokens at once, 5 steps of 3. */
    run_work(ours, ECO_WORK_GENERATION, 27, 27);
    run_work(ours, ECO_WORK_GENERATION, 28, 39);
    run_work(ours, ECO_WORK_PREFILL, 13, 24);
    ecoi_backend_cpu.model_close(reference);
    ecoi_backend_cuda.model_close(ours);
}

/* Batches beyond the kernels'. */
static void test_what_cannot_be_is_refused(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(true);
    const batch_case c = {.shape = &shape,
                          .linear = ECO_FORMAT_FP16,
                          .head = ECO_FORMAT_FP16,
                          .batch = 2,
                          .n_positions = 12};
    eco_workload work = workload_of(&c);
    void *opened = NULL;
    work.batch = 65;
    assert_int_equal(ecoi_backend_cuda.model_open(cuda, &work, &opened, &error), ECO_E_RANGE);
    work.batch = 0;
    assert_int_equal(ecoi_backend_cuda.model_open(cuda, &work, &opened, &error), ECO_E_RANGE);
}

int main(int argc, char **argv) {
    (void)argc;
#if defined(__SANITIZE_THREAD__)
    print_message("skip: ThreadSanitizer cannot follow the fibers that stand for GPU threads\n");
    return 77;
#endif
    const int status = fake_driver_setup(argv);
    if (status != 0) {
        return status;
    }
    fake_driver_start("compute 1\nn_sm 3\n");
    if (ecoi_backend_cuda.open(NULL, 0, &cuda, &error) != ECO_OK ||
        ecoi_backend_cpu.open(NULL, 1, &cpu, &error) != ECO_OK) {
        print_error("%s\n", error.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_batch_agrees_with_the_cpu),
        cmocka_unit_test(test_every_format_agrees_with_the_cpu),
        cmocka_unit_test(test_chunks_parts_and_wide_tiles),
        cmocka_unit_test(test_scales_of_absmax_go_through_a_tensor),
        cmocka_unit_test(test_each_sequence_goes_its_own_way),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ecoi_backend_cpu.close(cpu);
    ecoi_backend_cuda.close(cuda);
    fake_driver_cleanup();
    return failed;
}
