/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the optimizer takes for a million candidates and the estimator for one answer, under both rules, in CPU time
 * (a busy machine does not count). Prints; judges nothing.
 */
#include "ecocompute/estimate.h"
#include "ecocompute/optimize.h"

#include <stdio.h>
#include <time.h>

enum { AXIS = 578, N_ESTIMATES = 20000, N_REPEATS = 5 }; /* 3 · 578² = 1,002,252 candidates */

static double cpu_s(void) {
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

static double best_optimize_ms(eco_rules rules, const char *arch, const eco_optimize_query *base,
                               size_t *n_candidates, size_t *n_front) {
    double best_ms = 1e9;
    for (int i = 0; i < N_REPEATS; i++) {
        eco_optimize_query q = *base;
        eco_optimum o;
        eco_error err = {0};
        q.rules = rules;
        q.arch = arch;
        const double start_s = cpu_s();
        if (eco_optimize_make(&q, &o, &err) != ECO_OK) {
            (void)fprintf(stderr, "%s\n", err.message);
            return -1;
        }
        const double ms = (cpu_s() - start_s) * 1e3;
        best_ms = ms < best_ms ? ms : best_ms;
        *n_candidates = o.n_candidates;
        *n_front = o.n_front;
        eco_optimum_free(&o);
    }
    return best_ms;
}

static double estimate_us(eco_rules rules, double batch, double size_first_b) {
    const double start_s = cpu_s();
    for (int i = 0; i < N_ESTIMATES; i++) {
        const eco_estimate_query q = {.rules = rules,
                                      .params_b = size_first_b + i * 1e-4,
                                      .arch = "ada",
                                      .precision = "NF4",
                                      .batch = batch,
                                      .context = ECO_CONTEXT_PUBLISHED};
        eco_estimate e;
        eco_error err = {0};
        if (eco_estimate_make(&q, &e, &err) != ECO_OK) {
            (void)fprintf(stderr, "%s\n", err.message);
            return -1;
        }
        eco_estimate_free(&e);
    }
    return (cpu_s() - start_s) * 1e6 / (double)N_ESTIMATES;
}

int main(void) {
    static double batches[AXIS];
    static double contexts[AXIS];
    for (int i = 0; i < AXIS; i++) {
        batches[i] = 1 + i;
        contexts[i] = 128 + 64 * i;
    }
    const eco_optimize_query q = {.params_b = 7,
                                  .vram_max_gb = eco_reading_of(24),
                                  .batches = batches,
                                  .n_batches = AXIS,
                                  .contexts = contexts,
                                  .n_contexts = AXIS};
    static const char *const archs[] = {"ada", "ampere", "hopper"};
    for (int r = ECO_RULES_CURRENT; r <= ECO_RULES_PUBLISHED_1_1; r++) {
        const eco_rules rules = (eco_rules)r;
        for (size_t i = 0; i < 3; i++) {
            size_t n = 0;
            size_t n_front = 0;
            const double ms = best_optimize_ms(rules, archs[i], &q, &n, &n_front);
            printf("%-13s optimize %-7s %zu candidates, front %zu: %.1f ms CPU (best of %d)\n",
                   eco_rules_name(rules), archs[i], n, n_front, ms, N_REPEATS);
        }
        printf("%-13s estimate inside the sizes %.2f us CPU, outside %.2f, batch 8 %.2f\n",
               eco_rules_name(rules), estimate_us(rules, 1, 3.1), estimate_us(rules, 1, 20),
               estimate_us(rules, 8, 3.1));
    }
    return 0;
}
