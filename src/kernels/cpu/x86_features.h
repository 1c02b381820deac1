/* SPDX-License-Identifier: Apache-2.0
 *
 * What the vector sums ask of an x86 CPU. Include on x86-64 only.
 */
#ifndef ECOCOMPUTE_KERNELS_CPU_X86_FEATURES_H
#define ECOCOMPUTE_KERNELS_CPU_X86_FEATURES_H

#include <cpuid.h>
#include <stdbool.h>

/* AVX2, FMA and F16C. __builtin_cpu_supports knows "f16c" only in newer compilers; the bit is leaf
 * 1, ecx 29. */
static inline bool ecoi_x86_has_avx2(void) {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1u << 29)) != 0;
}

#endif
