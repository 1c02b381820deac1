/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic weights made on the device, bit-equal to the host's (synthetic.h, quant.h): no file, no
 * copy over the bus. Multiplications and additions that decide a bit are explicitly rounded, so
 * that neither compiler may fuse them.
 */
#include "args.h"
#include "device.h"
#include "kernels/quant.h"
#include "kernels/synthetic.h"

static inline half weight(uint64_t key, uint64_t i, float offset, float scale) {
    return (half)add_rounded(offset, mul_rounded(scale, syn_normal(key, i)));
}

static inline uint64_t grid_thread(void) {
    return (uint64_t)block_index() * block_size() + thread_index();
}
static inline uint64_t grid_threads(void) {
    return (uint64_t)grid_size() * block_size();
}

KERNEL eco_fill_fp16(const struct gpu_fill_fp16_args a) {
    const uint64_t n = a.rows * a.stride;
    for (uint64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint64_t row = i / a.stride;
        const uint64_t col = i % a.stride;
        a.out[i] = col < a.cols ? weight(a.key, row * a.cols + col, a.offset, a.scale) : (half)0.0f;
    }
}

/* One thread a block of 64: once for the largest, once for the codes; cheaper than keeping 64
 * values. */
KERNEL eco_fill_nf4(const struct gpu_fill_nf4_args a) {
    const uint64_t n = a.rows * a.n_blocks;
    for (uint64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint64_t row = i / a.n_blocks;
        const uint32_t first = (uint32_t)(i % a.n_blocks) * NF4_BLOCK;
        const uint32_t last = min_u32(first + NF4_BLOCK, a.cols);
        const uint32_t end = min_u32(first + NF4_BLOCK, a.stride);
        const uint64_t base = row * a.cols;
        float absmax = 0.0f;
        for (uint32_t c = first; c < last; c++) {
            const float value = (float)weight(a.key, base + c, 0.0f, a.scale);
            absmax = max_f32(absmax, value < 0.0f ? -value : value);
        }
        a.absmax[i] = absmax;
        const float inverse = absmax > 0.0f ? div_rounded(1.0f, absmax) : 0.0f;
        GLOBAL uint8_t *codes = a.codes + row * (a.stride / 2);
        for (uint32_t c = first; c < end; c += 2) {
            uint32_t byte = 0;
            for (uint32_t k = 0; k < 2; k++) {
                uint32_t code = 7; /* the value 0, for padding */
                if (c + k < last) {
                    const float value = (float)weight(a.key, base + c + k, 0.0f, a.scale);
                    code = nf4_encode(mul_rounded(value, inverse));
                }
                byte |= code << (4 * k);
            }
            codes[c / 2] = (uint8_t)byte;
        }
    }
}

/* Bits without pattern, for the read ceiling. */
KERNEL eco_fill_random(const struct gpu_fill_random_args a) {
    for (uint64_t i = grid_thread(); i < a.n_words; i += grid_threads()) {
        a.out[i] = syn_mix(i * 0x9E3779B97F4A7C15ull);
    }
}
