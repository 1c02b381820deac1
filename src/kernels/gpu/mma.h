/* SPDX-License-Identifier: Apache-2.0
 *
 * What the batched kernels need beside device.h, of compute capability 8.0: tensor-core products,
 * copies to shared memory that do not wait, byte permutes, FP16 pairs, and an arrival counter. As
 * in device.h there are two builds; in the emulated one a copy happens only when it is waited for.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_MMA_H
#define ECOCOMPUTE_KERNELS_GPU_MMA_H

#include "device.h"

#ifdef __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED
#endif
#define INLINE static inline __attribute__((always_inline))

/* An operand of a warp's product. Lane l = 4 g + t (g = l / 4, t = l % 4) of mma.m16n8k16 holds, as
 * pairs of FP16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
 *   A  a[0] row g,     k 2t, 2t+1    a[1] row g+8, the same    a[2], a[3] k 2t+8, 2t+9
 *   B  b[0] column g,  k 2t, 2t+1    b[1] k 2t+8, 2t+9
 *   C  c[0], c[1] row g, columns 2t, 2t+1    c[2], c[3] row g+8 */
#ifndef ECO_GPU_EMULATED

INLINE void mma_f16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    __asm__("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* m16n8k32 of signed bytes: as above with four bytes for each pair. */
INLINE void mma_s8(int32_t c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    __asm__("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Copies 16 bytes to shared memory, past the L1 cache; zeros when `take` is false, and then nothing
 * is read. */
INLINE void copy_async(SHARED void *to, const GLOBAL void *from, bool take) {
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)(uintptr_t)to),
                     "l"(from), "r"(take ? 16u : 0u)
                     : "memory");
}
INLINE void copy_async_4(SHARED void *to, const GLOBAL void *from, bool take) {
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)(uintptr_t)to),
                     "l"(from), "r"(take ? 4u : 0u)
                     : "memory");
}
INLINE void copy_commit(void) {
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
}
/* Until all but the `n` latest groups of this thread's copies are there: n is 4, 2, 1 or 0. */
INLINE void copy_wait(uint32_t n) {
    if (n == 4) {
        __asm__ volatile("cp.async.wait_group 4;" ::: "memory");
    } else if (n == 2) {
        __asm__ volatile("cp.async.wait_group 2;" ::: "memory");
    } else if (n == 1) {
        __asm__ volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
        __asm__ volatile("cp.async.wait_group 0;" ::: "memory");
    }
}

/* Byte i of the result is byte (selector >> 4 i) & 7 of the eight of b:a. */
INLINE uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t out;
    __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(selector));
    return out;
}
INLINE uint32_t half2_sub(uint32_t a, uint32_t b) {
    uint32_t out;
    __asm__("sub.rn.f16x2 %0, %1, %2;" : "=r"(out) : "r"(a), "r"(b));
    return out;
}
INLINE uint32_t half2_fma(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t out;
    __asm__("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(out) : "r"(a), "r"(b), "r"(c));
    return out;
}
INLINE uint32_t half2_of(float low, float high) {
    uint32_t out;
    __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
}

/* Barriers in shared memory (PTX ISA, "mbarrier"; compute capability 8.0): `n` arrivals end a phase and
 * begin the next one. Phases are counted from 0; barrier_wait returns when the latest one with this
 * parity has ended, and what was done before its arrivals is seen then. Before the first phase one
 * of parity 1 counts as ended. */
INLINE void barrier_init(SHARED uint64_t *barrier, uint32_t n) {
    __asm__ volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((uint32_t)(uintptr_t)barrier),
                     "r"(n)
                     : "memory");
}
INLINE void barrier_arrive(SHARED uint64_t *barrier) {
    __asm__ volatile(
        "{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"((uint32_t)(uintptr_t)barrier)
        : "memory");
}
/* Arrives when this thread's copies so far are there. */
INLINE void barrier_arrive_copied(SHARED uint64_t *barrier) {
    __asm__ volatile(
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"((uint32_t)(uintptr_t)barrier)
        : "memory");
}
INLINE void barrier_wait(SHARED uint64_t *barrier, uint32_t parity) {
    uint32_t ended = 0;
    do {
        __asm__ volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; "
                         "selp.u32 %0, 1, 0, p;}"
                         : "=r"(ended)
                         : "r"((uint32_t)(uintptr_t)barrier), "r"(parity)
                         : "memory");
    } while (ended == 0);
}

/* The number, which this compiler then does not know: a loop so often is written once in the text, and
 * as often as that by the driver's compiler. */
INLINE uint32_t known(uint32_t n) {
    uint32_t same;
    __asm__("mov.u32 %0, %1;" : "=r"(same) : "r"(n));
    return same;
}

INLINE void warp_meet(void) {
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
/* Of two warps, who name the same one of 15 barriers: 1 … 15. */
INLINE void pair_meet(uint32_t id) {
    __asm__ volatile("bar.sync %0, 64;" ::"r"(id) : "memory");
}
/* What a lane of the warp has. */
INLINE float shuffle_from(float value, uint32_t lane) {
    return __nvvm_shfl_sync_idx_f32(0xffffffffu, value, (int)lane, 31);
}
/* To two units in the last place. */
INLINE float div_near(float a, float b) {
    return __nvvm_div_approx_f(a, b);
}
/* Zeros when `take` is false, and then nothing is read. Without a branch. */
INLINE vec4 load_if(const GLOBAL vec4 *p, bool take) {
    uint32_t a, b, c, d;
    __asm__ volatile("{.reg .pred q; setp.ne.u32 q, %5, 0; mov.u32 %0, 0; mov.u32 %1, 0; "
                     "mov.u32 %2, 0; mov.u32 %3, 0; @q ld.global.v4.u32 {%0,%1,%2,%3}, [%4];}"
                     : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
                     : "l"(p), "r"((uint32_t)take));
    return (vec4){a, b, c, d};
}
/* What other multiprocessors wrote; asked for where it is written, so that several are on their way. */
INLINE vec4 load_l2(const GLOBAL vec4 *p) {
    uint32_t a, b, c, d;
    __asm__ volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                     : "l"(p));
    return (vec4){a, b, c, d};
}

/* What this thread wrote is seen by a block that sees what it does next. */
INLINE void fence_gpu(void) {
    __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
}
INLINE uint32_t atomic_increment(GLOBAL uint32_t *p) {
    uint32_t old;
    __asm__ volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory");
    return old;
}

#else

void mma_f16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
void mma_s8(int32_t c[4], const uint32_t a[4], uint32_t b0, uint32_t b1);
void copy_async(void *to, const void *from, bool take);
void copy_async_4(void *to, const void *from, bool take);
void copy_commit(void);
void copy_wait(uint32_t n);
uint32_t byte_permute(uint32_t a, uint32_t b, uint32_t selector);
uint32_t half2_sub(uint32_t a, uint32_t b);
uint32_t half2_fma(uint32_t a, uint32_t b, uint32_t c);
uint32_t half2_of(float low, float high);
void barrier_init(uint64_t *barrier, uint32_t n);
void barrier_arrive(uint64_t *barrier);
void barrier_arrive_copied(uint64_t *barrier);
void barrier_wait(uint64_t *barrier, uint32_t parity);
static inline uint32_t known(uint32_t n) {
    return n;
}
void warp_meet(void);
void pair_meet(uint32_t id);
float shuffle_from(float value, uint32_t lane);
static inline float div_near(float a, float b) {
    return a / b;
}
static inline vec4 load_if(const vec4 *p, bool take) {
    const vec4 none = {0, 0, 0, 0};
    return take ? *p : none;
}
static inline vec4 load_l2(const vec4 *p) {
    return *p;
}
static inline void fence_gpu(void) {
}
uint32_t atomic_increment(uint32_t *p);

#endif

/* A value of any lane's bits. */
INLINE uint32_t warp_or(uint32_t value) {
    UNROLL
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        value |= shuffle_xor_u32(value, mask);
    }
    return value;
}

#endif
