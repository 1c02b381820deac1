/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU kernels without a GPU: their host build runs behind the scripted driver (`compute 1`), from the PTX's own
 * source. Weights are compared bit for bit with the host's, logits and chosen tokens with the CPU backend. What only a
 * real GPU can show (its compiler, its memory model) is tests/device.
 */
#define _GNU_SOURCE

#include "test_helpers.h"
#include "uneven_scales.h"

#include "kernels/kernels.h"

#include "../unit/fake_driver.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_model.h"
#include "kernels/half.h"
#include "kernels/cpu/cpu_dots.h"
#include "kernels/quant.h"
#include "kernels/quant_dynamic.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"

static eco_error error;
static void *cuda;
static void *cpu;

static void reopen_cuda(const char *script) {
    ecoi_backend_cuda.close(cuda);
    fake_driver_start(script);
    ASSERT_OK(ecoi_backend_cuda.open(NULL, 0, &cuda, &error), &error);
}

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

static void assert_fp16_rows(const cuda_matrix *matrix, uint32_t first, uint32_t step, uint32_t n,
                             uint64_t tensor, float scale) {
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < matrix->stride; c++) {
            const uint16_t got =
                stored_half(matrix->weights, (uint64_t)(first + r * step) * matrix->stride + c);
            const uint16_t want =
                c < matrix->n_columns
                    ? expected_half(tensor, (uint64_t)r * matrix->n_columns + c, 0, scale)
                    : 0;
            assert_int_equal(got, want);
        }
    }
}

/* Code of a weight, and bits of its scale, as each device keeps them. */
static uint32_t cpu_code(const eco_cpu_matrix *m, uint32_t row, uint32_t c) {
    const unsigned char *codes = (const unsigned char *)m->weights + (size_t)row * m->n_row_bytes;
    const uint32_t bits = m->n_row_bytes * 8 / m->stride;
    if (bits == 4) {
        return (uint32_t)codes[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15u;
    }
    return bits == 8 ? codes[c] : codes[2 * c] | (uint32_t)codes[2 * c + 1] << 8;
}

static uint32_t gpu_code(const cuda_matrix *m, uint64_t row, uint32_t c) {
    const uint32_t bits = ecoi_cuda_storage(m->format).weight_bits;
    const unsigned char *codes =
        (const unsigned char *)(uintptr_t)m->weights + row * (m->stride * bits / 8);
    if (bits == 4) {
        return (uint32_t)codes[c / 2] >> (4 * (c % 2)) & 15u;
    }
    return bits == 8 ? codes[c] : codes[2 * c] | (uint32_t)codes[2 * c + 1] << 8;
}

static uint32_t zero_code(eco_format format) {
    return format == ECO_FORMAT_NF4 || format == ECO_FORMAT_NF4_DQ ? NF4_ZERO
           : format == ECO_FORMAT_Q4_0                             ? Q4_0_ZERO
                                                                   : 0;
}

static void assert_scales(const cuda_matrix *ours, uint64_t our_row, const eco_cpu_matrix *theirs,
                          uint64_t their_row) {
    const uint32_t size = ecoi_cuda_storage(ours->format).scale_bytes;
    const unsigned char *got =
        (const unsigned char *)(uintptr_t)ours->scales + our_row * ours->n_blocks * size;
    const void *want = size == 4
                           ? (const void *)(theirs->scales + their_row * theirs->n_blocks)
                           : (const void *)(theirs->half_scales + their_row * theirs->n_blocks);
    assert_memory_equal(got, want, (size_t)theirs->n_blocks * size);
    assert_true(ours->n_blocks >= theirs->n_blocks && ours->n_blocks <= theirs->n_blocks + 1);
    for (uint32_t b = theirs->n_blocks; b < ours->n_blocks; b++) { /* rows are whole words */
        uint16_t padding;
        memcpy(&padding, got + (size_t)b * size, sizeof padding);
        assert_int_equal(size, sizeof padding);
        assert_int_equal(padding & 0x7fff, 0);
    }
}

/* The absmax of every block as a kernel has to make it of codes, scales and offset. */
static void assert_dq_scales(const cuda_matrix *ours, uint64_t our_row,
                             const eco_cpu_matrix *theirs, uint64_t their_row) {
    const unsigned char *codes =
        (const unsigned char *)(uintptr_t)ours->scales + our_row * ours->n_blocks;
    const struct gpu_dq_row row = gpu_dq_row_at((uint32_t)our_row, ours->n_rows, ours->n_tensors,
                                                ours->n_first, theirs->n_blocks);
    const float *scales2 = (const float *)(uintptr_t)ours->scales2 +
                           row.tensor * gpu_dq_words(ours->n_first, theirs->n_blocks);
    for (uint32_t b = 0; b < theirs->n_blocks; b++) {
        const float distance =
            ecoi_dynamic_values[codes[b]] * scales2[1 + (row.first_block + b) / NF4_DQ_BLOCK];
        const float got = distance + scales2[0];
        const float want = ecoi_cpu_dq_absmax(theirs, their_row * theirs->n_blocks + b);
        assert_memory_equal(&got, &want, sizeof got);
    }
    assert_int_equal(ours->n_blocks % 4, 0); /* rows are whole words */
}

/* Row first + i · step of ours is row i of theirs, padding holds codes of 0. */
static void assert_rows(const cuda_matrix *ours, uint32_t first, uint32_t step,
                        const eco_cpu_matrix *theirs) {
    for (uint32_t i = 0; i < theirs->n_rows; i++) {
        const uint32_t row = first + i * step;
        for (uint32_t c = 0; c < ours->stride; c++) {
            assert_int_equal(gpu_code(ours, row, c), c < ours->n_columns ? cpu_code(theirs, i, c)
                                                                         : zero_code(ours->format));
        }
        if (ours->format == ECO_FORMAT_NF4_DQ) {
            assert_dq_scales(ours, row, theirs, i);
        } else if (ours->n_blocks != 0) {
            assert_scales(ours, row, theirs, i);
        }
    }
}

/* The memory of an opened model takes the weights of another format. */
static void refill(cuda_model *model, const eco_workload *work) {
    model->workload = *work;
    model->memory = ecoi_cuda_plan(&model->workload, model->base, model->layers);
    assert_true(model->memory.end <= model->base + model->arena_bytes);
    ASSERT_OK(ecoi_cuda_fill(model, &error), &error);
}

static void assert_weights(const cuda_model *ours, const eco_cpu_model *theirs) {
    const cuda_layer *layer = &ours->layers[1];
    const eco_cpu_layer *want = &theirs->layers[1];
    assert_rows(&layer->qkv, 0, 1, &want->q);
    assert_rows(&layer->qkv, 60, 1, &want->k);
    assert_rows(&layer->qkv, 80, 1, &want->v);
    assert_rows(&layer->o, 0, 1, &want->o);
    assert_rows(&layer->gate_up, 0, 2, &want->gate);
    assert_rows(&layer->gate_up, 1, 2, &want->up);
    assert_rows(&layer->down, 0, 1, &want->down);
    assert_rows(&ours->memory.head, 0, 1, &theirs->head);
    assert_rows(&ours->memory.embedding, 0, 1, &theirs->embedding);
    for (uint32_t i = 0; i < 77; i++) {
        assert_int_equal(stored_half(layer->norm_attention, i), want->norm_attention[i]);
        assert_int_equal(stored_half(layer->norm_ffn, i), want->norm_ffn[i]);
        assert_int_equal(stored_half(ours->memory.norm_final, i), theirs->norm_final[i]);
    }
}

static void test_weights_are_the_hosts_bit_for_bit(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(true);
    eco_workload work = workload(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 12);
    work.outlier_permille = 50;
    eco_workload roomy = work; /* its cache leaves room for any of them */
    roomy.n_tokens = 4000;
    void *opened = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &roomy, &opened, &error), &error);
    cuda_model *model = opened;
    assert_fp16_rows(&model->layers[1].gate_up, 0, 2, 131, syn_layer_tensor(1, SYN_GATE),
                     ecoi_linear_scale(77));
    assert_fp16_rows(&model->layers[1].gate_up, 1, 2, 131, syn_layer_tensor(1, SYN_UP),
                     ecoi_linear_scale(77));
    assert_fp16_rows(&model->memory.embedding, 0, 1, 211, SYN_EMBEDDING, 1.0f);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(stored_half(model->layers[1].qkv_bias, 60 + i),
                         expected_half(syn_layer_tensor(1, SYN_K_BIAS), i, 0.0f, 0.1f));
    }
    for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
        work.linear = format;
        work.head = format;
        void *reference = NULL;
        ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &work, &reference, &error), &error);
        refill(model, &work);
        assert_weights(model, ecoi_cpu_arm_model(reference));
        ecoi_backend_cpu.model_close(reference);
    }
    ecoi_backend_cuda.model_close(opened);
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

/* INT8 rounds its inputs, and a sum that falls the other side of a half makes a code one larger. */
static double tolerance_of(eco_format format) {
    return format == ECO_FORMAT_INT8 ? 1e-2 : 2e-3;
}

static void assert_logits(const eco_model_shape *shape, eco_format linear, eco_format head,
                          uint32_t n_positions, uint32_t n_tokens) {
    const eco_workload work = workload(shape, linear, head, n_positions);
    void *ours = NULL;
    void *reference = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(cuda, &work, &ours, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.model_open(cpu, &work, &reference, &error), &error);
    if (linear == ECO_FORMAT_NF4_DQ) {
        uneven_model(ours, ecoi_cpu_arm_model(reference));
    }
    uint32_t tokens[160];
    static float got[1024];
    static float want[1024];
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = syn_prompt_token(5, i, shape->n_vocab);
    }
    ASSERT_OK(ecoi_backend_cuda.logits(ours, tokens, n_tokens, got, &error), &error);
    ASSERT_OK(ecoi_backend_cpu.logits(reference, tokens, n_tokens, want, &error), &error);
    ASSERT_NEAR(relative_error(got, want, shape->n_vocab), 0.0, tolerance_of(linear));
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

static void test_every_format_agrees_with_the_cpu(void **state) {
    (void)state;
    const eco_format formats[] = {ECO_FORMAT_BF16,  ECO_FORMAT_NF4,   ECO_FORMAT_INT8,
                                  ECO_FORMAT_W8A16, ECO_FORMAT_Q4_0,  ECO_FORMAT_Q8_0,
                                  ECO_FORMAT_FP8,   ECO_FORMAT_NF4_DQ};
    eco_model_shape shape = odd_shape(true);
    shape.d_ff = 1311; /* more than one group of a row, and rows without a partner */
    shape.n_layers = 1;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        assert_logits(&shape, formats[i], i % 2 == 0 ? formats[i] : ECO_FORMAT_FP16, 20, 3);
    }
}

/* NF4-DQ's scales of 256 blocks, as blocks are counted through a tensor: many a tensor in query, key
 * and value and in gate and up, from one to the next within a row, and rows of three groups. */
static void test_scales_of_absmax_go_through_a_tensor(void **state) {
    (void)state;
    eco_model_shape shape = odd_shape(true);
    shape.n_layers = 1;
    shape.n_heads = 3;
    shape.n_kv_heads = 1;
    shape.d_head = 128;
    shape.d_model = 328;
    shape.d_ff = 4200;
    assert_logits(&shape, ECO_FORMAT_NF4_DQ, ECO_FORMAT_FP16, 20, 2);
    shape.d_ff = 300;
    assert_logits(&shape, ECO_FORMAT_NF4_DQ, ECO_FORMAT_NF4_DQ, 20, 2);
}

/* More positions than one block takes of a head: two parts, joined by who reads them. */
static void test_long_heads_are_shared(void **state) {
    (void)state;
    eco_model_shape shape = odd_shape(false);
    shape.n_layers = 1;
    shape.n_heads = 1;
    shape.n_kv_heads = 1;
    shape.d_head = 24;
    shape.n_vocab = 31;
    assert_logits(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 150, 131);
}

/* A card with little shared memory: fewer slots and warps, and NF4's small table. */
static void test_little_shared_memory_is_enough(void **state) {
    (void)state;
    reopen_cuda("compute 1\nn_sm 2\nshared_bytes 60000\n");
    const eco_model_shape shape = odd_shape(false);
    assert_logits(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 20, 5);
    assert_logits(&shape, ECO_FORMAT_NF4, ECO_FORMAT_FP16, 20, 5);
    assert_logits(&shape, ECO_FORMAT_NF4_DQ, ECO_FORMAT_FP16, 20, 5);
    assert_logits(&shape, ECO_FORMAT_INT8, ECO_FORMAT_FP16, 20, 5);
    reopen_cuda("compute 1\nn_sm 2\n");
}

/* What a card has no room for is refused before anything is loaded, as the dry run asks. */
static void test_shared_memory_is_checked_before_loading(void **state) {
    (void)state;
    reopen_cuda("compute 1\nn_sm 132\nshared_bytes 101376\n");
    eco_model_shape shape = odd_shape(false);
    shape.d_ff = 29568; /* 58 kB of input in FP16, 94 kB in INT8 */
    const eco_workload fp16 = workload(&shape, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 9);
    const eco_workload int8 = workload(&shape, ECO_FORMAT_INT8, ECO_FORMAT_FP16, 9);
    const eco_workload int8_head = workload(&shape, ECO_FORMAT_FP16, ECO_FORMAT_INT8, 9);
    ASSERT_OK(ecoi_backend_cuda.model_check(cuda, &fp16, &error), &error);
    assert_int_equal(ecoi_backend_cuda.model_check(cuda, &int8, &error), ECO_E_UNSUPPORTED);
    assert_string_equal(error.message, "cuda: model odd in INT8 does not fit the 101376 bytes of "
                                       "shared memory of NVIDIA H200");
    assert_int_equal(ecoi_backend_cuda.model_check(cuda, &int8_head, &error), ECO_E_UNSUPPORTED);
    void *opened = &error;
    assert_int_equal(ecoi_backend_cuda.model_open(cuda, &int8, &opened, &error), ECO_E_UNSUPPORTED);
    assert_null(opened);
    reopen_cuda("compute 1\nn_sm 2\n");
    shape.d_ff = 131;
    shape.d_model = 8193;
    assert_int_equal(ecoi_backend_cuda.model_check(cuda, &fp16, &error), ECO_E_UNSUPPORTED);
    assert_string_equal(error.message, "cuda: model odd is 8193 wide; the kernels take up to 8192");
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
    /* A generation begins anew with the prompt, which is one chunk of 4; 9 + 4 + 2 units. */
    const eco_work generation = {.kind = ECO_WORK_GENERATION, .n_units_max = 15};
    ASSERT_OK(ecoi_backend_cuda.work(ours, &generation, &result, &error), &error);
    assert_int_equal(result.n_units, 15);
    assert_int_equal(decode_state(ours).position, 6);
    assert_int_equal(decode_state(ours).token, tokens[6]);
    const eco_work prefill = {.kind = ECO_WORK_PREFILL, .n_units_max = 7};
    ASSERT_OK(ecoi_backend_cuda.work(ours, &prefill, &result, &error), &error);
    assert_int_equal(result.n_units, 8); /* two chunks */
    assert_int_equal(decode_state(ours).position, 4);
    assert_int_equal(decode_state(ours).token, tokens[4]);
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

/* Layers and head take every format there is, on both devices. */
static void test_every_format_is_there(void **state) {
    (void)state;
    const eco_model_shape shape = odd_shape(false);
    for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
        const eco_workload layers = workload(&shape, format, ECO_FORMAT_FP16, 9);
        const eco_workload head = workload(&shape, ECO_FORMAT_FP16, format, 9);
        assert_true(ecoi_backend_cuda.has_format(format));
        ASSERT_OK(ecoi_backend_cuda.model_check(cuda, &layers, &error), &error);
        ASSERT_OK(ecoi_backend_cuda.model_check(cuda, &head, &error), &error);
        assert_true(ecoi_backend_cpu.has_format(format));
        ASSERT_OK(ecoi_backend_cpu.model_check(cpu, &layers, &error), &error);
    }
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
        cmocka_unit_test(test_every_format_agrees_with_the_cpu),
        cmocka_unit_test(test_scales_of_absmax_go_through_a_tensor),
        cmocka_unit_test(test_long_heads_are_shared),
        cmocka_unit_test(test_little_shared_memory_is_enough),
        cmocka_unit_test(test_shared_memory_is_checked_before_loading),
        cmocka_unit_test(test_tokens_are_the_cpus_greedy_choice),
        cmocka_unit_test(test_equal_logits_choose_the_lowest_index),
        cmocka_unit_test(test_every_format_is_there),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ecoi_backend_cpu.close(cpu);
    ecoi_backend_cuda.close(cuda);
    fake_driver_cleanup();
    return failed;
}
