/* SPDX-License-Identifier: Apache-2.0
 *
 * When a temperature stands still. Sensors tell whole degrees, so three readings alone cannot tell a slow climb from
 * rest: the slope is taken over five, in which a climb of 0.25 °C/s or more always shows a step.
 */
#include "ecocompute/stats.h"

#include <math.h>

static const double APART_S = 0.9; /* readings closer than this are one */
static const double WITHIN_C = 2.0;
static const double SLOPE_C_PER_S = 0.2;
enum { WITHIN_READINGS = 3 };

/* Slope of the least-squares line. */
static double slope_of(const double *t_s, const double *temp_c, size_t n) {
    double mean_t = 0.0;
    double mean_c = 0.0;
    for (size_t i = 0; i < n; i++) {
        mean_t += t_s[i] / (double)n;
        mean_c += temp_c[i] / (double)n;
    }
    double products = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        products += (t_s[i] - mean_t) * (temp_c[i] - mean_c);
        squares += (t_s[i] - mean_t) * (t_s[i] - mean_t);
    }
    return products / squares;
}

bool eco_temperature_steady(const double *t_s, const double *temp_c, size_t n) {
    double times_s[ECO_STEADY_READINGS];
    double temps_c[ECO_STEADY_READINGS];
    size_t taken = 0;
    for (size_t i = n; i > 0 && taken < ECO_STEADY_READINGS; i--) {
        if (taken == 0 || times_s[taken - 1] - t_s[i - 1] >= APART_S) {
            times_s[taken] = t_s[i - 1];
            temps_c[taken++] = temp_c[i - 1];
        }
    }
    if (taken < ECO_STEADY_READINGS) {
        return false;
    }
    double lowest_c = temps_c[0];
    double highest_c = temps_c[0];
    for (size_t i = 1; i < WITHIN_READINGS; i++) {
        lowest_c = fmin(lowest_c, temps_c[i]);
        highest_c = fmax(highest_c, temps_c[i]);
    }
    return highest_c - lowest_c <= WITHIN_C &&
           fabs(slope_of(times_s, temps_c, taken)) < SLOPE_C_PER_S;
}
