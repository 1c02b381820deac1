/* SPDX-License-Identifier: Apache-2.0
 *
 * Weight formats by name, and their stored sizes. What each means to the bit stands in
 * docs/formats.md. Pure.
 */
#include "arch/weight_formats.h"

#include "arch/arch_text.h"

enum { NF4_BLOCK_WEIGHTS = 64 };

static const eco_format_info format_table[ECO_FORMAT_COUNT] = {
    [ECO_FORMAT_FP16] = {.name = "FP16",
                         .summary = "IEEE 754 half precision",
                         .bits_per_weight = 16.0},
    [ECO_FORMAT_NF4] = {.name = "NF4",
                        .summary = "4-bit normal-float code, blocks of 64 with an FP32 absmax",
                        .bits_per_weight = 4.5},
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

uint64_t ecoi_format_matrix_bytes(eco_format format, uint64_t rows, uint64_t columns) {
    switch (format) {
    case ECO_FORMAT_FP16:
        return 2 * rows * columns;
    case ECO_FORMAT_NF4:
        return rows *
               ((columns + 1) / 2 + 4 * ((columns + NF4_BLOCK_WEIGHTS - 1) / NF4_BLOCK_WEIGHTS));
    case ECO_FORMAT_COUNT:
        break;
    }
    return 0;
}
