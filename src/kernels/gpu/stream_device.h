/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the persistent kernel, beyond device.h: loads that may be left out, loads past the first
 * cache, pairs of FP16, and the barrier of the whole grid. The host build's are in the tests'
 * scripted libcuda.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_DEVICE_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_DEVICE_H

#include "device.h"

typedef half half2 __attribute__((vector_size(4)));
typedef uint32_t vec2 __attribute__((vector_size(8)));

#define STREAM_INLINE static inline __attribute__((always_inline))
#define STREAM_OUTLINE static __attribute__((noinline))

union pair_bits {
    uint32_t word;
    half2 pair;
};
STREAM_INLINE half2 as_pair(uint32_t word) {
    const union pair_bits bits = {.word = word};
    return bits.pair;
}
STREAM_INLINE half2 pair_of(float value) {
    return (half2){(half)value, (half)value};
}
STREAM_INLINE float pair_sum(half2 pair) {
    return (float)pair[0] + (float)pair[1];
}

#ifndef ECO_GPU_EMULATED

/* What the text was specialised for: cuda_stream.c writes over these constants before the driver
 * compiles, so that code of other formats is gone then. One of enum gpu_stream_format; slots of a
 * warp's ring; warps that multiply. */
STREAM_INLINE uint32_t stream_format(void) {
    uint32_t format;
    __asm__("mov.u32 %0, 0x0ec0f000;" : "=r"(format));
    return format;
}
STREAM_INLINE uint32_t n_slots(void) {
    uint32_t n;
    __asm__("mov.u32 %0, 0x0ec0f001;" : "=r"(n));
    return n;
}
/* Until all but n_slots() - 2 of the thread's latest groups of copies are there. */
STREAM_INLINE void ring_wait(void) {
    __asm__ volatile("cp.async.wait_group 0x0ec0f003;" ::: "memory");
}
STREAM_INLINE uint32_t n_workers(void) {
    uint32_t n;
    __asm__("mov.u32 %0, 0x0ec0f002;" : "=r"(n));
    return n;
}

/* Whether the text is made one for compute capability 9.0 (mma.h). */
STREAM_INLINE bool has_bulk(void) {
    uint32_t bulk;
    __asm__("mov.u32 %0, 0x0ec0f004;" : "=r"(bulk));
    return bulk != 0;
}
/* A gain or embedding, asked for where it is written and used later. Zero where `wanted` is 0. */
STREAM_INLINE vec2 load_narrow_if(const GLOBAL char *p, bool wanted) {
    uint32_t a, b;
    __asm__ volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"
                     "mov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\t"
                     "@p ld.global.v2.u32 {%0,%1}, [%2];\n\t}"
                     : "=&r"(a), "=&r"(b)
                     : "l"(p), "r"((uint32_t)wanted));
    return (vec2){a, b};
}

/* sum + the four products of signed bytes. */
STREAM_INLINE int32_t dot_bytes(uint32_t a, uint32_t b, int32_t sum) {
    int32_t out;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(sum));
    return out;
}

/* As copy_async, four bytes. */
STREAM_INLINE void copy_async_word(SHARED void *to, const GLOBAL void *from, bool take) {
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)(uintptr_t)to),
                     "l"(from), "r"(take ? 4u : 0u)
                     : "memory");
}
STREAM_INLINE void warp_barrier(void) {
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* What other multiprocessors wrote: from the second cache. */
STREAM_INLINE vec4 load_shared_vec(const GLOBAL void *p) {
    uint32_t a, b, c, d;
    __asm__ volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "l"(p));
    return (vec4){a, b, c, d};
}
STREAM_INLINE float load_shared_float(const GLOBAL float *p) {
    float a;
    __asm__ volatile("ld.global.cg.f32 %0, [%1];" : "=f"(a) : "l"(p));
    return a;
}

/* To two units in the last place. */
STREAM_INLINE float rsqrt_fast(float x) {
    return __nvvm_rsqrt_approx_f(x);
}
STREAM_INLINE float div_fast(float a, float b) {
    return __nvvm_div_approx_f(a, b);
}

/* The value, which the compiler then cannot put into instructions as a constant. */
STREAM_INLINE uint32_t opaque(uint32_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

STREAM_INLINE void prefetch_second_cache(const GLOBAL void *p) {
    __asm__ volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* One more block has come here; what its threads wrote before is visible to who sees the count. */
STREAM_INLINE void grid_arrive(GLOBAL uint32_t *arrived) {
    __asm__ volatile("fence.acq_rel.gpu;\n\tred.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(arrived)
                     : "memory");
}
/* Until `n` have come. Some 67 million turns at most, then the
 * kernel faults, so that a mistake is an error and not a hang. */
STREAM_INLINE void grid_wait(const GLOBAL uint32_t *arrived, uint32_t n) {
    uint32_t seen = 0;
    for (uint32_t turns = 0; seen < n; turns++) {
        __asm__ volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(seen)
                         : "l"(arrived)
                         : "memory");
        if (turns > 1u << 26) {
            __asm__ volatile("trap;");
        }
    }
}

#else

#include <math.h>

static inline vec2 load_narrow_if(const char *p, bool wanted) {
    const vec2 none = {0, 0};
    return wanted ? *(const vec2 *)(const void *)p : none;
}
static inline int32_t dot_bytes(uint32_t a, uint32_t b, int32_t sum) {
    for (uint32_t i = 0; i < 32; i += 8) {
        sum += (int8_t)(a >> i & 255) * (int8_t)(b >> i & 255);
    }
    return sum;
}
static inline void copy_async_word(void *to, const void *from, bool take) {
    *(uint32_t *)to = take ? *(const uint32_t *)from : 0;
}
void warp_barrier(void);
static inline vec4 load_shared_vec(const void *p) {
    return *(const vec4 *)p;
}
static inline float load_shared_float(const float *p) {
    return *p;
}
static inline float rsqrt_fast(float x) {
    return 1.0f / sqrtf(x);
}
static inline float div_fast(float a, float b) {
    return a / b;
}
static inline uint32_t opaque(uint32_t value) {
    return value;
}
static inline void prefetch_second_cache(const void *p) {
    (void)p;
}
uint32_t stream_format(void);
uint32_t n_slots(void);
uint32_t n_workers(void);
void ring_wait(void);
bool has_bulk(void);
void grid_arrive(uint32_t *arrived);
void grid_wait(const uint32_t *arrived, uint32_t n);

#endif

#endif
