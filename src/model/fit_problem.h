/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two ways to fit one curve share: the points in use and their bounds. fit.c finds the exact minimum and
 * chooses; fit_descent.c goes the published way to it.
 */
#ifndef ECOI_FIT_PROBLEM_H
#define ECOI_FIT_PROBLEM_H

#include "ecocompute/fit.h"

typedef struct ecoi_fit_problem {
    const eco_fit_point *points;
    size_t n, left_out; /* left_out = n: none is */
    eco_fit_bounds bounds;
} ecoi_fit_problem;

typedef struct ecoi_fit_solution {
    double a_pct, s_pct, nstar_b, sse; /* sse: sum of squared misses */
} ecoi_fit_solution;

double ecoi_fit_squares(const ecoi_fit_problem *p, double a_pct, double s_pct, double nstar_b);
/* From the published start point to where the published program stops. */
ecoi_fit_solution ecoi_fit_descend(const ecoi_fit_problem *p, double a_pct, double s_pct,
                                   double nstar_b);

#endif
