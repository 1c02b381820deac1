/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the persistent kernel, beyond device.h: loads that may be left out, loads past the first
 * cache, pairs of FP16, and words
 * that blocks tell one another. The host build's are in the tests'
 * scripted libcuda.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_STREAM_DEVICE_H
#define ECOCOMPUTE_KERNELS_GPU_STREAM_DEVICE_H

#include "device.h"
#include "stream_args.h"

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

/* Constants that are written over before the driver compiles the text: what follows from them is gone
 * then, or folded. */
#define STREAM_CONSTANT(function, argument, mark)       \
    STREAM_INLINE uint32_t function(void) {             \
        uint32_t value;                                 \
        __asm__("mov.u32 %0, " mark ";" : "=r"(value)); \
        return value;                                   \
    }
STREAM_CONSTANTS(STREAM_CONSTANT)

/* Until all but n_slots() - 2 of the thread's latest groups of copies are there. */
STREAM_INLINE void ring_wait(void) {
    __asm__ volatile("cp.async.wait_group 0x0ec0f003;" ::: "memory");
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
/* `row` rows further. One instruction. */
STREAM_INLINE const GLOBAL char *rows_on(const GLOBAL char *at, uint32_t row_bytes, uint32_t row) {
    const GLOBAL char *out;
    __asm__("mad.wide.u32 %0, %1, %2, %3;" : "=l"(out) : "r"(row_bytes), "r"(row), "l"(at));
    return out;
}
/* Loads 64 bytes where they are wanted; other lanes keep what they have. */
STREAM_INLINE void load_shared_if(vec4 x[4], const SHARED vec4 *p, bool wanted) {
    __asm__ volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %17, 0;\n\t"
                     "@p ld.shared.v4.u32 {%0,%1,%2,%3}, [%16];\n\t"
                     "@p ld.shared.v4.u32 {%4,%5,%6,%7}, [%16+16];\n\t"
                     "@p ld.shared.v4.u32 {%8,%9,%10,%11}, [%16+32];\n\t"
                     "@p ld.shared.v4.u32 {%12,%13,%14,%15}, [%16+48];\n\t}"
                     : "+r"(x[0][0]), "+r"(x[0][1]), "+r"(x[0][2]), "+r"(x[0][3]), "+r"(x[1][0]),
                       "+r"(x[1][1]), "+r"(x[1][2]), "+r"(x[1][3]), "+r"(x[2][0]), "+r"(x[2][1]),
                       "+r"(x[2][2]), "+r"(x[2][3]), "+r"(x[3][0]), "+r"(x[3][1]), "+r"(x[3][2]),
                       "+r"(x[3][3])
                     : "r"((uint32_t)(uintptr_t)p), "r"((uint32_t)wanted)
                     : "memory");
}
STREAM_INLINE void warp_barrier(void) {
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/* Words that blocks tell one another: a value and the turn it is of, stored and loaded as one, so that
 * the turn vouches for the value and neither a barrier nor a fence is needed. Words are stored once a turn, and
 * only after all have been heard that depend on the turn before (stream.c): a word is of the turn that is
 * waited for or of the one before it. */
STREAM_INLINE void tell(GLOBAL uint64_t *to, uint32_t value, uint32_t turn) {
    __asm__ volatile(
        "{\n\t.reg .b64 w;\n\tmov.b64 w, {%1, %2};\n\tst.relaxed.gpu.global.b64 [%0], w;\n\t}" ::
            "l"(to),
        "r"(value), "r"(turn)
        : "memory");
}
/* Two neighbours, at a multiple of 16 bytes. */
STREAM_INLINE void tell_two(GLOBAL uint64_t *to, uint32_t first, uint32_t second, uint32_t turn) {
    __asm__ volatile("{\n\t.reg .b64 v, w;\n\tmov.b64 v, {%1, %3};\n\tmov.b64 w, {%2, %3};\n\t"
                     "st.relaxed.gpu.global.v2.b64 [%0], {v, w};\n\t}" ::"l"(to),
                     "r"(first), "r"(second), "r"(turn)
                     : "memory");
}
/* FP16 with the lower half of the turn. */
STREAM_INLINE void tell_half(GLOBAL uint32_t *to, half value, uint32_t turn) {
    const union fp16_bits bits = {.value = value};
    __asm__ volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(to),
                     "r"((uint32_t)bits.bits | turn << 16)
                     : "memory");
}
/* Two words, a value and its turn each. */
STREAM_INLINE vec4 hear_two(const GLOBAL uint64_t *from) {
    uint64_t a, b;
    __asm__ volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                     : "=l"(a), "=l"(b)
                     : "l"(from)
                     : "memory");
    return (vec4){(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)};
}
STREAM_INLINE vec2 hear_one(const GLOBAL uint64_t *from) {
    uint64_t a;
    __asm__ volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(a) : "l"(from) : "memory");
    return (vec2){(uint32_t)a, (uint32_t)(a >> 32)};
}
/* Four words of halves. */
STREAM_INLINE vec4 hear_halves(const GLOBAL uint32_t *from) {
    uint32_t a, b, c, d;
    __asm__ volatile("ld.relaxed.gpu.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "l"(from)
                     : "memory");
    return (vec4){a, b, c, d};
}
/* Once more around a loop that waits for others. After some 67 million the kernel faults, so that a mistake
 * is an error and not a hang. */
STREAM_INLINE void wait_on(uint32_t *turns) {
    *turns += 1;
    if (*turns > 1u << 26) {
        __asm__ volatile("trap;");
    }
}
/* To two units in the last place. */
STREAM_INLINE float rsqrt_fast(float x) {
    return __nvvm_rsqrt_approx_f(x);
}
STREAM_INLINE float div_fast(float a, float b) {
    return __nvvm_div_approx_f(a, b);
}

STREAM_INLINE void prefetch_second_cache(const GLOBAL void *p) {
    __asm__ volatile("prefetch.global.L2 [%0];" ::"l"(p));
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
static inline const char *rows_on(const char *at, uint32_t row_bytes, uint32_t row) {
    return at + (uint64_t)row * row_bytes;
}
static inline void load_shared_if(vec4 x[4], const vec4 *p, bool wanted) {
    for (int k = 0; wanted && k < 4; k++) {
        x[k] = p[k];
    }
}
static inline float rsqrt_fast(float x) {
    return 1.0f / sqrtf(x);
}
static inline float div_fast(float a, float b) {
    return a / b;
}
static inline void prefetch_second_cache(const void *p) {
    (void)p;
}
#define STREAM_CONSTANT(function, argument, mark) uint32_t function(void);
STREAM_CONSTANTS(STREAM_CONSTANT)
void ring_wait(void);
void tell(uint64_t *to, uint32_t value, uint32_t turn);
static inline void tell_two(uint64_t *to, uint32_t first, uint32_t second, uint32_t turn) {
    tell(to, first, turn);
    tell(to + 1, second, turn);
}
void tell_half(uint32_t *to, half value, uint32_t turn);
static inline vec4 hear_two(const uint64_t *from) {
    return (vec4){(uint32_t)from[0], (uint32_t)(from[0] >> 32), (uint32_t)from[1],
                  (uint32_t)(from[1] >> 32)};
}
static inline vec2 hear_one(const uint64_t *from) {
    return (vec2){(uint32_t)*from, (uint32_t)(*from >> 32)};
}
static inline vec4 hear_halves(const uint32_t *from) {
    return *(const vec4 *)(const void *)from;
}
void wait_on(uint32_t *turns);

#endif

#endif
