/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic weights made on the device, bit-equal to the host's (synthetic.h, quant.h): no file, no
 * copy over the bus. A product that a sum follows is explicitly rounded, so that neither compiler
 * may fuse them; the functions of quant.h hold none.
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

/* The FP16 number at `col` of row `row` of a tensor without offset, as FP32. */
static inline float value_at(const struct gpu_fill_args *a, uint64_t row, uint32_t col) {
    return (float)weight(a->key, row * a->cols + col, 0.0f, a->scale);
}

/* MARK: - 16 bits: one thread a weight */

KERNEL eco_fill_fp16(const struct gpu_fill_args a) {
    GLOBAL half *out = (GLOBAL half *)a.weights;
    const uint64_t n = a.rows * a.stride;
    for (uint64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint64_t row = i / a.stride;
        const uint64_t col = i % a.stride;
        half value = (half)0.0f;
        if (col < a.cols) {
            value = weight(a.key, row * a.cols + col, a.offset, a.scale);
            if (syn_is_outlier(a.outlier_key, col, a.outlier_permille)) {
                value = (half)mul_rounded((float)value, SYN_OUTLIER_GAIN);
            }
        }
        out[row * a.row_step * a.stride + col] = value;
    }
}

KERNEL eco_fill_bf16(const struct gpu_fill_args a) {
    GLOBAL uint16_t *out = (GLOBAL uint16_t *)a.weights;
    const uint64_t n = a.rows * a.stride;
    for (uint64_t i = grid_thread(); i < n; i += grid_threads()) {
        const uint64_t row = i / a.stride;
        const uint32_t col = (uint32_t)(i % a.stride);
        out[row * a.row_step * a.stride + col] =
            col < a.cols ? bf16_encode(value_at(&a, row, col)) : (uint16_t)0;
    }
}

/* MARK: - Blocks: one thread a block, its values made twice; cheaper than keeping them */

/* Columns first … last - 1 belong to block `index` of a row; those up to end are stored. */
struct block {
    uint64_t row, to; /* of the tensor, of the matrix */
    uint32_t index, first, last, end;
};

static inline struct block block_at(const struct gpu_fill_args *a, uint64_t i, uint32_t size) {
    const uint64_t row = i / a->n_blocks;
    const uint32_t index = (uint32_t)(i % a->n_blocks);
    const uint32_t first = index * size;
    return (struct block){.row = row,
                          .to = row * a->row_step,
                          .index = index,
                          .first = first,
                          .last = min_u32(first + size, a->cols),
                          .end = min_u32(first + size, a->stride)};
}

/* The value of largest magnitude, the first of equals. */
static inline float block_extreme(const struct gpu_fill_args *a, const struct block *b) {
    float extreme = 0.0f;
    for (uint32_t c = b->first; c < b->last; c++) {
        const float value = value_at(a, b->row, c);
        extreme = quant_magnitude(value) > quant_magnitude(extreme) ? value : extreme;
    }
    return extreme;
}

typedef uint32_t nibble_function(float ratio);

/* Codes of a block from value · inverse, the even column in the low nibble. */
static inline void store_nibbles(const struct gpu_fill_args *a, const struct block *b,
                                 float inverse, uint32_t padding, nibble_function *encode) {
    GLOBAL uint8_t *codes = (GLOBAL uint8_t *)a->weights + b->to * (a->stride / 2);
    for (uint32_t c = b->first; c < b->end; c += 2) {
        uint32_t byte = 0;
        for (uint32_t k = 0; k < 2; k++) {
            const uint32_t code = c + k < b->last
                                      ? encode(mul_rounded(value_at(a, b->row, c + k), inverse))
                                      : padding;
            byte |= code << (4 * k);
        }
        codes[c / 2] = (uint8_t)byte;
    }
}

KERNEL eco_fill_nf4(const struct gpu_fill_args a) {
    for (uint64_t i = grid_thread(); i < a.rows * a.n_blocks; i += grid_threads()) {
        const struct block b = block_at(&a, i, NF4_BLOCK);
        const float absmax = quant_magnitude(block_extreme(&a, &b));
        ((GLOBAL float *)a.scales)[b.to * a.n_blocks + b.index] = absmax;
        store_nibbles(&a, &b, absmax > 0.0f ? div_rounded(1.0f, absmax) : 0.0f, NF4_ZERO,
                      nf4_encode);
    }
}

KERNEL eco_fill_q4_0(const struct gpu_fill_args a) {
    for (uint64_t i = grid_thread(); i < a.rows * a.n_blocks; i += grid_threads()) {
        const struct block b = block_at(&a, i, GGML_BLOCK);
        const float d = q4_0_scale(block_extreme(&a, &b));
        ((GLOBAL half *)a.scales)[b.to * a.n_blocks + b.index] = (half)d;
        store_nibbles(&a, &b, d != 0.0f ? div_rounded(1.0f, d) : 0.0f, Q4_0_ZERO, q4_0_code);
    }
}

KERNEL eco_fill_q8_0(const struct gpu_fill_args a) {
    for (uint64_t i = grid_thread(); i < a.rows * a.n_blocks; i += grid_threads()) {
        const struct block b = block_at(&a, i, GGML_BLOCK);
        const float d = q8_0_scale(quant_magnitude(block_extreme(&a, &b)));
        const float inverse = d != 0.0f ? div_rounded(1.0f, d) : 0.0f;
        ((GLOBAL half *)a.scales)[b.to * a.n_blocks + b.index] = (half)d;
        GLOBAL int8_t *codes = (GLOBAL int8_t *)a.weights + b.to * a.stride;
        for (uint32_t c = b.first; c < b.end; c++) {
            codes[c] = c < b.last ? (int8_t)q8_0_code(mul_rounded(value_at(&a, b.row, c), inverse))
                                  : (int8_t)0;
        }
    }
}

/* MARK: - A scale a row: one warp a row */

static inline float row_absmax(const struct gpu_fill_args *a, uint64_t row) {
    float absmax = 0.0f;
    for (uint32_t c = thread_index() % WARP; c < a->cols; c += WARP) {
        absmax = max_f32(absmax, quant_magnitude(value_at(a, row, c)));
    }
    UNROLL
    for (uint32_t mask = 16; mask > 0; mask >>= 1) {
        absmax = max_f32(absmax, shuffle_xor(absmax, mask));
    }
    return absmax;
}

typedef uint32_t byte_function(float value, float scale);

static inline uint32_t int8_byte(float value, float absmax) {
    return (uint8_t)int8_code(value, absmax);
}

typedef float scale_function(float absmax);

static inline float absmax_itself(float absmax) {
    return absmax;
}

static inline void fill_rows(const struct gpu_fill_args *a, scale_function *scale_of,
                             byte_function *encode) {
    const uint64_t n_warps = grid_threads() / WARP;
    for (uint64_t row = grid_thread() / WARP; row < a->rows; row += n_warps) {
        const float scale = scale_of(row_absmax(a, row));
        const uint64_t to = row * a->row_step;
        if (thread_index() % WARP == 0) {
            ((GLOBAL float *)a->scales)[to] = scale;
        }
        GLOBAL uint8_t *codes = (GLOBAL uint8_t *)a->weights + to * a->stride;
        for (uint32_t c = thread_index() % WARP; c < a->stride; c += WARP) {
            codes[c] = c < a->cols ? (uint8_t)encode(value_at(a, row, c), scale) : (uint8_t)0;
        }
    }
}

KERNEL eco_fill_int8(const struct gpu_fill_args a) {
    fill_rows(&a, absmax_itself, int8_byte);
}

KERNEL eco_fill_fp8(const struct gpu_fill_args a) {
    fill_rows(&a, fp8_scale, fp8_code);
}

/* Bits without pattern, for the read ceiling. */
KERNEL eco_fill_random(const struct gpu_fill_random_args a) {
    for (uint64_t i = grid_thread(); i < a.n_words; i += grid_threads()) {
        a.out[i] = syn_mix(i * 0x9E3779B97F4A7C15ull);
    }
}
