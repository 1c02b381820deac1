/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner sums with AVX-512 (F, BW, VL) and F16C, compiled by target attribute and taken only
 * where the CPU has them. Sixteen weights at a time: 16-bit formats are widened, 8-bit codes become
 * FP32, 4-bit codes look their value up in one register of sixteen. A block is summed before its
 * scale multiplies it. FP8 becomes FP16 by a shift, 2^8 too small. Sums are made in another order
 * than the reference's, hence differ in the last bits; INT8's are integers and do not.
 */
#include "kernels/cpu/forward.h"

#if defined(__x86_64__)

#include "kernels/cpu/reference.h"
#include "kernels/cpu/x86_features.h"
#include "kernels/quant.h"

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma,f16c")))

AVX512 static inline __m512 half16(const uint16_t *values) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)values));
}

AVX512 static inline __m512 bf16_16(const uint16_t *values) {
    const __m256i halves = _mm256_loadu_si256((const __m256i *)(const void *)values);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

AVX512 static inline __m512 int8_16(const int8_t *codes) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)codes);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

/* E4M3's sign, exponent and fraction moved to FP16's places: the value / 256. */
AVX512 static inline __m512 fp8_16(const uint8_t *codes) {
    const __m256i wide =
        _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)codes));
    const __m256i half =
        _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16((short)0xbfff));
    return _mm512_cvtph_ps(half);
}

static const void *row_of(const eco_cpu_matrix *m, size_t row) {
    return (const uint8_t *)m->weights + row * m->n_row_bytes;
}

/* MARK: - One scale a row, or none: four sums cover the latency of the multiply-add */

#define SUM_OF_64S(load, w)                                                          \
    __m512 a = _mm512_setzero_ps();                                                  \
    __m512 b = a;                                                                    \
    __m512 c = a;                                                                    \
    __m512 d = a;                                                                    \
    for (uint32_t i = 0; i < m->stride; i += CPU_COLUMN_UNIT) {                      \
        a = _mm512_fmadd_ps(load((w) + i), _mm512_loadu_ps(in->x + i), a);           \
        b = _mm512_fmadd_ps(load((w) + i + 16), _mm512_loadu_ps(in->x + i + 16), b); \
        c = _mm512_fmadd_ps(load((w) + i + 32), _mm512_loadu_ps(in->x + i + 32), c); \
        d = _mm512_fmadd_ps(load((w) + i + 48), _mm512_loadu_ps(in->x + i + 48), d); \
    }                                                                                \
    const float sum = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)))

AVX512 static float dot_fp16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_64S(half16, w);
    return sum;
}

AVX512 static float dot_bf16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_64S(bf16_16, w);
    return sum;
}

AVX512 static float dot_w8a16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    SUM_OF_64S(int8_16, w);
    return sum * (m->scales[row] / 127.0f);
}

AVX512 static float dot_fp8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint8_t *w = row_of(m, row);
    SUM_OF_64S(fp8_16, w);
    return sum * 256.0f * m->scales[row];
}

/* A lane of either sum takes a product of each 64 columns twice: below 2^31 up to 2^22 columns,
 * which a workload may not pass. */
AVX512 static float dot_int8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    __m512i a = _mm512_setzero_si512();
    __m512i b = a;
    for (uint32_t i = 0; i < m->stride; i += CPU_COLUMN_UNIT) {
        const __m512i w0 =
            _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(w + i)));
        const __m512i w1 =
            _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(w + i + 32)));
        a = _mm512_add_epi32(a, _mm512_madd_epi16(w0, _mm512_loadu_si512(in->codes + i)));
        b = _mm512_add_epi32(b, _mm512_madd_epi16(w1, _mm512_loadu_si512(in->codes + i + 32)));
    }
    const __m512i low = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(a)),
                                         _mm512_cvtepi32_epi64(_mm512_castsi512_si256(b)));
    const __m512i high = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(a, 1)),
                                          _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(b, 1)));
    return ecoi_cpu_int8_result(m, row, in, _mm512_reduce_add_epi64(_mm512_add_epi64(low, high)));
}

/* MARK: - Scales of blocks */

/* 32 columns of nibbles: permutexvar looks at the low four bits of each lane only. */
AVX512 static inline __m512 nibbles32(const uint8_t *codes, const float *x, __m512 values,
                                      __m512 sum) {
    const __m512i lanes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)codes));
    const __m512 low = _mm512_permutexvar_ps(lanes, values);
    const __m512 high = _mm512_permutexvar_ps(_mm512_srli_epi32(lanes, 4), values);
    return _mm512_fmadd_ps(high, _mm512_loadu_ps(x + 16),
                           _mm512_fmadd_ps(low, _mm512_loadu_ps(x), sum));
}

AVX512 static inline __m512 nf4_block(const uint8_t *codes, const float *x, __m512 values) {
    const __m512 first = nibbles32(codes, x, values, _mm512_setzero_ps());
    return nibbles32(codes + 16, x + 32, values, first);
}

AVX512 static float dot_nf4(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    static const float nf4_values[NF4_CODES] = {NF4_VALUES};
    const __m512 values = _mm512_loadu_ps(nf4_values);
    const uint8_t *codes = row_of(m, row);
    const float *absmax = m->scales + row * m->n_blocks;
    __m512 even = _mm512_setzero_ps();
    __m512 odd = even;
    uint32_t b = 0;
    for (; b + 2 <= m->n_blocks; b += 2) {
        const float *x = in->x + (size_t)b * NF4_BLOCK;
        even = _mm512_fmadd_ps(nf4_block(codes + (size_t)b * 32, x, values),
                               _mm512_set1_ps(absmax[b]), even);
        odd = _mm512_fmadd_ps(nf4_block(codes + (size_t)b * 32 + 32, x + NF4_BLOCK, values),
                              _mm512_set1_ps(absmax[b + 1]), odd);
    }
    if (b < m->n_blocks) {
        even = _mm512_fmadd_ps(
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, values),
            _mm512_set1_ps(absmax[b]), even);
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

AVX512 static float dot_nf4_dq(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    static const float nf4_values[NF4_CODES] = {NF4_VALUES};
    const __m512 values = _mm512_loadu_ps(nf4_values);
    const uint8_t *codes = row_of(m, row);
    __m512 sum = _mm512_setzero_ps();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float absmax = ecoi_cpu_dq_absmax(m, row * m->n_blocks + b);
        sum = _mm512_fmadd_ps(
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, values),
            _mm512_set1_ps(absmax), sum);
    }
    return _mm512_reduce_add_ps(sum);
}

enum { SCALES = 16 }; /* FP16 scales widened at a time */

/* The next scales of a row as FP32; those past its end are 0. Returns how many there are. */
AVX512 static inline uint32_t widen_scales(const uint16_t *scales, uint32_t n_left, float *out) {
    const uint32_t n = n_left < SCALES ? n_left : SCALES;
    const __mmask16 mask = (__mmask16)((1u << n) - 1);
    _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, scales)));
    return n;
}

AVX512 static inline __m512 q4_0_values(void) {
    return _mm512_setr_ps(-8.0f, -7.0f, -6.0f, -5.0f, -4.0f, -3.0f, -2.0f, -1.0f, 0.0f, 1.0f, 2.0f,
                          3.0f, 4.0f, 5.0f, 6.0f, 7.0f);
}

/* Two blocks at a time, each with a sum of its own. */
AVX512 static float dot_q4_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const __m512 zero = _mm512_setzero_ps();
    const __m512 values = q4_0_values();
    const uint8_t *codes = row_of(m, row);
    const uint16_t *scales = m->half_scales + row * m->n_blocks;
    __m512 even = zero;
    __m512 odd = zero;
    for (uint32_t b = 0; b < m->n_blocks; b += SCALES) {
        float d[SCALES];
        const uint32_t n = widen_scales(scales + b, m->n_blocks - b, d);
        const uint8_t *w = codes + (size_t)b * GGML_BLOCK / 2;
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        uint32_t i = 0;
        for (; i + 2 <= n; i += 2, w += GGML_BLOCK, x += 2 * GGML_BLOCK) {
            even = _mm512_fmadd_ps(nibbles32(w, x, values, zero), _mm512_set1_ps(d[i]), even);
            odd = _mm512_fmadd_ps(nibbles32(w + 16, x + 32, values, zero), _mm512_set1_ps(d[i + 1]),
                                  odd);
        }
        if (i < n) {
            even = _mm512_fmadd_ps(nibbles32(w, x, values, zero), _mm512_set1_ps(d[i]), even);
        }
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

AVX512 static inline __m512 q8_0_block(const int8_t *w, const float *x) {
    const __m512 first = _mm512_mul_ps(int8_16(w), _mm512_loadu_ps(x));
    return _mm512_fmadd_ps(int8_16(w + 16), _mm512_loadu_ps(x + 16), first);
}

AVX512 static float dot_q8_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *codes = row_of(m, row);
    const uint16_t *scales = m->half_scales + row * m->n_blocks;
    __m512 even = _mm512_setzero_ps();
    __m512 odd = even;
    for (uint32_t b = 0; b < m->n_blocks; b += SCALES) {
        float d[SCALES];
        const uint32_t n = widen_scales(scales + b, m->n_blocks - b, d);
        const int8_t *w = codes + (size_t)b * GGML_BLOCK;
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        uint32_t i = 0;
        for (; i + 2 <= n; i += 2, w += 2 * GGML_BLOCK, x += 2 * GGML_BLOCK) {
            even = _mm512_fmadd_ps(q8_0_block(w, x), _mm512_set1_ps(d[i]), even);
            odd = _mm512_fmadd_ps(q8_0_block(w + 32, x + 32), _mm512_set1_ps(d[i + 1]), odd);
        }
        if (i < n) {
            even = _mm512_fmadd_ps(q8_0_block(w, x), _mm512_set1_ps(d[i]), even);
        }
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

static eco_cpu_dot *const dots[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = dot_fp16,     [ECO_FORMAT_BF16] = dot_bf16, [ECO_FORMAT_NF4] = dot_nf4,
    [ECO_FORMAT_NF4_DQ] = dot_nf4_dq, [ECO_FORMAT_INT8] = dot_int8, [ECO_FORMAT_W8A16] = dot_w8a16,
    [ECO_FORMAT_Q4_0] = dot_q4_0,     [ECO_FORMAT_Q8_0] = dot_q8_0, [ECO_FORMAT_FP8] = dot_fp8,
};

/* MARK: - Attention: rows of the cache, of any length */

AVX512 static float dot_half(const uint16_t *values, const float *x, uint32_t n) {
    __m512 a = _mm512_setzero_ps();
    __m512 b = a;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm512_fmadd_ps(half16(values + i), _mm512_loadu_ps(x + i), a);
        b = _mm512_fmadd_ps(half16(values + i + 16), _mm512_loadu_ps(x + i + 16), b);
    }
    for (; i + 16 <= n; i += 16) {
        a = _mm512_fmadd_ps(half16(values + i), _mm512_loadu_ps(x + i), a);
    }
    const float sum = _mm512_reduce_add_ps(_mm512_add_ps(a, b));
    return i == n ? sum : sum + ecoi_ref_dot_half(values + i, x + i, n - i);
}

AVX512 static void add_scaled(float *out, float p, const uint16_t *values, uint32_t n) {
    const __m512 factor = _mm512_set1_ps(p);
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        _mm512_storeu_ps(out + i,
                         _mm512_fmadd_ps(factor, half16(values + i), _mm512_loadu_ps(out + i)));
    }
    if (i < n) {
        ecoi_ref_add_scaled(out + i, p, values + i, n - i);
    }
}

AVX512 static uint64_t read_words(const uint64_t *words, size_t n) {
    __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                       _mm512_setzero_si512()};
    for (size_t i = 0; i < n; i += CPU_READ_WORDS) {
        for (size_t k = 0; k < 4; k++) {
            sums[k] = _mm512_add_epi64(sums[k], _mm512_loadu_si512(words + i + 8 * k));
        }
    }
    uint64_t lanes[8];
    _mm512_storeu_si512(lanes, _mm512_add_epi64(_mm512_add_epi64(sums[0], sums[1]),
                                                _mm512_add_epi64(sums[2], sums[3])));
    uint64_t sum = 0;
    for (size_t k = 0; k < 8; k++) {
        sum += lanes[k]; /* wraps: the intrinsic's own reduction is signed */
    }
    return sum;
}

static const eco_cpu_sums sums_avx512 = {.isa = "avx512f+bw+vl",
                                         .summary = "AVX-512 GEMV, rows over threads",
                                         .dots = dots,
                                         .dot_half = dot_half,
                                         .add_scaled = add_scaled,
                                         .read = read_words};

const eco_cpu_sums *ecoi_cpu_sums_avx512(void) {
    const bool usable = ecoi_x86_has_avx2() && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return usable ? &sums_avx512 : NULL;
}

#else

const eco_cpu_sums *ecoi_cpu_sums_avx512(void) {
    return NULL;
}

#endif
