/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's t: the two-sided 95 % quantile, by bisection on the distribution function. The tail probability is the
 * regularised incomplete beta function I_x(v/2, 1/2), x = v/(v + t^2) (Abramowitz & Stegun 26.7.1), evaluated by its
 * continued fraction (26.5.8) with the modified Lentz method.
 */
#include "ecocompute/stats.h"

#include <math.h>

static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1.0;
    double d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 500; m++) {
        const double mm = m;
        const double even = mm * (b - mm) * x / ((a + 2 * mm - 1) * (a + 2 * mm));
        const double odd = -(a + mm) * (a + b + mm) * x / ((a + 2 * mm) * (a + 2 * mm + 1));
        const double terms[2] = {even, odd};
        double change = 1.0;
        for (int k = 0; k < 2; k++) {
            d = 1.0 + terms[k] * d;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = 1.0 + terms[k] / c;
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            h *= change;
        }
        if (fabs(change - 1.0) < 1e-15) {
            break;
        }
    }
    return h;
}

static double beta_regularised(double a, double b, double x) {
    if (x <= 0.0 || x >= 1.0) {
        return x <= 0.0 ? 0.0 : 1.0;
    }
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(a, b, x) / a
                                         : 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

/* P(|T| > t) for v degrees of freedom. */
static double two_sided_tail(double t, double v) {
    return beta_regularised(v / 2.0, 0.5, v / (v + t * t));
}

double eco_student_t95(uint32_t dof) {
    if (dof == 0) {
        return HUGE_VAL;
    }
    double lo = 1.9;
    double hi = 13.0;
    for (int i = 0; i < 100; i++) {
        const double middle = (lo + hi) / 2.0;
        if (two_sided_tail(middle, dof) > 0.05) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    return (lo + hi) / 2.0;
}
