/* SPDX-License-Identifier: Apache-2.0
 *
 * The inner sums with NEON, which every AArch64 CPU has. Sixteen weights at a time: 16-bit formats
 * are widened, 8-bit codes become FP32, Q4_0's nibbles too; NF4's sixteen values, in FP32, are a
 * table of 64 bytes of which four look-ups pick the bytes. A block is summed before its scale
 * multiplies it. FP8 becomes FP16 by a shift, 2^8 too small. Sums are made in another order than the
 * reference's, hence differ in the last bits; INT8's are integers and do not.
 */
#include "kernels/cpu/forward.h"

#if defined(__aarch64__)

#include "kernels/cpu/reference.h"
#include "kernels/half.h"
#include "kernels/quant.h"

#include <arm_neon.h>

/* Sixteen values in column order. */
typedef struct sixteen {
    float32x4_t part[4];
} sixteen;

static inline float32x4_t half4(uint16x4_t bits) {
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
}

static inline sixteen half16(const uint16_t *values) {
    sixteen out;
    for (int k = 0; k < 4; k++) {
        out.part[k] = half4(vld1_u16(values + 4 * k));
    }
    return out;
}

static inline sixteen bf16_16(const uint16_t *values) {
    sixteen out;
    for (int k = 0; k < 4; k++) {
        out.part[k] = vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(values + 4 * k), 16));
    }
    return out;
}

static inline sixteen widened(int8x16_t codes) {
    const int16x8_t low = vmovl_s8(vget_low_s8(codes));
    const int16x8_t high = vmovl_s8(vget_high_s8(codes));
    return (sixteen){{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
                      vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
                      vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
                      vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))}};
}

static inline sixteen int8_16(const int8_t *codes) {
    return widened(vld1q_s8(codes));
}

/* E4M3's sign, exponent and fraction moved to FP16's places: the value / 256. */
static inline sixteen fp8_16(const uint8_t *codes) {
    const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(codes));
    const uint16x8_t mask = vdupq_n_u16(0xbfff);
    const uint16x8_t low =
        vandq_u16(vreinterpretq_u16_s16(vshll_n_s8(vget_low_s8(bytes), 7)), mask);
    const uint16x8_t high =
        vandq_u16(vreinterpretq_u16_s16(vshll_n_s8(vget_high_s8(bytes), 7)), mask);
    return (sixteen){{half4(vget_low_u16(low)), half4(vget_high_u16(low)),
                      half4(vget_low_u16(high)), half4(vget_high_u16(high))}};
}

static inline void add_products(sixteen *sum, const sixteen *w, const float *x) {
    for (int k = 0; k < 4; k++) {
        sum->part[k] = vfmaq_f32(sum->part[k], w->part[k], vld1q_f32(x + 4 * k));
    }
}

static inline float total(const sixteen *sum) {
    return vaddvq_f32(
        vaddq_f32(vaddq_f32(sum->part[0], sum->part[1]), vaddq_f32(sum->part[2], sum->part[3])));
}

static inline sixteen zeros(void) {
    const float32x4_t zero = vdupq_n_f32(0.0f);
    return (sixteen){{zero, zero, zero, zero}};
}

static const void *row_of(const eco_cpu_matrix *m, size_t row) {
    return (const uint8_t *)m->weights + row * m->n_row_bytes;
}

/* MARK: - One scale a row, or none */

#define SUM_OF_16S(load, w)                        \
    sixteen sums = zeros();                        \
    for (uint32_t i = 0; i < m->stride; i += 16) { \
        const sixteen weights = load((w) + i);     \
        add_products(&sums, &weights, in->x + i);  \
    }                                              \
    const float sum = total(&sums)

static float dot_fp16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_16S(half16, w);
    return sum;
}

static float dot_bf16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint16_t *w = row_of(m, row);
    SUM_OF_16S(bf16_16, w);
    return sum;
}

static float dot_w8a16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    SUM_OF_16S(int8_16, w);
    return sum * (m->scales[row] / 127.0f);
}

static float dot_fp8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint8_t *w = row_of(m, row);
    SUM_OF_16S(fp8_16, w);
    return sum * 256.0f * m->scales[row];
}

/* A lane takes a quarter of 64 columns' products before it is widened: no overflow. */
static float dot_int8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *w = row_of(m, row);
    int64x2_t all = vdupq_n_s64(0);
    for (uint32_t i = 0; i < m->stride; i += CPU_COLUMN_UNIT) {
        int32x4_t sum = vdupq_n_s32(0);
        for (uint32_t k = i; k < i + CPU_COLUMN_UNIT; k += 8) {
            const int16x8_t weights = vmovl_s8(vld1_s8(w + k));
            const int16x8_t codes = vld1q_s16(in->codes + k);
            sum = vmlal_s16(sum, vget_low_s16(weights), vget_low_s16(codes));
            sum = vmlal_s16(sum, vget_high_s16(weights), vget_high_s16(codes));
        }
        all = vpadalq_s32(all, sum);
    }
    return ecoi_cpu_int8_result(m, row, in, vaddvq_s64(all));
}

/* MARK: - Scales of blocks */

/* Entry c of the table is four bytes from 4 c on. */
static inline sixteen nf4_16(uint8x16_t codes, const uint8x16x4_t *table) {
    const uint8x16_t first = vshlq_n_u8(codes, 2);
    uint8x16_t bytes[4];
    for (int k = 0; k < 4; k++) {
        bytes[k] = vqtbl4q_u8(*table, vaddq_u8(first, vdupq_n_u8((uint8_t)k)));
    }
    const uint8x16x2_t low = vzipq_u8(bytes[0], bytes[1]);
    const uint8x16x2_t high = vzipq_u8(bytes[2], bytes[3]);
    sixteen out;
    for (int k = 0; k < 2; k++) {
        const uint16x8x2_t whole =
            vzipq_u16(vreinterpretq_u16_u8(low.val[k]), vreinterpretq_u16_u8(high.val[k]));
        out.part[2 * k] = vreinterpretq_f32_u16(whole.val[0]);
        out.part[2 * k + 1] = vreinterpretq_f32_u16(whole.val[1]);
    }
    return out;
}

static inline uint8x16x4_t load_nf4_table(void) {
    static const float values[NF4_CODES] = {NF4_VALUES};
    uint8x16x4_t table;
    for (int k = 0; k < 4; k++) {
        table.val[k] = vreinterpretq_u8_f32(vld1q_f32(values + 4 * k));
    }
    return table;
}

static inline sixteen nf4_block(const uint8_t *codes, const float *x, const uint8x16x4_t *table) {
    sixteen sum = zeros();
    for (int k = 0; k < 2; k++) {
        const uint8x16_t bytes = vld1q_u8(codes + 16 * k);
        const sixteen low = nf4_16(vandq_u8(bytes, vdupq_n_u8(15)), table);
        const sixteen high = nf4_16(vshrq_n_u8(bytes, 4), table);
        add_products(&sum, &low, x + 32 * k);
        add_products(&sum, &high, x + 32 * k + 16);
    }
    return sum;
}

/* sum += block · scale */
static inline void add_scaled_block(sixteen *sum, const sixteen *block, float scale) {
    for (int k = 0; k < 4; k++) {
        sum->part[k] = vfmaq_n_f32(sum->part[k], block->part[k], scale);
    }
}

static float dot_nf4(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint8x16x4_t table = load_nf4_table();
    const uint8_t *codes = row_of(m, row);
    sixteen sum = zeros();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const sixteen block =
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, &table);
        add_scaled_block(&sum, &block, m->scales[row * m->n_blocks + b]);
    }
    return total(&sum);
}

static float dot_nf4_dq(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const uint8x16x4_t table = load_nf4_table();
    const uint8_t *codes = row_of(m, row);
    sixteen sum = zeros();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const sixteen block =
            nf4_block(codes + (size_t)b * 32, in->x + (size_t)b * NF4_BLOCK, &table);
        add_scaled_block(&sum, &block, ecoi_cpu_dq_absmax(m, row * m->n_blocks + b));
    }
    return total(&sum);
}

static float dot_q4_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8x16_t eight = vdupq_n_s8(8);
    const uint8_t *codes = row_of(m, row);
    sixteen sum = zeros();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        const uint8x16_t bytes = vld1q_u8(codes + (size_t)b * 16);
        const sixteen low =
            widened(vsubq_s8(vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), eight));
        const sixteen high = widened(vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), eight));
        sixteen block = zeros();
        add_products(&block, &low, x);
        add_products(&block, &high, x + 16);
        add_scaled_block(&sum, &block, half_to_float(m->half_scales[row * m->n_blocks + b]));
    }
    return total(&sum);
}

static float dot_q8_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *codes = row_of(m, row);
    sixteen sum = zeros();
    for (uint32_t b = 0; b < m->n_blocks; b++) {
        const float *x = in->x + (size_t)b * GGML_BLOCK;
        const sixteen first = int8_16(codes + (size_t)b * GGML_BLOCK);
        const sixteen second = int8_16(codes + (size_t)b * GGML_BLOCK + 16);
        sixteen block = zeros();
        add_products(&block, &first, x);
        add_products(&block, &second, x + 16);
        add_scaled_block(&sum, &block, half_to_float(m->half_scales[row * m->n_blocks + b]));
    }
    return total(&sum);
}

static eco_cpu_dot *const dots[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = dot_fp16,     [ECO_FORMAT_BF16] = dot_bf16, [ECO_FORMAT_NF4] = dot_nf4,
    [ECO_FORMAT_NF4_DQ] = dot_nf4_dq, [ECO_FORMAT_INT8] = dot_int8, [ECO_FORMAT_W8A16] = dot_w8a16,
    [ECO_FORMAT_Q4_0] = dot_q4_0,     [ECO_FORMAT_Q8_0] = dot_q8_0, [ECO_FORMAT_FP8] = dot_fp8,
};

/* MARK: - Attention: rows of the cache, of any length */

static float dot_half(const uint16_t *values, const float *x, uint32_t n) {
    sixteen sum = zeros();
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const sixteen part = half16(values + i);
        add_products(&sum, &part, x + i);
    }
    return total(&sum) + ecoi_ref_dot_half(values + i, x + i, n - i);
}

static void add_scaled(float *out, float p, const uint16_t *values, uint32_t n) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        vst1q_f32(out + i, vfmaq_n_f32(vld1q_f32(out + i), half4(vld1_u16(values + i)), p));
    }
    ecoi_ref_add_scaled(out + i, p, values + i, n - i);
}

static uint64_t read_words(const uint64_t *words, size_t n) {
    uint64x2_t sums[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
    for (size_t i = 0; i < n; i += CPU_READ_WORDS / 4) {
        for (size_t k = 0; k < 4; k++) {
            sums[k] = vaddq_u64(sums[k], vld1q_u64(words + i + 2 * k));
        }
    }
    return vaddvq_u64(vaddq_u64(vaddq_u64(sums[0], sums[1]), vaddq_u64(sums[2], sums[3])));
}

static const eco_cpu_sums sums_neon = {.isa = "neon",
                                       .summary = "NEON GEMV, rows over threads",
                                       .dots = dots,
                                       .dot_half = dot_half,
                                       .add_scaled = add_scaled,
                                       .read = read_words};

const eco_cpu_sums *ecoi_cpu_sums_neon(void) {
    return &sums_neon;
}

#else

const eco_cpu_sums *ecoi_cpu_sums_neon(void) {
    return NULL;
}

#endif
