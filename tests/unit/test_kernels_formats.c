/* SPDX-License-Identifier: Apache-2.0
 *
 * The weight formats: codes worked out by hand, every value where there are few, rows of ordinary
 * and of spiteful numbers against naive_formats.h and against the largest error a format may make,
 * stored sizes, and the products of every instruction set against sums in double.
 */
#include "arch/weight_formats.h"
#include "kernels/cpu/cpu_dots.h"
#include "kernels/cpu/cpu_model.h"
#include "kernels/cpu/forward.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/quant_dynamic.h"
#include "kernels/synthetic.h"

#include "naive_formats.h"
#include "test_helpers.h"

#include <string.h>

enum { ROWS = 11, COLUMNS_MAX = 300 };

static double normal(uint64_t i) {
    return (double)syn_normal(77, i);
}

/* MARK: - Codes by hand */

static void test_roundings(void **state) {
    (void)state;
    static const struct {
        float x;
        int32_t even, away;
    } rows[] = {{0.0f, 0, 0},   {-0.0f, 0, 0},  {0.5f, 0, 1},     {-0.5f, 0, -1},
                {1.5f, 2, 2},   {2.5f, 2, 3},   {-2.5f, -2, -3},  {126.5f, 126, 127},
                {3.25f, 3, 3},  {3.75f, 4, 4},  {-3.75f, -4, -4}, {127.0f, 127, 127},
                {1e-30f, 0, 0}, {-1e-30f, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(quant_nearest_even(rows[i].x), rows[i].even);
        assert_int_equal(quant_nearest_away(rows[i].x), rows[i].away);
    }
    assert_int_equal(quant_nearest_away(nextafterf(0.5f, 0.0f)), 0);
    assert_int_equal(quant_nearest_even(nextafterf(2.5f, 3.0f)), 3);
    assert_int_equal(quant_nearest_even(nextafterf(1.5f, 1.0f)), 1);
}

static void test_bf16(void **state) {
    (void)state;
    assert_int_equal(bf16_encode(1.0f), 0x3f80);
    assert_int_equal(bf16_encode(1.0f + 0x1p-8f), 0x3f80);     /* tie, to even */
    assert_int_equal(bf16_encode(1.0f + 3 * 0x1p-8f), 0x3f82); /* tie, to even */
    assert_int_equal(bf16_encode(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
    assert_int_equal(bf16_encode(-0.0f), 0x8000);
    assert_int_equal(bf16_encode(65504.0f), 0x4780); /* 65536 */
    assert_int_equal(bf16_encode(0x1p-24f), 0x3380); /* FP16's least is normal here */
    assert_true(isnan(bf16_decode(bf16_encode(NAN))));
    for (uint32_t h = 0; h < 65536; h++) {
        const float value = half_to_float((uint16_t)h);
        if (isfinite(value)) {
            ASSERT_NEAR((double)bf16_decode(bf16_encode(value)),
                        naive_round((double)value, 8, -133), 0.0);
        }
    }
}

static double fp8_value(uint32_t code) { /* by the definition of E4M3 */
    const int exponent = (int)(code >> 3 & 15);
    const double fraction = code & 7;
    const double magnitude =
        exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return (code & 0x80) != 0 ? -magnitude : magnitude;
}

static void test_fp8_every_code(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 256; code++) {
        if ((code & 0x7f) == 0x7f) {
            assert_true(isnan(fp8_decode(code)));
            continue;
        }
        ASSERT_NEAR((double)fp8_decode(code), fp8_value(code), 0.0);
        assert_int_equal(fp8_encode((float)fp8_value(code)), code); /* the sign of zero too */
    }
    for (uint32_t a = 0; a < 0x7e; a++) { /* between neighbours */
        const float middle = (float)((fp8_value(a) + fp8_value(a + 1)) / 2);
        assert_int_equal(fp8_encode(middle), a % 2 == 0 ? a : a + 1);
        assert_int_equal(fp8_encode(nextafterf(middle, 0.0f)), a);
        assert_int_equal(fp8_encode(nextafterf(middle, 1e9f)), a + 1);
        assert_int_equal(fp8_encode(-middle), 0x80 | (a % 2 == 0 ? a : a + 1));
    }
    assert_int_equal(fp8_encode(448.0f), 0x7e);
    assert_int_equal(fp8_encode(464.0f), 0x7e);
    assert_int_equal(fp8_encode(-1e30f), 0xfe);
    assert_int_equal(fp8_encode(INFINITY), 0x7e);
    assert_int_equal(fp8_encode(1e-30f), 0);
    assert_int_equal(fp8_encode(NAN), 0x7f);
    assert_int_equal(fp8_code(0.25f, fp8_scale(0.25f)), 0x7e);
    assert_int_equal(fp8_code(3.0f, 0.0f), 0); /* a row of zeros */
}

static void test_integer_codes(void **state) {
    (void)state;
    assert_int_equal(int8_code(3.0f, 3.0f), 127);
    assert_int_equal(int8_code(-3.0f, 3.0f), -127);
    assert_int_equal(int8_code(0.5f, 127.0f), 0);
    assert_int_equal(int8_code(1.5f, 127.0f), 2);
    assert_int_equal(int8_code(-2.5f, 127.0f), -2);
    assert_int_equal(int8_code(0x1p-24f, 0x1p-24f), 127);
    assert_int_equal(int8_code(65504.0f, 65504.0f), 127);
    assert_int_equal(int8_code(1.0f, 0.0f), 0);
    ASSERT_NEAR((double)q8_0_scale(127.0f), 1.0, 0.0);
    assert_int_equal(q8_0_code(0.5f), 1);
    assert_int_equal(q8_0_code(-0.5f), -1);
    assert_int_equal(q8_0_code(2.5f), 3);
    assert_int_equal(q8_0_code(127.0f), 127);
    ASSERT_NEAR((double)q4_0_scale(-8.0f), 1.0, 0.0);
    assert_int_equal(q4_0_code(-8.0f), 0);
    assert_int_equal(q4_0_code(-0.5f), 8);
    assert_int_equal(q4_0_code(0.49f), 8);
    assert_int_equal(q4_0_code(0.5f), 9);
    assert_int_equal(q4_0_code(7.0f), 15);
    assert_int_equal(q4_0_code(8.0f), 15); /* the clamped end */
    assert_int_equal(q4_0_code(0.0f), Q4_0_ZERO);
}

static void test_dynamic_map(void **state) {
    (void)state;
    double values[256];
    assert_int_equal(naive_dynamic_map(values), 256);
    for (uint32_t c = 0; c < DYNAMIC_CODES; c++) {
        const double value = (double)ecoi_dynamic_values[c];
        ASSERT_NEAR(naive_nearest(value, values, 256), value, fabs(value) * 2e-7);
        assert_true(c == 0 || ecoi_dynamic_values[c - 1] < ecoi_dynamic_values[c]);
        assert_int_equal(ecoi_dynamic_encode(ecoi_dynamic_values[c]), c);
    }
    for (uint32_t i = 0; i <= 20000; i++) {
        const double x = (double)(float)(i / 10000.0 - 1.0);
        const double got = (double)ecoi_dynamic_values[ecoi_dynamic_encode((float)x)];
        ASSERT_NEAR(fabs(got - x), fabs(naive_nearest(x, values, 256) - x), 1e-7);
    }
    assert_int_equal(ecoi_dynamic_encode(-1.0f), 0);
    assert_int_equal(ecoi_dynamic_encode(1.0f), 255);
    ASSERT_NEAR((double)ecoi_dynamic_values[ecoi_dynamic_encode(0.0f)], 0.0, 0.0);
}

/* MARK: - Sizes */

static void test_bytes(void **state) {
    (void)state;
    static const struct {
        eco_format format;
        uint64_t odd; /* 3 rows of 70 columns, by hand */
    } rows[] = {{ECO_FORMAT_FP16, 420},
                {ECO_FORMAT_BF16, 420},
                {ECO_FORMAT_NF4, 3 * (35 + 2 * 4)},
                {ECO_FORMAT_NF4_DQ, 3 * (35 + 2) + 4 + 4},
                {ECO_FORMAT_INT8, 3 * (70 + 4)},
                {ECO_FORMAT_W8A16, 3 * (70 + 4)},
                {ECO_FORMAT_Q4_0, 3 * (35 + 3 * 2)},
                {ECO_FORMAT_Q8_0, 3 * (70 + 3 * 2)},
                {ECO_FORMAT_FP8, 3 * (70 + 4)}};
    for (size_t i = 0; i < ECO_FORMAT_COUNT; i++) {
        const eco_format format = rows[i].format;
        assert_int_equal(format, i);
        assert_int_equal(ecoi_format_matrix_bytes(format, 3, 70), rows[i].odd);
        const double whole = (double)ecoi_format_matrix_bytes(format, 4096, 4096);
        const double counted = eco_format_at(format)->bits_per_weight / 8 * 4096.0 * 4096.0;
        ASSERT_NEAR(whole, counted, 4.0 * 4096.0); /* a scale a row is not in bits_per_weight */
    }
    ASSERT_NEAR(eco_format_at(ECO_FORMAT_NF4_DQ)->bits_per_weight, 4.126953125, 0.0);
    assert_true(eco_format_at(ECO_FORMAT_INT8)->quantizes_activations);
    assert_false(eco_format_at(ECO_FORMAT_W8A16)->quantizes_activations);
}

/* MARK: - Stored rows */

/* A matrix of its own memory. */
typedef struct stored {
    eco_cpu_matrix m;
    uint16_t values[ROWS][COLUMNS_MAX]; /* what was stored */
    double kept[ROWS][COLUMNS_MAX];     /* what should be left of it */
    uint16_t weights[ROWS * 320];       /* 16 bits at most, rows padded to 64 columns */
    float scales[ROWS * 10], scales2[2];
    uint16_t half_scales[ROWS * 10];
    uint8_t scale_codes[ROWS * 10];
} stored;

/* Ordinary rows, then zeros, one sign of zero, equals, the largest beside the least, subnormals, the
 * extremes at the edges of blocks, halves of a step. */
static double row_value(uint32_t r, uint32_t c) {
    switch (r) {
    case 3:
        return 0.0;
    case 4:
        return -0.0;
    case 5:
        return c % 2 == 0 ? 0.75 : -0.75;
    case 6:
        return c % 37 == 5 ? 65504.0 : 0x1p-24 * (double)(c % 7);
    case 7:
        return 0x1p-24 * (double)(c % 19);
    case 8:
        return c % 32 == 31 || c % 32 == 0 ? (c % 64 < 32 ? 4.0 : -4.0) : 0.1 * normal(c);
    case 9:
        return c % 32 == 0 ? 127.0 : (double)(c % 90) + 0.5;
    case 10:
        return c % 32 == 0 ? -8.0 : (double)(c % 15) / 2 - 3.5;
    default:
        return normal(r * 1000 + c) * (r == 1 ? 0.02 : 1.0) * (c == 7 ? 20.0 : 1.0);
    }
}

static void store(stored *s, eco_format format, uint32_t n_columns) {
    memset(s, 0xff, sizeof *s); /* NaN, if it is read and was not written */
    s->m = ecoi_cpu_matrix_of(format, ROWS, n_columns);
    s->m.weights = s->weights;
    s->m.scales = s->scales;
    s->m.half_scales = s->half_scales;
    s->m.scale_codes = s->scale_codes;
    s->m.scales2 = s->scales2;
    assert_true((size_t)ROWS * s->m.n_row_bytes <= sizeof s->weights);
    double kept[ROWS * COLUMNS_MAX];
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t c = 0; c < n_columns; c++) {
            double value = row_value(r, c);
            if (format == ECO_FORMAT_NF4_DQ) { /* a mean of 65504s would drown all other rows */
                value = fmax(-4.0, fmin(value, 4.0));
            }
            s->values[r][c] = half_from_float((float)value);
            kept[r * n_columns + c] = (double)half_to_float(s->values[r][c]);
        }
        ecoi_cpu_matrix_store_row(&s->m, r, s->values[r]);
    }
    ecoi_cpu_matrix_finish(&s->m);
    naive_format(format, kept, ROWS, n_columns);
    for (uint32_t r = 0; r < ROWS; r++) {
        memcpy(s->kept[r], kept + (size_t)r * n_columns, n_columns * sizeof(double));
    }
}

static double largest_of(const stored *s, uint32_t r, uint32_t begin, uint32_t end) {
    double largest = 0.0;
    for (uint32_t c = begin; c < end && c < s->m.n_columns; c++) {
        largest = fmax(largest, (double)fabsf(half_to_float(s->values[r][c])));
    }
    return largest;
}

/* The largest |stored - given| that docs/formats.md allows, for a weight of magnitude w. */
static double error_bound(const stored *s, uint32_t r, uint32_t c, double w) {
    const double a32 = largest_of(s, r, c / 32 * 32, c / 32 * 32 + 32);
    const double a64 = largest_of(s, r, c / 64 * 64, c / 64 * 64 + 64);
    const double row = largest_of(s, r, 0, s->m.n_columns);
    switch (s->m.format) {
    case ECO_FORMAT_BF16:
        return w * 0x1p-8;
    case ECO_FORMAT_NF4:
        return a64 * 0.152;
    case ECO_FORMAT_NF4_DQ: /* and half the widest gap of the dynamic map */
        return a64 * 0.152 +
               0.0071 * (double)s->scales2[(r * s->m.n_blocks + c / 64) / NF4_DQ_BLOCK];
    case ECO_FORMAT_INT8:
    case ECO_FORMAT_W8A16:
        return row / 254;
    case ECO_FORMAT_Q4_0: /* a whole step at the end that has only seven, d rounded to FP16 */
        return a32 / 8 + fmax(a32 * 0x1p-11, 8 * 0x1p-25);
    case ECO_FORMAT_Q8_0:
        return a32 / 254 + fmax(a32 * 0x1p-11, 127 * 0x1p-25);
    case ECO_FORMAT_FP8:
        return fmax(w / 16, row / 448 * 0x1p-10);
    case ECO_FORMAT_FP16:
    case ECO_FORMAT_COUNT:
        break;
    }
    return 0.0;
}

static void check_stored(const stored *s, uint32_t *n_weights, uint32_t *n_apart) {
    for (uint32_t r = 0; r < ROWS; r++) {
        /* FP32's own error; NF4-DQ adds a mean of the whole tensor, which is below 4 here. */
        const double row = largest_of(s, r, 0, s->m.n_columns);
        const double fp32 = (s->m.format == ECO_FORMAT_NF4_DQ ? 4.0 : row) * 1e-6;
        for (uint32_t c = 0; c < s->m.n_columns; c++) {
            const double got = (double)ecoi_cpu_weight(&s->m, r, c);
            const double given = (double)half_to_float(s->values[r][c]);
            const double bound = error_bound(s, r, c, fabs(given));
            ASSERT_NEAR(got, given, bound + fp32);
            *n_weights += 1;
            *n_apart += fabs(got - s->kept[r][c]) > fp32;
        }
    }
}

static const uint32_t column_counts[] = {1, 2, 31, 32, 33, 63, 64, 65, 70, 128, 200, 299, 300};
enum { N_COUNTS = sizeof column_counts / sizeof column_counts[0] };

static void test_stored_rows(void **state) {
    (void)state;
    static stored s;
    for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
        uint32_t n_weights = 0;
        uint32_t n_apart = 0;
        for (size_t i = 0; i < N_COUNTS; i++) {
            store(&s, format, column_counts[i]);
            check_stored(&s, &n_weights, &n_apart);
        }
        /* Quotients beside a tie, where FP32 and double choose differently. */
        if (n_apart * 500 > n_weights) {
            fail_msg("%s: %u of %u weights differ", eco_format_at(format)->name, n_apart,
                     n_weights);
        }
    }
}

/* MARK: - Products */

typedef struct input {
    float x[320];
    int16_t codes[320];
    uint32_t outliers[320];
    eco_cpu_input in;
} input;

/* Values near 1, some that INT8 keeps apart, one on its threshold and one just below. */
static void make_input(input *to, uint32_t n, bool with_outliers) {
    memset(to, 0, sizeof *to);
    for (uint32_t c = 0; c < n; c++) {
        double x = normal(c + 5000);
        x = fabs(x) > 3.0 ? 3.0 : x;
        if (with_outliers && c % 23 == 3) {
            x *= 32.0;
        }
        to->x[c] = half_round((float)x);
    }
    if (with_outliers && n > 2) {
        to->x[0] = -6.0f;
        to->x[1] = half_round(5.996f); /* the FP16 number below 6 */
        assert_true(to->x[1] < 6.0f);
    }
    to->in.x = to->x;
    ecoi_cpu_input_quantize(&to->in, n, to->codes, to->outliers);
}

static void test_int8_input(void **state) {
    (void)state;
    static input in;
    make_input(&in, 200, true);
    double want[200];
    for (uint32_t c = 0; c < 200; c++) {
        want[c] = (double)in.x[c];
    }
    naive_int8_input(want, 200);
    ASSERT_NEAR((double)in.in.absmax, (double)in.x[1], 0.0);
    assert_int_equal(in.in.outliers[0], 0);
    uint32_t n_outliers = 0;
    for (uint32_t c = 0; c < 200; c++) {
        const bool outlier = fabsf(in.x[c]) >= 6.0f;
        n_outliers += outlier;
        if (outlier) {
            assert_int_equal(in.codes[c], 0);
        } else {
            ASSERT_NEAR(in.codes[c] * (double)in.in.absmax / 127.0, want[c], 1e-6);
        }
    }
    assert_int_equal(in.in.n_outliers, n_outliers);
    assert_true(n_outliers > 3);
    make_input(&in, 200, false);
    assert_int_equal(in.in.n_outliers, 0);
    memset(in.x, 0, sizeof in.x);
    ecoi_cpu_input_quantize(&in.in, 200, in.codes, in.outliers); /* nothing at all */
    for (uint32_t c = 0; c < 256; c++) {
        assert_int_equal(in.codes[c], 0);
    }
}

/* The row's product in double, from the stored weights; *size: the sum of magnitudes. */
static double dot_in_double(const stored *s, uint32_t r, const input *in, double *size) {
    double sum = 0.0;
    *size = 0.0;
    for (uint32_t c = 0; c < s->m.n_columns; c++) {
        double x = (double)in->x[c];
        if (s->m.format == ECO_FORMAT_INT8 && fabs(x) < 6.0) {
            x = in->codes[c] * (double)in->in.absmax / 127.0;
        }
        const double product = (double)ecoi_cpu_weight(&s->m, r, c) * x;
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

static void check_dots(const eco_cpu_sums *sums) {
    static stored s;
    static input in;
    for (eco_format format = ECO_FORMAT_FP16; format < ECO_FORMAT_COUNT; format++) {
        for (size_t i = 0; i < 2 * N_COUNTS; i++) {
            store(&s, format, column_counts[i / 2]);
            make_input(&in, s.m.n_columns, i % 2 == 0);
            for (uint32_t r = 0; r < ROWS; r++) {
                double size = 0.0;
                const double want = dot_in_double(&s, r, &in, &size);
                const float got = sums->dots[format](&s.m, r, &in.in);
                ASSERT_NEAR((double)got, want, size * 3e-6 + 1e-30);
                if (format == ECO_FORMAT_INT8) { /* whole numbers: the reference's bits */
                    const float same = ecoi_ref_dots[format](&s.m, r, &in.in);
                    assert_memory_equal(&got, &same, sizeof got);
                }
            }
        }
    }
}

static void test_dots_portable(void **state) {
    (void)state;
    check_dots(&ecoi_cpu_sums_portable);
}

static void check_dots_if(const eco_cpu_sums *sums, const char *missing) {
    if (sums == NULL) {
        print_message("%s\n", missing);
        skip();
    }
    check_dots(sums);
}

static void test_dots_avx2(void **state) {
    (void)state;
    check_dots_if(ecoi_cpu_sums_avx2(), "no AVX2, FMA and F16C here");
}

static void test_dots_avx512(void **state) {
    (void)state;
    check_dots_if(ecoi_cpu_sums_avx512(), "no AVX-512 F, BW and VL here");
}

static void test_dots_neon(void **state) {
    (void)state;
    check_dots_if(ecoi_cpu_sums_neon(), "no NEON here");
}

/* The sums of eight-bit codes at their largest, over as many columns as a workload may have. */
static void test_int8_widest(void **state) {
    (void)state;
    enum { N = 1 << 22 };
    int8_t *weights = malloc(N);
    int16_t *codes = malloc(N * sizeof *codes);
    assert_non_null(weights);
    assert_non_null(codes);
    for (uint32_t c = 0; c < N; c++) {
        weights[c] = -127;
        codes[c] = 127;
    }
    float absmax = 1.0f;
    eco_cpu_matrix m = ecoi_cpu_matrix_of(ECO_FORMAT_INT8, 1, N);
    m.weights = weights;
    m.scales = &absmax;
    const eco_cpu_input in = {.codes = codes, .absmax = 1.0f};
    const eco_cpu_sums *const all[] = {&ecoi_cpu_sums_portable, ecoi_cpu_sums_avx2(),
                                       ecoi_cpu_sums_avx512(), ecoi_cpu_sums_neon()};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != NULL) {
            ASSERT_NEAR((double)all[i]->dots[ECO_FORMAT_INT8](&m, 0, &in), -(double)N, 1.0);
        }
    }
    free(weights);
    free(codes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundings),      cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_fp8_every_code), cmocka_unit_test(test_integer_codes),
        cmocka_unit_test(test_dynamic_map),    cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_stored_rows),    cmocka_unit_test(test_int8_input),
        cmocka_unit_test(test_dots_portable),  cmocka_unit_test(test_dots_avx2),
        cmocka_unit_test(test_dots_avx512),    cmocka_unit_test(test_dots_neon),
        cmocka_unit_test(test_int8_widest),
    };
    return cmocka_run_group_tests_name("kernels_formats", tests, NULL, NULL);
}
