/* SPDX-License-Identifier: Apache-2.0
 *
 * The band of a curve: sessions are drawn with replacement, each with all of its points, and the curve is fitted again
 * (Efron 1979; whole sessions because the points of one share its card, stack and day). Pure and seeded.
 */
#include "core/alloc.h"
#include "core/rng.h"
#include "model/fit_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct sessions {
    const char *names[ECO_FIT_POINTS_MAX];
    uint16_t of_point[ECO_FIT_POINTS_MAX];
    uint32_t n;
} sessions;

static void sessions_of(const ecoi_fit_group *group, sessions *out) {
    out->n = 0;
    for (size_t i = 0; i < group->n; i++) {
        uint32_t k = 0;
        while (k < out->n && strcmp(out->names[k], group->rows[i]->session) != 0) {
            k++;
        }
        if (k == out->n) {
            out->names[out->n++] = group->rows[i]->session;
        }
        out->of_point[i] = (uint16_t)k;
    }
}

static int compare_numbers(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Straight line between the two neighbours of a share of the sorted values. */
static double quantile(const double *sorted, size_t n, double share) {
    const double place = share * (double)(n - 1);
    const size_t i = (size_t)place;
    return i + 1 < n ? sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* The points of one draw; a session that is drawn twice counts twice. At most ECO_FIT_POINTS_MAX are kept. */
static size_t draw(const sessions *from, const eco_fit_point *points, size_t n, uint64_t *state,
                   eco_fit_point *drawn) {
    size_t n_drawn = 0;
    for (uint32_t i = 0; i < from->n; i++) {
        const uint32_t session = ecoi_rng_below(state, from->n);
        for (size_t k = 0; k < n && n_drawn < ECO_FIT_POINTS_MAX; k++) {
            if (from->of_point[k] == session) {
                drawn[n_drawn++] = points[k];
            }
        }
    }
    return n_drawn;
}

static size_t distinct_sizes(const eco_fit_point *points, size_t n, double *sizes) {
    size_t n_sizes = 0;
    for (size_t i = 0; i < n; i++) {
        sizes[i] = points[i].params_b;
    }
    qsort(sizes, n, sizeof *sizes, compare_numbers);
    for (size_t i = 0; i < n; i++) {
        if (n_sizes == 0 || sizes[i] != sizes[n_sizes - 1]) {
            sizes[n_sizes++] = sizes[i];
        }
    }
    return n_sizes;
}

typedef struct band_run {
    const eco_fit_options *options;
    const sessions *from;
    const eco_fit_point *points;
    size_t n;
    double s_cap_pct;
    const double *sizes;
    size_t n_sizes;
    double *values;     /* [n_sizes][n_bootstraps] */
    double *crossovers; /* [n_bootstraps] */
    size_t n_crossovers;
} band_run;

static void refit_all(band_run *run) {
    const uint32_t n_runs = run->options->n_bootstraps;
    uint64_t state = run->options->seed;
    for (uint32_t r = 0; r < n_runs; r++) {
        eco_fit_point drawn[ECO_FIT_POINTS_MAX];
        eco_fit_result fit;
        const size_t n = draw(run->from, run->points, run->n, &state, drawn);
        (void)eco_fit_curve(run->options->rules, drawn, n, run->s_cap_pct, &fit);
        for (size_t i = 0; i < run->n_sizes; i++) {
            run->values[i * n_runs + r] =
                fit.a_pct - fit.s_pct * eco_curve_g(run->sizes[i] / fit.nstar_b);
        }
        const eco_reading crossover =
            eco_curve_crossover(fit.a_pct, fit.s_pct, fit.nstar_b, run->sizes[run->n_sizes - 1]);
        if (eco_reading_present(crossover)) {
            run->crossovers[run->n_crossovers++] = crossover.value;
        }
    }
}

static void summarize(band_run *run, eco_fit_band_point *points, eco_fit_band *out) {
    const uint32_t n_runs = run->options->n_bootstraps;
    for (size_t i = 0; i < run->n_sizes; i++) {
        double *values = run->values + i * n_runs;
        qsort(values, n_runs, sizeof *values, compare_numbers);
        points[i] = (eco_fit_band_point){run->sizes[i], quantile(values, n_runs, 0.025),
                                         quantile(values, n_runs, 0.975)};
    }
    out->points = points;
    out->n_points = run->n_sizes;
    out->crossover_share = (double)run->n_crossovers / (double)n_runs;
    if (run->n_crossovers > 0) {
        qsort(run->crossovers, run->n_crossovers, sizeof *run->crossovers, compare_numbers);
        out->crossover_lo_b = eco_reading_of(quantile(run->crossovers, run->n_crossovers, 0.025));
        out->crossover_hi_b = eco_reading_of(quantile(run->crossovers, run->n_crossovers, 0.975));
    }
}

bool ecoi_fit_band_of(const ecoi_fit_group *group, const eco_fit_options *options, double s_cap_pct,
                      ecoi_arena *arena, eco_fit_band *out) {
    sessions from;
    eco_fit_point points[ECO_FIT_POINTS_MAX];
    double sizes[ECO_FIT_POINTS_MAX];
    const uint32_t n_runs = options->n_bootstraps;
    sessions_of(group, &from);
    *out = (eco_fit_band){.n_sessions = from.n};
    if (from.n < 2 || n_runs == 0) {
        return true;
    }
    ecoi_fit_points_of(group, points);
    band_run run = {.options = options,
                    .from = &from,
                    .points = points,
                    .n = group->n,
                    .s_cap_pct = s_cap_pct,
                    .sizes = sizes,
                    .n_sizes = distinct_sizes(points, group->n, sizes)};
    eco_fit_band_point *band = ecoi_arena_alloc(arena, run.n_sizes * sizeof *band);
    run.values = ecoi_calloc(run.n_sizes, n_runs * sizeof *run.values);
    run.crossovers = ecoi_calloc(n_runs, sizeof *run.crossovers);
    const bool fine = band != NULL && run.values != NULL && run.crossovers != NULL;
    if (fine) {
        refit_all(&run);
        summarize(&run, band, out);
        out->n_bootstraps = n_runs;
    }
    ecoi_free(run.values);
    ecoi_free(run.crossovers);
    return fine;
}
