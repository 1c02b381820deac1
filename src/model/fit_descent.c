/* SPDX-License-Identifier: Apache-2.0
 *
 * The published program fits by SciPy's bounded least squares, which stops once a step gains less than 1e-8 of the sum of
 * squares: short of the minimum, by up to 4e-4 in S on the published data. To print its digits this file takes the same
 * steps: a trust-region reflective method (Branch, Coleman, Li 1999) in the three parameters, Jacobian by forward
 * differences, each step from a singular value decomposition. Names follow the paper: d scales the variables by their
 * distance to the bound ahead, a hat (_h) marks scaled quantities. Pure.
 */
#include "model/fit_problem.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { N_PARAMS = 3, N_EVALUATIONS_MAX = 100 * N_PARAMS, N_ALPHA_MAX = 10, N_SWEEPS_MAX = 60 };
#define TOLERANCE 1e-8 /* of cost, step and gradient */

typedef struct vec {
    double x[N_PARAMS];
} vec;

typedef struct descent {
    const ecoi_fit_problem *problem;
    size_t m; /* points in use */
    vec lo, hi, at, gradient, d, diag_h, g_h;
    double cost, delta, alpha, theta;
    double f[ECO_FIT_POINTS_MAX], f_new[ECO_FIT_POINTS_MAX], f_moved[ECO_FIT_POINTS_MAX];
    double jacobian[ECO_FIT_POINTS_MAX][N_PARAMS];
    double j_h[ECO_FIT_POINTS_MAX + N_PARAMS][N_PARAMS]; /* scaled, with the diagonal below */
    double columns[ECO_FIT_POINTS_MAX + N_PARAMS][N_PARAMS];
    vec sigma, uf;   /* singular values, largest first; U' f */
    vec v[N_PARAMS]; /* v[i]: right singular vector of sigma.x[i] */
} descent;

typedef struct step {
    vec p, p_h;
    double value; /* of the quadratic model: negative is a gain */
} step;

static double dot(const vec *a, const vec *b) {
    return a->x[0] * b->x[0] + a->x[1] * b->x[1] + a->x[2] * b->x[2];
}

static double norm(const vec *a) {
    return sqrt(dot(a, a));
}

static vec scaled(const vec *a, double factor) {
    return (vec){{a->x[0] * factor, a->x[1] * factor, a->x[2] * factor}};
}

static vec times(const vec *a, const vec *b) {
    return (vec){{a->x[0] * b->x[0], a->x[1] * b->x[1], a->x[2] * b->x[2]}};
}

static vec plus(const vec *a, const vec *b) {
    return (vec){{a->x[0] + b->x[0], a->x[1] + b->x[1], a->x[2] + b->x[2]}};
}

/* Misses of the points in use at `at`; returns half the sum of their squares. */
static double misses(const descent *s, const vec *at, double *f) {
    double sum = 0.0;
    size_t k = 0;
    for (size_t i = 0; i < s->problem->n; i++) {
        if (i != s->problem->left_out) {
            const eco_fit_point *point = &s->problem->points[i];
            f[k] = at->x[0] - at->x[1] * eco_curve_g(point->params_b / at->x[2]) - point->delta_pct;
            sum += f[k] * f[k];
            k++;
        }
    }
    return 0.5 * sum;
}

/* Forward differences, backward where the bound is nearer than the difference. */
static void differentiate(descent *s) {
    for (int k = 0; k < N_PARAMS; k++) {
        vec moved = s->at;
        const double below = s->at.x[k] - s->lo.x[k];
        const double above = s->hi.x[k] - s->at.x[k];
        double h = sqrt(DBL_EPSILON) * fmax(1.0, fabs(s->at.x[k])) * (s->at.x[k] >= 0.0 ? 1 : -1);
        const double next = s->at.x[k] + h;
        if (fabs(h) > fmax(below, above)) {
            h = above >= below ? above : -below;
        } else if (next < s->lo.x[k] || next > s->hi.x[k]) {
            h = -h;
        }
        moved.x[k] = s->at.x[k] + h;
        h = moved.x[k] - s->at.x[k];
        (void)misses(s, &moved, s->f_moved);
        s->gradient.x[k] = 0.0;
        for (size_t i = 0; i < s->m; i++) {
            s->jacobian[i][k] = (s->f_moved[i] - s->f[i]) / h;
            s->gradient.x[k] += s->jacobian[i][k] * s->f[i];
        }
    }
}

/* Distance of each variable to the bound that the gradient pushes it to (v), and its derivative's sign (dv). */
static double scale(descent *s, vec *v, vec *dv) {
    double g_norm = 0.0;
    for (int k = 0; k < N_PARAMS; k++) {
        const double g = s->gradient.x[k];
        v->x[k] = g < 0.0 ? s->hi.x[k] - s->at.x[k] : g > 0.0 ? s->at.x[k] - s->lo.x[k] : 1.0;
        dv->x[k] = g < 0.0 ? -1.0 : g > 0.0 ? 1.0 : 0.0;
        g_norm = fmax(g_norm, fabs(g * v->x[k]));
    }
    return g_norm;
}

static void rotate(double *a, double *b, double c, double t) {
    const double old = *a;
    *a = c * old - t * *b;
    *b = t * old + c * *b;
}

/* One-sided Jacobi rotation (Hestenes 1958) of columns i and k of j_h; false if they are orthogonal already. */
static bool orthogonalize(descent *s, size_t n_rows, int i, int k) {
    double aa = 0.0;
    double bb = 0.0;
    double ab = 0.0;
    for (size_t r = 0; r < n_rows; r++) {
        aa += s->columns[r][i] * s->columns[r][i];
        bb += s->columns[r][k] * s->columns[r][k];
        ab += s->columns[r][i] * s->columns[r][k];
    }
    if (fabs(ab) <= DBL_EPSILON * sqrt(aa * bb) || ab == 0.0) {
        return false;
    }
    const double zeta = (bb - aa) / (2.0 * ab);
    const double t = (zeta >= 0.0 ? 1.0 : -1.0) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
    const double c = 1.0 / sqrt(1.0 + t * t);
    for (size_t r = 0; r < n_rows; r++) {
        rotate(&s->columns[r][i], &s->columns[r][k], c, c * t);
    }
    for (int r = 0; r < N_PARAMS; r++) {
        rotate(&s->v[i].x[r], &s->v[k].x[r], c, c * t);
    }
    return true;
}

static void swap_places(descent *s, int i, int k) {
    const double sigma = s->sigma.x[i];
    const double uf = s->uf.x[i];
    const vec v = s->v[i];
    s->sigma.x[i] = s->sigma.x[k];
    s->uf.x[i] = s->uf.x[k];
    s->v[i] = s->v[k];
    s->sigma.x[k] = sigma;
    s->uf.x[k] = uf;
    s->v[k] = v;
}

/* sigma, v and U' (f, 0) of the scaled Jacobian with the diagonal below it. */
static void decompose(descent *s) {
    const size_t n_rows = s->m + N_PARAMS;
    memcpy(s->columns, s->j_h, n_rows * sizeof s->columns[0]);
    memset(s->v, 0, sizeof s->v);
    for (int k = 0; k < N_PARAMS; k++) {
        s->v[k].x[k] = 1.0;
    }
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < N_SWEEPS_MAX; sweep++) {
        rotated = orthogonalize(s, n_rows, 0, 1);
        rotated = orthogonalize(s, n_rows, 0, 2) || rotated;
        rotated = orthogonalize(s, n_rows, 1, 2) || rotated;
    }
    for (int k = 0; k < N_PARAMS; k++) {
        double squared = 0.0;
        double along = 0.0;
        for (size_t r = 0; r < n_rows; r++) {
            squared += s->columns[r][k] * s->columns[r][k];
            along += r < s->m ? s->columns[r][k] * s->f[r] : 0.0;
        }
        s->sigma.x[k] = sqrt(squared);
        s->uf.x[k] = squared > 0.0 ? along / s->sigma.x[k] : 0.0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k + 1 < N_PARAMS; k++) {
            if (s->sigma.x[k] < s->sigma.x[k + 1]) {
                swap_places(s, k, k + 1);
            }
        }
    }
}

static vec combine(const descent *s, const vec *weights) {
    vec sum = {{0.0, 0.0, 0.0}};
    for (int k = 0; k < N_PARAMS; k++) {
        const vec part = scaled(&s->v[k], -weights->x[k]);
        sum = plus(&sum, &part);
    }
    return sum;
}

/* How far the step of damping alpha is longer than the radius, and its derivative. */
static double excess(const descent *s, const vec *suf, double alpha, double *slope) {
    double squared = 0.0;
    double cubed = 0.0;
    for (int k = 0; k < N_PARAMS; k++) {
        const double denominator = s->sigma.x[k] * s->sigma.x[k] + alpha;
        squared += suf->x[k] * suf->x[k] / (denominator * denominator);
        cubed += suf->x[k] * suf->x[k] / (denominator * denominator * denominator);
    }
    const double length = sqrt(squared);
    *slope = -cubed / length;
    return length - s->delta;
}

/* The step in scaled variables that the trust region allows (Moré 1977). */
static vec trust_region_step(descent *s) {
    const vec suf = times(&s->sigma, &s->uf);
    const bool full_rank =
        s->m >= N_PARAMS && s->sigma.x[2] > DBL_EPSILON * (double)s->m * s->sigma.x[0];
    double lower = 0.0;
    double upper = norm(&suf) / s->delta;
    double slope = 0.0;
    if (full_rank) {
        const vec weights = {
            {s->uf.x[0] / s->sigma.x[0], s->uf.x[1] / s->sigma.x[1], s->uf.x[2] / s->sigma.x[2]}};
        const vec newton = combine(s, &weights);
        if (norm(&newton) <= s->delta) {
            s->alpha = 0.0;
            return newton;
        }
        lower = -excess(s, &suf, 0.0, &slope) / slope;
    }
    double alpha = s->alpha;
    if (!full_rank && alpha == 0.0) {
        alpha = fmax(0.001 * upper, sqrt(lower * upper));
    }
    for (int i = 0; i < N_ALPHA_MAX; i++) {
        if (alpha < lower || alpha > upper) {
            alpha = fmax(0.001 * upper, sqrt(lower * upper));
        }
        const double phi = excess(s, &suf, alpha, &slope);
        if (phi < 0.0) {
            upper = alpha;
        }
        const double ratio = phi / slope;
        lower = fmax(lower, alpha - ratio);
        alpha -= (phi + s->delta) * ratio / s->delta;
        if (fabs(phi) < 0.01 * s->delta) {
            break;
        }
    }
    vec weights;
    for (int k = 0; k < N_PARAMS; k++) {
        weights.x[k] = suf.x[k] / (s->sigma.x[k] * s->sigma.x[k] + alpha);
    }
    const vec p = combine(s, &weights);
    s->alpha = alpha;
    return scaled(&p, s->delta / norm(&p));
}

static bool inside(const descent *s, const vec *at) {
    for (int k = 0; k < N_PARAMS; k++) {
        if (at->x[k] < s->lo.x[k] || at->x[k] > s->hi.x[k]) {
            return false;
        }
    }
    return true;
}

/* The largest multiple of `p` that stays inside, from `at`; hits[k]: the bound of k ends it. */
static double stride_to_bound(const descent *s, const vec *at, const vec *p, bool hits[N_PARAMS]) {
    double steps[N_PARAMS];
    double least = HUGE_VAL;
    for (int k = 0; k < N_PARAMS; k++) {
        steps[k] = p->x[k] == 0.0
                       ? HUGE_VAL
                       : fmax((s->lo.x[k] - at->x[k]) / p->x[k], (s->hi.x[k] - at->x[k]) / p->x[k]);
        least = fmin(least, steps[k]);
    }
    for (int k = 0; k < N_PARAMS; k++) {
        hits[k] = steps[k] == least && p->x[k] != 0.0;
    }
    return least;
}

/* The quadratic model along origin + t p, all scaled: a t² + b t + c. */
typedef struct parabola {
    double a, b, c;
} parabola;

static parabola model_along(const descent *s, const vec *p, const vec *origin) {
    parabola q = {0.0, dot(&s->g_h, p), dot(&s->g_h, origin)};
    for (size_t i = 0; i < s->m; i++) {
        double v = 0.0;
        double u = 0.0;
        for (int k = 0; k < N_PARAMS; k++) {
            v += s->j_h[i][k] * p->x[k];
            u += s->j_h[i][k] * origin->x[k];
        }
        q.a += 0.5 * v * v;
        q.b += u * v;
        q.c += 0.5 * u * u;
    }
    for (int k = 0; k < N_PARAMS; k++) {
        q.a += 0.5 * p->x[k] * s->diag_h.x[k] * p->x[k];
        q.b += origin->x[k] * s->diag_h.x[k] * p->x[k];
        q.c += 0.5 * origin->x[k] * s->diag_h.x[k] * origin->x[k];
    }
    return q;
}

static double least_on(const parabola *q, double lo, double hi, double *value) {
    const double tried[3] = {lo, hi, q->a != 0.0 ? -0.5 * q->b / q->a : lo};
    double best = lo;
    *value = HUGE_VAL;
    for (int i = 0; i < 3; i++) {
        const double t = tried[i];
        const double y = t * (q->a * t + q->b) + q->c;
        if (t >= lo && t <= hi && y < *value) {
            *value = y;
            best = t;
        }
    }
    return best;
}

static double model_at(const descent *s, const vec *p_h) {
    const vec zero = {{0.0, 0.0, 0.0}};
    const parabola q = model_along(s, p_h, &zero);
    return q.a + q.b;
}

/* Where origin + t p leaves the trust region, t > 0. */
static double stride_to_region(const descent *s, const vec *origin, const vec *p) {
    const double a = dot(p, p);
    const double b = dot(origin, p);
    const double c = dot(origin, origin) - s->delta * s->delta;
    const double q = -(b + copysign(sqrt(fmax(b * b - a * c, 0.0)), b));
    return q == 0.0 ? 0.0 : fmax(q / a, c / q);
}

/* A step that left the bounds is bent back at the one it hits first. `p` is cut to there. */
static step reflected(const descent *s, step *p) {
    bool hits[N_PARAMS];
    bool unused[N_PARAMS];
    step r = {.p_h = p->p_h, .value = HUGE_VAL};
    const double p_stride = stride_to_bound(s, &s->at, &p->p, hits);
    for (int k = 0; k < N_PARAMS; k++) {
        r.p_h.x[k] *= hits[k] ? -1.0 : 1.0;
    }
    r.p = times(&s->d, &r.p_h);
    p->p = scaled(&p->p, p_stride);
    p->p_h = scaled(&p->p_h, p_stride);
    const vec on_bound = plus(&s->at, &p->p);
    const double to_region = stride_to_region(s, &p->p_h, &r.p_h);
    const double to_bound = stride_to_bound(s, &on_bound, &r.p, unused);
    const double stride = fmin(to_bound, to_region);
    if (!(stride > 0.0)) {
        return r;
    }
    const double least = (1.0 - s->theta) * p_stride / stride;
    const double most = stride == to_bound ? s->theta * to_bound : to_region;
    if (least <= most) {
        const parabola q = model_along(s, &r.p_h, &p->p_h);
        const vec bent = scaled(&r.p_h, least_on(&q, least, most, &r.value));
        r.p_h = plus(&bent, &p->p_h);
        r.p = times(&r.p_h, &s->d);
    }
    return r;
}

static step steepest(const descent *s) {
    bool unused[N_PARAMS];
    const vec zero = {{0.0, 0.0, 0.0}};
    step a = {.p_h = scaled(&s->g_h, -1.0)};
    a.p = times(&s->d, &a.p_h);
    const double to_region = s->delta / norm(&a.p_h);
    const double to_bound = stride_to_bound(s, &s->at, &a.p, unused);
    const parabola q = model_along(s, &a.p_h, &zero);
    const double stride =
        least_on(&q, 0.0, to_bound < to_region ? s->theta * to_bound : to_region, &a.value);
    a.p = scaled(&a.p, stride);
    a.p_h = scaled(&a.p_h, stride);
    return a;
}

/* The best of the trust-region step, its reflection and the steepest descent. */
static step choose_step(descent *s) {
    step p = {.p_h = trust_region_step(s)};
    p.p = times(&s->d, &p.p_h);
    const vec next = plus(&s->at, &p.p);
    if (inside(s, &next)) {
        p.value = model_at(s, &p.p_h);
        return p;
    }
    const step r = reflected(s, &p);
    p.p = scaled(&p.p, s->theta);
    p.p_h = scaled(&p.p_h, s->theta);
    p.value = model_at(s, &p.p_h);
    const step a = steepest(s);
    if (p.value < r.value && p.value < a.value) {
        return p;
    }
    return r.value < p.value && r.value < a.value ? r : a;
}

/* Just inside a bound, by `margin` (relative to the bound) or by the smallest step there is. */
static vec made_feasible(const descent *s, vec at, double margin) {
    for (int k = 0; k < N_PARAMS; k++) {
        const double lo = s->lo.x[k];
        const double hi = s->hi.x[k];
        const double lo_margin = margin * fmax(1.0, fabs(lo));
        const double hi_margin = margin * fmax(1.0, fabs(hi));
        if (at.x[k] - lo <= fmin(hi - at.x[k], lo_margin)) {
            at.x[k] = margin > 0.0 ? lo + lo_margin : nextafter(lo, hi);
        } else if (hi - at.x[k] <= fmin(at.x[k] - lo, hi_margin)) {
            at.x[k] = margin > 0.0 ? hi - hi_margin : nextafter(hi, lo);
        }
        if (at.x[k] < lo || at.x[k] > hi) {
            at.x[k] = 0.5 * (lo + hi);
        }
    }
    return at;
}

/* Scaled variables at the present point; false where the gradient says to stop. */
static bool prepare(descent *s) {
    vec v;
    vec dv;
    const double g_norm = scale(s, &v, &dv);
    if (g_norm < TOLERANCE) {
        return false;
    }
    s->theta = fmax(0.995, 1.0 - g_norm);
    for (int k = 0; k < N_PARAMS; k++) {
        s->d.x[k] = sqrt(v.x[k]);
        s->diag_h.x[k] = s->gradient.x[k] * dv.x[k];
        s->g_h.x[k] = s->d.x[k] * s->gradient.x[k];
        for (size_t i = 0; i < s->m; i++) {
            s->j_h[i][k] = s->jacobian[i][k] * s->d.x[k];
        }
        for (int r = 0; r < N_PARAMS; r++) {
            s->j_h[s->m + (size_t)r][k] = r == k ? sqrt(s->diag_h.x[k]) : 0.0;
        }
    }
    decompose(s);
    return true;
}

/* Tries steps until one gains. False when the method ends with it. */
static bool advance(descent *s, int *n_evaluations) {
    double gain = -1.0;
    while (gain <= 0.0 && *n_evaluations < N_EVALUATIONS_MAX) {
        const step taken = choose_step(s);
        const vec wanted = plus(&s->at, &taken.p);
        const vec at = made_feasible(s, wanted, 0.0);
        const double cost = misses(s, &at, s->f_new);
        const double length_h = norm(&taken.p_h);
        const double predicted = -taken.value;
        (*n_evaluations)++;
        gain = s->cost - cost;
        const double ratio = predicted > 0.0                   ? gain / predicted
                             : predicted == 0.0 && gain == 0.0 ? 1.0
                                                               : 0.0;
        const double radius = ratio < 0.25                                 ? 0.25 * length_h
                              : ratio > 0.75 && length_h > 0.95 * s->delta ? 2.0 * s->delta
                                                                           : s->delta;
        const bool ends = (gain < TOLERANCE * s->cost && ratio > 0.25) ||
                          norm(&taken.p) < TOLERANCE * (TOLERANCE + norm(&s->at));
        if (gain > 0.0) {
            s->at = at;
            s->cost = cost;
            memcpy(s->f, s->f_new, s->m * sizeof s->f[0]);
        }
        if (ends) {
            return false;
        }
        s->alpha *= s->delta / radius;
        s->delta = radius;
    }
    return *n_evaluations < N_EVALUATIONS_MAX;
}

ecoi_fit_solution ecoi_fit_descend(const ecoi_fit_problem *p, double a_pct, double s_pct,
                                   double nstar_b) {
    vec v;
    vec dv;
    int n_evaluations = 1;
    const eco_fit_bounds *b = &p->bounds;
    descent s = {.problem = p,
                 .m = p->left_out < p->n ? p->n - 1 : p->n,
                 .lo = {{b->a_lo, b->s_lo, b->nstar_lo}},
                 .hi = {{b->a_hi, b->s_hi, b->nstar_hi}}};
    s.at = made_feasible(&s, (vec){{a_pct, s_pct, nstar_b}}, 1e-10);
    s.cost = misses(&s, &s.at, s.f);
    differentiate(&s);
    (void)scale(&s, &v, &dv);
    const vec start = {
        {s.at.x[0] / sqrt(v.x[0]), s.at.x[1] / sqrt(v.x[1]), s.at.x[2] / sqrt(v.x[2])}};
    s.delta = norm(&start);
    s.delta = s.delta > 0.0 ? s.delta : 1.0;
    while (prepare(&s) && advance(&s, &n_evaluations)) {
        differentiate(&s);
    }
    return (ecoi_fit_solution){s.at.x[0], s.at.x[1], s.at.x[2],
                               ecoi_fit_squares(p, s.at.x[0], s.at.x[1], s.at.x[2])};
}
