/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner sums with AVX2, FMA and F16C, compiled by target attribute and taken only where the CPU
 * has all three. FP16: eight weights a conversion, four accumulators to cover the latency of the
 * multiply-add. NF4: the sixteen values are two registers of eight; bits 0–2 of a code index both
 * and bit 3 chooses; a block is summed before its absmax multiplies it. Order of summation differs
 * from the reference, hence results differ in the last bits.
 */
#include "kernels/cpu/forward.h"

#if defined(__x86_64__)

#include "kernels/cpu/reference.h"
#include "kernels/quant.h"

#include <cpuid.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))

AVX2 static __m256 load_half8(const uint16_t *weights) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)weights));
}

AVX2 static float sum8(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

AVX2 static float avx2_dot_half(const uint16_t *weights, const float *x, uint32_t n) {
    __m256 a = _mm256_setzero_ps();
    __m256 b = a;
    __m256 c = a;
    __m256 d = a;
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) {
        a = _mm256_fmadd_ps(load_half8(weights + i), _mm256_loadu_ps(x + i), a);
        b = _mm256_fmadd_ps(load_half8(weights + i + 8), _mm256_loadu_ps(x + i + 8), b);
        c = _mm256_fmadd_ps(load_half8(weights + i + 16), _mm256_loadu_ps(x + i + 16), c);
        d = _mm256_fmadd_ps(load_half8(weights + i + 24), _mm256_loadu_ps(x + i + 24), d);
    }
    for (; i + 8 <= n; i += 8) {
        a = _mm256_fmadd_ps(load_half8(weights + i), _mm256_loadu_ps(x + i), a);
    }
    const float sum = sum8(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
    return i == n ? sum : sum + ecoi_ref_dot_half(weights + i, x + i, n - i);
}

AVX2 static __m256 nf4_lookup(__m128i codes8, __m256 low, __m256 high) {
    const __m256i index = _mm256_cvtepu8_epi32(codes8);
    const __m256 bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index),
                            _mm256_permutevar8x32_ps(high, index), bit3);
}

AVX2 static float avx2_dot_nf4(const uint8_t *codes, const float *absmax, const float *x,
                               uint32_t n) {
    static const float values[NF4_CODES] = {NF4_VALUES};
    const __m256 low = _mm256_loadu_ps(values);
    const __m256 high = _mm256_loadu_ps(values + 8);
    const __m128i nibble = _mm_set1_epi8(15);
    __m256 total = _mm256_setzero_ps();
    uint32_t i = 0;
    for (; i + NF4_BLOCK <= n; i += NF4_BLOCK) {
        __m256 even = _mm256_setzero_ps();
        __m256 odd = even;
        for (uint32_t j = i; j < i + NF4_BLOCK; j += 32) {
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(codes + j / 2));
            const __m128i first = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
            const __m128i second = _mm_and_si128(bytes, nibble);
            const __m128i front = _mm_unpacklo_epi8(first, second); /* 16 codes in column order */
            const __m128i back = _mm_unpackhi_epi8(first, second);
            even = _mm256_fmadd_ps(nf4_lookup(front, low, high), _mm256_loadu_ps(x + j), even);
            odd = _mm256_fmadd_ps(nf4_lookup(_mm_srli_si128(front, 8), low, high),
                                  _mm256_loadu_ps(x + j + 8), odd);
            even = _mm256_fmadd_ps(nf4_lookup(back, low, high), _mm256_loadu_ps(x + j + 16), even);
            odd = _mm256_fmadd_ps(nf4_lookup(_mm_srli_si128(back, 8), low, high),
                                  _mm256_loadu_ps(x + j + 24), odd);
        }
        total =
            _mm256_fmadd_ps(_mm256_set1_ps(absmax[i / NF4_BLOCK]), _mm256_add_ps(even, odd), total);
    }
    const float sum = sum8(total);
    return i == n ? sum
                  : sum + ecoi_ref_dot_nf4(codes + i / 2, absmax + i / NF4_BLOCK, x + i, n - i);
}

AVX2 static void avx2_add_scaled(float *out, float p, const uint16_t *values, uint32_t n) {
    const __m256 factor = _mm256_set1_ps(p);
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i,
                         _mm256_fmadd_ps(factor, load_half8(values + i), _mm256_loadu_ps(out + i)));
    }
    if (i < n) {
        ecoi_ref_add_scaled(out + i, p, values + i, n - i);
    }
}

static const eco_cpu_sums sums_avx2 = {.isa = "avx2+fma+f16c",
                                       .summary = "AVX2 GEMV, rows over threads",
                                       .dot_half = avx2_dot_half,
                                       .dot_nf4 = avx2_dot_nf4,
                                       .add_scaled = avx2_add_scaled};

/* __builtin_cpu_supports knows "f16c" only in newer compilers; the bit is leaf 1, ecx 29. */
static bool cpu_has_f16c(void) {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1u << 29)) != 0;
}

const eco_cpu_sums *ecoi_cpu_sums_avx2(void) {
    const bool usable =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    return usable ? &sums_avx2 : NULL;
}

#else

const eco_cpu_sums *ecoi_cpu_sums_avx2(void) {
    return NULL;
}

#endif
