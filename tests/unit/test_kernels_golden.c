/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine against other people's software, by numbers kept in tests/golden: logits of two small
 * models by HF transformers (make_hf_logits.py), and codes and scales of one matrix by gguf,
 * bitsandbytes and torch (make_format_codes.py).
 */
#include "kernels/cpu/cpu_dots.h"
#include "kernels/cpu/forward.h"
#include "kernels/cpu/reference.h"
#include "kernels/half.h"
#include "kernels/quant.h"
#include "kernels/workload.h"

#include "golden_shapes.h"
#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX_ROWS = 4, MATRIX_COLUMNS = 256, LINE_BYTES = 1 << 15 };

static FILE *open_golden(const char *file) {
    char path[512];
    const char *const root = getenv("ECO_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root != NULL ? root : ".", file);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        fail_msg("%s: cannot be opened; set ECO_SOURCE_DIR to the source folder", path);
    }
    return in;
}

/* Numbers of a line from `text` on; returns how many. */
static uint32_t read_numbers(const char *text, double *out, uint32_t n_max) {
    uint32_t n = 0;
    char *end = NULL;
    while (n < n_max) {
        out[n] = strtod(text, &end);
        if (end == text) {
            break;
        }
        text = end;
        n++;
    }
    return n;
}

/* MARK: - Logits of HF transformers */

static double relative_error(const float *got, const double *want, uint32_t n) {
    double off = 0.0;
    double size = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        size += want[i] * want[i];
    }
    return sqrt(off / size);
}

/* Feeds the golden tokens and compares at every position that the file has. */
static void check_logits(const eco_model_shape *shape, const eco_cpu_sums *sums) {
    eco_error err = {0};
    eco_pool *pool = NULL;
    eco_cpu_model *model = NULL;
    const eco_workload workload = golden_workload(shape);
    ASSERT_OK(ecoi_pool_open(1, &pool, &err), &err);
    ASSERT_OK(ecoi_cpu_model_new(&workload, pool, &model, &err), &err);
    char name[64];
    snprintf(name, sizeof name, "hf_logits_%s.txt", shape->name);
    FILE *in = open_golden(name);
    static char text[LINE_BYTES];
    static double want[GOLDEN_VOCAB_MAX + 1];
    uint32_t fed = 0;
    uint32_t n_compared = 0;
    while (fgets(text, sizeof text, in) != NULL) {
        if (text[0] == '#') {
            continue;
        }
        assert_int_equal(read_numbers(text, want, GOLDEN_VOCAB_MAX + 1), shape->n_vocab + 1);
        const uint32_t position = (uint32_t)want[0];
        for (; fed <= position; fed++) {
            ecoi_cpu_step(model, pool, sums, golden_token(shape, fed), fed, fed == position);
        }
        const double off = relative_error(model->logits.values, want + 1, shape->n_vocab);
        print_message("%s, %s, position %u: off by %.2e of HF's logits\n", shape->name, sums->isa,
                      position, off);
        ASSERT_NEAR(off, 0.0, 1e-2);
        n_compared++;
    }
    assert_int_equal(n_compared, 3);
    assert_int_equal(fed, GOLDEN_TOKENS);
    (void)fclose(in);
    ecoi_cpu_model_free(model);
    ecoi_pool_close(pool);
}

static void test_logits_are_those_of_hf(void **state) {
    (void)state;
    for (size_t i = 0; i < GOLDEN_SHAPES; i++) {
        check_logits(&golden_shapes[i], &ecoi_cpu_sums_portable);
        check_logits(&golden_shapes[i], ecoi_cpu_sums_best());
    }
}

/* MARK: - Codes of other implementations */

typedef struct golden_matrix {
    eco_cpu_matrix m;
    uint16_t weights[MATRIX_ROWS * MATRIX_COLUMNS];
    float scales[64], scales2[1];
    uint16_t half_scales[64];
    uint8_t scale_codes[64];
} golden_matrix;

static void store(golden_matrix *g, eco_format format) {
    memset(g, 0, sizeof *g);
    g->m = ecoi_cpu_matrix_of(format, MATRIX_ROWS, MATRIX_COLUMNS);
    g->m.weights = g->weights;
    g->m.scales = g->scales;
    g->m.half_scales = g->half_scales;
    g->m.scale_codes = g->scale_codes;
    g->m.scales2 = g->scales2;
    const uint64_t key = syn_key(GOLDEN_SEED, syn_layer_tensor(0, SYN_DOWN));
    const float scale = ecoi_linear_scale(MATRIX_COLUMNS);
    for (uint32_t r = 0; r < MATRIX_ROWS; r++) {
        uint16_t row[MATRIX_COLUMNS];
        for (uint32_t c = 0; c < MATRIX_COLUMNS; c++) {
            row[c] = half_from_float(syn_value(key, (uint64_t)r * MATRIX_COLUMNS + c, 0.0f, scale));
        }
        ecoi_cpu_matrix_store_row(&g->m, r, row);
    }
    ecoi_cpu_matrix_finish(&g->m);
}

/* The number that a code stands for before its scale multiplies it; 4-bit codes are themselves. */
static double code_at(const golden_matrix *g, uint32_t i) {
    const uint32_t r = i / MATRIX_COLUMNS;
    const uint32_t c = i % MATRIX_COLUMNS;
    const uint8_t *row = (const uint8_t *)g->m.weights + (size_t)r * g->m.n_row_bytes;
    switch (g->m.format) {
    case ECO_FORMAT_NF4:
    case ECO_FORMAT_NF4_DQ:
    case ECO_FORMAT_Q4_0:
        return (double)((uint32_t)row[c / 32 * 16 + c % 16] >> (c % 32 < 16 ? 0 : 4) & 15u);
    case ECO_FORMAT_INT8:
    case ECO_FORMAT_W8A16:
    case ECO_FORMAT_Q8_0:
        return (double)(int8_t)row[c];
    case ECO_FORMAT_FP8:
        return (double)fp8_decode(row[c]);
    case ECO_FORMAT_FP16:
    case ECO_FORMAT_BF16:
    case ECO_FORMAT_COUNT:
        break;
    }
    return (double)ecoi_cpu_weight(&g->m, r, c);
}

static double scale_at(const golden_matrix *g, uint32_t i) {
    if (g->m.format == ECO_FORMAT_NF4_DQ) {
        return (double)g->scales2[i];
    }
    return g->m.format == ECO_FORMAT_Q4_0 || g->m.format == ECO_FORMAT_Q8_0
               ? (double)half_to_float(g->half_scales[i])
               : (double)g->scales[i];
}

static void check_list(const golden_matrix *g, const char *what, const double *want, uint32_t n) {
    const bool is_dq = g->m.format == ECO_FORMAT_NF4_DQ;
    for (uint32_t i = 0; i < n; i++) {
        double got = 0.0;
        double tolerance = 0.0;
        if (strcmp(what, "scales") == 0) {
            got = scale_at(g, i);
            tolerance =
                is_dq
                    ? 1e-7
                    : fabs(want[i]) *
                          6e-9; /* nine digits were written: less than half a last place of FP32 */
        } else if (strcmp(what, "offset") == 0) {
            got = (double)g->m.offset;
            tolerance = 1e-8; /* a mean, summed in another order */
        } else {
            got = is_dq ? (double)g->scale_codes[i] : code_at(g, i);
            tolerance = fabs(want[i]) * 6e-9;
        }
        if (!(fabs(got - want[i]) <= tolerance)) {
            fail_msg("%s %s %u: %.9g, want %.9g", eco_format_at(g->m.format)->name, what, i, got,
                     want[i]);
        }
    }
}

static void test_codes_are_those_of_others(void **state) {
    (void)state;
    static golden_matrix g;
    static char text[LINE_BYTES];
    static double want[MATRIX_ROWS * MATRIX_COLUMNS];
    FILE *in = open_golden("format_codes.txt");
    uint32_t seen[ECO_FORMAT_COUNT] = {0};
    while (fgets(text, sizeof text, in) != NULL) {
        char name[16];
        char what[16];
        int begin = 0;
        if (sscanf(text, "%15s %15s %n", name, what, &begin) != 2 || name[0] == '#') {
            continue;
        }
        eco_format format = ECO_FORMAT_COUNT;
        assert_true(eco_format_find(name, &format));
        const uint32_t n = read_numbers(text + begin, want, MATRIX_ROWS * MATRIX_COLUMNS);
        store(&g, format);
        const bool per_weight = strcmp(what, "values") == 0 || strcmp(what, "codes") == 0;
        const uint32_t n_blocks = MATRIX_ROWS * g.m.n_blocks;
        assert_int_equal(n, format == ECO_FORMAT_NF4_DQ ? (per_weight ? n_blocks : 1)
                            : per_weight                ? MATRIX_ROWS * MATRIX_COLUMNS
                                                        : n_blocks);
        check_list(&g, what, want, n);
        seen[format] += 1;
    }
    (void)fclose(in);
    static const uint32_t lists[ECO_FORMAT_COUNT] = {
        [ECO_FORMAT_FP16] = 1,   [ECO_FORMAT_BF16] = 1, [ECO_FORMAT_NF4] = 2,
        [ECO_FORMAT_NF4_DQ] = 3, [ECO_FORMAT_INT8] = 2, [ECO_FORMAT_Q4_0] = 2,
        [ECO_FORMAT_Q8_0] = 2,   [ECO_FORMAT_FP8] = 2};
    assert_memory_equal(seen, lists, sizeof lists); /* W8A16 stores what INT8 does */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_are_those_of_hf),
        cmocka_unit_test(test_codes_are_those_of_others),
    };
    return cmocka_run_group_tests_name("kernels_golden", tests, NULL, NULL);
}
