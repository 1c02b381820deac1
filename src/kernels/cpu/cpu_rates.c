/* SPDX-License-Identifier: Apache-2.0
 *
 * Independent multiply-adds, enough of them to cover an instruction's latency, on operands that the
 * compiler must take for new ones in every turn. Random operands; floats of 1 to 2 with either sign,
 * so that sums neither overflow nor become denormal.
 */
#include "kernels/cpu/cpu_rates.h"

#include <string.h>

enum { SUMS = 12, PORTABLE_LANES = 32 };
static const uint32_t float_keep = 0x807fffffu;
static const uint32_t float_set = 0x3f800000u;

static void random_floats(const uint8_t *random, float *out, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, random + 4 * (size_t)i % 256, sizeof bits);
        bits = (bits & float_keep) | float_set;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static uint32_t fold(const void *words, size_t n_bytes) {
    uint32_t sum = 0;
    for (size_t i = 0; i < n_bytes; i += sizeof sum) {
        uint32_t word;
        memcpy(&word, (const uint8_t *)words + i, sizeof word);
        sum = (sum ^ word) * 0x01000193u; /* FNV */
    }
    return sum;
}

static uint32_t portable_float(const uint8_t *random, uint32_t n_turns) {
    float a[PORTABLE_LANES];
    float sums[PORTABLE_LANES] = {0.0f};
    random_floats(random, a, PORTABLE_LANES);
    for (uint32_t n = 0; n < n_turns; n++) {
        __asm__ volatile("" : : "r"(a) : "memory");
        for (uint32_t i = 0; i < PORTABLE_LANES; i++) {
            sums[i] += a[i] * a[PORTABLE_LANES - 1 - i];
        }
    }
    return fold(sums, sizeof sums);
}

static uint32_t portable_int8(const uint8_t *random, uint32_t n_turns) {
    int8_t a[PORTABLE_LANES];
    uint32_t sums[PORTABLE_LANES] = {0};
    memcpy(a, random, sizeof a);
    for (uint32_t n = 0; n < n_turns; n++) {
        __asm__ volatile("" : : "r"(a) : "memory");
        for (uint32_t i = 0; i < PORTABLE_LANES; i++) {
            sums[i] += (uint32_t)((int32_t)a[i] * a[PORTABLE_LANES - 1 - i]);
        }
    }
    return fold(sums, sizeof sums);
}

#if defined(__x86_64__)

#include "kernels/cpu/x86_features.h"

#include <immintrin.h>

__attribute__((target("avx2,fma"))) static uint32_t avx2_float(const uint8_t *random,
                                                               uint32_t n_turns) {
    float values[32];
    random_floats(random, values, 32);
    __m256 a = _mm256_loadu_ps(values);
    __m256 b[3] = {_mm256_loadu_ps(values + 8), _mm256_loadu_ps(values + 16),
                   _mm256_loadu_ps(values + 24)};
    __m256 sums[SUMS];
    for (uint32_t i = 0; i < SUMS; i++) {
        sums[i] = _mm256_setzero_ps();
    }
    for (uint32_t n = 0; n < n_turns; n++) {
        __asm__ volatile("" : "+x"(a));
#pragma GCC unroll 12
        for (uint32_t i = 0; i < SUMS; i++) {
            sums[i] = _mm256_fmadd_ps(a, b[i % 3], sums[i]);
        }
    }
    return fold(sums, sizeof sums);
}

__attribute__((target("avx512f"))) static uint32_t avx512_float(const uint8_t *random,
                                                                uint32_t n_turns) {
    float values[64];
    random_floats(random, values, 64);
    __m512 a = _mm512_loadu_ps(values);
    __m512 b[3] = {_mm512_loadu_ps(values + 16), _mm512_loadu_ps(values + 32),
                   _mm512_loadu_ps(values + 48)};
    __m512 sums[SUMS];
    for (uint32_t i = 0; i < SUMS; i++) {
        sums[i] = _mm512_setzero_ps();
    }
    for (uint32_t n = 0; n < n_turns; n++) {
        __asm__ volatile("" : "+v"(a));
#pragma GCC unroll 12
        for (uint32_t i = 0; i < SUMS; i++) {
            sums[i] = _mm512_fmadd_ps(a, b[i % 3], sums[i]);
        }
    }
    return fold(sums, sizeof sums);
}

/* Bytes to pairs, pairs to INT32, INT32 to the sum: what AVX2 has for it. */
__attribute__((target("avx2"))) static uint32_t avx2_int8(const uint8_t *random, uint32_t n_turns) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)random);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i b[3];
    __m256i sums[SUMS];
    for (uint32_t i = 0; i < 3; i++) {
        b[i] = _mm256_loadu_si256((const __m256i *)(const void *)(random + 32 * (i + 1)));
    }
    for (uint32_t i = 0; i < SUMS; i++) {
        sums[i] = _mm256_setzero_si256();
    }
    for (uint32_t n = 0; n < n_turns; n++) {
#pragma GCC unroll 12
        for (uint32_t i = 0; i < SUMS; i++) {
            __asm__ volatile("" : "+x"(a));
            const __m256i pairs = _mm256_maddubs_epi16(a, b[i % 3]);
            sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs, ones));
        }
    }
    return fold(sums, sizeof sums);
}

__attribute__((target("avx512f,avx512vnni"))) static uint32_t avx512_int8(const uint8_t *random,
                                                                          uint32_t n_turns) {
    __m512i a = _mm512_loadu_si512(random);
    __m512i b[3];
    __m512i sums[SUMS];
    for (uint32_t i = 0; i < 3; i++) {
        b[i] = _mm512_loadu_si512(random + 64 * (i + 1));
    }
    for (uint32_t i = 0; i < SUMS; i++) {
        sums[i] = _mm512_setzero_si512();
    }
    for (uint32_t n = 0; n < n_turns; n++) {
        __asm__ volatile("" : "+v"(a));
#pragma GCC unroll 12
        for (uint32_t i = 0; i < SUMS; i++) {
            sums[i] = _mm512_dpbusd_epi32(sums[i], a, b[i % 3]);
        }
    }
    return fold(sums, sizeof sums);
}

eco_cpu_rate ecoi_cpu_rate(bool int8) {
    if (int8 && __builtin_cpu_supports("avx512vnni")) {
        return (eco_cpu_rate){"vpdpbusd, 512 bits", 2 * 64 * SUMS, avx512_int8};
    }
    if (int8 && ecoi_x86_has_avx2()) {
        return (eco_cpu_rate){"vpmaddubsw and vpmaddwd, 256 bits", 2 * 32 * SUMS, avx2_int8};
    }
    if (!int8 && __builtin_cpu_supports("avx512f")) {
        return (eco_cpu_rate){"vfmadd of FP32, 512 bits", 2 * 16 * SUMS, avx512_float};
    }
    if (!int8 && ecoi_x86_has_avx2()) {
        return (eco_cpu_rate){"vfmadd of FP32, 256 bits", 2 * 8 * SUMS, avx2_float};
    }
    return (eco_cpu_rate){"plain C", 2 * PORTABLE_LANES, int8 ? portable_int8 : portable_float};
}

#else

eco_cpu_rate ecoi_cpu_rate(bool int8) {
    return (eco_cpu_rate){"plain C", 2 * PORTABLE_LANES, int8 ? portable_int8 : portable_float};
}

#endif
