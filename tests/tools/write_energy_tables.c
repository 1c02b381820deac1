/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the tables of docs/energy-model.md, held-out error and coverage, from the built-in rows of all engines. Run it after
 * a change of data/anchors.csv or the model:
 *     build/release/tests/write_energy_tables
 */
#include "ecocompute/energy_model.h"
#include "ecocompute/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1000 };

typedef struct kind {
    const char *name;
    eco_energy_holdout by;
    eco_holdout published_by;
    const char *precision; /* NULL: all */
    bool batched;
} kind;

static const kind kinds[] = {
    {"session", ECO_ENERGY_BY_SESSION, ECO_HOLDOUT_SESSION, NULL, false},
    {"session, NF4", ECO_ENERGY_BY_SESSION, ECO_HOLDOUT_SESSION, "NF4", false},
    {"session, INT8", ECO_ENERGY_BY_SESSION, ECO_HOLDOUT_SESSION, "INT8", false},
    {"session, stack not named", ECO_ENERGY_BY_SESSION_BLIND, ECO_HOLDOUT_SESSION, NULL, false},
    {"card", ECO_ENERGY_BY_CARD, ECO_HOLDOUT_CARD, NULL, false},
    {"card, NF4", ECO_ENERGY_BY_CARD, ECO_HOLDOUT_CARD, "NF4", false},
    {"card, INT8", ECO_ENERGY_BY_CARD, ECO_HOLDOUT_CARD, "INT8", false},
    {"stack (all sessions of it)", ECO_ENERGY_BY_STACK, ECO_HOLDOUT_SESSION, NULL, false},
    {"model (every session of it)", ECO_ENERGY_BY_MODEL, ECO_HOLDOUT_SESSION, NULL, false},
    {"session, batch above 1", ECO_ENERGY_BY_SESSION, ECO_HOLDOUT_SESSION, NULL, true},
};

static eco_energy_held held[ROWS_MAX];
static eco_holdout_row published[ROWS_MAX];

typedef struct errors {
    double values[ROWS_MAX];
    double sum;
    size_t n;
} errors;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add(errors *e, double predicted, double measured) {
    e->values[e->n++] = fabs(predicted - measured);
    e->sum += fabs(predicted - measured);
}

/* "mean / median" */
static void print_errors(errors *e) {
    if (e->n == 0) {
        printf(" – |");
        return;
    }
    qsort(e->values, e->n, sizeof e->values[0], ascending);
    const double median = (e->values[(e->n - 1) / 2] + e->values[e->n / 2]) / 2;
    printf(" %.1f / %.1f |", e->sum / (double)e->n, median);
}

static const eco_holdout_row *published_of(const eco_anchor *row, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (published[i].row == row) {
            return &published[i];
        }
    }
    return NULL;
}

static bool is_of(const kind *k, const eco_anchor *row) {
    const bool batched = eco_reading_present(row->batch) && row->batch.value > 1;
    return strcmp(row->engine, "transformers") == 0 && batched == k->batched &&
           (k->precision == NULL || strcmp(k->precision, row->precision) == 0);
}

static bool print_kind(const kind *k) {
    static errors model, model_both, rules, none;
    const eco_anchor_table *rows = eco_anchors_builtin();
    const eco_fit_options options = {.engine = "transformers"};
    size_t n = 0;
    size_t inside = 0;
    eco_error err = {0};
    model = model_both = rules = none = (errors){.n = 0};
    if (rows->n > ROWS_MAX || eco_energy_model_validate(rows, k->by, held, &n, &err) != ECO_OK) {
        fprintf(stderr, "write_energy_tables: %s\n", err.message);
        return false;
    }
    const size_t n_published = eco_fit_holdout(rows, &options, k->published_by, published);
    for (size_t i = 0; i < n; i++) {
        const eco_energy_held *h = &held[i];
        const eco_holdout_row *p = published_of(h->row, n_published);
        if (!h->answered || !is_of(k, h->row)) {
            continue;
        }
        add(&model, h->estimate.delta_pct, h->delta_pct);
        add(&none, 0, h->delta_pct);
        inside += h->delta_pct >= h->estimate.lo_pct && h->delta_pct <= h->estimate.hi_pct;
        if (p != NULL && eco_reading_present(p->published_pct)) {
            add(&model_both, h->estimate.delta_pct, h->delta_pct);
            add(&rules, p->published_pct.value, h->delta_pct);
        }
    }
    printf("| %s | %zu |", k->name, model.n);
    print_errors(&model);
    printf(" %zu |", model_both.n);
    print_errors(&model_both);
    print_errors(&rules);
    printf(" %.1f | %zu |\n", none.sum / (double)none.n, inside);
    return true;
}

static bool print_rows(void) {
    static eco_energy_held by_card[ROWS_MAX];
    static eco_holdout_row published_card[ROWS_MAX];
    const eco_anchor_table *rows = eco_anchors_builtin();
    const eco_fit_options options = {.engine = "transformers"};
    size_t n = 0;
    size_t n_card = 0;
    if (eco_energy_model_validate(rows, ECO_ENERGY_BY_CARD, by_card, &n_card, NULL) != ECO_OK ||
        eco_energy_model_validate(rows, ECO_ENERGY_BY_SESSION, held, &n, NULL) != ECO_OK) {
        return false;
    }
    const size_t n_pc = eco_fit_holdout(rows, &options, ECO_HOLDOUT_CARD, published_card);
    const size_t n_p = eco_fit_holdout(rows, &options, ECO_HOLDOUT_SESSION, published);
    printf("\n| session | model | format | measured | session out: model | interval | published | "
           "card out: model | published |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < n && i < n_card; i++) {
        const eco_anchor *row = held[i].row;
        if (strcmp(row->engine, "transformers") != 0 || !held[i].answered) {
            continue;
        }
        const eco_holdout_row *p = published_of(row, n_p);
        printf("| %s | %s | %s", row->session, row->model, row->precision);
        if (eco_reading_present(row->batch) && row->batch.value > 1) {
            printf(", batch %g", row->batch.value);
        }
        printf(" | %+.1f | %+.1f | %+.0f … %+.0f |", held[i].delta_pct, held[i].estimate.delta_pct,
               held[i].estimate.lo_pct, held[i].estimate.hi_pct);
        printf(p != NULL && eco_reading_present(p->published_pct) ? " %+.1f |" : " – |",
               p != NULL ? p->published_pct.value : 0.0);
        printf(by_card[i].answered ? " %+.1f |" : " – |", by_card[i].estimate.delta_pct);
        const eco_holdout_row *pc = NULL;
        for (size_t j = 0; j < n_pc && pc == NULL; j++) {
            pc = published_card[j].row == row ? &published_card[j] : NULL;
        }
        printf(pc != NULL && eco_reading_present(pc->published_pct) ? " %+.1f |\n" : " – |\n",
               pc != NULL ? pc->published_pct.value : 0.0);
    }
    return true;
}

int main(void) {
    printf("| left out | rows | model | where both answer: rows | model | published rules | no "
           "change | inside |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!print_kind(&kinds[i])) {
            return 1;
        }
    }
    return print_rows() ? 0 : 1;
}
