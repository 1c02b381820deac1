/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky's factor of a small dense matrix, and what it solves. Pure.
 */
#include "model/energy_model_parts.h"

#include <math.h>

bool ecoi_energy_factorize(double *a, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double diagonal = a[j * n + j];
        for (size_t k = 0; k < j; k++) {
            diagonal -= a[j * n + k] * a[j * n + k];
        }
        if (!(diagonal > 0.0)) {
            return false;
        }
        diagonal = sqrt(diagonal);
        a[j * n + j] = diagonal;
        for (size_t i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = sum / diagonal;
        }
    }
    return true;
}

void ecoi_energy_solve(const double *l, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            x[i] -= l[i * n + k] * x[k];
        }
        x[i] /= l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) {
            x[i] -= l[k * n + i] * x[k];
        }
        x[i] /= l[i * n + i];
    }
}
