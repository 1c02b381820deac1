/* SPDX-License-Identifier: Apache-2.0
 *
 * The few words that kernels in plain C need: address spaces, thread ids, shuffles, barriers, wide
 * loads. Two builds of the same kernels: clang's NVPTX target (the product), and a host build in
 * which the test's scripted libcuda runs each thread of a block as a fiber (ECO_GPU_EMULATED), so
 * that kernels are checked without a GPU.
 */
#ifndef ECOCOMPUTE_KERNELS_GPU_DEVICE_H
#define ECOCOMPUTE_KERNELS_GPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef _Float16 half;
typedef uint32_t vec4 __attribute__((vector_size(16))); /* 16 bytes: 8 FP16 or 32 NF4 values */

enum { WARP = 32 };

#if defined(__clang__) && !defined(ECO_GPU_EMULATED) /* a host compiler may do as it likes */
#define UNROLL _Pragma("clang loop unroll(full)")
#define UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#define NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define UNROLL
#define UNROLL_TWICE
#define NOT_UNROLLED
#endif

#ifndef ECO_GPU_EMULATED

#define KERNEL __attribute__((nvptx_kernel)) void
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))

static inline uint32_t thread_index(void) {
    return (uint32_t)__nvvm_read_ptx_sreg_tid_x();
}
static inline uint32_t block_index(void) {
    return (uint32_t)__nvvm_read_ptx_sreg_ctaid_x();
}
static inline uint32_t block_index_y(void) {
    return (uint32_t)__nvvm_read_ptx_sreg_ctaid_y();
}
static inline uint32_t block_size(void) {
    return (uint32_t)__nvvm_read_ptx_sreg_ntid_x();
}
static inline uint32_t grid_size(void) {
    return (uint32_t)__nvvm_read_ptx_sreg_nctaid_x();
}
static inline void block_barrier(void) {
    __syncthreads();
}

/* All 32 lanes take part in each shuffle: callers keep the branch around it uniform over the warp.
 */
static inline float shuffle_xor(float value, uint32_t mask) {
    return __nvvm_shfl_sync_bfly_f32(0xffffffffu, value, (int)mask, 31);
}
static inline uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask) {
    return (uint32_t)__nvvm_shfl_sync_bfly_i32(0xffffffffu, (int)value, (int)mask, 31);
}

static inline float exp2_fast(float x) {
    return __nvvm_ex2_approx_ftz_f(x);
}
static inline float sqrt_rounded(float x) {
    return __nvvm_sqrt_rn_f(x);
}
/* Never fused, by this compiler or by the driver's. */
static inline float mul_rounded(float a, float b) {
    return __nvvm_mul_rn_f(a, b);
}
static inline float add_rounded(float a, float b) {
    return __nvvm_add_rn_f(a, b);
}
static inline float div_rounded(float a, float b) {
    return __nvvm_div_rn_f(a, b);
}

/* Publishes to the host: everything before it is visible to a reader that acquires the value. */
static inline void store_release_system(GLOBAL uint64_t *p, uint64_t value) {
    __asm__ volatile("fence.acq_rel.sys;\n\tst.release.sys.global.u64 [%0], %1;" ::"l"(p),
                     "l"(value)
                     : "memory");
}

extern SHARED vec4 shared_dynamic[];

#else

#define KERNEL static void
#define SHARED
#define GLOBAL

uint32_t thread_index(void);
uint32_t block_index(void);
uint32_t block_index_y(void);
uint32_t block_size(void);
uint32_t grid_size(void);
void block_barrier(void);
float shuffle_xor(float value, uint32_t mask);
uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask);
float exp2_fast(float x);
float sqrt_rounded(float x);
float mul_rounded(float a, float b);
float add_rounded(float a, float b);
float div_rounded(float a, float b);
void store_release_system(uint64_t *p, uint64_t value);
vec4 *shared_of_block(void);
#define shared_dynamic shared_of_block()

#endif

static inline float fma_f32(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
static inline float exp_fast(float x) {
    return exp2_fast(x * 1.44269504f);
}
static inline float max_f32(float a, float b) {
    return a > b ? a : b;
}
static inline uint32_t min_u32(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static inline float warp_sum(float value) {
    UNROLL
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        value += shuffle_xor(value, mask);
    }
    return value;
}

/* The FP16 pair in a 32-bit word. */
union fp16_bits {
    uint16_t bits;
    half value;
};
static inline float half_low(uint32_t word) {
    const union fp16_bits low = {.bits = (uint16_t)word};
    return (float)low.value;
}
static inline float half_high(uint32_t word) {
    const union fp16_bits high = {.bits = (uint16_t)(word >> 16)};
    return (float)high.value;
}

#endif
