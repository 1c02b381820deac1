/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the grid once: the best few that keep the limits, the one that breaks them least, and the front of energy against
 * latency are kept as it goes, so a million candidates need the memory of their front. Order and ties are the published
 * ones (SPEC §4.3): objective, energy, memory, latency, each equal within 1e-9; then the order of the grid.
 */
#include "ecocompute/optimize.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/str.h"
#include "model/estimator.h"
#include "model/optimize_grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_KEPT = 1 + ECO_OPTIMIZE_ALTERNATIVES };
static const double TIE = 1e-9;

static const char *const objective_names[ECO_OBJECTIVE_COUNT] = {
    [ECO_OBJECTIVE_MIN_ENERGY] = "min_energy",
    [ECO_OBJECTIVE_MIN_LATENCY] = "min_latency",
    [ECO_OBJECTIVE_MAX_THROUGHPUT] = "max_throughput",
    [ECO_OBJECTIVE_MIN_VRAM] = "min_vram",
};
static const char *const default_precisions[] = {"FP16", "NF4", "INT8"};
static const double default_batches[] = {1, 2, 4, 8, 16, 32};
static const double default_contexts[] = {512, 1024, 2048, 4096, 8192};

typedef struct walk {
    const ecoi_grid *grid;
    eco_optimum *out;
    ecoi_arm arms[ECO_OPTIMIZE_PRECISIONS_MAX];
    uint32_t n_arms;
    ecoi_spot kept[N_KEPT]; /* best first */
    size_t n_kept;
    ecoi_spot closest;
    double closest_violation;
    bool any_broken;
    ecoi_spot *front;
    size_t n_front, front_capacity;
    ecoi_spot last; /* the last one that the front was asked about: on it, or dominated by it */
    bool failed;
} walk;

const char *eco_objective_name(eco_objective objective) {
    return (unsigned)objective < ECO_OBJECTIVE_COUNT ? objective_names[objective] : "unknown";
}

/* ---- the question ---- */

static eco_status find_objective(const eco_optimize_query *q, eco_objective *out, eco_error *err) {
    *out = ECO_OBJECTIVE_MIN_ENERGY;
    if (q->objective == NULL || q->objective[0] == '\0') {
        return ECO_OK;
    }
    for (unsigned i = 0; i < ECO_OBJECTIVE_COUNT; i++) {
        if (strcmp(q->objective, objective_names[i]) == 0) {
            *out = (eco_objective)i;
            return ECO_OK;
        }
    }
    if (q->rules == ECO_RULES_PUBLISHED_1_1) {
        return ECO_OK;
    }
    const char *nearest = eco_nearest_name(q->objective, objective_names, ECO_OBJECTIVE_COUNT);
    return eco_error_set(err, ECO_E_USAGE, 0,
                         "objective: '%.40s' is not known%s%s%s; expected min_energy, min_latency, "
                         "max_throughput or min_vram",
                         q->objective, nearest != NULL ? ", did you mean '" : "",
                         nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static eco_status check_limit(const char *field, eco_reading limit, eco_error *err) {
    if (!eco_reading_present(limit) || (limit.value > 0 && isfinite(limit.value))) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_RANGE, 0, "%s: a number above 0 is expected", field);
}

static eco_status check_axes(const eco_optimum *o, eco_error *err) {
    size_t n = 0;
    if (o->n_precisions > ECO_OPTIMIZE_PRECISIONS_MAX || o->n_batches > ECO_OPTIMIZE_AXIS_MAX ||
        o->n_contexts > ECO_OPTIMIZE_AXIS_MAX || !ecoi_size_mul(o->n_batches, o->n_contexts, &n) ||
        !ecoi_size_mul(n, o->n_precisions, &n) || n > ECO_OPTIMIZE_CANDIDATES_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "grid: at most 8 precisions, 4096 batches, 4096 contexts and %d "
                             "candidates",
                             ECO_OPTIMIZE_CANDIDATES_MAX);
    }
    for (size_t i = 0; o->rules == ECO_RULES_CURRENT && i < o->n_batches; i++) {
        ECO_TRY(ecoi_estimate_check_batch(o->batches[i], err));
    }
    for (size_t i = 0; o->rules == ECO_RULES_CURRENT && i < o->n_contexts; i++) {
        ECO_TRY(ecoi_estimate_check_context(o->contexts[i], err));
    }
    return ECO_OK;
}

static eco_status check_twice(const char *field, const double *values, size_t n, eco_error *err) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!(values[i] < values[j] || values[i] > values[j])) {
                return eco_error_set(err, ECO_E_USAGE, 0, "%s: %g is given twice", field,
                                     values[i]);
            }
        }
    }
    return ECO_OK;
}

/* Current: every precision is a format, and nothing is given twice. */
static eco_status check_lists(const eco_optimum *o, eco_error *err) {
    if (o->rules != ECO_RULES_CURRENT || o->n_precisions > ECO_OPTIMIZE_PRECISIONS_MAX ||
        o->n_batches > ECO_OPTIMIZE_AXIS_MAX || o->n_contexts > ECO_OPTIMIZE_AXIS_MAX) {
        return ECO_OK; /* check_axes refuses what is too long */
    }
    for (size_t i = 0; i < o->n_precisions; i++) {
        ECO_TRY(ecoi_estimate_check_format(o->precisions[i], err));
        for (size_t j = 0; j < i; j++) {
            if (ecoi_str_equal_nocase(o->precisions[i], o->precisions[j])) {
                return eco_error_set(err, ECO_E_USAGE, 0, "precisions: %.16s is given twice",
                                     o->precisions[i]);
            }
        }
    }
    ECO_TRY(check_twice("batches", o->batches, o->n_batches, err));
    return check_twice("contexts", o->contexts, o->n_contexts, err);
}

static eco_status take_query(const eco_optimize_query *q, const eco_curve_set *set, eco_optimum *o,
                             eco_error *err) {
    if (q->rules == ECO_RULES_CURRENT) {
        ECO_TRY(ecoi_estimate_check_model(q->model, err));
        ECO_TRY(ecoi_estimate_check_size(q->params_b, err));
        ECO_TRY(check_limit("max_latency_ms", q->latency_max_ms, err));
        ECO_TRY(check_limit("max_vram_gb", q->vram_max_gb, err));
        ECO_TRY(check_limit("min_throughput", q->throughput_min_tok_s, err));
    } else if (!(q->params_b > 0)) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "params_b: a size above 0 is expected, in billions of parameters");
    }
    ECO_TRY(find_objective(q, &o->objective, err));
    ecoi_place place;
    ECO_TRY(ecoi_place_find(q->rules, set, q->arch, &place, err));
    (void)ecoi_str_copy(o->arch, sizeof o->arch, place.arch);
    (void)ecoi_str_copy(o->card, sizeof o->card, place.card);
    o->rules = q->rules;
    o->params_b = q->params_b;
    o->latency_max_ms = q->latency_max_ms;
    o->vram_max_gb = q->vram_max_gb;
    o->throughput_min_tok_s = q->throughput_min_tok_s;
    o->precisions = q->n_precisions > 0 ? q->precisions : default_precisions;
    o->batches = q->n_batches > 0 ? q->batches : default_batches;
    o->contexts = q->n_contexts > 0 ? q->contexts : default_contexts;
    o->n_precisions = q->n_precisions > 0 ? q->n_precisions : 3;
    o->n_batches = q->n_batches > 0 ? q->n_batches : 6;
    o->n_contexts = q->n_contexts > 0 ? q->n_contexts : 5;
    ECO_TRY(check_lists(o, err));
    ECO_TRY(ecoi_estimate_check_model(q->model, err));
    o->model = q->model != NULL ? eco_model_find(q->model)->name : NULL;
    return check_axes(o, err);
}

/* The result's own copies of the three axes, precisions in upper case, in one block. */
static eco_status own_axes(eco_optimum *o, eco_error *err) {
    enum { NAME = 16 };
    const size_t size =
        (o->n_batches + o->n_contexts) * sizeof(double) + o->n_precisions * (sizeof(char *) + NAME);
    char *memory = ecoi_calloc(1, size);
    if (memory == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "optimize: out of memory");
    }
    double *batches = (double *)(void *)memory;
    double *contexts = batches + o->n_batches;
    const char **precisions = (const char **)(void *)(contexts + o->n_contexts);
    char *names = (char *)(precisions + o->n_precisions);
    memcpy(batches, o->batches, o->n_batches * sizeof *batches);
    memcpy(contexts, o->contexts, o->n_contexts * sizeof *contexts);
    for (size_t i = 0; i < o->n_precisions; i++) {
        char *name = names + i * NAME;
        (void)ecoi_str_copy(name, NAME, o->precisions[i]);
        for (char *c = name; *c != '\0'; c++) {
            *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
        }
        precisions[i] = name;
    }
    o->memory = memory;
    o->batches = batches;
    o->contexts = contexts;
    o->precisions = precisions;
    return ECO_OK;
}

/* ---- the walk ---- */

static bool over(eco_reading limit, double value) {
    return limit.absence == ECO_PRESENT && value > limit.value;
}

/* Sum of what each broken limit is exceeded by, as a share of it; 0 keeps them all. */
static double violation(const eco_optimum *o, const ecoi_spot *s) {
    double sum = 0;
    if (s->untimed) { /* a limit that nobody can say is kept counts as broken by its whole */
        sum += (o->latency_max_ms.absence == ECO_PRESENT) +
               (o->throughput_min_tok_s.absence == ECO_PRESENT);
    }
    if (over(o->vram_max_gb, s->vram_gb)) {
        sum += (s->vram_gb - o->vram_max_gb.value) / o->vram_max_gb.value;
    }
    if (over(o->latency_max_ms, s->latency_ms)) {
        sum += (s->latency_ms - o->latency_max_ms.value) / o->latency_max_ms.value;
    }
    if (o->throughput_min_tok_s.absence == ECO_PRESENT &&
        s->throughput_tok_s < o->throughput_min_tok_s.value) {
        sum +=
            (o->throughput_min_tok_s.value - s->throughput_tok_s) / o->throughput_min_tok_s.value;
    }
    return sum;
}

static double objective_key(eco_objective objective, const ecoi_spot *s) {
    switch (objective) {
    case ECO_OBJECTIVE_MIN_LATENCY:
        return s->untimed ? (double)INFINITY : s->latency_ms;
    case ECO_OBJECTIVE_MAX_THROUGHPUT:
        return s->untimed ? (double)INFINITY : -s->throughput_tok_s;
    case ECO_OBJECTIVE_MIN_VRAM:
        return s->vram_gb;
    case ECO_OBJECTIVE_MIN_ENERGY:
    case ECO_OBJECTIVE_COUNT:
        break;
    }
    return s->energy_key;
}

/* Negative: a goes before b. What cannot be compared is equal, as in JavaScript. */
static double order(eco_objective objective, const ecoi_spot *a, const ecoi_spot *b) {
    double difference = objective_key(objective, a) - objective_key(objective, b);
    if (fabs(difference) > TIE) {
        return difference;
    }
    difference = a->energy_j1k - b->energy_j1k;
    if (fabs(difference) > TIE) {
        return difference;
    }
    difference = a->vram_gb - b->vram_gb;
    if (fabs(difference) > TIE) {
        return difference;
    }
    difference = a->latency_ms - b->latency_ms;
    return fabs(difference) > TIE ? difference : 0;
}

static void keep_best(walk *w, const ecoi_spot *s) {
    size_t at = w->n_kept;
    while (at > 0 && order(w->out->objective, s, &w->kept[at - 1]) < 0) {
        at--;
    }
    if (at == N_KEPT) {
        return;
    }
    const size_t n_moved = (w->n_kept < N_KEPT ? w->n_kept : N_KEPT - 1) - at;
    memmove(&w->kept[at + 1], &w->kept[at], n_moved * sizeof w->kept[0]);
    w->kept[at] = *s;
    w->n_kept += w->n_kept < N_KEPT;
}

static bool front_room(walk *w) {
    if (w->n_front < w->front_capacity) {
        return true;
    }
    size_t size = 0;
    const size_t capacity = w->front_capacity > 0 ? 2 * w->front_capacity : 64;
    ecoi_spot *grown =
        ecoi_size_mul(capacity, sizeof *grown, &size) ? ecoi_realloc(w->front, size) : NULL;
    w->failed = w->failed || grown == NULL;
    if (grown != NULL) {
        w->front = grown;
        w->front_capacity = capacity;
    }
    return grown != NULL;
}

/* Neighbours in the grid mostly dominate each other, which spares the search of the front. */
static bool dominated_by_last(const walk *w, const ecoi_spot *s) {
    const ecoi_spot *last = &w->last;
    return last->has_energy && last->energy_j1k <= s->energy_j1k &&
           last->latency_ms <= s->latency_ms &&
           (last->energy_j1k < s->energy_j1k || last->latency_ms < s->latency_ms);
}

/* The front is sorted: energy rises and latency falls, equal pairs stand side by side in the order of the grid. */
static void keep_front(walk *w, const ecoi_spot *s) {
    size_t lo = 0; /* the first with more energy */
    for (size_t hi = w->n_front; lo < hi;) {
        const size_t middle = lo + (hi - lo) / 2;
        if (w->front[middle].energy_j1k <= s->energy_j1k) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    if (lo > 0) {
        const ecoi_spot *before = &w->front[lo - 1];
        const bool same_energy = before->energy_j1k >= s->energy_j1k;
        if (before->latency_ms < s->latency_ms ||
            (before->latency_ms <= s->latency_ms && !same_energy)) {
            return;
        }
        while (lo > 0 && w->front[lo - 1].energy_j1k >= s->energy_j1k &&
               w->front[lo - 1].latency_ms > s->latency_ms) {
            lo--; /* the same energy, but slower: `end` below passes over them */
        }
    }
    size_t end = lo;
    while (end < w->n_front && w->front[end].latency_ms >= s->latency_ms) {
        end++;
    }
    if (end == lo && !front_room(w)) {
        return;
    }
    memmove(&w->front[lo + 1], &w->front[end], (w->n_front - end) * sizeof w->front[0]);
    w->front[lo] = *s;
    w->n_front = w->n_front + 1 - (end - lo);
}

static void visit(walk *w, const ecoi_spot *s) {
    const double broken = violation(w->out, s);
    w->out->n_candidates++;
    if (!(broken > 0)) {
        w->out->n_feasible++;
        if (w->n_kept < N_KEPT || order(w->out->objective, s, &w->kept[N_KEPT - 1]) < 0) {
            keep_best(w, s);
        }
    } else if (!w->any_broken ||
               broken < w->closest_violation) { /* a limit of 0 is broken without end */
        w->any_broken = true;
        w->closest_violation = broken;
        w->closest = *s;
    }
    if (s->has_energy && !isnan(s->energy_j1k) && !isnan(s->latency_ms) &&
        !dominated_by_last(w, s)) {
        keep_front(w, s);
        w->last = *s;
    }
}

static void walk_grid(walk *w) {
    const eco_optimum *o = w->out;
    for (uint32_t a = 0; a < w->n_arms; a++) {
        for (size_t b = 0; b < o->n_batches; b++) {
            for (size_t c = 0; c < o->n_contexts; c++) {
                ecoi_spot spot;
                ecoi_grid_spot(w->grid, &w->arms[a], a, o->batches[b], o->contexts[c], &spot);
                visit(w, &spot);
            }
        }
    }
}

/* ---- the answer ---- */

static eco_status set_up_arms(walk *w, eco_error *err) {
    char reasons[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < w->out->n_precisions; i++) {
        eco_error why = {0};
        const eco_status status =
            ecoi_grid_arm(w->grid, w->out->precisions[i], &w->arms[w->n_arms], &why);
        if (status == ECO_OK) {
            w->n_arms++;
        } else if (status == ECO_E_NO_MEMORY) {
            return eco_error_set(err, status, 0, "%s", why.message);
        } else if (length < sizeof reasons) {
            const int added = snprintf(reasons + length, sizeof reasons - length, "%s%s",
                                       length > 0 ? "; " : "", why.message);
            length += added > 0 ? (size_t)added : 0;
        }
    }
    return w->n_arms > 0
               ? ECO_OK
               : eco_error_set(err, ECO_E_NOT_FOUND, 0, "no precision can be scored: %s", reasons);
}

static eco_status keep_answer(walk *w, eco_error *err) {
    eco_optimum *o = w->out;
    const bool feasible = o->n_feasible > 0;
    const ecoi_spot *best = feasible ? &w->kept[0] : &w->closest;
    o->best = ecoi_grid_config(w->grid, &w->arms[best->arm], best);
    for (size_t i = 1; i < w->n_kept; i++) {
        o->alternatives[i - 1] = ecoi_grid_config(w->grid, &w->arms[w->kept[i].arm], &w->kept[i]);
        o->n_alternatives++;
    }
    if (!w->failed && feasible && w->n_front > 0) {
        o->front = ecoi_calloc(w->n_front, sizeof *o->front);
        w->failed = o->front == NULL;
        for (size_t i = 0; i < w->n_front && !w->failed; i++) {
            o->front[i] = ecoi_grid_config(w->grid, &w->arms[w->front[i].arm], &w->front[i]);
        }
        o->n_front = w->n_front;
    }
    return w->failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "optimize: out of memory") : ECO_OK;
}

eco_status eco_optimize_make(const eco_optimize_query *query, eco_optimum *out, eco_error *err) {
    const eco_curve_set *set = query->curves != NULL ? query->curves : eco_curves_published();
    ecoi_grid grid;
    walk w = {.grid = &grid, .out = out};
    *out = (eco_optimum){0};
    eco_status status = take_query(query, set, out, err);
    if (status == ECO_OK) {
        status = own_axes(out, err);
    }
    if (status == ECO_OK) {
        status = ecoi_grid_init(set, out, &grid, err);
    }
    if (status == ECO_OK) {
        status = set_up_arms(&w, err);
    }
    if (status == ECO_OK) {
        walk_grid(&w);
        status = keep_answer(&w, err);
    }
    if (status == ECO_OK) {
        ecoi_optimize_notes(&grid, out);
        status = out->notes.failed
                     ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "optimize: out of memory")
                     : ECO_OK;
    }
    ecoi_free(w.front);
    if (status != ECO_OK) {
        eco_optimum_free(out);
    }
    return status;
}

void eco_optimum_free(eco_optimum *optimum) {
    if (optimum != NULL) {
        eco_text_free(&optimum->notes);
        ecoi_free(optimum->front);
        ecoi_free(optimum->memory);
        *optimum = (eco_optimum){0};
    }
}
