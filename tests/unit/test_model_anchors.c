/* SPDX-License-Identifier: Apache-2.0
 *
 * The tidy table against the files it is made from, and the reader of a user's table.
 */
#include "ecocompute/anchors.h"
#include "ecocompute/fit.h"

#include "golden_files.h"

#include "core/csv.h"
#include "core/num.h"
#include "core/str.h"

#include <string.h>

/* ---- A source as cells ---- */

enum { SOURCE_ROWS_MAX = 80, SOURCE_COLUMNS_MAX = 64, SOURCE_CELL_MAX = 400 };

typedef struct source {
    char cells[SOURCE_ROWS_MAX][SOURCE_COLUMNS_MAX][SOURCE_CELL_MAX]; /* row 0: the names */
    size_t n_rows;
} source;

static source *load_source(const char *file) {
    size_t length = 0;
    eco_error err = {0};
    ecoi_csv in;
    char *text = golden_load(file, &length);
    source *out = calloc(1, sizeof *out);
    assert_non_null(out);
    ecoi_csv_init(&in, text, length, file, &err);
    while (ecoi_csv_more(&in)) {
        size_t column = 0;
        do {
            ASSERT_OK(ecoi_csv_cell(&in), &err);
            assert_true(out->n_rows < SOURCE_ROWS_MAX && column < SOURCE_COLUMNS_MAX);
            (void)ecoi_str_copy(out->cells[out->n_rows][column++], SOURCE_CELL_MAX, in.cell);
        } while (!in.last);
        out->n_rows++;
    }
    free(text);
    return out;
}

static const char *cell(const source *s, size_t row, const char *name) {
    for (size_t i = 0; i < SOURCE_COLUMNS_MAX; i++) {
        if (strcmp(s->cells[0][i], name) == 0) {
            return s->cells[row][i];
        }
    }
    fail_msg("no column %s", name);
    return "";
}

static double number(const source *s, size_t row, const char *name) {
    double value = 0.0;
    const char *text = cell(s, row, name);
    if (ecoi_num_parse(text, strlen(text), &value) != ECO_OK) {
        fail_msg("row %zu, %s: '%s' is no number", row, name, text);
    }
    return value;
}

static const eco_anchor *find(const char *session, double params_b, const char *precision) {
    const eco_anchor_table *table = eco_anchors_builtin();
    const eco_anchor *found = NULL;
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        if (strcmp(row->session, session) == 0 && row->params_b == params_b &&
            strcmp(row->precision, precision) == 0) {
            assert_null(found);
            found = row;
        }
    }
    if (found == NULL) {
        fail_msg("no row of session %s, %g B, %s", session, params_b, precision);
    }
    return found;
}

/* ---- The table ---- */

/* The 29 rows of the published table, in its order, digit for digit, but for the one baseline that is corrected. */
static void test_published_rows(void **state) {
    (void)state;
    source *s = load_source("../../data/published/measured.csv");
    const eco_anchor_table *table = eco_anchors_builtin();
    size_t n = 0;
    size_t n_corrected = 0;
    assert_int_equal(s->n_rows, 30);
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        if (!row->in_published_fit) {
            continue;
        }
        n++;
        assert_string_equal(row->gpu, cell(s, n, "gpu"));
        assert_string_equal(row->arch, cell(s, n, "arch"));
        assert_string_equal(row->model, cell(s, n, "model"));
        assert_string_equal(row->precision, cell(s, n, "precision"));
        assert_string_equal(row->engine, "transformers");
        ASSERT_NEAR(row->params_b, number(s, n, "params_b"), 0.0);
        ASSERT_NEAR(row->energy_quant_j1k.value, number(s, n, "energy_quant_j1k"), 0.0);
        assert_int_equal(row->n_trials, (uint32_t)number(s, n, "n_trials"));
        assert_int_equal(eco_reading_present(row->energy_quant_sd_j1k),
                         cell(s, n, "energy_quant_std_j1k")[0] != '\0');
        if (strcmp(row->session, "4090-2026-08-06") == 0) {
            ASSERT_NEAR(number(s, n, "energy_fp16_j1k"), 1502.90, 0.0);
            ASSERT_NEAR(row->energy_fp16_j1k.value, 3575.443 / 2.379, 0.005);
            n_corrected++;
        } else {
            ASSERT_NEAR(row->energy_fp16_j1k.value, number(s, n, "energy_fp16_j1k"), 0.0);
        }
    }
    assert_int_equal(n, 29);
    assert_int_equal(n_corrected, 1);
    free(s);
}

static void test_paired_session(void **state) {
    (void)state;
    source *s = load_source("../../data/published/rtx4090_paired_energy_quality_2026-08-19.csv");
    assert_int_equal(s->n_rows, 11);
    for (size_t i = 1; i < s->n_rows; i++) {
        const eco_anchor *row =
            find("4090-2026-08-19", number(s, i, "params_b"), cell(s, i, "precision"));
        double delta_pct = 0.0;
        ASSERT_NEAR(row->energy_fp16_j1k.value, number(s, i, "fp16_energy_j_per_1k_tok"), 0.0);
        ASSERT_NEAR(row->energy_quant_j1k.value, number(s, i, "energy_j_per_1k_tok"), 0.0);
        ASSERT_NEAR(row->throughput_quant_tok_s.value, number(s, i, "throughput_tok_s"), 0.0);
        ASSERT_NEAR(row->power_quant_w.value, number(s, i, "avg_power_w"), 0.0);
        assert_true(eco_anchor_delta_pct(row, &delta_pct));
        ASSERT_NEAR(delta_pct, number(s, i, "vs_fp16_energy_pct"), 0.0051); /* printed to 0.01 */
    }
    free(s);
}

/* Twenty rows of two sessions; a retry and a smoke run of the file are not results of the session. */
static void test_rtx5090_session(void **state) {
    (void)state;
    source *s = load_source("../../data/published/rtx5090_bnb_2026-09-20.csv");
    size_t n = 0;
    for (size_t i = 1; i < s->n_rows; i++) {
        const char *session = cell(s, i, "session");
        if (strlen(session) != 1) {
            continue;
        }
        const eco_anchor *row = find(session[0] == 'A' ? "5090-2026-09-20-a" : "5090-2026-09-20-b",
                                     number(s, i, "params_b"), cell(s, i, "precision"));
        double delta_pct = 0.0;
        ASSERT_NEAR(row->energy_fp16_j1k.value, number(s, i, "fp16_energy_j_per_1k_tok"), 0.0);
        ASSERT_NEAR(row->energy_quant_j1k.value, number(s, i, "energy_j_per_1k_tok"), 0.0);
        ASSERT_NEAR(row->throughput_quant_tok_s.value, number(s, i, "throughput_tok_s"), 0.0);
        ASSERT_NEAR(row->power_quant_w.value, number(s, i, "avg_power_w"), 0.0);
        assert_true(eco_anchor_delta_pct(row, &delta_pct));
        ASSERT_NEAR(delta_pct, number(s, i, "vs_fp16_pct"), 0.051); /* printed to 0.1 */
        n++;
    }
    assert_int_equal(n, 20);
    free(s);
}

/* Means and standard deviations (n − 1) of the fifteen replicates, not of the summary that repeats them. */
static void test_repeats(void **state) {
    (void)state;
    static const double sizes_b[] = {0.5, 1.1, 1.5, 3.0, 7.0};
    source *s = load_source("../../data/published/rtx4090_int8_repeats_2026-08-20.csv");
    assert_int_equal(s->n_rows, 16);
    for (size_t k = 0; k < 5; k++) {
        const eco_anchor *row = find("4090-2026-08-20", sizes_b[k], "INT8");
        double quant[3];
        double fp16[3];
        size_t n = 0;
        for (size_t i = 1; i < s->n_rows; i++) {
            if (number(s, i, "params_b") == sizes_b[k]) {
                assert_true(n < 3);
                quant[n] = number(s, i, "energy_j_per_1k_tok");
                fp16[n++] = number(s, i, "fp16_energy_j_per_1k_tok");
            }
        }
        assert_int_equal(n, 3);
        assert_int_equal(row->n_trials, 3);
        const double quant_mean = (quant[0] + quant[1] + quant[2]) / 3.0;
        const double fp16_mean = (fp16[0] + fp16[1] + fp16[2]) / 3.0;
        double quant_sq = 0.0;
        double fp16_sq = 0.0;
        for (size_t i = 0; i < 3; i++) {
            quant_sq += (quant[i] - quant_mean) * (quant[i] - quant_mean);
            fp16_sq += (fp16[i] - fp16_mean) * (fp16[i] - fp16_mean);
        }
        ASSERT_NEAR(row->energy_quant_j1k.value, quant_mean, 0.00051);
        ASSERT_NEAR(row->energy_fp16_j1k.value, fp16_mean, 0.00051);
        ASSERT_NEAR(row->energy_quant_sd_j1k.value, sqrt(quant_sq / 2.0), 0.00051);
        ASSERT_NEAR(row->energy_fp16_sd_j1k.value, sqrt(fp16_sq / 2.0), 0.00051);
    }
    free(s);
}

/* Rows of the study whose kernels are those of the tree. Left out: contexts, which the table's cases do not tell apart, and
 * NF4-DQ, which the energy model does not know. */
static size_t check_sitting(const char *file) {
    source *s = load_source(file);
    const eco_anchor_table *table = eco_anchors_builtin();
    size_t n = 0;
    for (size_t i = 1; i < s->n_rows; i++) {
        const eco_anchor *found = NULL;
        for (size_t k = 0; k < table->n; k++) {
            const eco_anchor *row = &table->rows[k];
            if (strcmp(row->session, cell(s, i, "session")) == 0 &&
                strcmp(row->model, cell(s, i, "model")) == 0 &&
                strcmp(row->precision, cell(s, i, "precision")) == 0 &&
                row->batch.value == number(s, i, "batch") &&
                row->context.value == number(s, i, "context")) {
                assert_null(found);
                found = row;
            }
        }
        assert_int_equal(found != NULL, number(s, i, "context") == 256 &&
                                            strcmp(cell(s, i, "precision"), "NF4-DQ") != 0);
        if (found == NULL) {
            continue;
        }
        n++;
        assert_string_equal(found->engine, "native");
        ASSERT_NEAR(found->energy_fp16_j1k.value, number(s, i, "energy_fp16_j1k"), 0.0);
        ASSERT_NEAR(found->energy_quant_j1k.value, number(s, i, "energy_quant_j1k"), 0.0);
        ASSERT_NEAR(found->energy_quant_sd_j1k.value, number(s, i, "energy_quant_std_j1k"), 0.0);
        ASSERT_NEAR(found->throughput_quant_tok_s.value, number(s, i, "tokens_per_s_quant"), 0.0);
        ASSERT_NEAR(found->power_quant_w.value, number(s, i, "power_quant_w"), 0.0);
        assert_non_null(strstr(found->note, cell(s, i, "card")));
        assert_int_equal(strstr(found->note, "stopped early") != NULL,
                         strstr(cell(s, i, "note"), "partial") != NULL);
        assert_int_equal(found->n_trials, 1); /* blocks of one run are no trials */
    }
    free(s);
    return n;
}

static void test_own_study(void **state) {
    (void)state;
    const eco_anchor_table *table = eco_anchors_builtin();
    size_t n_native = 0;
    for (size_t k = 0; k < table->n; k++) {
        n_native += strcmp(table->rows[k].engine, "native") == 0;
    }
    const size_t third = check_sitting("../../data/h200/study-3/study.csv");
    const size_t fourth = check_sitting("../../data/h200/study-4/study.csv");
    assert_int_equal(third, 31);
    assert_int_equal(fourth, 43);
    assert_int_equal(n_native, third + fourth);
}

/* What holds of every row, from whatever source. */
static void test_every_row(void **state) {
    (void)state;
    const eco_anchor_table *table = eco_anchors_builtin();
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        double delta_pct = 0.0;
        const bool fp16 = eco_reading_present(row->energy_fp16_j1k);
        if (!eco_anchor_delta_pct(row, &delta_pct) || delta_pct <= -100.0 || delta_pct > 1000.0 ||
            fp16 != eco_reading_present(row->energy_quant_j1k) ||
            fp16 == eco_reading_present(row->delta_pct_only) || row->session[0] == '\0' ||
            row->engine[0] == '\0' || row->window[0] == '\0' || row->arch[0] == '\0' ||
            row->note[0] == '\0' || !(row->params_b > 0.0 && row->params_b < 100.0)) {
            fail_msg("%s: not a row of this table", row->id);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(table->rows[k].id, row->id) == 0) {
                fail_msg("%s: an id twice", row->id);
            }
        }
    }
    double delta_pct = 0.0;
    assert_true(eco_anchor_delta_pct(find("3050ti-gkgoing-2026-08", 1.1, "NF4"), &delta_pct));
    ASSERT_NEAR(delta_pct, -16.2, 0.05); /* SPEC section 3.5 */
}

/* ---- The reader ---- */

#define HEAD "gpu,arch,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k"

static void test_defaults(void **state) {
    (void)state;
    static const char csv[] = HEAD ",odd,energy_quant_std_j1k\nX,ada,m,1.5,NF4,100,80,?,2\n";
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_anchors_read_csv(csv, sizeof csv - 1, "t", &anchors, &err), &err);
    assert_int_equal(eco_anchors_rows(anchors)->n, 1);
    const eco_anchor *row = &eco_anchors_rows(anchors)->rows[0];
    assert_string_equal(row->engine, "transformers");
    assert_string_equal(row->session, "X");
    assert_string_equal(row->note, "");
    assert_true(row->in_published_fit);
    assert_int_equal(row->basis, ECO_BASIS_MEASURED);
    assert_int_equal(row->n_trials, 0);
    ASSERT_NEAR(row->energy_quant_sd_j1k.value, 2.0, 0.0);
    assert_false(eco_reading_present(row->power_quant_w));
    double delta_pct = 0.0;
    assert_true(eco_anchor_delta_pct(row, &delta_pct));
    ASSERT_NEAR(delta_pct, -20.0, 1e-12);
    eco_anchors_free(anchors);
    eco_anchors_free(NULL);
}

/* The committed table read by this reader is the table built in. */
static void test_same_as_builtin(void **state) {
    (void)state;
    size_t length = 0;
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    char *text = golden_load("../../data/anchors.csv", &length);
    ASSERT_OK(eco_anchors_read_csv(text, length, "anchors.csv", &anchors, &err), &err);
    free(text);
    const eco_anchor_table *a = eco_anchors_rows(anchors);
    const eco_anchor_table *b = eco_anchors_builtin();
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const eco_anchor *x = &a->rows[i];
        const eco_anchor *y = &b->rows[i];
        assert_string_equal(x->id, y->id);
        assert_string_equal(x->note, y->note);
        assert_string_equal(x->stack, y->stack);
        assert_string_equal(x->session, y->session);
        ASSERT_NEAR(x->params_b, y->params_b, 0.0);
        ASSERT_NEAR(x->energy_fp16_j1k.value, y->energy_fp16_j1k.value, 0.0);
        ASSERT_NEAR(x->energy_quant_j1k.value, y->energy_quant_j1k.value, 0.0);
        ASSERT_NEAR(x->delta_pct_only.value, y->delta_pct_only.value, 0.0);
        assert_int_equal(x->batch.absence, y->batch.absence);
        ASSERT_NEAR(x->batch.value, y->batch.value, 0.0);
        assert_int_equal(x->in_published_fit, y->in_published_fit);
        assert_int_equal(x->n_trials, y->n_trials);
        assert_int_equal(x->basis, y->basis);
    }
    eco_anchors_free(anchors);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        eco_status status;
        const char *message;
    } rows[] = {
        {"gpu,arch\n", ECO_E_PARSE,
         "t:1: model: a column of this name is expected in the first line"},
        {"", ECO_E_PARSE, "t:1: gpu: a column of this name is expected in the first line"},
        {HEAD ",energy_quant_sd_j1k,energy_quant_std_j1k\n", ECO_E_PARSE,
         "t:1: energy_quant_sd_j1k and energy_quant_std_j1k are two names of one column"},
        {HEAD "\nX,ada,m,1,NF4,1\n", ECO_E_PARSE,
         "t:2: fewer cells than the first line has columns"},
        {HEAD "\nX,ada,m,1,NF4,1,2,3\n", ECO_E_PARSE,
         "t:2: more cells than the first line has columns"},
        {HEAD "\nX,ada,m,1,NF4,1,2\nX,ada,m,one,NF4,1,2\n", ECO_E_PARSE,
         "t:3: params_b: 'one' is not usable; expected a number"},
        {HEAD "\nX,ada,m,0,NF4,1,2\n", ECO_E_RANGE,
         "t:2: params_b: '0' is not usable; expected a number from 1e-06 and at most 100000"},
        {HEAD "\nX,ada,m,NaN,NF4,1,2\n", ECO_E_PARSE,
         "t:2: params_b: 'NaN' is not usable; expected a number"},
        {HEAD "\nX,ada,m,1,NF4,1e999,2\n", ECO_E_PARSE,
         "t:2: energy_fp16_j1k: '1e999' is not usable; expected a number"},
        {HEAD "\nX,ada,m,1,NF4,-5,2\n", ECO_E_RANGE,
         "t:2: energy_fp16_j1k: '-5' is not usable; expected a number from 1e-06 and at most "
         "1000000000"},
        {HEAD "\nX,a\xff,m,1,NF4,1,2\n", ECO_E_PARSE,
         "t:2: arch: 'a\xff' is not usable; expected UTF-8"},
        {HEAD "\nX,,m,1,NF4,1,2\n", ECO_E_PARSE,
         "t:2: arch: '' is not usable; expected it not to be empty"},
        {HEAD "\nX,ada,m,1,NF4,1,\n", ECO_E_PARSE,
         "t:2: energy_quant_j1k: empty, but the other energy of the pair is given"},
        {HEAD "\nX,ada,m,1,NF4,,\n", ECO_E_PARSE,
         "t:2: energy_fp16_j1k: neither energies nor delta_pct_only"},
        {HEAD ",delta_pct_only\nX,ada,m,1,NF4,1,2,3\n", ECO_E_PARSE,
         "t:2: delta_pct_only: only for a row without energies"},
        {HEAD ",n_trials\nX,ada,m,1,NF4,1,2,1.5\n", ECO_E_PARSE,
         "t:2: n_trials: '1.5' is not usable; expected a whole number"},
        {HEAD ",in_published_fit\nX,ada,m,1,NF4,1,2,2\n", ECO_E_RANGE,
         "t:2: in_published_fit: '2' is not usable; expected a number from 0 and at most 1"},
        {HEAD ",basis\nX,ada,m,1,NF4,1,2,sure\n", ECO_E_PARSE,
         "t:2: basis: 'sure' is not usable; expected measured or another basis"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_anchors *anchors = NULL;
        eco_error err = {0};
        const eco_status status =
            eco_anchors_read_csv(rows[i].text, strlen(rows[i].text), "t", &anchors, &err);
        assert_null(anchors);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(status, rows[i].status);
    }
}

static void test_row_cap(void **state) {
    (void)state;
    static const char row[] = "X,ada,m,1,NF4,1,2\n";
    const size_t n_head = sizeof HEAD - 1;
    const size_t n_row = sizeof row - 1;
    char *text = malloc(n_head + 1 + (ECO_FIT_ROWS_MAX + 1) * n_row);
    eco_anchors *anchors = NULL;
    eco_error err = {0};
    assert_non_null(text);
    memcpy(text, HEAD "\n", n_head + 1);
    for (size_t i = 0; i <= ECO_FIT_ROWS_MAX; i++) {
        memcpy(text + n_head + 1 + i * n_row, row, n_row);
    }
    const size_t length = n_head + 1 + ECO_FIT_ROWS_MAX * n_row;
    ASSERT_OK(eco_anchors_read_csv(text, length, "t", &anchors, &err), &err);
    assert_int_equal(eco_anchors_rows(anchors)->n, ECO_FIT_ROWS_MAX);
    eco_anchors_free(anchors);
    assert_int_equal(eco_anchors_read_csv(text, length + n_row, "t", &anchors, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "t: more than 10000 rows");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_rows),  cmocka_unit_test(test_paired_session),
        cmocka_unit_test(test_rtx5090_session), cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_own_study),       cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_defaults),        cmocka_unit_test(test_same_as_builtin),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_row_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
