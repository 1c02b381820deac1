/* SPDX-License-Identifier: Apache-2.0
 *
 * What each format means: the value of one stored weight, and a row's product with an input, as
 * plainly as it can be written. The oracle of every other path, and the path itself where the CPU
 * has no vector unit that we know.
 */
#include "kernels/cpu/cpu_dots.h"

#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/quant_dynamic.h"

static const float nf4_values[NF4_CODES] = {NF4_VALUES};

static const void *row_of(const eco_cpu_matrix *m, size_t row) {
    return (const uint8_t *)m->weights + row * m->n_row_bytes;
}

static uint32_t nibble_at(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const uint8_t *codes = row_of(m, row);
    return (uint32_t)codes[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15u;
}

static float fp16_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const uint16_t *values = row_of(m, row);
    return half_to_float(values[c]);
}

static float bf16_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const uint16_t *values = row_of(m, row);
    return bf16_decode(values[c]);
}

static float nf4_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    return nf4_values[nibble_at(m, row, c)] * m->scales[row * m->n_blocks + c / NF4_BLOCK];
}

float ecoi_cpu_dq_absmax(const eco_cpu_matrix *m, size_t block) {
    const float distance =
        ecoi_dynamic_values[m->scale_codes[block]] * m->scales2[block / NF4_DQ_BLOCK];
    return distance + m->offset;
}

static float nf4_dq_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    return nf4_values[nibble_at(m, row, c)] *
           ecoi_cpu_dq_absmax(m, row * m->n_blocks + c / NF4_BLOCK);
}

static float int8_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const int8_t *codes = row_of(m, row);
    return (float)codes[c] * (m->scales[row] / 127.0f);
}

static float q4_0_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const float d = half_to_float(m->half_scales[row * m->n_blocks + c / GGML_BLOCK]);
    return (float)((int32_t)nibble_at(m, row, c) - 8) * d;
}

static float q8_0_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const int8_t *codes = row_of(m, row);
    return (float)codes[c] * half_to_float(m->half_scales[row * m->n_blocks + c / GGML_BLOCK]);
}

static float fp8_weight(const eco_cpu_matrix *m, size_t row, uint32_t c) {
    const uint8_t *codes = row_of(m, row);
    return fp8_decode(codes[c]) * m->scales[row];
}

float ecoi_cpu_weight(const eco_cpu_matrix *m, size_t row, uint32_t column) {
    static float (*const weights[ECO_FORMAT_COUNT])(const eco_cpu_matrix *, size_t, uint32_t) = {
        [ECO_FORMAT_FP16] = fp16_weight, [ECO_FORMAT_BF16] = bf16_weight,
        [ECO_FORMAT_NF4] = nf4_weight,   [ECO_FORMAT_NF4_DQ] = nf4_dq_weight,
        [ECO_FORMAT_INT8] = int8_weight, [ECO_FORMAT_W8A16] = int8_weight,
        [ECO_FORMAT_Q4_0] = q4_0_weight, [ECO_FORMAT_Q8_0] = q8_0_weight,
        [ECO_FORMAT_FP8] = fp8_weight,
    };
    return weights[m->format](m, row, column);
}

/* MARK: - Products */

typedef float weight_function(const eco_cpu_matrix *m, size_t row, uint32_t c);

/* Sum over the columns of weight · x, in FP32, first to last. */
static inline float dot_of(weight_function *weight, const eco_cpu_matrix *m, size_t row,
                           const eco_cpu_input *in) {
    float sum = 0.0f;
    for (uint32_t c = 0; c < m->n_columns; c++) {
        sum += weight(m, row, c) * in->x[c];
    }
    return sum;
}

static float dot_fp16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(fp16_weight, m, row, in);
}

static float dot_bf16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(bf16_weight, m, row, in);
}

static float dot_nf4(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(nf4_weight, m, row, in);
}

static float dot_nf4_dq(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(nf4_dq_weight, m, row, in);
}

static float dot_w8a16(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(int8_weight, m, row, in);
}

static float dot_q4_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(q4_0_weight, m, row, in);
}

static float dot_q8_0(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(q8_0_weight, m, row, in);
}

static float dot_fp8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    return dot_of(fp8_weight, m, row, in);
}

float ecoi_cpu_int8_result(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in,
                           int64_t sum) {
    const float scale = m->scales[row] * in->absmax / 16129.0f; /* 127 · 127 */
    float out = (float)sum * scale;
    for (uint32_t i = 0; i < in->n_outliers; i++) {
        const uint32_t c = in->outliers[i];
        out += int8_weight(m, row, c) * in->x[c];
    }
    return out;
}

static float dot_int8(const eco_cpu_matrix *m, size_t row, const eco_cpu_input *in) {
    const int8_t *codes = row_of(m, row);
    int64_t sum = 0;
    for (uint32_t c = 0; c < m->n_columns; c++) {
        sum += codes[c] * in->codes[c];
    }
    return ecoi_cpu_int8_result(m, row, in, sum);
}

eco_cpu_dot *const ecoi_ref_dots[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = dot_fp16,     [ECO_FORMAT_BF16] = dot_bf16, [ECO_FORMAT_NF4] = dot_nf4,
    [ECO_FORMAT_NF4_DQ] = dot_nf4_dq, [ECO_FORMAT_INT8] = dot_int8, [ECO_FORMAT_W8A16] = dot_w8a16,
    [ECO_FORMAT_Q4_0] = dot_q4_0,     [ECO_FORMAT_Q8_0] = dot_q8_0, [ECO_FORMAT_FP8] = dot_fp8,
};

/* MARK: - Inputs */

void ecoi_cpu_input_quantize(eco_cpu_input *in, uint32_t n, int16_t *codes, uint32_t *outliers) {
    in->codes = codes;
    in->outliers = outliers;
    in->n_outliers = 0;
    in->absmax = 0.0f;
    for (uint32_t c = 0; c < n; c++) {
        const float magnitude = quant_magnitude(in->x[c]);
        if (magnitude >= INT8_OUTLIER) {
            outliers[in->n_outliers++] = c;
        } else if (magnitude > in->absmax) {
            in->absmax = magnitude;
        }
    }
    const uint32_t stride = (n + CPU_COLUMN_UNIT - 1) / CPU_COLUMN_UNIT * CPU_COLUMN_UNIT;
    for (uint32_t c = 0; c < stride; c++) {
        const bool kept = c < n && quant_magnitude(in->x[c]) < INT8_OUTLIER;
        codes[c] = (int16_t)(kept ? int8_code(in->x[c], in->absmax) : 0);
    }
}

eco_cpu_input ecoi_cpu_input_of(const eco_cpu_model *model, size_t slot, const eco_cpu_matrix *m,
                                const float *x) {
    eco_cpu_input in = {.x = x};
    if (m->format == ECO_FORMAT_INT8) {
        ecoi_cpu_input_quantize(&in, m->n_columns, model->input_codes + slot * model->widest,
                                model->outliers + slot * model->widest);
    }
    return in;
}
