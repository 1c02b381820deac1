/* SPDX-License-Identifier: Apache-2.0
 *
 * The published bounded fit of one curve, dE%(N) = A − S g(N/N*), and its leave-one-out error. For a fixed N* the curve is
 * linear in A and S, a least-squares problem in a box that is solved exactly; N* itself is searched along log N*. Published
 * rules descend instead (fit_descent.c) and stop a hair before the same minimum. docs/fit.md. Pure.
 */
#include "model/fit_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SPEC section 4.1. */
#define A_LO_PCT (-50.0)
#define A_ABOVE_PCT 50.0 /* A may be this far above the highest point */
#define NSTAR_LO_B 0.1
#define NSTAR_HI_B 200.0
enum { N_GRID = 80, N_LOO_MIN = 4, N_FREE_MIN = 3 };
#define S_START_PCT 60.0
#define LOG_WIDTH_MIN 1e-11 /* the search ends at this width of log N* */
#define AT_BOUND_REL 1e-6   /* both ways to fit only approach some bounds */
#define S_FLAT_PCT 1e-6     /* no curve any more, whatever N* is */

static size_t n_used(const ecoi_fit_problem *p) {
    return p->left_out < p->n ? p->n - 1 : p->n;
}

static double clamped(double x, double lo, double hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

double ecoi_fit_squares(const ecoi_fit_problem *p, double a_pct, double s_pct, double nstar_b) {
    double sum = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->left_out) {
            const double miss = p->points[i].delta_pct - a_pct +
                                s_pct * eco_curve_g(p->points[i].params_b / nstar_b);
            sum += miss * miss;
        }
    }
    return sum;
}

/* Sums over g and y about their means. */
typedef struct moments {
    double n, g, y, gg, gy; /* count, means, sums of squared and mixed deviations */
} moments;

static moments moments_of(const ecoi_fit_problem *p, double nstar_b) {
    moments m = {.n = (double)n_used(p)};
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->left_out) {
            m.g += eco_curve_g(p->points[i].params_b / nstar_b);
            m.y += p->points[i].delta_pct;
        }
    }
    m.g /= m.n;
    m.y /= m.n;
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->left_out) {
            const double g = eco_curve_g(p->points[i].params_b / nstar_b) - m.g;
            m.gg += g * g;
            m.gy += g * (p->points[i].delta_pct - m.y);
        }
    }
    return m;
}

/* The S that is best for this A, and the other way round; both within their bounds. */
static double s_for_a(const ecoi_fit_problem *p, const moments *m, double a_pct) {
    const double gg = m->gg + m->n * m->g * m->g;
    const double gy = m->gy + m->n * m->g * (m->y - a_pct);
    return clamped(gg > 0.0 ? -gy / gg : 0.0, p->bounds.s_lo, p->bounds.s_hi);
}

static double a_for_s(const ecoi_fit_problem *p, const moments *m, double s_pct) {
    return clamped(m->y + s_pct * m->g, p->bounds.a_lo, p->bounds.a_hi);
}

static void keep_better(const ecoi_fit_problem *p, double a_pct, double s_pct, double nstar_b,
                        ecoi_fit_solution *best) {
    const double sse = ecoi_fit_squares(p, a_pct, s_pct, nstar_b);
    if (sse < best->sse) {
        *best = (ecoi_fit_solution){a_pct, s_pct, nstar_b, sse};
    }
}

/* Least squares in the box: the free minimum if it lies inside, else the best of the four sides. */
static ecoi_fit_solution solve_at(const ecoi_fit_problem *p, double nstar_b) {
    const eco_fit_bounds *b = &p->bounds;
    const moments m = moments_of(p, nstar_b);
    ecoi_fit_solution best = {.nstar_b = nstar_b, .sse = HUGE_VAL};
    if (m.gg > 0.0) {
        const double s_pct = -m.gy / m.gg;
        const double a_pct = m.y + s_pct * m.g;
        if (s_pct >= b->s_lo && s_pct <= b->s_hi && a_pct >= b->a_lo && a_pct <= b->a_hi) {
            keep_better(p, a_pct, s_pct, nstar_b, &best);
            return best;
        }
    }
    keep_better(p, a_for_s(p, &m, b->s_lo), b->s_lo, nstar_b, &best);
    keep_better(p, a_for_s(p, &m, b->s_hi), b->s_hi, nstar_b, &best);
    keep_better(p, b->a_lo, s_for_a(p, &m, b->a_lo), nstar_b, &best);
    keep_better(p, b->a_hi, s_for_a(p, &m, b->a_hi), nstar_b, &best);
    return best;
}

/* A grid over log N*, then golden sections about its best point. */
static ecoi_fit_solution search(const ecoi_fit_problem *p) {
    const double lo = log(p->bounds.nstar_lo);
    const double step = (log(p->bounds.nstar_hi) - lo) / (N_GRID - 1);
    ecoi_fit_solution best = {.sse = HUGE_VAL};
    int best_at = 0;
    for (int i = 0; i < N_GRID; i++) {
        const double nstar_b = i == N_GRID - 1 ? p->bounds.nstar_hi : exp(lo + step * i);
        const ecoi_fit_solution here = solve_at(p, nstar_b);
        if (here.sse < best.sse) {
            best = here;
            best_at = i;
        }
    }
    const double section = 0.61803398874989485;
    double left = lo + step * (best_at > 0 ? best_at - 1 : 0);
    double right = lo + step * (best_at < N_GRID - 1 ? best_at + 1 : N_GRID - 1);
    double x1 = right - section * (right - left);
    double x2 = left + section * (right - left);
    ecoi_fit_solution at1 = solve_at(p, exp(x1));
    ecoi_fit_solution at2 = solve_at(p, exp(x2));
    while (right - left > LOG_WIDTH_MIN) {
        if (at1.sse <= at2.sse) {
            right = x2;
            x2 = x1;
            at2 = at1;
            x1 = right - section * (right - left);
            at1 = solve_at(p, exp(x1));
        } else {
            left = x1;
            x1 = x2;
            at1 = at2;
            x2 = left + section * (right - left);
            at2 = solve_at(p, exp(x2));
        }
    }
    const ecoi_fit_solution fine = at1.sse <= at2.sse ? at1 : at2;
    return fine.sse < best.sse ? fine : best;
}

static int compare_sizes(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median size of the points in use; `sizes` has room for all. */
static double median_b(const ecoi_fit_problem *p, double *sizes) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->left_out) {
            sizes[n++] = p->points[i].params_b;
        }
    }
    qsort(sizes, n, sizeof *sizes, compare_sizes);
    return n % 2 == 1 ? sizes[n / 2] : (sizes[n / 2 - 1] + sizes[n / 2]) / 2.0;
}

/* SPEC section 4.1: A ∈ [−50, max y + 50], S ∈ [0, cap + max(0, max y)], N* ∈ [0.1, 200]. */
static eco_fit_bounds bounds_of(const ecoi_fit_problem *p, double s_cap_pct) {
    double highest_pct = -HUGE_VAL;
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->left_out && p->points[i].delta_pct > highest_pct) {
            highest_pct = p->points[i].delta_pct;
        }
    }
    return (eco_fit_bounds){
        .a_lo = A_LO_PCT,
        .a_hi = fmax(highest_pct + A_ABOVE_PCT, A_LO_PCT),
        .s_lo = 0.0,
        .s_hi = s_cap_pct + fmax(0.0, highest_pct),
        .nstar_lo = NSTAR_LO_B,
        .nstar_hi = NSTAR_HI_B,
    };
}

static bool near_bound(double x, double lo, double hi) {
    return x - lo <= AT_BOUND_REL * fmax(1.0, fabs(lo)) ||
           hi - x <= AT_BOUND_REL * fmax(1.0, fabs(hi));
}

/* The published start point: A at the highest point, S at 60 or its bound, N* at the median. Without room between the
 * bounds, or where the descent goes astray, the exact minimum stands in. */
static ecoi_fit_solution descend(const ecoi_fit_problem *p, double median) {
    const eco_fit_bounds *b = &p->bounds;
    if (b->a_hi > b->a_lo && b->s_hi > b->s_lo) {
        const ecoi_fit_solution found =
            ecoi_fit_descend(p, b->a_hi - A_ABOVE_PCT, fmin(b->s_hi, S_START_PCT), median);
        if (isfinite(found.sse)) {
            return found;
        }
    }
    return search(p);
}

static void fit_problem(eco_rules rules, ecoi_fit_problem *p, double s_cap_pct,
                        eco_fit_result *out) {
    double sizes[ECO_FIT_POINTS_MAX];
    p->bounds = bounds_of(p, s_cap_pct);
    const eco_fit_bounds *b = &p->bounds;
    const double median = clamped(median_b(p, sizes), b->nstar_lo, b->nstar_hi);
    const bool fixed = n_used(p) < N_FREE_MIN;
    ecoi_fit_solution found = fixed                              ? solve_at(p, median)
                              : rules == ECO_RULES_PUBLISHED_1_1 ? descend(p, median)
                                                                 : search(p);
    const bool flat = found.s_pct <= S_FLAT_PCT;
    if (flat) { /* where a descent ends is chance: the published file has 89.98, its container's copy 200 */
        found.nstar_b = median;
    }
    *out = (eco_fit_result){
        .a_pct = found.a_pct,
        .s_pct = found.s_pct,
        .nstar_b = found.nstar_b,
        .resid_std_pct = sqrt(found.sse / (double)n_used(p)),
        .bounds = *b,
        .a_at_bound = near_bound(found.a_pct, b->a_lo, b->a_hi),
        .s_at_bound = near_bound(found.s_pct, b->s_lo, b->s_hi),
        .nstar_at_bound = !fixed && !flat && near_bound(found.nstar_b, b->nstar_lo, b->nstar_hi),
        .nstar_fixed = fixed,
        .nstar_arbitrary = flat,
    };
}

static bool usable(const eco_fit_point *points, size_t n, double s_cap_pct) {
    if (n == 0 || n > ECO_FIT_POINTS_MAX || !isfinite(s_cap_pct) || s_cap_pct < 0.0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(points[i].delta_pct) || !isfinite(points[i].params_b) ||
            points[i].params_b <= 0.0) {
            return false;
        }
    }
    return true;
}

bool eco_fit_curve(eco_rules rules, const eco_fit_point *points, size_t n, double s_cap_pct,
                   eco_fit_result *out) {
    memset(out, 0, sizeof *out);
    if (!usable(points, n, s_cap_pct)) {
        return false;
    }
    ecoi_fit_problem p = {.points = points, .n = n, .left_out = n};
    fit_problem(rules, &p, s_cap_pct, out);
    return true;
}

bool eco_fit_loo(eco_rules rules, const eco_fit_point *points, size_t n, double s_cap_pct,
                 double *mae_pct) {
    *mae_pct = 0.0;
    if (n < N_LOO_MIN || !usable(points, n, s_cap_pct)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        ecoi_fit_problem p = {.points = points, .n = n, .left_out = i};
        eco_fit_result without;
        fit_problem(rules, &p, s_cap_pct, &without);
        const double predicted_pct =
            without.a_pct - without.s_pct * eco_curve_g(points[i].params_b / without.nstar_b);
        *mae_pct += fabs(points[i].delta_pct - predicted_pct) / (double)n;
    }
    return true;
}
