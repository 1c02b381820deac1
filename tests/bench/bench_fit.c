/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the fit takes: all curves of a table, their leave-one-out errors and 2,000 resampled fits each, on one thread.
 * The built-in table has few sessions a class; a second table takes every row as a session of its own, so that every class
 * is resampled. Prints; judges nothing.
 */
#include "ecocompute/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench(const char *what, const eco_anchor_table *table, eco_rules rules) {
    const eco_fit_options options = {
        .rules = rules, .published_rows = true, .seed = 1, .n_bootstraps = ECO_FIT_BOOTSTRAPS};
    double best_s = 1e9;
    size_t n_curves = 0;
    size_t n_bands = 0;
    for (int round = 0; round < 5; round++) {
        eco_fit *fit = NULL;
        eco_error err = {0};
        const double start_s = now_s();
        if (eco_fit_table(table, &options, &fit, &err) != ECO_OK) {
            (void)fprintf(stderr, "bench_fit: %s\n", err.message);
            exit(1);
        }
        const double took_s = now_s() - start_s;
        best_s = took_s < best_s ? took_s : best_s;
        n_curves = eco_fit_set(fit)->n_curves;
        n_bands = 0;
        for (size_t i = 0; i < n_curves; i++) {
            n_bands += eco_fit_band_at(fit, i)->n_points > 0;
        }
        eco_fit_free(fit);
    }
    printf("%-34s %-13s %zu curves, %zu bands of %d fits: %.1f ms (best of 5)\n", what,
           eco_rules_name(rules), n_curves, n_bands, ECO_FIT_BOOTSTRAPS, 1e3 * best_s);
}

int main(void) {
    const eco_anchor_table *table = eco_anchors_builtin();
    eco_anchor *rows = calloc(table->n, sizeof *rows);
    if (rows == NULL) {
        return 1;
    }
    for (size_t i = 0; i < table->n; i++) {
        rows[i] = table->rows[i];
        rows[i].session = rows[i].id;
    }
    const eco_anchor_table apart = {.rows = rows, .n = table->n};
    for (eco_rules rules = ECO_RULES_CURRENT; rules <= ECO_RULES_PUBLISHED_1_1; rules++) {
        bench("data/anchors.csv", table, rules);
        bench("the same, a session a row", &apart, rules);
    }
    free(rows);
    return 0;
}
