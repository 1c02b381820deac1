/* SPDX-License-Identifier: Apache-2.0
 *
 * The size that a model's name tells: "Qwen2-7B" has 7 billion parameters. Pure.
 */
#include "ecocompute/arch.h"

#include <stdbool.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "7B", "1.1 b": a decimal, blanks, b at a word's end. 0 where none begins at `p`. */
static double size_at(const char *p) {
    double value = 0.0;
    for (int n = 0; is_digit(*p) && n < 9; p++, n++) {
        value = value * 10.0 + (*p - '0');
    }
    if (*p == '.' && is_digit(p[1])) {
        double scale = 1.0;
        for (p++; is_digit(*p) && scale < 1e9; p++) {
            scale *= 10.0;
            value += (*p - '0') / scale;
        }
    }
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    return (*p == 'b' || *p == 'B') && !is_word(p[1]) ? value : 0.0;
}

eco_reading eco_model_size_in_name(const char *name) {
    for (const char *p = name; *p != '\0'; p++) {
        const double size_b = is_digit(*p) ? size_at(p) : 0.0;
        if (size_b > 0.0) {
            return eco_reading_of(size_b);
        }
    }
    return eco_reading_absent(ECO_ABSENT_NOT_READ);
}
