/* SPDX-License-Identifier: Apache-2.0
 *
 * Held-out error row by row: the published rules against the current model.
 */
#include "fit_validate.h"

#include "cli.h"

#include "ecocompute/energy_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tables {
    eco_anchor_table rows; /* those that the options choose */
    const eco_fit_options *options;
    eco_holdout_row *published;
    eco_energy_held *current;
    size_t n, n_current;
} tables;

typedef struct errors {
    double *values; /* room for all rows */
    size_t n;
} errors;

static const struct {
    const char *name, *title;
    eco_energy_holdout current;
} by_names[] = {
    [ECO_HOLDOUT_SESSION] = {"session", "Leave one session out", ECO_ENERGY_BY_SESSION},
    [ECO_HOLDOUT_CARD] = {"card", "Leave one card out", ECO_ENERGY_BY_CARD},
};

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *held_out(const eco_holdout_row *row, eco_holdout by) {
    return by == ECO_HOLDOUT_CARD ? row->row->gpu : row->row->session;
}

/* The current model's answer to the same row; NULL if it refused or does not know the row. */
static const eco_energy_held *current_of(const tables *t, const eco_anchor *row) {
    for (size_t i = 0; i < t->n_current; i++) {
        if (t->current[i].row == row) {
            return t->current[i].answered ? &t->current[i] : NULL;
        }
    }
    return NULL;
}

static void print_miss(bool answered, double predicted, double measured, const char *mark) {
    if (answered) {
        cli_out(" %9.2f %8.2f%s", predicted, fabs(predicted - measured), mark);
    } else {
        cli_out(" %9s %8s ", "-", "-");
    }
}

static void print_summary(const char *name, errors *e) {
    double sum = 0.0;
    if (e->n == 0) {
        cli_out("  %-26s no row answered\n", name);
        return;
    }
    qsort(e->values, e->n, sizeof *e->values, compare_numbers);
    for (size_t i = 0; i < e->n; i++) {
        sum += e->values[i];
    }
    const double median =
        e->n % 2 == 1 ? e->values[e->n / 2] : 0.5 * (e->values[e->n / 2 - 1] + e->values[e->n / 2]);
    cli_out("  %-26s mean %7.2f  median %7.2f  over %zu rows\n", name, sum / (double)e->n, median,
            e->n);
}

static void collect(errors *e, double predicted, double measured) {
    e->values[e->n++] = fabs(predicted - measured);
}

/* Mean and median miss of each, then of both over the rows that both answer, and of "no change" over all. */
static void print_summaries(const tables *t, double *room) {
    errors lists[5];
    for (size_t i = 0; i < 5; i++) {
        lists[i] = (errors){.values = room + i * t->n};
    }
    for (size_t i = 0; i < t->n; i++) {
        const eco_holdout_row *row = &t->published[i];
        const eco_energy_held *current = current_of(t, row->row);
        const bool published = eco_reading_present(row->published_pct);
        if (published) {
            collect(&lists[0], row->published_pct.value, row->delta_pct);
        }
        if (current != NULL) {
            collect(&lists[1], current->estimate.delta_pct, row->delta_pct);
        }
        if (published && current != NULL) {
            collect(&lists[2], row->published_pct.value, row->delta_pct);
            collect(&lists[3], current->estimate.delta_pct, row->delta_pct);
        }
        collect(&lists[4], 0.0, row->delta_pct);
    }
    cli_out("absolute error, points of dE%%\n");
    print_summary("published rules", &lists[0]);
    print_summary("current model", &lists[1]);
    print_summary("published, where both", &lists[2]);
    print_summary("current, where both", &lists[3]);
    print_summary("no change (0)", &lists[4]);
}

static void print_table(const tables *t, eco_holdout by, double *room) {
    cli_out("\n%s: fitted without it; * borrowed from another class\n", by_names[by].title);
    cli_out("%-24s %-16s %-15s %-5s %9s %9s %8s  %9s %8s\n", by_names[by].name, "card", "model",
            "prec", "measured", "published", "error", "current", "error");
    for (size_t i = 0; i < t->n; i++) {
        const eco_holdout_row *row = &t->published[i];
        const eco_energy_held *current = current_of(t, row->row);
        cli_out("%-24s %-16.16s %-15s %-5s %9.2f", held_out(row, by), row->row->gpu,
                row->row->model, row->row->precision, row->delta_pct);
        print_miss(eco_reading_present(row->published_pct), row->published_pct.value,
                   row->delta_pct, row->published_borrowed ? "*" : " ");
        print_miss(current != NULL, current != NULL ? current->estimate.delta_pct : 0.0,
                   row->delta_pct, "");
        cli_out("\n");
    }
    print_summaries(t, room);
}

static void json_number(const char *key, bool there, double value, bool last) {
    cli_json_reading(
        key, there ? eco_reading_of(value) : eco_reading_absent(ECO_ABSENT_UNSUPPORTED), last);
}

static void print_json(const tables *t, eco_holdout by) {
    cli_out("%s\"%s\": [", by == ECO_HOLDOUT_SESSION ? "{" : ",\n ", by_names[by].name);
    for (size_t i = 0; i < t->n; i++) {
        const eco_holdout_row *row = &t->published[i];
        const eco_energy_held *current = current_of(t, row->row);
        const bool published = eco_reading_present(row->published_pct);
        cli_out("%s\n  {", i == 0 ? "" : ",");
        cli_json_field("held_out", held_out(row, by), false);
        cli_json_field("gpu", row->row->gpu, false);
        cli_json_field("arch", row->row->arch, false);
        cli_json_field("model", row->row->model, false);
        cli_json_field("precision", row->row->precision, false);
        json_number("params_b", true, row->row->params_b, false);
        json_number("measured_pct", true, row->delta_pct, false);
        json_number("published_pct", published, row->published_pct.value, false);
        cli_out("\"published_borrowed\": %s, ", row->published_borrowed ? "true" : "false");
        json_number("current_pct", current != NULL,
                    current != NULL ? current->estimate.delta_pct : 0.0, false);
        json_number("current_lo_pct", current != NULL,
                    current != NULL ? current->estimate.lo_pct : 0.0, false);
        json_number("current_hi_pct", current != NULL,
                    current != NULL ? current->estimate.hi_pct : 0.0, true);
        cli_out("}");
    }
    cli_out("\n ]%s", by == ECO_HOLDOUT_CARD ? "}\n" : "");
}

/* A table may be too small or too large for the current model: then its columns stay empty. */
static eco_status hold_out(tables *t, eco_holdout by, eco_error *err) {
    t->n = eco_fit_holdout(&t->rows, t->options, by, t->published);
    if (t->n == 0) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
    }
    t->n_current = 0;
    const eco_status status =
        eco_energy_model_validate(&t->rows, by_names[by].current, t->current, &t->n_current, err);
    return status == ECO_E_INVALID || status == ECO_E_RANGE ? ECO_OK : status;
}

static void choose_rows(const eco_anchor_table *all, const eco_fit_options *options,
                        eco_anchor *chosen, eco_anchor_table *out) {
    const char *engine = options->engine != NULL ? options->engine : "transformers";
    *out = (eco_anchor_table){.rows = chosen};
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->rows[i].engine, engine) == 0 &&
            (!options->published_rows || all->rows[i].in_published_fit)) {
            chosen[out->n++] = all->rows[i];
        }
    }
}

eco_status fit_validate(const eco_anchor_table *rows, const eco_fit_options *options, bool json,
                        eco_error *err) {
    tables t = {.options = options};
    eco_anchor *chosen = calloc(rows->n + 1, sizeof *chosen);
    double *room = calloc(rows->n + 1, 5 * sizeof *room);
    t.published = calloc(rows->n + 1, sizeof *t.published);
    t.current = calloc(rows->n + 1, sizeof *t.current);
    eco_status status = ECO_OK;
    if (chosen == NULL || room == NULL || t.published == NULL || t.current == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "fit: out of memory");
    } else {
        choose_rows(rows, options, chosen, &t.rows);
    }
    for (eco_holdout by = ECO_HOLDOUT_SESSION; status == ECO_OK && by <= ECO_HOLDOUT_CARD; by++) {
        status = hold_out(&t, by, err);
        if (status == ECO_OK && json) {
            print_json(&t, by);
        } else if (status == ECO_OK) {
            print_table(&t, by, room);
        }
    }
    free(t.current);
    free(t.published);
    free(room);
    free(chosen);
    return status;
}
