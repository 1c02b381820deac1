/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers where the table has rows of just the case asked for: the spread between sessions, what the printed intervals hold
 * of the table (in sample, by label) and of sessions left out, and refusals that must not deny rows.
 */
#include "model/cell.h"

#include "ecocompute/estimate.h"
#include "test_helpers.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 512 };

static ecoi_cell_query case_of(const eco_anchor *row) {
    return (ecoi_cell_query){.arch = row->arch,
                             .card = row->gpu,
                             .precision = row->precision,
                             .engine = "transformers",
                             .stack = "",
                             .params_b = row->params_b,
                             .batch = 1};
}

static bool first_of(const eco_anchor_table *table, const ecoi_cell_query *q, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (ecoi_cell_has(q, &table->rows[i])) {
            return false;
        }
    }
    return ecoi_cell_has(q, &table->rows[at]);
}

/* Mean ln ratio of a session's rows of a case. */
static double session_mean(const eco_anchor_table *t, const ecoi_cell_query *q,
                           const char *session) {
    double sum = 0;
    double n = 0;
    for (size_t i = 0; i < t->n; i++) {
        double delta_pct = 0;
        if (ecoi_cell_has(q, &t->rows[i]) && strcmp(t->rows[i].session, session) == 0) {
            assert_true(eco_anchor_delta_pct(&t->rows[i], &delta_pct));
            sum += log1p(delta_pct / 100);
            n++;
        }
    }
    return sum / n;
}

static bool first_of_session(const eco_anchor_table *t, const ecoi_cell_query *q, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (ecoi_cell_has(q, &t->rows[i]) && strcmp(t->rows[i].session, t->rows[at].session) == 0) {
            return false;
        }
    }
    return ecoi_cell_has(q, &t->rows[at]);
}

/* Of one stack: cases of which a row names one, and rows of that. */
static double pooled_sd(const char *precision, bool same_stack) {
    const eco_anchor_table *t = eco_anchors_builtin();
    double squares = 0;
    double dof = 0;
    for (size_t i = 0; i < t->n; i++) {
        ecoi_cell_query q = case_of(&t->rows[i]);
        if (same_stack) {
            q.stack = t->rows[i].stack;
        }
        if (strcmp(t->rows[i].precision, precision) != 0 || !first_of(t, &q, i) ||
            (same_stack && strstr(q.stack, "bitsandbytes ") == NULL)) {
            continue;
        }
        double sum = 0;
        double sum2 = 0;
        double n = 0;
        for (size_t j = i; j < t->n; j++) {
            if (first_of_session(t, &q, j)) {
                const double mean = session_mean(t, &q, t->rows[j].session);
                sum += mean;
                sum2 += mean * mean;
                n++;
            }
        }
        squares += sum2 - sum * sum / n;
        dof += n - 1;
    }
    printf("session sd of ln ratio, %s%s: %.4f (%.0f degrees of freedom)\n", precision,
           same_stack ? ", one stack" : "", sqrt(squares / dof), dof);
    return sqrt(squares / dof);
}

static void test_session_sd(void **state) {
    (void)state;
    ASSERT_NEAR(ecoi_session_sd("transformers", "NF4", false), pooled_sd("NF4", false), 5e-5);
    ASSERT_NEAR(ecoi_session_sd("transformers", "INT8", false), pooled_sd("INT8", false), 5e-5);
    ASSERT_NEAR(ecoi_session_sd("transformers", "Q4_0", false),
                ecoi_session_sd("transformers", "INT8", false), 0.0);
    assert_true(pooled_sd("NF4", true) <= ecoi_session_sd("transformers", "NF4", true));
    assert_true(pooled_sd("INT8", true) <= ecoi_session_sd("transformers", "INT8", true));
}

/* Every row of engine transformers, asked with its card, size, precision and batch, without a stack or with its own. */
static void table_inside(bool with_stack) {
    enum { LABELS = 3 };
    const eco_anchor_table *t = eco_anchors_builtin();
    size_t n[LABELS] = {0};
    size_t inside[LABELS] = {0};
    size_t n_all = 0;
    size_t inside_all = 0;
    size_t asked = 0;
    for (size_t i = 0; i < t->n; i++) {
        const eco_anchor *row = &t->rows[i];
        double delta_pct = 0;
        if (strcmp(row->engine, "transformers") != 0 || !eco_anchor_delta_pct(row, &delta_pct) ||
            (with_stack && strstr(row->stack, "bitsandbytes ") == NULL)) {
            continue;
        }
        const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                      .params_b = row->params_b,
                                      .arch = row->gpu,
                                      .precision = row->precision,
                                      .stack = with_stack ? row->stack : NULL,
                                      .batch =
                                          eco_reading_present(row->batch) ? row->batch.value : 1,
                                      .context = ECO_CONTEXT_PUBLISHED};
        eco_estimate e;
        eco_error err = {0};
        asked++;
        ASSERT_OK(eco_estimate_make(&q, &e, &err), &err);
        const bool holds = delta_pct >= e.lo_pct && delta_pct <= e.hi_pct;
        if (e.basis == ECO_BASIS_MEASURED) {
            n[e.confidence]++;
            inside[e.confidence] += holds;
        }
        n_all++;
        inside_all += holds;
        eco_estimate_free(&e);
    }
    printf("in sample, stack %s: measured/high %zu of %zu, measured/medium %zu of %zu, "
           "measured/low %zu of "
           "%zu, all %zu of %zu answered of %zu\n",
           with_stack ? "named" : "not named", inside[ECO_CONFIDENCE_HIGH], n[ECO_CONFIDENCE_HIGH],
           inside[ECO_CONFIDENCE_MEDIUM], n[ECO_CONFIDENCE_MEDIUM], inside[ECO_CONFIDENCE_LOW],
           n[ECO_CONFIDENCE_LOW], inside_all, n_all, asked);
    for (size_t c = 0; c < LABELS; c++) {
        assert_true((double)inside[c] >= 0.9 * (double)n[c]);
    }
    assert_true(n[ECO_CONFIDENCE_MEDIUM] > 0 && n[with_stack ? ECO_CONFIDENCE_HIGH : 0] > 0);
    assert_true(n_all == asked && (double)inside_all >= 0.85 * (double)n_all);
}

static void test_table_inside(void **state) {
    (void)state;
    table_inside(false);
    table_inside(true);
}

/* A session of a case left out, the others asked. Sisters (one host before and after a restart) stay in. */
static void left_out(bool with_stack) {
    static eco_anchor rest[ROWS_MAX];
    const eco_anchor_table *t = eco_anchors_builtin();
    size_t n = 0;
    size_t inside = 0;
    assert_true(t->n <= ROWS_MAX);
    for (size_t i = 0; i < t->n; i++) {
        ecoi_cell_query q = case_of(&t->rows[i]);
        q.stack = with_stack ? t->rows[i].stack : "";
        if (with_stack && strstr(q.stack, "bitsandbytes ") == NULL) {
            continue;
        }
        size_t n_rest = 0;
        ecoi_cell cell;
        double delta_pct = 0;
        for (size_t j = 0; j < t->n; j++) {
            if (strcmp(t->rows[j].session, t->rows[i].session) != 0) {
                rest[n_rest++] = t->rows[j];
            }
        }
        if (ecoi_cell_has(&q, &t->rows[i]) && eco_anchor_delta_pct(&t->rows[i], &delta_pct) &&
            ecoi_cell_find(&(eco_anchor_table){rest, n_rest}, &q, &cell)) {
            n++;
            inside += delta_pct >= cell.lo_pct && delta_pct <= cell.hi_pct;
        }
    }
    printf("session left out, stack %s: %zu of %zu\n", with_stack ? "named" : "not named", inside,
           n);
    assert_true(n >= (with_stack ? 30u : 40u) && (double)inside >= 0.85 * (double)n);
}

static void test_left_out(void **state) {
    (void)state;
    left_out(false);
    left_out(true);
}

/* Where sessions of a card disagree the answer holds them all and is not sure of itself. */
static void test_cases(void **state) {
    (void)state;
    static const struct {
        const char *card, *precision;
        double params_b;
        size_t sessions;
        eco_confidence most;
        double holds[3];
    } rows[] = {
        {"RTX 5090", "NF4", 7, 3, ECO_CONFIDENCE_MEDIUM, {-11.45, -31.35, -32.28}},
        {"RTX 4090", "INT8", 0.5, 3, ECO_CONFIDENCE_LOW, {241.9, 594.6, 581.1}},
        {"RTX 5090", "INT8", 7, 2, ECO_CONFIDENCE_MEDIUM, {54.8, 59.4, 59.4}},
        {"A800", "INT8", 7, 2, ECO_CONFIDENCE_MEDIUM, {130.8, 121.6, 121.6}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                      .params_b = rows[i].params_b,
                                      .arch = rows[i].card,
                                      .precision = rows[i].precision,
                                      .batch = 1,
                                      .context = ECO_CONTEXT_PUBLISHED};
        eco_estimate e;
        eco_error err = {0};
        ASSERT_OK(eco_estimate_make(&q, &e, &err), &err);
        assert_int_equal(e.n_sessions, rows[i].sessions);
        assert_true(e.confidence <= rows[i].most);
        for (size_t j = 0; j < 3; j++) {
            assert_true(rows[i].holds[j] > e.lo_pct && rows[i].holds[j] < e.hi_pct);
        }
        assert_null(strstr(e.notes.data, "single trial"));
        eco_estimate_free(&e);
    }
}

/* A named stack is answered by its own rows where there are some: 1.1B INT8 with 0.45.5 cost 146 and 138 %. */
static void test_stack_rows(void **state) {
    (void)state;
    const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                  .params_b = 1.1,
                                  .arch = "RTX 4090",
                                  .precision = "INT8",
                                  .stack = "bitsandbytes 0.45.5",
                                  .batch = 1,
                                  .context = ECO_CONTEXT_PUBLISHED};
    eco_estimate e;
    eco_error err = {0};
    ASSERT_OK(eco_estimate_make(&q, &e, &err), &err);
    assert_int_equal(e.n_sessions, 2);
    ASSERT_NEAR(e.delta_pct, 142, 0.5);
    eco_estimate_free(&e);
}

static void check_sign(const eco_estimate *e) {
    const bool known = eco_reading_present(e->crossover_b);
    const bool locked = e->gate.zone == ECO_GATE_LOCK_FP16;
    const bool allowed = e->gate.zone == ECO_GATE_ALLOW_QUANT;
    if ((locked && e->delta_pct < 0) || (allowed && e->delta_pct > 0) ||
        (known && (e->params_b >= e->crossover_b.value) != (e->delta_pct <= 0))) {
        print_error("%s %s %s %g B: %+.1f %%, gate %s, crossover %g\n", e->card, e->arch,
                    e->precision, e->params_b, e->delta_pct, eco_gate_zone_name(e->gate.zone),
                    known ? e->crossover_b.value : (double)NAN);
        fail();
    }
}

/* The sign of the answer, the gate and the crossover agree on every card of the table, sizes 0.1 to 100 B, both formats. */
static void test_signs(void **state) {
    (void)state;
    static const char *const classes[] = {"ada", "ampere", "blackwell", "turing", "hopper"};
    size_t n = 0;
    for (size_t c = 0; c < eco_card_count() + 5; c++) {
        const char *place = c < 5 ? classes[c] : eco_card_at(c - 5)->name;
        for (int i = 0; i < 2 * 70; i++) {
            const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                          .params_b = round(1000 * exp(i / 2 * 0.1 - 2.3)) / 1000,
                                          .arch = place,
                                          .precision = i % 2 == 0 ? "NF4" : "INT8",
                                          .batch = 1,
                                          .context = ECO_CONTEXT_PUBLISHED};
            eco_estimate e;
            eco_error err = {0};
            if (eco_estimate_make(&q, &e, &err) == ECO_OK) {
                check_sign(&e);
                eco_estimate_free(&e);
                n++;
            }
        }
    }
    assert_true(n > 5000);
}

static void refused(const char *arch, const char *precision, const char *words) {
    const eco_estimate_query q = {.rules = ECO_RULES_CURRENT,
                                  .params_b = 7,
                                  .arch = arch,
                                  .precision = precision,
                                  .batch = 1,
                                  .context = ECO_CONTEXT_PUBLISHED};
    eco_estimate e;
    eco_error err = {0};
    assert_int_equal(eco_estimate_make(&q, &e, &err), ECO_E_NOT_FOUND);
    if (strstr(err.message, words) == NULL) {
        print_error("'%s' does not say '%s'\n", err.message, words);
        fail();
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const no_sheet[] = {"GB200", "GB300", "A2", "A16", "RTX 5060"};
    refused("ada", "Q4_0",
            "engine llama.cpp only (1 row of the table); ask with --engine llama.cpp");
    refused("hopper", "FP8", "engine native only");
    refused("turing", "INT8", "not measured on turing");
    for (size_t i = 0; i < sizeof no_sheet / sizeof no_sheet[0]; i++) {
        refused(no_sheet[i], "NF4", "no data sheet of");
    }
    refused("RTX 4090 Laptop", "NF4", "give --arch ada");
    assert_non_null(eco_card_find("RTX PRO 6000"));
    assert_string_equal(eco_card_find("RTX PRO 6000")->family, "blackwell");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_sd), cmocka_unit_test(test_table_inside),
        cmocka_unit_test(test_left_out),   cmocka_unit_test(test_cases),
        cmocka_unit_test(test_stack_rows), cmocka_unit_test(test_signs),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("model_cell", tests, NULL, NULL);
}
