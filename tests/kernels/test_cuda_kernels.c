/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU kernels without a GPU: their host build runs behind the scripted driver (`compute 1`), from the PTX's own
 * source. Weights are compared bit for bit with the host's, logits and chosen tokens with the CPU backend. What only a
 * real GPU can show (its compiler, its memory model) is tests/device.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "kernels/kernels.h"

#include "../unit/fake_driver.h"
#include "kernels/cuda_model.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"

static eco_error error;
static void *cuda;
static void *cpu;

/* 20 rows of anything, heads of 10 in a cache of 16, columns that fill no vector, biases, tied or not. */
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

static eco_workload workload(const eco_model_shape *shape, eco_format linear, eco_format head,
                             uint32_t n_positions) {
    return (eco_workload){.shape = shape,
                          .linear = linear,
                          .head = head,
                          .batch = 1,
                          .n_prompt = 4,
                          .n_tokens = n_positions - 4,
                          .seed = 99};
}

static uint16_t stored_half(uint64_t address, uint64_t index) {
    uint16_t bits;
    memcpy(&bits, (const unsigned char *)(uintptr_t)address + 2 * index, sizeof bits);
    return bits;
}

static uint16_t expected_half(uint64_t tensor, uint64_t i, float offset, float scale) {
    return half_from_float(syn_value(syn_key(99, tensor), i, offset, scale));
}

static void assert_fp16_rows(const cuda_matrix *matrix, uint32_t first, uint32_t n, uint64_t tensor,
                             float scale) {
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < matrix->stride; c++) {
            const uint16_t got =
                stored_half(matrix->weights, (uint64_t)(first + r) * matrix->stride + c);
            const uint16_t want =
                c < matrix->n_columns
                    ? expected_half(tensor, (uint64_t)r * matrix->n_columns + c, 0, scale)
                    : 0;
            assert_int_equal(got, want);
        }
    }
}

static void assert_nf4_rows(const cuda_matrix *matrix, uint32_t first, uint32_t n, uint64_t tensor,
                            float scale) {
    const uint64_t key = syn_key(99, tensor);
    for (uint32_t r = 0; r < n; r++) {
        const uint64_t row = first + r;
        for (uint32_t c = 0; c < matrix->stride; c++) {
            const uint32_t block = c / NF4_BLOCK;
            const uint32_t end = (block + 1) * NF4_BLOCK < matrix->n_columns
                                     ? (block + 1) * NF4_BLOCK
                                     : matrix->n_columns;
            float absmax = 0.0f;
            for (uint32_t k = block * NF4_BLOCK; k < end; k++) {
                absmax = fmaxf(absmax, fabsf(half_round(syn_value(
                                           key, (uint64_t)r * matrix->n_columns + k, 0, scale))));
            }
            float stored = 0.0f;
            if (block < matrix->n_blocks) {
                memcpy(&stored,
                       (const float *)(uintptr_t)matrix->absmax + row * matrix->n_blocks + block,
                       sizeof stored);
                assert_memory_equal(&stored, &absmax, sizeof stored);
            }
            const unsigned char *codes =
                (const unsigned char *)(uintptr_t)matrix->weights + row * (matrix->stride / 2);
            const uint32_t got = ((uint32_t)codes[c / 2] >> (4 * (c % 2))) & 15u;
            const float value =
                half_round(syn_value(key, (uint64_t)r * matrix->n_columns + c, 0, scale));
            assert_int_equal(got, c < matrix->n_columns ? nf4_code(value, nf4_inverse(absmax)) : 7);
        }
    }
}

static void test_weights_are_the_hosts_bit_for_bit(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(true);
    for (eco_format format = ECO_FORMAT_FP16; format <= ECO_FORMAT_NF4; format++) {
        const eco_workload work = workload(&shape, format, format, 12);
        void *opened = NULL;
        ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &opened, &error), &error);
        const cuda_model *model = opened;
        const cuda_layer *layer = &model->layers[1];
        const float scale = ecoi_linear_scale(77);
        void (*check)(const cuda_matrix *, uint32_t, uint32_t, uint64_t, float) =
            format == ECO_FORMAT_FP16 ? assert_fp16_rows : assert_nf4_rows;
        check(&layer->qkv, 0, 60, syn_layer_tensor(1, SYN_Q), scale);
        check(&layer->qkv, 60, 20, syn_layer_tensor(1, SYN_K), scale);
        check(&layer->qkv, 80, 20, syn_layer_tensor(1, SYN_V), scale);
        check(&layer->up, 0, 131, syn_layer_tensor(1, SYN_UP), scale);
        check(&layer->down, 0, 77, syn_layer_tensor(1, SYN_DOWN), ecoi_linear_scale(131));
        check(&model->memory.head, 0, 211, SYN_EMBEDDING, 1.0f);
        assert_fp16_rows(&model->memory.embedding, 0, 211, SYN_EMBEDDING, 1.0f);
        for (uint32_t i = 0; i < 77; i++) {
            assert_int_equal(stored_half(layer->norm_ffn, i),
                             expected_half(syn_layer_tensor(1, SYN_NORM_FFN), i, 1.0f, 0.1f));
        }
        for (uint32_t i = 0; i < 20; i++) {
            assert_int_equal(stored_half(layer->qkv_bias, 60 + i),
                             expected_half(syn_layer_tensor(1, SYN_K_BIAS), i, 0.0f, 0.1f));
        }
        ecoi_backend_cuda.model_close(opened);
    }
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

static void assert_logits(const eco_model_shape *shape, eco_format linear, eco_format head,
                          uint32_t n_positions, uint32_t n_tokens) {
    const eco_workload work = workload(shape, linear, head, n_positions);
    void *ours = NULL;
    void *reference = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &ours, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &work, &reference, &error), &error);
    uint32_t tokens[16];
    static float got[1024];
    static float want[1024];
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = syn_prompt_token(5, i, shape->n_vocab);
    }
    ASSERT_OK(ecoi_backend_cuda.logits(ours, tokens, n_tokens, got, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.logits(reference, tokens, n_tokens, want, &error), &error);
    ASSERT_NEAR(relative_error(got, want, shape->n_vocab), 0.0, 2e-3);
    ecoi_backend_cpu.model_close(reference);
    ecoi_backend_cuda.model_close(ours);
}

static void test_logits_agree_with_the_cpu(void **state) {
    (void)state;
    const eco_model_shape tied = odd_shape(true);
    const eco_model_shape untied = odd_shape(false);
    assert_logits(&tied, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 20, 9);
    assert_logits(&tied, ECO_FORMAT_NF4, ECO_FORMAT_NF4, 20, 9);
    assert_logits(&untied, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 20, 1);
    assert_logits(&untied, ECO_FORMAT_NF4, ECO_FORMAT_FP16, 20, 2);
    /* Room for 1300 positions: attention in three parts, some of them empty. */
    assert_logits(&untied, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 1300, 1);
    assert_logits(&untied, ECO_FORMAT_NF4, ECO_FORMAT_FP16, 1300, 7);
    eco_model_shape wide = odd_shape(false);
    wide.n_heads = 2;
    wide.n_kv_heads = 1;
    wide.d_head = 128;
    wide.d_model = 328; /* more than one round of a warp's loads */
    wide.d_ff = 1056;
    assert_logits(&wide, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 20, 3);
    assert_logits(&wide, ECO_FORMAT_NF4, ECO_FORMAT_FP16, 20, 3);
}

static uint32_t highest(const float *logits, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

static struct gpu_state decode_state(void *opened) {
    const cuda_model *model = opened;
    struct gpu_state now;
    memcpy(&now, (const void *)(uintptr_t)model->memory.state, sizeof now);
    return now;
}

/* The prompt, then the CPU's greedy choices, position by position; past the last one, back to the first decoded. */
static void test_tokens_are_the_cpus_greedy_choice(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(true);
    const eco_workload work = workload(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 9);
    void *ours = NULL;
    void *reference = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &ours, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &work, &reference, &error), &error);
    uint32_t tokens[10];
    float logits[211];
    for (uint32_t i = 0; i < 4; i++) {
        tokens[i] = syn_prompt_token(99, i, 211);
    }
    for (uint32_t n = 4; n < 10; n++) {
        ASSERT_OK(ecoi_backend_cpu.logits(reference, tokens, n, logits, &error), &error);
        tokens[n] = highest(logits, 211);
    }
    eco_work_result result;
    for (uint32_t n = 1; n <= 5; n++) {
        const eco_work decode = {.kind = ECO_WORK_DECODE, .n_units_max = n};
        ASSERT_OK(ecoi_backend_cuda.work(ours, &decode, &result, &error), &error);
        assert_int_equal(result.n_units, n);
        assert_int_equal(decode_state(ours).steps, n);
        assert_int_equal(decode_state(ours).position, n < 5 ? 4 + n : 4);
        assert_int_equal(decode_state(ours).token, tokens[4 + n]);
    }
    /* A generation begins anew with the prompt; 9 + 2 steps stand before its third token. */
    const eco_work generation = {.kind = ECO_WORK_GENERATION, .n_units_max = 11};
    ASSERT_OK(ecoi_backend_cuda.work(ours, &generation, &result, &error), &error);
    assert_int_equal(decode_state(ours).position, 2);
    assert_int_equal(decode_state(ours).token, tokens[2]);
    const eco_work prefill = {.kind = ECO_WORK_PREFILL, .n_units_max = 7};
    ASSERT_OK(ecoi_backend_cuda.work(ours, &prefill, &result, &error), &error);
    assert_int_equal(result.n_units, 7);
    assert_int_equal(decode_state(ours).position, 3);
    assert_int_equal(decode_state(ours).token, tokens[3]);
    const eco_work launch = {.kind = ECO_WORK_LAUNCH, .n_units_max = 1};
    ASSERT_OK(ecoi_backend_cuda.work(ours, &launch, &result, &error), &error);
    assert_int_equal(result.n_units, 256);
    ecoi_backend_cpu.model_close(reference);
    ecoi_backend_cuda.model_close(ours);
}

static uint32_t first_decoded(void *opened) {
    const eco_work step = {.kind = ECO_WORK_DECODE, .n_units_max = 1};
    eco_work_result result;
    ASSERT_OK(ecoi_backend_cuda.work(opened, &step, &result, &error), &error);
    return decode_state(opened).token;
}

/* The head's rows are written by hand: the lowest index wins among equal logits, and NaN chooses a token that exists. */
static void test_equal_logits_choose_the_lowest_index(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(false);
    const eco_workload work = workload(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 9);
    void *opened = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &opened, &error), &error);
    const cuda_model *model = opened;
    const cuda_matrix *head = &model->memory.head;
    uint16_t *rows = (uint16_t *)(uintptr_t)head->weights;
    const size_t row_bytes = 2u * head->stride;
    memset(rows, 0, head->n_rows * row_bytes);
    assert_int_equal(first_decoded(opened), 0);
    /* All logits NaN. */
    memset(rows, 0xff, head->n_rows * row_bytes);
    assert_int_equal(first_decoded(opened), 0);
    /* Rows of ones and of minus ones: one of the two kinds wins, at its lowest index. */
    for (uint32_t r = 0; r < head->n_rows; r++) {
        const uint16_t value = r % 16 == 5 ? 0x3c00 : r % 16 == 7 ? 0xbc00 : 0;
        for (uint32_t c = 0; c < head->stride; c++) {
            rows[(size_t)r * head->stride + c] = c < head->n_columns ? value : 0;
        }
    }
    const uint32_t chosen = first_decoded(opened);
    assert_true(chosen == 5 || chosen == 7);
    ecoi_backend_cuda.model_close(opened);
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
    fake_driver_start("compute 1\nn_sm 2\n");
    if (ecoi_backend_cuda.open(NULL, 0, &cuda, &error) != ECO_OK ||
        ecoi_backend_cpu.open(NULL, 1, &cpu, &error) != ECO_OK) {
        print_error("%s\n", error.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_the_hosts_bit_for_bit),
        cmocka_unit_test(test_logits_agree_with_the_cpu),
        cmocka_unit_test(test_tokens_are_the_cpus_greedy_choice),
        cmocka_unit_test(test_equal_logits_choose_the_lowest_index),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ecoi_backend_cpu.close(cpu);
    ecoi_backend_cuda.close(cuda);
    fake_driver_cleanup();
    return failed;
}
