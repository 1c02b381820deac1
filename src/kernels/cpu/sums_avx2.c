/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner sums with AVX2, FMA and F16C, compiled by target attribute and taken only where the CPU
 * has all three. Eight weights at a time: 16-bit formats are widened, 8-bit codes become FP32. NF4's
 * sixteen values are two registers of eight: bits 0 to 2 of a code index both and bit 3 chooses. A
 * block is summed before its scale multiplies it. FP8 becomes FP16 by a shift, 2^8 too small. Sums
 * are made in another order than the reference's, hence differ in the last bits; INT8's are integers
 * and do not.
 */
#include "kernels/cpu/forward.h"

#if defined(__x86_64__)

#include "kernels/cpu/reference.h"
#include "kernels/cpu/x86_features.h"
#include "kernels/quant.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))

AVX2 static inline __m128i load16(const void *bytes) {
    return _mm_loadu_si128((const __m128i *)bytes);
}

AVX2 static inline __m256 half8(const uint16_t *values) {
    return _mm256_cvtph_ps(load16(values));
}

AVX2 static inline __m256 bf16_8(const uint16_t *values) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(values)), 16));
}

AVX2 static inline __m256 int8_8(const int8_t *codes) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)codes);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

/* E4M3's sign, exponent and fraction moved to FP16's places: the value / 256. */
AVX2 static inline __m256 fp8_8(const uint8_t *codes) {
    const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)codes));
    return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16((short)0xbfff)));
}

AVX2 static inline float sum8(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static const void *row_of(const eco_cpu_matrix *m, size_t row) {
    return (const uint8_t *)m->weights + row * m->n_row_bytes;
}

/* MARK: - One scale a row, or none: four sums cover the latency of the multiply-add */

#define SUM_OF_32S(load, w)                                                          \
    __m256 a = _mm256_setzero_ps();                                                  \
    __m256 b = a;                                                                    \
    __m256 c = a;                                                                    \
    __m256 d = a;                                                                    \
    for (uint32_t i = 0; i < m->stride; i += 32) {                                   \
        a = _mm256_fmadd_ps(load((w) + i), _mm256_loadu_ps(in->x + i), a);           \
        b = _mm256_fmadd_ps(load((w) + i + 8), _mm256_loadu_ps(in->x + i + 8), b);   \
        c = _mm256_fmadd_ps(load((w) + i + 16), _mm256_loadu_ps(in->x + i + 16), c); \
        d = _mm256_fmadd_ps(load((w) + i + 24), _mm256_loadu_ps(in->x + i + 24), d); \
    }                                                                                \
    const float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)))

AVX2 static float dot_fp16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_32S(half8, w);
    return sum;
}

AVX2 static float dot_bf16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_32S(bf16_8, w);
    return sum;
}

AVX2 static float dot_w8a16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    SUM_OF_32S(int8_8, w);
    return sum * (m->scales[row] / 127.0f);
}

AVX2 static float dot_fp8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint8_t *w = row_of(m, row);
    SUM_OF_32S(fp8_8, w);
    return sum * 256.0f * m->scales[row];
}

AVX2 static inline __m256i madd16(const int8_t *w, const int16_t *codes) {
    return _mm256_madd_epi16(_mm256_cvtepi8_epi16(load16(w)),
                             _mm256_loadu_si256((const __m256i *)(const void *)codes));
}

AVX2 static inline __m256i widen(__m256i v) {
    return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)));
}

/* A lane of the four sums takes two products of each 64 columns: below 2^31 up to 2^22 columns,
 * which a workload may not pass. */
AVX2 static float dot_int8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    for (uint32_t i = 0; i < m->stride; i += CPU_COLUMN_UNIT) {
        for (uint32_t k = 0; k < 4; k++) {
            sums[k] = _mm256_add_epi32(sums[k], madd16(w + i + 16 * k, in->codes + i + 16 * k));
        }
    }
    const __m256i all = _mm256_add_epi64(_mm256_add_epi64(widen(sums[0]), widen(sums[1])),
                                         _mm256_add_epi64(widen(sums[2]), widen(sums[3])));
    int64_t lanes[4];
    _mm256_storeu_si256((__m256i *)(void *)lanes, all);
    return ecoi_cpu_int8_result(m, row, in, lanes[0] + lanes[1] + lanes[2] + lanes[3]);
}

/* MARK: - Scales of blocks */

typedef struct nf4_values {
    __m256 low, high; /* of codes 0 to 7, 8 to 15 */
} nf4_values;

AVX2 static inline nf4_values load_nf4_values(void) {
    static const float values[NF4_CODES] = {NF4_VALUES};
    return (nf4_values){_mm256_loadu_ps(values), _mm256_loadu_ps(values + 8)};
}

AVX2 static inline __m256 nf4_8(__m128i codes8, const nf4_values *values) {
    const __m256i index = _mm256_cvtepu8_epi32(codes8);
    const __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(values->low, index),
                            _mm256_permutevar8x32_ps(values->high, index), bit3);
}

/* 32 columns; the sum of both comes back in `even` and `odd`. */
AVX2 static inline void nf4_32(const uint8_t *codes, const float *x, const nf4_values *values,
                               __m256 *even, __m256 *odd) {
    const __m128i nibble = _mm_set1_epi8(15);
    const __m128i bytes = load16(codes);
    const __m128i low = _mm_and_si128(bytes, nibble);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
    *even = _mm256_fmadd_ps(nf4_8(low, values), _mm256_loadu_ps(x), *even);
    *odd = _mm256_fmadd_ps(nf4_8(_mm_srli_si128(low, 8), values), _mm256_loadu_ps(x + 8), *odd);
    *even = _mm256_fmadd_ps(nf4_8(high, values), _mm256_loadu_ps(x + 16), *even);
    *odd = _mm256_fmadd_ps(nf4_8(_mm_srli_si128(high, 8), values), _mm256_loadu_ps(x + 24), *odd);
}

AVX2 static inline __m256 nf4_block(const uint8_t *codes, const float *x,
                                    const nf4_values *values) {
    __m256 even = _mm256_setzero_ps();
    __m256 odd = even;
    nf4_32(codes, x, values, &even, &odd);
    nf4_32(codes + 16, x + 32, values, &even, &odd);
    return _mm256_add_ps(even, odd);
}

AVX2 static float dot_nf4(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const nf4_values values = load_nf4_values();
    const uint8_t *codes = row_of(m, row);
    const float *absmax = m->scales + row * m->n_blocks;
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const __m256 block =
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, &values);
        sum = _mm256_fmadd_ps(block, _mm256_set1_ps(absmax[b]), sum);
    }
    return sum8(sum);
}

AVX2 static float dot_nf4_dq(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const nf4_values values = load_nf4_values();
    const uint8_t *codes = row_of(m, row);
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float absmax = ecoi_cpu_dq_absmax(m, row * m->n_blocks + b);
        const __m256 block =
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, &values);
        sum = _mm256_fmadd_ps(block, _mm256_set1_ps(absmax), sum);
    }
    return sum8(sum);
}

AVX2 static inline __m256 scale8(uint16_t d) {
    return _mm256_cvtph_ps(_mm_set1_epi16((short)d));
}

/* Four columns of eight: codes 0 to 15 stand for -8 to 7. */
AVX2 static inline __m256 q4_0_8(__m128i codes8) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_sub_epi8(codes8, _mm_set1_epi8(8))));
}

AVX2 static float dot_q4_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const __m128i nibble = _mm_set1_epi8(15);
    const uint8_t *codes = row_of(m, row);
    const uint16_t *d = m->half_scales + row * m->n_blocks;
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        const __m128i bytes = load16(codes + (size_t)b * 16);
        const __m128i low = _mm_and_si128(bytes, nibble);
        const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
        __m256 even = _mm256_mul_ps(q4_0_8(low), _mm256_loadu_ps(x));
        __m256 odd = _mm256_mul_ps(q4_0_8(_mm_srli_si128(low, 8)), _mm256_loadu_ps(x + 8));
        even = _mm256_fmadd_ps(q4_0_8(high), _mm256_loadu_ps(x + 16), even);
        odd = _mm256_fmadd_ps(q4_0_8(_mm_srli_si128(high, 8)), _mm256_loadu_ps(x + 24), odd);
        sum = _mm256_fmadd_ps(_mm256_add_ps(even, odd), scale8(d[b]), sum);
    }
    return sum8(sum);
}

AVX2 static float dot_q8_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *codes = row_of(m, row);
    const uint16_t *d = m->half_scales + row * m->n_blocks;
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        const int8_t *w = codes + (size_t)b * GGML_BLOCK;
        __m256 even = _mm256_mul_ps(int8_8(w), _mm256_loadu_ps(x));
        __m256 odd = _mm256_mul_ps(int8_8(w + 8), _mm256_loadu_ps(x + 8));
        even = _mm256_fmadd_ps(int8_8(w + 16), _mm256_loadu_ps(x + 16), even);
        odd = _mm256_fmadd_ps(int8_8(w + 24), _mm256_loadu_ps(x + 24), odd);
        sum = _mm256_fmadd_ps(_mm256_add_ps(even, odd), scale8(d[b]), sum);
    }
    return sum8(sum);
}

static eco_cpu_dot *const dots[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = dot_fp16,     [ECO_FORMAT_BF16] = dot_bf16, [ECO_FORMAT_NF4] = dot_nf4,
    [ECO_FORMAT_NF4_DQ] = dot_nf4_dq, [ECO_FORMAT_INT8] = dot_int8, [ECO_FORMAT_W8A16] = dot_w8a16,
    [ECO_FORMAT_Q4_0] = dot_q4_0,     [ECO_FORMAT_Q8_0] = dot_q8_0, [ECO_FORMAT_FP8] = dot_fp8,
};

/* MARK: - Attention: rows of the cache, of any length */

AVX2 static float dot_half(const uint16_t *values, const float *x, uint32_t n) {
    __m256 a = _mm256_setzero_ps();
    __m256 b = a;
    __m256 c = a;
    __m256 d = a;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm256_fmadd_ps(half8(values + i), _mm256_loadu_ps(x + i), a);
        b = _mm256_fmadd_ps(half8(values + i + 8), _mm256_loadu_ps(x + i + 8), b);
        c = _mm256_fmadd_ps(half8(values + i + 16), _mm256_loadu_ps(x + i + 16), c);
        d = _mm256_fmadd_ps(half8(values + i + 24), _mm256_loadu_ps(x + i + 24), d);
    }
    for (; i + 8 <= n; i += 8) {
        a = _mm256_fmadd_ps(half8(values + i), _mm256_loadu_ps(x + i), a);
    }
    const float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    return i == n ? sum : sum + ecoi_ref_dot_half(values + i, x + i, n - i);
}

AVX2 static void add_scaled(float *out, float p, const uint16_t *values, uint32_t n) {
    const __m256 factor = _mm256_set1_ps(p);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i,
                         _mm256_fmadd_ps(factor, half8(values + i), _mm256_loadu_ps(out + i)));
    }
    if (i < n) {
        ecoi_ref_add_scaled(out + i, p, values + i, n - i);
    }
}

AVX2 static uint64_t read_words(const uint64_t *words, size_t n) {
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    for (size_t i = 0; i < n; i += CPU_READ_WORDS / 2) {
        for (size_t k = 0; k < 4; k++) {
            const __m256i *from = (const __m256i *)(const void *)(words + i + 4 * k);
            sums[k] = _mm256_add_epi64(sums[k], _mm256_loadu_si256(from));
        }
    }
    uint64_t lanes[4];
    _mm256_storeu_si256(
        (__m256i *)(void *)lanes,
        _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3])));
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

static const eco_cpu_sums sums_avx2 = {.isa = "avx2+fma+f16c",
                                       .summary = "AVX2 GEMV, rows over threads",
                                       .dots = dots,
                                       .dot_half = dot_half,
                                       .add_scaled = add_scaled,
                                       .read = read_words};

const eco_cpu_sums *ecoi_cpu_sums_avx2(void) {
    return ecoi_x86_has_avx2() ? &sums_avx2 : NULL;
}

#else

const eco_cpu_sums *ecoi_cpu_sums_avx2(void) {
    return NULL;
}

#endif
