/* SPDX-License-Identifier: Apache-2.0
 *
 * Held-out error and the width of the interval. Each session (or stack, or card) is left out in turn, the rest is fitted,
 * its rows are predicted. The interval's multiple for a row comes from the held-out errors of the other groups of its
 * engine (cross conformal), so that its coverage can be counted on rows that set nothing. Pure.
 */
#include "core/alloc.h"
#include "model/energy_model_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double coverage = 0.95;

typedef struct held {
    size_t *group; /* of each row: the index of the first row of its group */
    double *score; /* |error of the log ratio| over its standard deviation; -1 none */
    double *sorted;
    bool *skip;
    ecoi_energy_answer *answer;
} held;

static void held_fini(held *h) {
    ecoi_free(h->group);
    ecoi_free(h->score);
    ecoi_free(h->sorted);
    ecoi_free(h->skip);
    ecoi_free(h->answer);
}

static eco_status held_init(held *h, size_t n, eco_error *err) {
    *h = (held){.group = ecoi_calloc(n + 1, sizeof *h->group),
                .score = ecoi_calloc(n + 1, sizeof *h->score),
                .sorted = ecoi_calloc(2 * n + 1, sizeof *h->sorted),
                .skip = ecoi_calloc(n + 1, sizeof *h->skip),
                .answer = ecoi_calloc(n + 1, sizeof *h->answer)};
    if (h->group == NULL || h->score == NULL || h->sorted == NULL || h->skip == NULL ||
        h->answer == NULL) {
        held_fini(h);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "energy model: out of memory");
    }
    return ECO_OK;
}

static bool same_group(const eco_anchor *a, const eco_anchor *b, eco_energy_holdout by) {
    char stack_a[ECOI_ENERGY_KEY_MAX], stack_b[ECOI_ENERGY_KEY_MAX];
    switch (by) {
    case ECO_ENERGY_BY_CARD:
        return strcmp(a->gpu, b->gpu) == 0;
    case ECO_ENERGY_BY_MODEL:
        return strcmp(a->model, b->model) == 0;
    case ECO_ENERGY_BY_STACK:
        ecoi_energy_stack_of(a->engine, a->stack, stack_a);
        ecoi_energy_stack_of(b->engine, b->stack, stack_b);
        if (stack_a[0] != '\0' || stack_b[0] != '\0') {
            return strcmp(stack_a, stack_b) == 0;
        }
        return strcmp(a->session, b->session) ==
               0; /* stacks unknown: no more is known to be shared */
    case ECO_ENERGY_BY_SESSION:
    case ECO_ENERGY_BY_SESSION_BLIND:
    default:
        return strcmp(a->session, b->session) == 0;
    }
}

/* Answers for the rows of the group of row `first`, fitted without them. */
static eco_status hold_group(const eco_anchor_table *rows, size_t first, bool blind, held *h,
                             eco_error *err) {
    for (size_t i = 0; i < rows->n; i++) {
        h->skip[i] = h->group[i] == first;
    }
    eco_energy_params *params;
    const eco_status status = ecoi_energy_fit_without(rows, h->skip, &params, err);
    if (status == ECO_E_INVALID) {
        return ECO_OK; /* too little is left to fit: no answer */
    }
    ECO_TRY(status);
    for (size_t i = first; i < rows->n; i++) {
        ecoi_energy_case c;
        double delta_pct;
        if (h->skip[i] && eco_anchor_delta_pct(&rows->rows[i], &delta_pct) && delta_pct > -100.0 &&
            ecoi_energy_case_of_row(&rows->rows[i], &c) && ecoi_energy_is_seen(params, &c)) {
            ecoi_energy_answer *a = &h->answer[i];
            if (blind && strcmp(c.engine, "transformers") == 0) {
                c.stack[0] = '\0';
            }
            ecoi_energy_answer_of(params, &c, a);
            h->score[i] = fabs(log1p(delta_pct / 100.0) - a->log_ratio) / a->sd;
        }
    }
    eco_energy_params_free(params);
    return ECO_OK;
}

static eco_status hold_all(const eco_anchor_table *rows, eco_energy_holdout by, held *h,
                           eco_error *err) {
    for (size_t i = 0; i < rows->n; i++) {
        h->score[i] = -1.0;
        h->group[i] = i;
        for (size_t j = 0; j < i; j++) {
            if (same_group(&rows->rows[i], &rows->rows[j], by)) {
                h->group[i] = h->group[j];
                break;
            }
        }
    }
    for (size_t i = 0; i < rows->n; i++) {
        if (h->group[i] == i) {
            ECO_TRY(hold_group(rows, i, by == ECO_ENERGY_BY_SESSION_BLIND, h, err));
        }
    }
    return ECO_OK;
}

static int ascending(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The conformal quantile of n scores, in place: the ceil(0.95 (n + 1))-th smallest, the largest where that is beyond. */
static double quantile_of(double *scores, size_t n) {
    if (n == 0) {
        return 1.96;
    }
    qsort(scores, n, sizeof *scores, ascending);
    const size_t rank = (size_t)ceil(coverage * (double)(n + 1));
    return scores[(rank < n ? rank : n) - 1];
}

eco_status eco_energy_model_validate(const eco_anchor_table *rows, eco_energy_holdout by,
                                     eco_energy_held *out, size_t *n, eco_error *err) {
    *n = 0;
    held h;
    ECO_TRY(held_init(&h, rows->n, err));
    const eco_status status = hold_all(rows, by, &h, err);
    for (size_t i = 0; status == ECO_OK && i < rows->n; i++) {
        eco_energy_held *to = &out[*n];
        *to = (eco_energy_held){.row = &rows->rows[i]};
        if (!eco_anchor_delta_pct(&rows->rows[i], &to->delta_pct)) {
            continue;
        }
        (*n)++;
        if (h.score[i] < 0.0) {
            continue;
        }
        size_t others = 0;
        for (size_t j = 0; j < rows->n; j++) {
            if (h.group[j] != h.group[i] && h.score[j] >= 0.0 &&
                strcmp(rows->rows[j].engine, rows->rows[i].engine) == 0) {
                h.sorted[others++] = h.score[j];
            }
        }
        to->answered = true;
        ecoi_energy_estimate_of(&h.answer[i], quantile_of(h.sorted, others), &to->estimate);
    }
    held_fini(&h);
    return status;
}

/* One multiple an engine: of the held-out errors by session and by card together. */
static void set_multiples(const eco_anchor_table *rows, const double *scores, double *sorted,
                          ecoi_energy_multiple *out, size_t *n_out) {
    for (size_t i = 0; i < rows->n; i++) {
        const char *engine = rows->rows[i].engine;
        size_t n = 0;
        for (size_t j = 0; j < 2 * rows->n; j++) {
            const eco_anchor *row = &rows->rows[j % rows->n];
            if (scores[j] >= 0.0 && strcmp(row->engine, engine) == 0) {
                sorted[n++] = scores[j];
            }
        }
        bool told = n == 0;
        for (size_t k = 0; k < *n_out && !told; k++) {
            told = strcmp(out[k].engine, engine) == 0;
        }
        if (!told) {
            ecoi_energy_copy(out[*n_out].engine, sizeof out[*n_out].engine, engine);
            out[(*n_out)++].value = quantile_of(sorted, n);
        }
    }
}

static eco_status calibrate(const eco_anchor_table *rows, eco_energy_params *params,
                            eco_error *err) {
    static const eco_energy_holdout both[] = {ECO_ENERGY_BY_SESSION, ECO_ENERGY_BY_CARD};
    held h;
    ECO_TRY(held_init(&h, rows->n, err));
    double *scores = ecoi_calloc(2 * rows->n + 1, sizeof *scores);
    ecoi_energy_multiple *multiples = ecoi_calloc(rows->n + 1, sizeof *multiples);
    eco_status status = scores != NULL && multiples != NULL
                            ? ECO_OK
                            : eco_error_set(err, ECO_E_NO_MEMORY, 0, "energy model: out of memory");
    for (size_t k = 0; k < 2 && status == ECO_OK; k++) {
        status = hold_all(rows, both[k], &h, err);
        memcpy(scores + k * rows->n, h.score, rows->n * sizeof *scores);
    }
    if (status == ECO_OK) {
        set_multiples(rows, scores, h.sorted, multiples, &params->n_multiples);
        params->multiples = multiples;
        multiples = NULL;
    }
    ecoi_free(multiples);
    ecoi_free(scores);
    held_fini(&h);
    return status;
}

eco_status eco_energy_model_fit(const eco_anchor_table *rows, eco_energy_params **out,
                                eco_error *err) {
    ECO_TRY(ecoi_energy_fit_without(rows, NULL, out, err));
    const eco_status status = calibrate(rows, *out, err);
    if (status != ECO_OK) {
        eco_energy_params_free(*out);
        *out = NULL;
    }
    return status;
}
