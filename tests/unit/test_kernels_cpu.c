/* SPDX-License-Identifier: Apache-2.0
 *
 * The pieces of the CPU path, each against a computation of its own: half precision over all
 * values, NF4 against a slow search in double, norm, RoPE and attention against naive double
 * precision, synthetic weights against golden values computed with exact integers, the fast sums
 * against the plain ones, and the thread pool.
 */
#include "kernels/cpu/cpu_model.h"
#include "kernels/cpu/forward.h"
#include "kernels/cpu/reference.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"

#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

static const float nf4_table[NF4_CODES] = {NF4_VALUES};

/* A repeatable value in [-1, 1). */
static float noise(uint64_t i) {
    return (float)((double)(syn_mix(i * 0x9E3779B97F4A7C15ull) >> 40) * 0x1p-23 - 1.0);
}

/* ---- half precision ---- */

static double half_value(uint32_t half) { /* finite ones, by the definition of the format */
    const int exponent = (int)(half >> 10 & 31);
    const double fraction = half & 1023;
    const double magnitude =
        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

static void test_half_to_float_every_value(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const float value = half_to_float((uint16_t)h);
        if ((h & 0x7fff) > 0x7c00) {
            assert_true(isnan(value));
            assert_true(isnan(half_to_float(half_from_float(value))));
            continue;
        }
        if ((h & 0x7fff) == 0x7c00) {
            assert_true(isinf(value));
        } else if ((double)value != half_value(h)) {
            fail_msg("half %04x: got %a, want %a", h, (double)value, half_value(h));
        }
        assert_int_equal(half_from_float(value), h); /* and back, the sign of zero included */
    }
}

/* Between neighbours a and b: below the middle a, above it b, in the middle the even one. Both
 * signs. */
static void test_half_rounding_at_every_middle(void **state) {
    (void)state;
    for (uint32_t a = 0; a < 0x7bff; a++) {
        const float middle =
            (float)((half_value(a) + half_value(a + 1)) / 2); /* exact: one bit more than a half */
        const uint32_t even = a % 2 == 0 ? a : a + 1;
        assert_int_equal(half_from_float(middle), even);
        assert_int_equal(half_from_float(nextafterf(middle, 0.0f)), a);
        assert_int_equal(half_from_float(nextafterf(middle, 1e9f)), a + 1);
        assert_int_equal(half_from_float(-middle), 0x8000 | even);
    }
    assert_int_equal(half_from_float(65504.0f), 0x7bff);
    assert_int_equal(half_from_float(nextafterf(65520.0f, 0.0f)), 0x7bff);
    assert_int_equal(half_from_float(65520.0f), 0x7c00);
    assert_int_equal(half_from_float(-1e30f), 0xfc00);
    assert_int_equal(half_from_float(0x1p-25f), 0);
    assert_int_equal(half_from_float(1e-30f), 0);
    assert_int_equal(half_from_float(-INFINITY), 0xfc00);
}

/* ---- NF4 ---- */

static double nearest_distance(double x) {
    double least = 9.0;
    for (int c = 0; c < NF4_CODES; c++) {
        least = fmin(least, fabs(x - (double)nf4_table[c]));
    }
    return least;
}

static void test_nf4_nearest(void **state) {
    (void)state;
    for (uint32_t i = 0; i <= 400000; i++) {
        const float x = (float)((double)i / 200000.0 - 1.0);
        const uint32_t code = nf4_encode(x);
        assert_true(code < NF4_CODES);
        /* 6e-8: the FP32 midpoint may lie half an ulp from the true one */
        ASSERT_NEAR(fabs((double)x - (double)nf4_table[code]), nearest_distance((double)x), 6e-8);
    }
}

static void test_nf4_ties_take_the_lower_code(void **state) {
    (void)state;
    uint32_t n_exact = 0;
    for (uint32_t c = 0; c + 1 < NF4_CODES; c++) {
        const double exact = ((double)nf4_table[c] + (double)nf4_table[c + 1]) / 2;
        const float middle = (float)exact;
        const float below = nextafterf(middle, -2.0f);
        const float above = nextafterf(middle, 2.0f);
        assert_int_equal(nf4_encode(nextafterf(below, -2.0f)), c);
        assert_int_equal(nf4_encode(nextafterf(above, 2.0f)), c + 1);
        assert_int_equal(nf4_encode(nf4_table[c]), c);
        if ((double)middle ==
            exact) { /* elsewhere two floats are as near to the middle, either may divide */
            assert_int_equal(nf4_encode(below), c);
            assert_int_equal(nf4_encode(middle), c);
            assert_int_equal(nf4_encode(above), c + 1);
            n_exact++;
        }
    }
    assert_true(n_exact >= 5);
}

static void test_nf4_hand_values(void **state) {
    (void)state;
    assert_int_equal(nf4_encode(0.0f), 7);
    assert_int_equal(nf4_encode(1.0f), 15);
    assert_int_equal(nf4_encode(-1.0f), 0);
    assert_int_equal(nf4_encode(0.5f), 12);  /* 0.4407 is nearer than 0.5626 */
    assert_int_equal(nf4_encode(-0.5f), 2);  /* -0.5251 */
    assert_int_equal(nf4_encode(0.04f), 8);  /* just above 0.0398 */
    assert_int_equal(nf4_encode(-0.04f), 7); /* -0.0455 is the middle on the other side */
    assert_int_equal(nf4_code(3.0f, quant_inverse(-0.0f)), 7); /* a block of zeros */
    assert_int_equal(nf4_code(-6.0f, quant_inverse(6.0f)), 0);
}

/* A row of 70: a block of 64 whose largest is 6, a tail of 6 with 0.5. */
static void test_nf4_row_with_a_tail(void **state) {
    (void)state;
    uint16_t values[2 * 70];
    for (uint32_t i = 0; i < 140; i++) {
        values[i] = half_from_float(i < 70 ? 0.0f : noise(i) * (i < 134 ? 5.0f : 0.4f));
    }
    values[70 + 3] = half_from_float(-6.0f);
    values[70 + 69] = half_from_float(0.5f);
    uint8_t codes[2 * 64] = {0};
    float absmax[4] = {9.0f, 9.0f, 9.0f, 9.0f};
    eco_cpu_matrix m = ecoi_cpu_matrix_of(ECO_FORMAT_NF4, 2, 70);
    assert_int_equal(m.n_row_bytes, 64);
    assert_int_equal(m.n_blocks, 2);
    m.weights = codes;
    m.scales = absmax;
    ecoi_cpu_matrix_store_row(&m, 0, values);
    ecoi_cpu_matrix_store_row(&m, 1, values + 70);
    const float want[4] = {0.0f, 0.0f, 6.0f, 0.5f};
    assert_memory_equal(absmax, want, sizeof want);
    assert_int_equal(codes[0], 0x77);
    assert_int_equal(codes[64 + 3] & 15, 0);       /* column 3: low */
    assert_int_equal(codes[64 + 32 + 5] & 15, 15); /* column 69 */
    assert_int_equal(codes[64 + 32 + 5] >> 4, 7);  /* column 85: padding */
    for (uint32_t c = 0; c < 70; c++) {
        const uint32_t code =
            (uint32_t)codes[64 + c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15u;
        const double scale = (double)absmax[2 + c / 64];
        const double x = (double)half_to_float(values[70 + c]) / scale;
        ASSERT_NEAR(fabs(x - (double)nf4_table[code]), nearest_distance(x), 2e-7);
    }
}

/* ---- synthetic weights ---- */

static void test_synthetic_golden(void **state) {
    (void)state;
    static const struct {
        uint64_t seed, tensor, i;
        float normal;
        uint16_t half; /* of value · 0.0625 */
    } rows[] = {
        {1, 0, 0, -0x1.37ed64p-2f, 0xa4e0},
        {1, 0, 1, 0x1.4f1c82p-1f, 0x293c},
        {1, 16, 0, -0x1.145ca2p+0f, 0xac51},
        {1, 23, 4097, -0x1.12f490p-4f, 0x9c4c},
        {42, 32, 123456789, 0x1.cfc45cp-1f, 0x2b3f},
        {0, 1, (1ull << 33) + 5, -0x1.184dd4p-1f, 0xa861},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t key = syn_key(rows[i].seed, rows[i].tensor);
        ASSERT_NEAR((double)syn_normal(key, rows[i].i), (double)rows[i].normal, 0.0);
        assert_int_equal(half_from_float(syn_value(key, rows[i].i, 0.0f, 0.0625f)), rows[i].half);
    }
    assert_true(syn_key(1, 0) == 0xdce423fc82c0d5b8ull);
    static const uint32_t prompt[] = {723, 12551, 30230, 15361};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(syn_prompt_token(7, i, 32000), prompt[i]);
    }
}

/* Of a million values: mean 0 ± 5 standard errors, variance 1, the skew and kurtosis of a sum of
 * eight uniforms (0 and 3 - 6/40), and the share beyond two standard deviations. */
static void test_synthetic_moments(void **state) {
    (void)state;
    const uint32_t n = 1000000;
    const uint64_t key = syn_key(3, syn_layer_tensor(5, SYN_DOWN));
    double sums[4] = {0};
    uint32_t n_beyond = 0;
    double with_next = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        const double z = (double)syn_normal(key, i);
        sums[0] += z;
        sums[1] += z * z;
        sums[2] += z * z * z;
        sums[3] += z * z * z * z;
        with_next += z * (double)syn_normal(key, i + 1);
        n_beyond += fabs(z) > 2.0;
    }
    ASSERT_NEAR(sums[0] / n, 0.0, 0.005);
    ASSERT_NEAR(sums[1] / n, 1.0, 0.007);
    ASSERT_NEAR(sums[2] / n, 0.0, 0.012);
    ASSERT_NEAR(sums[3] / n, 2.85, 0.05);
    ASSERT_NEAR(with_next / n, 0.0, 0.005);
    ASSERT_NEAR((double)n_beyond / n, 0.0455, 0.002);
}

static void test_linear_scale(void **state) {
    (void)state;
    ASSERT_NEAR((double)ecoi_linear_scale(4096), 0.015625, 0.0);
    ASSERT_NEAR((double)ecoi_linear_scale(96), 1.0 / sqrt(96.0), 4e-9);
}

/* ---- the steps of a layer ---- */

static void test_norm(void **state) {
    (void)state;
    enum { N = 333 };
    float x[N];
    uint16_t gain[N];
    float out[N];
    double squares = 0.0;
    for (uint32_t i = 0; i < N; i++) {
        x[i] = 3.0f * noise(i);
        gain[i] = half_from_float(1.0f + 0.1f * noise(i + 1000));
        squares += (double)x[i] * (double)x[i];
    }
    ecoi_ref_norm(x, gain, N, 1e-5f, out);
    const double scale = 1.0 / sqrt(squares / (double)N + 1e-5);
    for (uint32_t i = 0; i < N; i++) {
        const double want = (double)x[i] * scale * half_value(gain[i]);
        ASSERT_NEAR((double)out[i], want,
                    fabs(want) * (0x1p-11 + 1e-6) + 0x1p-25); /* half a unit of FP16 */
        assert_true((double)half_round(out[i]) == (double)out[i]);
    }
}

static void test_norm_eps_matters(void **state) {
    (void)state;
    const float x[4] = {0.001f, -0.001f, 0.001f, -0.001f};
    const uint16_t one = half_from_float(1.0f);
    const uint16_t gain[4] = {one, one, one, one};
    float out[4];
    ecoi_ref_norm(x, gain, 4, 1e-6f, out);
    ASSERT_NEAR((double)out[0], 0.7071, 4e-4); /* 1e-6 / (1e-6 + 1e-6) */
}

/* Against a rotation in double; a turn keeps lengths; position 0 changes nothing. */
static void test_rope(void **state) {
    (void)state;
    enum { HEADS = 3, D = 20, PAIRS = D / 2 };
    for (uint32_t position = 0; position < 400; position += 133) {
        float cosines[PAIRS];
        float sines[PAIRS];
        for (uint32_t i = 0; i < PAIRS; i++) {
            const double angle = position * pow(1e4, -2.0 * i / (double)D);
            cosines[i] = (float)cos(angle);
            sines[i] = (float)sin(angle);
        }
        float heads[HEADS * D];
        for (uint32_t i = 0; i < HEADS * D; i++) {
            heads[i] = noise(i);
        }
        ecoi_ref_rope(heads, HEADS, D, cosines, sines);
        for (uint32_t h = 0; h < HEADS; h++) {
            for (uint32_t i = 0; i < PAIRS; i++) {
                const double a = (double)noise(h * D + i);
                const double b = (double)noise(h * D + i + PAIRS);
                const double angle = position * pow(1e4, -2.0 * i / (double)D) + atan2(b, a);
                ASSERT_NEAR((double)heads[h * D + i], hypot(a, b) * cos(angle), 5e-7);
                ASSERT_NEAR((double)heads[h * D + i + PAIRS], hypot(a, b) * sin(angle), 5e-7);
            }
        }
    }
}

static void test_gated_and_argmax(void **state) {
    (void)state;
    for (int i = -40; i <= 40; i++) {
        const double g = i * 0.37;
        const double want = g / (1.0 + exp(-g)) * 1.7;
        ASSERT_NEAR((double)ecoi_ref_gated((float)g, 1.7f), want,
                    fabs(want) * (0x1p-11 + 1e-6) + 0x1p-25);
    }
    const float logits[6] = {-3.0f, 2.0f, 5.0f, 5.0f, -9.0f, 5.0f};
    assert_int_equal(ecoi_ref_argmax(logits, 6), 2);
    assert_int_equal(ecoi_ref_argmax(logits, 1), 0);
}

static void test_softmax(void **state) {
    (void)state;
    float scores[5] = {800.0f, 799.0f, -1000.0f, 801.0f, 800.5f}; /* overflows without the shift */
    ecoi_ref_softmax(scores, 5, 0.5f);
    double sum = 0.0;
    for (int i = 0; i < 5; i++) {
        static const double shifted[5] = {-0.5, -1.0, -900.5, 0.0, -0.25};
        const double all = exp(-0.5) + exp(-1.0) + 1.0 + exp(-0.25);
        ASSERT_NEAR((double)scores[i], exp(shifted[i]) / all, 2e-7);
        sum += (double)scores[i];
    }
    ASSERT_NEAR(sum, 1.0, 3e-7);
}

static const eco_model_shape grouped = {.name = "grouped",
                                        .family = "llama",
                                        .n_layers = 1,
                                        .d_model = 80,
                                        .n_heads = 4,
                                        .n_kv_heads = 2,
                                        .d_head = 20,
                                        .d_ff = 40,
                                        .n_vocab = 11,
                                        .n_positions_max = 32,
                                        .rope_theta = 1e4,
                                        .norm_eps = 1e-5};

static void check_head(const eco_cpu_model *model, uint32_t h, uint32_t n) {
    const eco_cpu_layer *layer = &model->layers[0];
    const uint32_t shared = h / 2 * 20; /* two query heads on one kv head */
    double weights[32];
    double sum = 0.0;
    for (uint32_t p = 0; p < n; p++) {
        double dot = 0.0;
        for (uint32_t i = 0; i < 20; i++) {
            dot += (double)model->query.values[h * 20 + i] *
                   half_value(layer->k_cache[p * 40 + shared + i]);
        }
        weights[p] = exp(dot / sqrt(20.0));
        sum += weights[p];
    }
    for (uint32_t i = 0; i < 20; i++) {
        double want = 0.0;
        for (uint32_t p = 0; p < n; p++) {
            want += weights[p] / sum * half_value(layer->v_cache[p * 40 + shared + i]);
        }
        ASSERT_NEAR((double)model->attended.values[h * 20 + i], want, fabs(want) * 0x1p-11 + 1e-6);
    }
}

static void test_attention(void **state) {
    (void)state;
    eco_error err = {0};
    eco_pool *pool = NULL;
    eco_cpu_model *model = NULL;
    ASSERT_OK(ecoi_pool_open(1, &pool, &err), &err);
    const eco_workload workload = {
        .shape = &grouped, .batch = 1, .n_prompt = 4, .n_tokens = 9, .seed = 1};
    ASSERT_OK(ecoi_cpu_model_new(&workload, pool, &model, &err), &err);
    for (uint32_t i = 0; i < 80; i++) {
        model->query.values[i] = 4.0f * noise(i);
    }
    for (uint32_t i = 0; i < 13 * 40; i++) { /* beyond the position too: must not be looked at */
        model->layers[0].k_cache[i] = half_from_float(2.0f * noise(i + 5000));
        model->layers[0].v_cache[i] = half_from_float(noise(i + 9000));
    }
    for (uint32_t h = 0; h < 4; h++) {
        ecoi_ref_attend(model, &model->layers[0], h, 7);
        check_head(model, h, 8);
        ecoi_ref_attend(model, &model->layers[0], h, 0);
        check_head(model, h, 1);
    }
    ecoi_cpu_model_free(model);
    ecoi_pool_close(pool);
}

/* ---- fast sums over the cache; those over weights are in test_kernels_formats ---- */

/* Every length up to 300, against a sum in double: the error is within that of n FP32 additions. */
static void check_sums(const eco_cpu_sums *sums) {
    enum { N = 300 };
    uint16_t half[N];
    float x[N];
    for (uint32_t i = 0; i < N; i++) {
        half[i] = half_from_float(noise(i));
        x[i] = half_round(2.0f * noise(i + 700));
    }
    uint64_t words[4 * CPU_READ_WORDS];
    uint64_t total = 0;
    for (uint32_t i = 0; i < 4 * CPU_READ_WORDS; i++) {
        words[i] = syn_mix(i);
        total += words[i];
    }
    assert_true(sums->read(words, 4 * CPU_READ_WORDS) == total); /* every word, once */
    for (uint32_t n = 0; n <= N; n++) {
        double want = 0.0;
        double size = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            want += half_value(half[i]) * (double)x[i];
            size += fabs(half_value(half[i]) * (double)x[i]);
        }
        ASSERT_NEAR((double)sums->dot_half(half, x, n), want, size * 3e-6);
        float out[N];
        memcpy(out, x, sizeof out);
        sums->add_scaled(out, 0.3f, half, n);
        for (uint32_t i = 0; i < N; i++) {
            const double added = i < n ? (double)0.3f * half_value(half[i]) : 0.0;
            ASSERT_NEAR((double)out[i], (double)x[i] + added, 3e-7);
        }
    }
}

static void test_sums_portable(void **state) {
    (void)state;
    check_sums(&ecoi_cpu_sums_portable);
}

static void test_sums_avx2(void **state) {
    (void)state;
    if (ecoi_cpu_sums_avx2() == NULL) {
        print_message("no AVX2, FMA and F16C here\n");
        skip();
    }
    check_sums(ecoi_cpu_sums_avx2());
}

static void test_sums_avx512(void **state) {
    (void)state;
    if (ecoi_cpu_sums_avx512() == NULL) {
        print_message("no AVX-512 F, BW and VL here\n");
        skip();
    }
    check_sums(ecoi_cpu_sums_avx512());
}

static void test_sums_neon(void **state) {
    (void)state;
    if (ecoi_cpu_sums_neon() == NULL) {
        print_message("no NEON here\n");
        skip();
    }
    check_sums(ecoi_cpu_sums_neon());
}

/* ---- pool ---- */

typedef struct tally {
    uint32_t *seen; /* [n]: how often each part ran */
    uint32_t n;
    uint64_t total; /* of what the last region wrote, read by the next */
} tally;

static void count_part(void *context, uint32_t index, uint32_t n) {
    tally *t = context;
    t->seen[index]++;
    if (index == 0) {
        t->n = n;
    }
}

static void sum_part(void *context, uint32_t index, uint32_t n) {
    tally *t = context;
    if (index == n - 1) { /* another thread than the one that reads the result */
        for (uint32_t i = 0; i < n; i++) {
            t->total += t->seen[i];
        }
    }
}

static void test_pool_runs_every_part_once(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        eco_error err = {0};
        eco_pool *pool = NULL;
        ASSERT_OK(ecoi_pool_open(n, &pool, &err), &err);
        assert_int_equal(ecoi_pool_n_threads(pool), n);
        uint32_t seen[5] = {0};
        tally t = {.seen = seen};
        uint64_t want = 0;
        for (uint32_t round = 1; round <= 400; round++) {
            ecoi_pool_run(pool, count_part, &t);
            ecoi_pool_run(pool, sum_part, &t);
            want += (uint64_t)round * n;
        }
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(seen[i], 400);
        }
        assert_int_equal(t.n, n);
        assert_int_equal(t.total, want);
        ecoi_pool_close(pool);
    }
}

static void test_pool_refuses(void **state) {
    (void)state;
    eco_error err = {0};
    eco_pool *pool = NULL;
    assert_int_equal(ecoi_pool_open(0, &pool, &err), ECO_E_RANGE);
    assert_int_equal(ecoi_pool_open(ECO_POOL_THREADS_MAX + 1, &pool, &err), ECO_E_RANGE);
    assert_null(pool);
    ecoi_pool_close(NULL);
}

/* The parts cover all rows, in order, without overlap, in whole grains. */
static void test_pool_share(void **state) {
    (void)state;
    static const size_t rows[] = {0, 1, 15, 16, 17, 101, 4096};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (uint32_t n = 1; n <= 7; n++) {
            for (size_t grain = 1; grain <= 16; grain += 15) {
                size_t next = 0;
                for (uint32_t i = 0; i < n; i++) {
                    const eco_range part = ecoi_pool_share(rows[r], grain, i, n);
                    assert_int_equal(part.begin, next);
                    assert_true(part.end >= part.begin);
                    assert_true(part.end - part.begin <= (rows[r] / grain + n) / n * grain + grain);
                    assert_true(part.end % grain == 0 || part.end == rows[r]);
                    next = part.end;
                }
                assert_int_equal(next, rows[r]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_to_float_every_value),
        cmocka_unit_test(test_half_rounding_at_every_middle),
        cmocka_unit_test(test_nf4_nearest),
        cmocka_unit_test(test_nf4_ties_take_the_lower_code),
        cmocka_unit_test(test_nf4_hand_values),
        cmocka_unit_test(test_nf4_row_with_a_tail),
        cmocka_unit_test(test_synthetic_golden),
        cmocka_unit_test(test_synthetic_moments),
        cmocka_unit_test(test_linear_scale),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_norm_eps_matters),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_gated_and_argmax),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_sums_portable),
        cmocka_unit_test(test_sums_avx2),
        cmocka_unit_test(test_sums_avx512),
        cmocka_unit_test(test_sums_neon),
        cmocka_unit_test(test_pool_runs_every_part_once),
        cmocka_unit_test(test_pool_refuses),
        cmocka_unit_test(test_pool_share),
    };
    return cmocka_run_group_tests_name("kernels_cpu", tests, NULL, NULL);
}
