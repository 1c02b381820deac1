/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of FP16 numbers into each format of docs/formats.md, in the CPU's layout. What a code is
 * stands in quant.h; here is where it goes.
 */
#include "kernels/cpu/cpu_model.h"

#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/quant_dynamic.h"

typedef struct layout {
    uint32_t bits;  /* a weight */
    uint32_t block; /* weights that share a scale; 0: those of a row */
    bool has_scales;
} layout;

static const layout layouts[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = {16, 0, false},        [ECO_FORMAT_BF16] = {16, 0, false},
    [ECO_FORMAT_NF4] = {4, NF4_BLOCK, true},   [ECO_FORMAT_NF4_DQ] = {4, NF4_BLOCK, true},
    [ECO_FORMAT_INT8] = {8, 0, true},          [ECO_FORMAT_W8A16] = {8, 0, true},
    [ECO_FORMAT_Q4_0] = {4, GGML_BLOCK, true}, [ECO_FORMAT_Q8_0] = {8, GGML_BLOCK, true},
    [ECO_FORMAT_FP8] = {8, 0, true},
};

eco_cpu_matrix ecoi_cpu_matrix_of(eco_format format, uint32_t n_rows, uint32_t n_columns) {
    const layout *l = &layouts[format];
    const uint32_t n_units = (n_columns + CPU_COLUMN_UNIT - 1) / CPU_COLUMN_UNIT;
    eco_cpu_matrix matrix = {.format = format,
                             .n_rows = n_rows,
                             .n_columns = n_columns,
                             .stride = n_units * CPU_COLUMN_UNIT};
    matrix.n_row_bytes = matrix.stride / 8 * l->bits;
    if (l->has_scales) {
        matrix.n_blocks = l->block == 0 ? 1 : (n_columns + l->block - 1) / l->block;
    }
    return matrix;
}

/* A row being stored: n values, then padding up to stride. */
typedef struct row_in {
    const uint16_t *values;
    uint32_t n, stride;
} row_in;

static float value_at(const row_in *in, uint32_t c) {
    return c < in->n ? half_to_float(in->values[c]) : 0.0f;
}

/* The value of largest magnitude in columns begin … end - 1, the first of equals. */
static float extreme_of(const row_in *in, uint32_t begin, uint32_t end) {
    float extreme = 0.0f;
    for (uint32_t c = begin; c < end; c++) {
        const float value = value_at(in, c);
        extreme = quant_magnitude(value) > quant_magnitude(extreme) ? value : extreme;
    }
    return extreme;
}

static void put_nibble(uint8_t *codes, uint32_t c, uint32_t code) {
    uint8_t *byte = codes + c / 32 * 16 + c % 16;
    const uint32_t kept = c % 32 < 16 ? *byte & 0xf0u : *byte & 0x0fu;
    *byte = (uint8_t)(kept | code << (c % 32 < 16 ? 0 : 4));
}

static void store_half(const row_in *in, uint16_t *out) {
    for (uint32_t c = 0; c < in->stride; c++) {
        out[c] = c < in->n ? in->values[c] : 0;
    }
}

static void store_bf16(const row_in *in, uint16_t *out) {
    for (uint32_t c = 0; c < in->stride; c++) {
        out[c] = bf16_encode(value_at(in, c));
    }
}

/* Padding is the value 0 and gets its code by itself. */
static void store_nf4(const row_in *in, uint8_t *codes, float *absmax) {
    for (uint32_t b = 0; b < in->stride / NF4_BLOCK; b++) {
        const uint32_t begin = b * NF4_BLOCK;
        absmax[b] = quant_magnitude(extreme_of(in, begin, begin + NF4_BLOCK));
        const float inverse = quant_inverse(absmax[b]);
        for (uint32_t c = begin; c < begin + NF4_BLOCK; c++) {
            put_nibble(codes, c, nf4_code(value_at(in, c), inverse));
        }
    }
}

static void store_int8(const row_in *in, int8_t *codes, float *absmax) {
    *absmax = quant_magnitude(extreme_of(in, 0, in->n));
    for (uint32_t c = 0; c < in->stride; c++) {
        codes[c] = (int8_t)int8_code(value_at(in, c), *absmax);
    }
}

static void store_fp8(const row_in *in, uint8_t *codes, float *scale) {
    *scale = fp8_scale(quant_magnitude(extreme_of(in, 0, in->n)));
    for (uint32_t c = 0; c < in->stride; c++) {
        codes[c] = (uint8_t)fp8_code(value_at(in, c), *scale);
    }
}

static void store_q4_0(const row_in *in, uint8_t *codes, uint16_t *scales, uint32_t n_blocks) {
    for (uint32_t b = 0; b < in->stride / GGML_BLOCK; b++) {
        const uint32_t begin = b * GGML_BLOCK;
        const float d = q4_0_scale(extreme_of(in, begin, begin + GGML_BLOCK));
        const float inverse = quant_inverse(d);
        if (b < n_blocks) {
            scales[b] = half_from_float(d);
        }
        for (uint32_t c = begin; c < begin + GGML_BLOCK; c++) {
            const float ratio = value_at(in, c) * inverse;
            put_nibble(codes, c, q4_0_code(ratio));
        }
    }
}

static void store_q8_0(const row_in *in, int8_t *codes, uint16_t *scales, uint32_t n_blocks) {
    for (uint32_t b = 0; b < in->stride / GGML_BLOCK; b++) {
        const uint32_t begin = b * GGML_BLOCK;
        const float d = q8_0_scale(quant_magnitude(extreme_of(in, begin, begin + GGML_BLOCK)));
        const float inverse = quant_inverse(d);
        if (b < n_blocks) {
            scales[b] = half_from_float(d);
        }
        for (uint32_t c = begin; c < begin + GGML_BLOCK; c++) {
            const float ratio = value_at(in, c) * inverse;
            codes[c] = (int8_t)q8_0_code(ratio);
        }
    }
}

void ecoi_cpu_matrix_store_row(eco_cpu_matrix *m, uint32_t row, const uint16_t *values) {
    const row_in in = {.values = values, .n = m->n_columns, .stride = m->stride};
    void *to = (uint8_t *)m->weights + (size_t)row * m->n_row_bytes;
    const size_t block = (size_t)row * m->n_blocks;
    switch (m->format) {
    case ECO_FORMAT_FP16:
        store_half(&in, to);
        return;
    case ECO_FORMAT_BF16:
        store_bf16(&in, to);
        return;
    case ECO_FORMAT_NF4:
    case ECO_FORMAT_NF4_DQ:
        store_nf4(&in, to, m->scales + block);
        return;
    case ECO_FORMAT_INT8:
    case ECO_FORMAT_W8A16:
        store_int8(&in, to, m->scales + block);
        return;
    case ECO_FORMAT_Q4_0:
        store_q4_0(&in, to, m->half_scales + block, m->n_blocks);
        return;
    case ECO_FORMAT_Q8_0:
        store_q8_0(&in, to, m->half_scales + block, m->n_blocks);
        return;
    case ECO_FORMAT_FP8:
        store_fp8(&in, to, m->scales + block);
        return;
    case ECO_FORMAT_COUNT:
        return;
    }
}

void ecoi_cpu_matrix_finish(eco_cpu_matrix *m) {
    if (m->format != ECO_FORMAT_NF4_DQ) {
        return;
    }
    ecoi_dynamic_quantize(m->scales, (size_t)m->n_rows * m->n_blocks, m->scale_codes, m->scales2,
                          &m->offset);
    m->scales = NULL;
}
