/* SPDX-License-Identifier: Apache-2.0
 *
 * See cell.h. Few cases have more than three sessions, so the spread between them is shrunk to that of all cases: a
 * scaled-inverse-chi-square prior with the pooled variance, worth PRIOR_DOF sessions, and Student's t for one more session.
 */
#include "model/cell.h"

#include "core/str.h"
#include "ecocompute/arch.h"
#include "ecocompute/stats.h"
#include "model/energy_model_parts.h"
#include "model/estimator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CELL_SESSIONS_MAX = 64,
    PRIOR_DOF = 4, /* a judgement: as much as five sessions */
    ENGINES_MAX = 16,
    PRECISIONS_MAX = 16
};
static const char curves_engine[] = ECOI_CURVES_ENGINE;

static const struct {
    const char *precision;
    double sd;
} session_sds[] = {{"NF4", 0.1087}, {"INT8", 0.2375}};
static const double SAME_STACK_SD = 0.05;
static const double NATIVE_SD = 0.0117; /* any precision */

double ecoi_session_sd(const char *engine, const char *precision, bool same_stack) {
    const bool pooled = strcmp(engine, curves_engine) == 0;
    double sd = 0;
    if (strcmp(engine, "native") == 0) {
        return NATIVE_SD;
    }
    if (same_stack) {
        return SAME_STACK_SD;
    }
    for (size_t i = 0; i < sizeof session_sds / sizeof session_sds[0]; i++) {
        if (pooled && strcmp(session_sds[i].precision, precision) == 0) {
            return session_sds[i].sd;
        }
        sd = fmax(sd, session_sds[i].sd);
    }
    return sd;
}

static double batch_of(const eco_anchor *row) {
    return eco_reading_present(row->batch) ? row->batch.value : 1;
}

/* All of the case but the size. */
static bool has_any_size(const ecoi_cell_query *q, const eco_anchor *row) {
    char asked[ECOI_ENERGY_KEY_MAX];
    char have[ECOI_ENERGY_KEY_MAX];
    double delta_pct = 0;
    if (strcmp(row->engine, q->engine) != 0 || strcmp(row->arch, q->arch) != 0 ||
        strcmp(row->precision, q->precision) != 0 || batch_of(row) != q->batch ||
        (q->card[0] != '\0' && eco_card_find(row->gpu) != eco_card_find(q->card)) ||
        !eco_anchor_delta_pct(row, &delta_pct)) {
        return false;
    }
    ecoi_energy_stack_of(q->engine, q->stack, asked);
    ecoi_energy_stack_of(q->engine, row->stack, have);
    return q->stack[0] == '\0' || strcmp(asked, have) == 0;
}

bool ecoi_cell_has(const ecoi_cell_query *q, const eco_anchor *row) {
    return fabs(row->params_b - q->params_b) < ECOI_SIZE_SAME_B && has_any_size(q, row);
}

bool ecoi_cell_sizes(const eco_anchor_table *table, const ecoi_cell_query *query, double *min_b,
                     double *max_b) {
    *min_b = (double)INFINITY;
    *max_b = 0;
    for (size_t i = 0; i < table->n; i++) {
        if (has_any_size(query, &table->rows[i])) {
            *min_b = fmin(*min_b, table->rows[i].params_b);
            *max_b = fmax(*max_b, table->rows[i].params_b);
        }
    }
    return *max_b > 0;
}

typedef struct session_mean {
    const char *session;
    const char *stack; /* as the first row has it */
    double sum;        /* of ln ratios, and of ln FP16 energies of those that give one */
    size_t n;
    double sum_fp16;
    size_t n_fp16;
} session_mean;

typedef struct session_list {
    session_mean items[CELL_SESSIONS_MAX];
    size_t n;
} session_list;

static void add_row(session_list *list, const eco_anchor *row, double log_ratio) {
    size_t at = 0;
    while (at < list->n && strcmp(list->items[at].session, row->session) != 0) {
        at++;
    }
    if (at == list->n) {
        if (list->n == CELL_SESSIONS_MAX) {
            return; /* the tidy table has five at most */
        }
        list->n++;
        list->items[at] = (session_mean){.session = row->session, .stack = row->stack};
    }
    session_mean *s = &list->items[at];
    s->sum += log_ratio;
    s->n++;
    if (eco_reading_present(row->energy_fp16_j1k)) {
        s->sum_fp16 += log(row->energy_fp16_j1k.value);
        s->n_fp16++;
    }
}

/* In logarithms over the sessions, as the change is: baseline and quantized energy lie among those of the rows. */
static eco_reading fp16_mean(const session_list *list) {
    double sum = 0;
    double n = 0;
    for (size_t i = 0; i < list->n; i++) {
        const session_mean *s = &list->items[i];
        if (s->n_fp16 > 0) {
            sum += s->sum_fp16 / (double)s->n_fp16;
            n++;
        }
    }
    return n > 0 ? eco_reading_of(exp(sum / n)) : eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
}

static void count_stacks(const session_list *list, ecoi_cell *out) {
    for (size_t i = 0; i < list->n; i++) {
        char stack[ECOI_ENERGY_KEY_MAX];
        char before[ECOI_ENERGY_KEY_MAX];
        bool told = false;
        ecoi_energy_stack_of(curves_engine, list->items[i].stack, stack);
        for (size_t j = 0; j < i && !told; j++) {
            ecoi_energy_stack_of(curves_engine, list->items[j].stack, before);
            told = strcmp(stack, before) == 0;
        }
        out->n_unnamed += stack[0] == '\0';
        out->n_stacks += stack[0] != '\0' && !told;
    }
}

/* The interval of one more session. */
static void spread_sessions(const session_list *list, double prior, ecoi_cell *out) {
    const double n = (double)list->n;
    double mean = 0;
    double squares = (double)PRIOR_DOF * prior * prior;
    for (size_t i = 0; i < list->n; i++) {
        mean += list->items[i].sum / (double)list->items[i].n / n;
    }
    for (size_t i = 0; i < list->n; i++) {
        const double off = list->items[i].sum / (double)list->items[i].n - mean;
        squares += off * off;
    }
    const uint32_t dof = PRIOR_DOF + (uint32_t)list->n - 1;
    const double half = eco_student_t95(dof) * sqrt(squares / dof * (1 + 1 / n));
    out->delta_pct = 100 * expm1(mean);
    out->lo_pct = 100 * expm1(mean - half);
    out->hi_pct = 100 * expm1(mean + half);
}

bool ecoi_cell_find(const eco_anchor_table *table, const ecoi_cell_query *query, ecoi_cell *out) {
    session_list list = {.n = 0};
    double min_pct = (double)INFINITY;
    double max_pct = -(double)INFINITY;
    *out = (ecoi_cell){.single_trials = true};
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        double delta_pct = 0;
        if (!ecoi_cell_has(query, row) || !eco_anchor_delta_pct(row, &delta_pct)) {
            continue;
        }
        add_row(&list, row, log1p(delta_pct / 100));
        min_pct = fmin(min_pct, delta_pct);
        max_pct = fmax(max_pct, delta_pct);
        out->basis = out->n_rows == 0 ? row->basis : eco_basis_weaker(out->basis, row->basis);
        out->single_trials = out->single_trials && row->n_trials == 1;
        out->n_rows++;
    }
    out->fp16_j1k = fp16_mean(&list);
    if (out->n_rows > 0) {
        out->spread_pct = max_pct - min_pct;
        out->n_sessions = list.n;
        if (strcmp(query->engine, curves_engine) ==
            0) { /* what tells stacks apart is bitsandbytes */
            count_stacks(&list, out);
        }
        spread_sessions(
            &list, ecoi_session_sd(query->engine, query->precision, query->stack[0] != '\0'), out);
    }
    return out->n_rows > 0;
}

size_t ecoi_count_rows(const char *engine, const char *arch, const char *precision, bool batched) {
    const eco_anchor_table *table = eco_anchors_builtin();
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        n += strcmp(row->engine, engine) == 0 && strcmp(row->arch, arch) == 0 &&
             strcmp(row->precision, precision) == 0 && (batch_of(row) > 1) == batched;
    }
    return n;
}

/* Adds `name` if it is not there yet; no more than `max`. */
static void add_name(const char **names, size_t *n, size_t max, const char *name) {
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(names[i], name) == 0) {
            return;
        }
    }
    if (*n < max) {
        names[(*n)++] = name;
    }
}

static void join_names(const char *const *names, size_t n, char *out, size_t capacity) {
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(out);
        (void)snprintf(out + length, capacity - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
}

static size_t engines_of(const char *names[ENGINES_MAX]) {
    const eco_anchor_table *table = eco_anchors_builtin();
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        add_name(names, &n, ENGINES_MAX, table->rows[i].engine);
    }
    return n;
}

const char *ecoi_engine_find(const char *name) {
    const char *names[ENGINES_MAX];
    const size_t n = engines_of(names);
    for (size_t i = 0; i < n; i++) {
        if (ecoi_str_equal_nocase(names[i], name)) {
            return names[i];
        }
    }
    return NULL;
}

eco_status ecoi_refuse_engine(const char *name, eco_error *err) {
    const char *names[ENGINES_MAX];
    char known[160];
    const size_t n = engines_of(names);
    const char *nearest = eco_nearest_name(name, names, n);
    if (nearest != NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "engine: unknown '%.60s', did you mean '%s'?",
                             name, nearest);
    }
    join_names(names, n, known, sizeof known);
    return eco_error_set(err, ECO_E_USAGE, 0, "engine: unknown '%.60s'; the table has %s", name,
                         known);
}

eco_status ecoi_refuse_unmeasured(const char *engine, const char *precision, eco_error *err) {
    const eco_anchor_table *table = eco_anchors_builtin();
    const char *names[PRECISIONS_MAX];
    const char *cards[PRECISIONS_MAX];
    char have[160];
    char on[160];
    size_t n = 0;
    size_t n_cards = 0;
    for (size_t i = 0; i < table->n; i++) {
        if (strcmp(table->rows[i].engine, engine) == 0) {
            add_name(names, &n, PRECISIONS_MAX, table->rows[i].precision);
            add_name(cards, &n_cards, PRECISIONS_MAX, table->rows[i].gpu);
        }
    }
    join_names(names, n, have, sizeof have);
    join_names(cards, n_cards, on, sizeof on);
    return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                         "precision: '%s' was not measured under engine %s; measured there: %s, on "
                         "%s",
                         precision, engine, have, on);
}

eco_status ecoi_refuse_precision(const char *arch, const char *precision, eco_error *err) {
    const eco_anchor_table *table = eco_anchors_builtin();
    const char *engine = NULL;
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        if (strcmp(row->arch, arch) == 0 && strcmp(row->precision, precision) == 0 &&
            (engine == NULL || strcmp(row->engine, engine) == 0)) {
            engine = row->engine;
            n++;
        }
    }
    if (engine != NULL && strcmp(engine, curves_engine) != 0) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "precision: '%s' was measured on %s cards under engine %s only (%zu "
                             "row%s of the table); ask with --engine %s",
                             precision, arch, engine, n, n == 1 ? "" : "s", engine);
    }
    return eco_error_set(err, ECO_E_NOT_FOUND, 0, "precision: '%s' was not measured on %s cards",
                         precision, arch);
}
