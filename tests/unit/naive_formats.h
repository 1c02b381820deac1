/* SPDX-License-Identifier: Apache-2.0
 *
 * The weight formats once more, in double and without a bit trick, each by searching or rounding the
 * way docs/formats.md says it in words. Where a quotient lies within FP32's rounding of a tie, the
 * two may choose differently.
 */
#ifndef ECOCOMPUTE_TESTS_NAIVE_FORMATS_H
#define ECOCOMPUTE_TESTS_NAIVE_FORMATS_H

#include "ecocompute/arch.h"

#include <math.h>
#include <stdlib.h>

static const double naive_nf4_values[16] = {-1.0,
                                            -0.6961928009986877,
                                            -0.5250730514526367,
                                            -0.39491748809814453,
                                            -0.28444138169288635,
                                            -0.18477343022823334,
                                            -0.09105003625154495,
                                            0.0,
                                            0.07958029955625534,
                                            0.16093020141124725,
                                            0.24611230194568634,
                                            0.33791524171829224,
                                            0.44070982933044434,
                                            0.5626170039176941,
                                            0.7229568362236023,
                                            1.0};

/* Rounded to `bits` significant binary digits, ties to even; steps are never finer than 2^least. */
static inline double naive_round(double x, int bits, int least) {
    if (x == 0.0) {
        return 0.0;
    }
    const int step = (int)fmax((double)(ilogb(x) - bits + 1), (double)least);
    return ldexp(nearbyint(ldexp(x, -step)), step);
}

static inline double naive_half(double x) {
    return naive_round(x, 11, -24);
}

static inline double naive_largest(const double *w, uint32_t n) {
    double largest = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(w[i]));
    }
    return largest;
}

static inline double naive_nearest(double x, const double *values, uint32_t n) {
    double best = values[0];
    for (uint32_t i = 1; i < n; i++) {
        best = fabs(x - values[i]) < fabs(x - best) ? values[i] : best;
    }
    return best;
}

static inline void naive_nf4_block(double *w, uint32_t n, double stored_absmax) {
    const double absmax = naive_largest(w, n);
    for (uint32_t i = 0; i < n; i++) {
        const double x = absmax > 0.0 ? w[i] / absmax : 0.0;
        w[i] = naive_nearest(x, naive_nf4_values, 16) * stored_absmax;
    }
}

static inline void naive_q4_0_block(double *w, uint32_t n) {
    double extreme = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        extreme = fabs(w[i]) > fabs(extreme) ? w[i] : extreme;
    }
    const double d = extreme / -8.0;
    for (uint32_t i = 0; i < n; i++) {
        const double code = d != 0.0 ? fmin(15.0, floor(w[i] / d + 8.5)) : 8.0;
        w[i] = (code - 8.0) * naive_half(d);
    }
}

static inline void naive_q8_0_block(double *w, uint32_t n) {
    const double d = naive_largest(w, n) / 127.0;
    for (uint32_t i = 0; i < n; i++) {
        w[i] = d != 0.0 ? round(w[i] / d) * naive_half(d) : 0.0;
    }
}

static inline void naive_int8(double *w, uint32_t n, double absmax) {
    for (uint32_t i = 0; i < n; i++) {
        w[i] = absmax > 0.0 ? nearbyint(w[i] * 127.0 / absmax) * absmax / 127.0 : 0.0;
    }
}

static inline void naive_fp8_row(double *w, uint32_t n) {
    const double scale = naive_largest(w, n) / 448.0;
    for (uint32_t i = 0; i < n; i++) {
        w[i] = scale > 0.0 ? naive_round(w[i] / scale, 4, -9) * scale : 0.0;
    }
}

static inline uint32_t naive_dynamic_map(double values[256]) {
    uint32_t n = 0;
    values[n++] = 0.0;
    values[n++] = 1.0;
    for (int e = 0; e < 7; e++) {
        for (int j = 0; j < 1 << e; j++) {
            const double magnitude = pow(10.0, e - 6) * (0.1 + 0.9 * (j + 0.5) / (1 << e));
            values[n++] = magnitude;
            values[n++] = -magnitude;
        }
    }
    return n;
}

/* The absmax values of a tensor [n] as NF4-DQ keeps them. */
static inline void naive_double_quantize(double *absmax, size_t n) {
    double values[256];
    const uint32_t n_values = naive_dynamic_map(values);
    double mean = 0.0;
    for (size_t i = 0; i < n; i++) {
        mean += absmax[i] / (double)n;
    }
    for (size_t begin = 0; begin < n; begin += 256) {
        const uint32_t count = n - begin < 256 ? (uint32_t)(n - begin) : 256;
        for (uint32_t i = 0; i < count; i++) {
            absmax[begin + i] -= mean;
        }
        const double second = naive_largest(absmax + begin, count);
        for (uint32_t i = 0; i < count; i++) {
            const double x = second > 0.0 ? absmax[begin + i] / second : 0.0;
            absmax[begin + i] = naive_nearest(x, values, n_values) * second + mean;
        }
    }
}

static inline void naive_nf4(double *w, size_t rows, uint32_t columns, int twice) {
    const uint32_t n_blocks = (columns + 63) / 64;
    double *absmax = calloc(rows * n_blocks, sizeof *absmax);
    for (size_t i = 0; absmax != NULL && i < rows * n_blocks; i++) {
        const uint32_t begin = (uint32_t)(i % n_blocks) * 64;
        const uint32_t n = columns - begin < 64 ? columns - begin : 64;
        absmax[i] = naive_largest(w + i / n_blocks * columns + begin, n);
    }
    if (absmax != NULL && twice) {
        naive_double_quantize(absmax, rows * n_blocks);
    }
    for (size_t i = 0; absmax != NULL && i < rows * n_blocks; i++) {
        const uint32_t begin = (uint32_t)(i % n_blocks) * 64;
        const uint32_t n = columns - begin < 64 ? columns - begin : 64;
        naive_nf4_block(w + i / n_blocks * columns + begin, n, absmax[i]);
    }
    free(absmax);
}

static inline void naive_row(eco_format format, double *w, uint32_t n) {
    if (format == ECO_FORMAT_FP8) {
        naive_fp8_row(w, n);
    } else if (format == ECO_FORMAT_INT8 || format == ECO_FORMAT_W8A16) {
        naive_int8(w, n, naive_largest(w, n));
    } else if (format == ECO_FORMAT_BF16) {
        for (uint32_t i = 0; i < n; i++) {
            w[i] = naive_round(w[i], 8, -133);
        }
    } else if (format == ECO_FORMAT_Q4_0 || format == ECO_FORMAT_Q8_0) {
        for (uint32_t begin = 0; begin < n; begin += 32) {
            const uint32_t count = n - begin < 32 ? n - begin : 32;
            (format == ECO_FORMAT_Q4_0 ? naive_q4_0_block : naive_q8_0_block)(w + begin, count);
        }
    }
}

/* What is left of FP16 numbers [rows][columns] that were stored in the format. */
static inline void naive_format(eco_format format, double *w, size_t rows, uint32_t columns) {
    if (format == ECO_FORMAT_NF4 || format == ECO_FORMAT_NF4_DQ) {
        naive_nf4(w, rows, columns, format == ECO_FORMAT_NF4_DQ);
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        naive_row(format, w + r * columns, columns);
    }
}

/* INT8's input: what is no outlier goes through eight bits, outliers stay. */
static inline void naive_int8_input(double *x, uint32_t n) {
    double absmax = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        absmax = fabs(x[i]) < 6.0 ? fmax(absmax, fabs(x[i])) : absmax;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (fabs(x[i]) < 6.0) {
            naive_int8(x + i, 1, absmax);
        }
    }
}

#endif
