/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight formats by name, and their stored sizes. What each means to the bit stands in
 * docs/formats.md. Pure.
 */
#include "arch/weight_formats.h"

#include "arch/arch_text.h"

enum { NF4_BLOCK_WEIGHTS = 64, NF4_DQ_BLOCK_SCALES = 256, GGML_BLOCK_WEIGHTS = 32 };

static const eco_format_info format_table[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = {.name = "FP16",
                         .summary = "IEEE 754 half precision",
                         .bits_per_weight = 16.0},
    [ECO_FORMAT_BF16] = {.name = "BF16",
                         .summary = "bfloat16: the upper half of an FP32",
                         .bits_per_weight = 16.0},
    [ECO_FORMAT_NF4] = {.name = "NF4",
                        .summary = "4-bit normal-float code, blocks of 64 with an FP32 absmax",
                        .bits_per_weight = 4.5},
    [ECO_FORMAT_NF4_DQ] = {.name = "NF4-DQ",
                           .summary = "NF4 with 8-bit absmax, 256 of them to an FP32 scale",
                           .bits_per_weight = 4.126953125}, /* 4 + (8 + 32 / 256) / 64 */
    [ECO_FORMAT_INT8] = {.name = "INT8",
                         .summary = "LLM.int8: 8-bit weights and activations, outliers in FP16",
                         .bits_per_weight = 8.0,
                         .quantizes_activations = true},
    [ECO_FORMAT_W8A16] = {.name = "W8A16",
                          .summary = "8-bit weights, an FP32 absmax a row, FP16 activations",
                          .bits_per_weight = 8.0},
    [ECO_FORMAT_Q4_0] = {.name = "Q4_0",
                         .summary = "4-bit weights, blocks of 32 with an FP16 scale (ggml)",
                         .bits_per_weight = 4.5},
    [ECO_FORMAT_Q8_0] = {.name = "Q8_0",
                         .summary = "8-bit weights, blocks of 32 with an FP16 scale (ggml)",
                         .bits_per_weight = 8.5},
    [ECO_FORMAT_FP8] = {.name = "FP8",
                        .summary = "8-bit float E4M3, an FP32 scale a row",
                        .bits_per_weight = 8.0},
};

const eco_format_info *eco_format_at(eco_format format) {
    return (unsigned)format < ECO_FORMAT_COUNT ? &format_table[format] : NULL;
}

bool eco_format_find(const char *name, eco_format *out) {
    if (name == NULL) {
        return false;
    }
    for (size_t i = 0; i < ECO_FORMAT_COUNT; i++) {
        if (ecoi_text_equal_nocase(name, format_table[i].name)) {
            *out = (eco_format)i;
            return true;
        }
    }
    return false;
}

static uint64_t blocks(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit;
}

uint64_t ecoi_format_matrix_bytes(eco_format format, uint64_t rows, uint64_t columns) {
    const uint64_t nf4_blocks = rows * blocks(columns, NF4_BLOCK_WEIGHTS);
    const uint64_t ggml_blocks = rows * blocks(columns, GGML_BLOCK_WEIGHTS);
    const uint64_t nibble_bytes = rows * ((columns + 1) / 2);
    switch (format) {
    case ECO_FORMAT_FP16:
    case ECO_FORMAT_BF16:
        return 2 * rows * columns;
    case ECO_FORMAT_NF4:
        return nibble_bytes + 4 * nf4_blocks;
    case ECO_FORMAT_NF4_DQ: /* the 256 values of the code map are the same for all tensors */
        return nibble_bytes + nf4_blocks + 4 * blocks(nf4_blocks, NF4_DQ_BLOCK_SCALES) + 4;
    case ECO_FORMAT_INT8:
    case ECO_FORMAT_W8A16:
    case ECO_FORMAT_FP8:
        return rows * columns + 4 * rows;
    case ECO_FORMAT_Q4_0:
        return nibble_bytes + 2 * ggml_blocks;
    case ECO_FORMAT_Q8_0:
        return rows * columns + 2 * ggml_blocks;
    case ECO_FORMAT_COUNT:
        break;
    }
    return 0;
}
