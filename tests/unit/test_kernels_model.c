/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole small models of odd sizes against an independent forward in double precision that makes its
 * own weights from the documented tensor ids and rounds where kernels.h says; then the threaded
 * forward against the reference, the loops of the CPU device, and its refusals.
 */
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/cpu_model.h"
#include "kernels/cpu/forward.h"
#include "kernels/cpu/reference.h"
#include "kernels/half.h"
#include "kernels/kernels.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"

#include "naive_formats.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, N_FED = 7, OUTLIER_PERMILLE = 60 };

/* Odd sizes on purpose: rows of 96, 60 and 75 columns, head widths that no vector divides, an odd
 * vocabulary. */
static const eco_model_shape shapes[] = {
    {.name = "llama",
     .family = "llama",
     .n_layers = 2,
     .d_model = 96,
     .n_heads = 3,
     .n_kv_heads = 1,
     .d_head = 32,
     .d_ff = 200,
     .n_vocab = 101,
     .n_positions_max = 64,
     .rope_theta = 1e4,
     .norm_eps = 1e-5},
    {.name = "qwen2",
     .family = "qwen2",
     .n_layers = 2,
     .d_model = 60,
     .n_heads = 6,
     .n_kv_heads = 2,
     .d_head = 10,
     .d_ff = 75,
     .n_vocab = 101,
     .n_positions_max = 64,
     .tied_embeddings = true,
     .qkv_bias = true,
     .rope_theta = 1e6,
     .norm_eps = 1e-6},
    {.name = "mistral",
     .family = "mistral",
     .n_layers = 3,
     .d_model = 128,
     .n_heads = 4,
     .n_kv_heads = 2,
     .d_head = 24, /* n_heads · d_head is not d_model */
     .d_ff = 129,
     .n_vocab = 67,
     .n_positions_max = 64,
     .rope_theta = 1e4,
     .norm_eps = 1e-5},
    {.name = "qwen2 untied",
     .family = "qwen2",
     .n_layers = 1,
     .d_model = 70,
     .n_heads = 5,
     .n_kv_heads = 5,
     .d_head = 14,
     .d_ff = 65,
     .n_vocab = 33,
     .n_positions_max = 64,
     .qkv_bias = true,
     .rope_theta = 1e6,
     .norm_eps = 1e-6},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- an independent forward in double ---- */

/* To the nearest FP16 number by arithmetic on doubles; values here never reach its infinities. */
static double to_half(double x) {
    if (x == 0.0) {
        return 0.0;
    }
    const int exponent = (int)fmax((double)ilogb(x), -14.0);
    return ldexp(nearbyint(ldexp(x, 10 - exponent)), exponent - 10);
}

static double *new_doubles(size_t n) {
    double *out = calloc(n, sizeof *out);
    assert_non_null(out);
    return out;
}

static double *synthetic(uint64_t tensor, size_t n, double offset, double scale) {
    const uint64_t key = syn_key(SEED, tensor);
    double *out = new_doubles(n);
    for (size_t i = 0; i < n; i++) {
        const float scaled = (float)scale * syn_normal(key, i);
        out[i] = to_half((double)((float)offset + scaled));
    }
    return out;
}

static double *matrix(uint64_t tensor, uint32_t rows, uint32_t columns, eco_format format) {
    double *out = synthetic(tensor, (size_t)rows * columns, 0.0, 1.0 / sqrt((double)columns));
    naive_format(format, out, rows, columns);
    return out;
}

static void multiply(const double *weights, const double *x, uint32_t rows, uint32_t columns,
                     double *out) {
    for (size_t r = 0; r < rows; r++) {
        out[r] = 0.0;
        for (size_t c = 0; c < columns; c++) {
            out[r] += weights[r * columns + c] * x[c];
        }
    }
}

/* The input as the format takes it. */
static void multiply_in(const double *weights, eco_format format, const double *x, uint32_t rows,
                        uint32_t columns, double *out) {
    double *taken = new_doubles(columns);
    memcpy(taken, x, columns * sizeof *taken);
    if (format == ECO_FORMAT_INT8) {
        naive_int8_input(taken, columns);
    }
    multiply(weights, taken, rows, columns, out);
    free(taken);
}

/* As above with a weight tensor made and freed on the way. */
static void multiply_by(uint64_t tensor, eco_format format, const double *x, uint32_t rows,
                        uint32_t columns, double *out) {
    double *weights = matrix(tensor, rows, columns, format);
    multiply_in(weights, format, x, rows, columns, out);
    free(weights);
}

static void add_vector(uint64_t tensor, uint32_t n, double *out) {
    double *bias = synthetic(tensor, n, 0.0, 0.1);
    for (uint32_t i = 0; i < n; i++) {
        out[i] += bias[i];
    }
    free(bias);
}

/* `format` is that of the product behind it: INT8 has some gains times 32. */
static void norm(const eco_model_shape *s, uint64_t tensor, eco_format format, const double *x,
                 double *out) {
    double *gain = synthetic(tensor, s->d_model, 1.0, 0.1);
    for (uint32_t i = 0; format == ECO_FORMAT_INT8 && i < s->d_model; i++) {
        const uint64_t draw = syn_mix(syn_key(SEED, SYN_OUTLIERS) + i * 0x9E3779B97F4A7C15ull);
        gain[i] *= draw % 1000 < OUTLIER_PERMILLE ? 32.0 : 1.0;
    }
    double squares = 0.0;
    for (uint32_t i = 0; i < s->d_model; i++) {
        squares += x[i] * x[i];
    }
    for (uint32_t i = 0; i < s->d_model; i++) {
        out[i] = to_half(x[i] / sqrt(squares / s->d_model + s->norm_eps) * gain[i]);
    }
    free(gain);
}

static void rope(const eco_model_shape *s, uint32_t n_heads, uint32_t position, double *heads) {
    const uint32_t half = s->d_head / 2;
    for (uint32_t h = 0; h < n_heads; h++) {
        for (uint32_t i = 0; i < half; i++) {
            const double angle = position / pow(s->rope_theta, 2.0 * i / s->d_head);
            double *a = &heads[h * s->d_head + i];
            double *b = &heads[h * s->d_head + i + half];
            const double turned = *a * cos(angle) - *b * sin(angle);
            *b = *b * cos(angle) + *a * sin(angle);
            *a = turned;
        }
    }
}

/* q [heads][d_head] and the positions' k and v rows give out, rounded. */
static void attend(const eco_model_shape *s, const double *q, const double *k, const double *v,
                   uint32_t n, double *out) {
    const uint32_t kv = s->n_kv_heads * s->d_head;
    for (uint32_t h = 0; h < s->n_heads; h++) {
        const uint32_t offset = h / (s->n_heads / s->n_kv_heads) * s->d_head;
        double weights[N_FED];
        double sum = 0.0;
        for (uint32_t p = 0; p < n; p++) {
            double dot = 0.0;
            for (uint32_t i = 0; i < s->d_head; i++) {
                dot += q[h * s->d_head + i] * k[p * kv + offset + i];
            }
            weights[p] = exp(dot / sqrt((double)s->d_head));
            sum += weights[p];
        }
        for (uint32_t i = 0; i < s->d_head; i++) {
            double mixed = 0.0;
            for (uint32_t p = 0; p < n; p++) {
                mixed += weights[p] / sum * v[p * kv + offset + i];
            }
            out[h * s->d_head + i] = to_half(mixed);
        }
    }
}

typedef struct naive {
    const eco_model_shape *s;
    eco_format linear, head;
    double *x;              /* [d_model] */
    double *k[8], *v[8];    /* a layer: [N_FED][kv] */
    double *a, *b, *c, *in; /* wide enough for anything */
} naive;

static void naive_attention(naive *m, uint32_t l, uint32_t position) {
    const eco_model_shape *s = m->s;
    const uint32_t nq = s->n_heads * s->d_head;
    const uint32_t kv = s->n_kv_heads * s->d_head;
    double *k = m->k[l] + (size_t)position * kv;
    double *v = m->v[l] + (size_t)position * kv;
    norm(s, syn_layer_tensor(l, SYN_NORM_ATTENTION), m->linear, m->x, m->in);
    multiply_by(syn_layer_tensor(l, SYN_Q), m->linear, m->in, nq, s->d_model, m->a);
    multiply_by(syn_layer_tensor(l, SYN_K), m->linear, m->in, kv, s->d_model, k);
    multiply_by(syn_layer_tensor(l, SYN_V), m->linear, m->in, kv, s->d_model, v);
    if (s->qkv_bias) {
        add_vector(syn_layer_tensor(l, SYN_Q_BIAS), nq, m->a);
        add_vector(syn_layer_tensor(l, SYN_K_BIAS), kv, k);
        add_vector(syn_layer_tensor(l, SYN_V_BIAS), kv, v);
    }
    rope(s, s->n_heads, position, m->a);
    rope(s, s->n_kv_heads, position, k);
    for (uint32_t i = 0; i < kv; i++) {
        k[i] = to_half(k[i]);
        v[i] = to_half(v[i]);
    }
    attend(s, m->a, m->k[l], m->v[l], position + 1, m->b);
    multiply_by(syn_layer_tensor(l, SYN_O), m->linear, m->b, s->d_model, nq, m->c);
    for (uint32_t i = 0; i < s->d_model; i++) {
        m->x[i] += m->c[i];
    }
}

static void naive_feed_forward(naive *m, uint32_t l) {
    const eco_model_shape *s = m->s;
    norm(s, syn_layer_tensor(l, SYN_NORM_FFN), m->linear, m->x, m->in);
    multiply_by(syn_layer_tensor(l, SYN_GATE), m->linear, m->in, s->d_ff, s->d_model, m->a);
    multiply_by(syn_layer_tensor(l, SYN_UP), m->linear, m->in, s->d_ff, s->d_model, m->b);
    for (uint32_t i = 0; i < s->d_ff; i++) {
        m->a[i] = to_half(m->a[i] / (1.0 + exp(-m->a[i])) * m->b[i]);
    }
    multiply_by(syn_layer_tensor(l, SYN_DOWN), m->linear, m->a, s->d_model, s->d_ff, m->c);
    for (uint32_t i = 0; i < s->d_model; i++) {
        m->x[i] += m->c[i];
    }
}

/* Logits [n_vocab] after `tokens`; the caller frees. */
static double *naive_logits(const eco_model_shape *s, eco_format linear, eco_format head,
                            const uint32_t *tokens, uint32_t n) {
    naive m = {.s = s, .linear = linear, .head = head, .x = new_doubles(s->d_model)};
    const uint32_t kv = s->n_kv_heads * s->d_head;
    m.a = new_doubles(1024);
    m.b = new_doubles(1024);
    m.c = new_doubles(1024);
    m.in = new_doubles(1024);
    for (uint32_t l = 0; l < s->n_layers; l++) {
        m.k[l] = new_doubles((size_t)N_FED * kv);
        m.v[l] = new_doubles((size_t)N_FED * kv);
    }
    double *embedding = synthetic(SYN_EMBEDDING, (size_t)s->n_vocab * s->d_model, 0.0, 1.0);
    for (uint32_t p = 0; p < n; p++) {
        memcpy(m.x, embedding + (size_t)tokens[p] * s->d_model, s->d_model * sizeof *m.x);
        for (uint32_t l = 0; l < s->n_layers; l++) {
            naive_attention(&m, l, p);
            naive_feed_forward(&m, l);
        }
    }
    double *logits = new_doubles(s->n_vocab);
    norm(s, SYN_NORM_FINAL, head, m.x, m.in);
    if (s->tied_embeddings) {
        naive_format(head, embedding, s->n_vocab, s->d_model);
        multiply_in(embedding, head, m.in, s->n_vocab, s->d_model, logits);
    } else {
        multiply_by(SYN_HEAD, head, m.in, s->n_vocab, s->d_model, logits);
    }
    free(embedding);
    for (uint32_t l = 0; l < s->n_layers; l++) {
        free(m.k[l]);
        free(m.v[l]);
    }
    free(m.x);
    free(m.a);
    free(m.b);
    free(m.c);
    free(m.in);
    return logits;
}

/* ---- the reference against it ---- */

static const uint32_t fed[N_FED] = {3, 31, 0, 17, 17, 32, 9};

static eco_workload workload_of(const eco_model_shape *shape, eco_format linear, eco_format head) {
    return (eco_workload){.shape = shape,
                          .linear = linear,
                          .head = head,
                          .batch = 1,
                          .n_prompt = 3,
                          .n_tokens = 4,
                          .seed = SEED,
                          .outlier_permille = OUTLIER_PERMILLE};
}

static double root_mean_square(const double *x, uint32_t n) {
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum / n);
}

static eco_cpu_model *open_model(const eco_workload *workload, eco_pool *pool) {
    eco_error err = {0};
    eco_cpu_model *model = NULL;
    ASSERT_OK(ecoi_cpu_model_new(workload, pool, &model, &err), &err);
    return model;
}

static eco_pool *open_pool(uint32_t n) {
    eco_error err = {0};
    eco_pool *pool = NULL;
    ASSERT_OK(ecoi_pool_open(n, &pool, &err), &err);
    return pool;
}

/* Tolerance: 0.2 % of the logits' root mean square. FP32 sums differ from double ones by about
 * 1e-6, which now and then moves an activation over the edge between two FP16 numbers, 5e-4 of
 * itself. Formats of 8 bits a step wide: where the quotient lies beside a tie one weight may be a step
 * off, 0.6 %; in INT8 so may be an activation, 3 %. */
static double tolerance_of(eco_format linear, eco_format head) {
    static const double tolerances[ECO_FORMAT_COUNT] = {
        [ECO_FORMAT_FP16] = 0.002,   [ECO_FORMAT_BF16] = 0.002, [ECO_FORMAT_NF4] = 0.002,
        [ECO_FORMAT_NF4_DQ] = 0.002, [ECO_FORMAT_INT8] = 0.03,  [ECO_FORMAT_W8A16] = 0.006,
        [ECO_FORMAT_Q4_0] = 0.006,   [ECO_FORMAT_Q8_0] = 0.006, [ECO_FORMAT_FP8] = 0.006};
    return fmax(tolerances[linear], tolerances[head]);
}

static void check_against_naive(const eco_model_shape *shape, eco_format linear, eco_format head) {
    eco_pool *pool = open_pool(1);
    const eco_workload workload = workload_of(shape, linear, head);
    eco_cpu_model *model = open_model(&workload, pool);
    for (uint32_t p = 0; p < N_FED; p++) {
        ecoi_ref_step(model, fed[p], p, p + 1 == N_FED || p == 0);
        if (p != 0 && p + 1 != N_FED) {
            continue;
        }
        double *want = naive_logits(shape, linear, head, fed, p + 1);
        const double size = root_mean_square(want, shape->n_vocab);
        assert_true(size > 0.3);
        for (uint32_t i = 0; i < shape->n_vocab; i++) {
            ASSERT_NEAR((double)model->logits.values[i], want[i],
                        tolerance_of(linear, head) * size);
        }
        free(want);
    }
    ecoi_cpu_model_free(model);
    ecoi_pool_close(pool);
}

static void test_formats_against_double(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
            check_against_naive(&shapes[i], format, ECO_FORMAT_FP16);
            check_against_naive(&shapes[i], format, format);
        }
    }
}

/* What a format leaves out must be visible, or the test above shows nothing: the largest and the
 * smallest deviation from FP16 that a format of its error would make. INT8's model has other norms. */
static void test_formats_differ_from_fp16(void **state) {
    (void)state;
    static const double least[ECO_FORMAT_COUNT] = {
        [ECO_FORMAT_BF16] = 5e-4, [ECO_FORMAT_NF4] = 0.03,   [ECO_FORMAT_NF4_DQ] = 0.03,
        [ECO_FORMAT_INT8] = 0.3,  [ECO_FORMAT_W8A16] = 2e-3, [ECO_FORMAT_Q4_0] = 0.03,
        [ECO_FORMAT_Q8_0] = 2e-3, [ECO_FORMAT_FP8] = 0.01};
    double *a = naive_logits(&shapes[0], ECO_FORMAT_FP16, ECO_FORMAT_FP16, fed, N_FED);
    for (eco_format format = ECO_FORMAT_BF16; format < ECO_FORMAT_COUNT; format++) {
        double *b = naive_logits(&shapes[0], format, ECO_FORMAT_FP16, fed, N_FED);
        for (uint32_t i = 0; i < shapes[0].n_vocab; i++) {
            b[i] -= a[i];
        }
        const double off =
            root_mean_square(b, shapes[0].n_vocab) / root_mean_square(a, shapes[0].n_vocab);
        if (!(off > least[format] &&
              off < (format == ECO_FORMAT_INT8 ? 3.0 : 20 * least[format]))) {
            fail_msg("%s: off by %g", eco_format_at(format)->name, off);
        }
        free(b);
    }
    free(a);
}

/* ---- the threaded forward against the reference ---- */

static void feed_all(eco_cpu_model *model, eco_pool *pool, const eco_cpu_sums *sums,
                     float *logits) {
    for (uint32_t p = 0; p < N_FED; p++) {
        ecoi_cpu_step(model, pool, sums, fed[p], p, p + 1 == N_FED);
    }
    memcpy(logits, model->logits.values, model->shape.n_vocab * sizeof *logits);
}

/* Any number of threads, made and fed with: the same bits. `exact` also demands the reference's
 * own. */
static void check_threads(const eco_workload *workload, const eco_cpu_sums *sums, bool exact) {
    float want[128];
    float got[128];
    const size_t n_bytes = workload->shape->n_vocab * sizeof(float);
    for (uint32_t n = 1; n <= 4; n++) {
        eco_pool *pool = open_pool(n);
        eco_cpu_model *model = open_model(workload, pool);
        feed_all(model, pool, sums, n == 1 ? want : got);
        if (n > 1) {
            assert_memory_equal(got, want, n_bytes);
        }
        for (uint32_t p = 0; p < N_FED; p++) {
            ecoi_ref_step(model, fed[p], p, p + 1 == N_FED);
        }
        for (uint32_t i = 0; i < workload->shape->n_vocab;
             i++) { /* as far apart as double and FP32 may be */
            ASSERT_NEAR((double)want[i], (double)model->logits.values[i], exact ? 0.0 : 0.05);
        }
        ecoi_cpu_model_free(model);
        ecoi_pool_close(pool);
    }
}

static void test_threads_change_no_bit(void **state) {
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        for (int format = 0; format < ECO_FORMAT_COUNT; format++) {
            const eco_workload workload =
                workload_of(&shapes[i], (eco_format)format, ECO_FORMAT_FP16);
            check_threads(&workload, &ecoi_cpu_sums_portable, true);
            const eco_cpu_sums *const fast[] = {ecoi_cpu_sums_avx2(), ecoi_cpu_sums_avx512(),
                                                ecoi_cpu_sums_neon()};
            for (size_t k = 0; k < sizeof fast / sizeof fast[0]; k++) {
                if (fast[k] != NULL) {
                    check_threads(&workload, fast[k], false);
                }
            }
        }
    }
}

/* ---- memory ---- */

static void test_weight_bytes(void **state) {
    (void)state;
    eco_pool *pool = open_pool(1);
    for (size_t i = 0; i < N_SHAPES; i++) {
        for (int format = 0; format < ECO_FORMAT_COUNT; format++) {
            const eco_workload workload =
                workload_of(&shapes[i], (eco_format)format, ECO_FORMAT_FP16);
            eco_cpu_model *model = open_model(&workload, pool);
            assert_int_equal(model->block_bytes, ecoi_cpu_model_bytes(&workload));
            /* a token reads every weight but the embedding rows of other tokens; rows are padded
             * to 64 columns, which here at most doubles them, tensors to 64 bytes */
            const eco_token_bytes token =
                eco_model_token_bytes(&shapes[i], workload.linear, workload.head, 0.0);
            const double embedding =
                shapes[i].tied_embeddings ? 0.0 : 2.0 * shapes[i].n_vocab * shapes[i].d_model;
            const double exact =
                token.linear + token.head + token.other + embedding - 2.0 * shapes[i].d_model;
            const double padding_max = 64.0 * (20.0 * shapes[i].n_layers + 4);
            assert_true((double)model->weight_bytes >= exact);
            assert_true((double)model->weight_bytes <= 2.0 * exact + padding_max);
            ecoi_cpu_model_free(model);
        }
    }
    ecoi_pool_close(pool);
    ecoi_cpu_model_free(NULL);
}

/* ---- the device's loops ---- */

typedef struct device {
    void *state, *arm;
    eco_arm_info info;
} device;

static device open_device(const eco_workload *workload) {
    device d = {0};
    eco_error err = {0};
    ASSERT_OK(ecoi_backend_cpu.open("", 2, &d.state, &err), &err);
    ASSERT_OK(ecoi_backend_cpu.model_open(d.state, workload, &d.arm, &err), &err);
    ecoi_backend_cpu.model_describe(d.arm, &d.info);
    return d;
}

static void close_device(device *d) {
    ecoi_backend_cpu.model_close(d->arm);
    ecoi_backend_cpu.close(d->state);
}

static eco_work_result run(device *d, eco_work_kind kind, uint64_t n_units) {
    eco_error err = {0};
    eco_work_result result = {0};
    const eco_work work = {.kind = kind, .n_units_max = n_units};
    ASSERT_OK(ecoi_backend_cpu.work(d->arm, &work, &result, &err), &err);
    assert_int_equal(result.n_units, n_units);
    assert_int_equal(*d->info.progress, 0); /* nothing runs any more */
    assert_true(result.busy_s >= 0.0);
    return result;
}

/* After u decoded units the logits are those of the prompt and the first ((u - 1) mod n_tokens) + 1
 * greedy tokens: the loop returns to its first position, with the token the prefill gave, again and
 * again. */
static void test_decode_loops_over_its_positions(void **state) {
    (void)state;
    const eco_workload workload = workload_of(&shapes[0], ECO_FORMAT_FP16, ECO_FORMAT_FP16);
    device d = open_device(&workload);
    const uint32_t n_vocab = shapes[0].n_vocab;
    uint32_t tokens[7];
    float chain[5][128]; /* [i]: logits after the prompt and i greedy tokens */
    for (uint32_t i = 0; i < 3; i++) {
        tokens[i] = syn_prompt_token(SEED, i, n_vocab);
    }
    eco_error err = {0};
    for (uint32_t i = 0; i <= 4; i++) {
        ASSERT_OK(ecoi_backend_cpu.logits(d.arm, tokens, 3 + i, chain[i], &err), &err);
        if (i < 4) {
            tokens[3 + i] = ecoi_ref_argmax(chain[i], n_vocab);
        }
    }
    for (uint32_t u = 1; u <= 9; u++) {
        run(&d, ECO_WORK_DECODE, u);
        const float *logits = ecoi_cpu_arm_model(d.arm)->logits.values;
        assert_memory_equal(logits, chain[(u - 1) % 4 + 1], n_vocab * sizeof *logits);
    }
    /* a generation is 3 prompt tokens and 4 decoded; unit 10 ends the second prompt, unit 12 is its
     * second token */
    run(&d, ECO_WORK_GENERATION, 10);
    assert_memory_equal(ecoi_cpu_arm_model(d.arm)->logits.values, chain[0],
                        n_vocab * sizeof(float));
    run(&d, ECO_WORK_GENERATION, 12);
    assert_memory_equal(ecoi_cpu_arm_model(d.arm)->logits.values, chain[2],
                        n_vocab * sizeof(float));
    run(&d, ECO_WORK_PREFILL, 6);
    assert_memory_equal(ecoi_cpu_arm_model(d.arm)->logits.values, chain[0],
                        n_vocab * sizeof(float));
    close_device(&d);
}

static void test_ceilings(void **state) {
    (void)state;
    const eco_workload workload = workload_of(&shapes[3], ECO_FORMAT_NF4, ECO_FORMAT_FP16);
    device d = open_device(&workload);
    run(&d, ECO_WORK_LAUNCH, 1000);
    const eco_work_result read = run(&d, ECO_WORK_READ, 5);
    assert_true(read.unit_bytes >= 1 << 20);
    assert_true(read.busy_s >
                5.0 * read.unit_bytes / 1e13); /* no machine reads 10 TB/s: the reads are real */
    close_device(&d);
}

static void test_logits_refuses(void **state) {
    (void)state;
    const eco_workload workload = workload_of(&shapes[0], ECO_FORMAT_FP16, ECO_FORMAT_FP16);
    device d = open_device(&workload);
    eco_error err = {0};
    float logits[128];
    uint32_t tokens[8] = {0};
    assert_int_equal(ecoi_backend_cpu.logits(d.arm, tokens, 8, logits, &err), ECO_E_RANGE);
    tokens[1] = shapes[0].n_vocab;
    assert_int_equal(ecoi_backend_cpu.logits(d.arm, tokens, 2, logits, &err), ECO_E_RANGE);
    ASSERT_OK(ecoi_backend_cpu.logits(d.arm, tokens, 1, logits, &err), &err);
    close_device(&d);
}

/* 14 billion weights a thousand layers deep: refused before a byte is taken, the need named. */
static void test_too_large_for_memory(void **state) {
    (void)state;
    eco_model_shape huge = *eco_model_find("Qwen2.5-14B");
    huge.n_layers = 4096;
    const eco_workload workload = {.shape = &huge, .batch = 1, .n_prompt = 1, .n_tokens = 1};
    eco_error err = {0};
    void *device_state = NULL;
    void *arm = &err;
    ASSERT_OK(ecoi_backend_cpu.open(NULL, 1, &device_state, &err), &err);
    assert_int_equal(ecoi_backend_cpu.model_open(device_state, &workload, &arm, &err),
                     ECO_E_NO_MEMORY);
    assert_null(arm);
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)ecoi_cpu_model_bytes(&workload));
    assert_non_null(strstr(err.message, bytes));
    assert_int_equal(ecoi_backend_cpu.open("3", 1, &arm, &err), ECO_E_USAGE);
    ecoi_backend_cpu.close(device_state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_against_double),
        cmocka_unit_test(test_formats_differ_from_fp16),
        cmocka_unit_test(test_threads_change_no_bit),
        cmocka_unit_test(test_weight_bytes),
        cmocka_unit_test(test_decode_loops_over_its_positions),
        cmocka_unit_test(test_ceilings),
        cmocka_unit_test(test_logits_refuses),
        cmocka_unit_test(test_too_large_for_memory),
    };
    return cmocka_run_group_tests_name("kernels_model", tests, NULL, NULL);
}
