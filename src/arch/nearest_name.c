/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": the nearest of a list of names by optimal string alignment distance (insertion,
 * deletion, substitution, swap of neighbours; each costs one), letters without case. Pure.
 */
#include "ecocompute/arch.h"

#include "arch/arch_text.h"

#include <string.h>

enum { NEAREST_LENGTH_MAX = 96 };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Both at most NEAREST_LENGTH_MAX characters. Three rolling rows of the usual table. */
static size_t name_distance(const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t rows[3][NEAREST_LENGTH_MAX + 1];
    for (size_t j = 0; j <= n_b; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        size_t *now = rows[i % 3];
        const size_t *last = rows[(i + 2) % 3];
        const size_t *before_last = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            const char x = ecoi_text_lower(a[i - 1]);
            const char y = ecoi_text_lower(b[j - 1]);
            size_t cost = smaller(last[j] + 1, now[j - 1] + 1);
            cost = smaller(cost, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == ecoi_text_lower(b[j - 2]) &&
                y == ecoi_text_lower(a[i - 2])) {
                cost = smaller(cost, before_last[j - 2] + 1);
            }
            now[j] = cost;
        }
    }
    return rows[n_a % 3][n_b];
}

/* Near enough to be what was meant: a third of the longer name changed, and at least one change is
 * always allowed. */
static bool near_enough(size_t distance, size_t n_longer) {
    return distance <= (n_longer < 3 ? 1 : n_longer / 3) && distance < n_longer;
}

const char *eco_nearest_name(const char *wrong, const char *const *names, size_t n) {
    if (wrong == NULL || names == NULL) {
        return NULL;
    }
    const size_t n_wrong = strnlen(wrong, NEAREST_LENGTH_MAX + 1);
    if (n_wrong == 0 || n_wrong > NEAREST_LENGTH_MAX) {
        return NULL;
    }
    const char *best = NULL;
    size_t best_distance = NEAREST_LENGTH_MAX;
    for (size_t i = 0; i < n; i++) {
        const size_t n_name = names[i] == NULL ? 0 : strnlen(names[i], NEAREST_LENGTH_MAX + 1);
        if (n_name == 0 || n_name > NEAREST_LENGTH_MAX) {
            continue;
        }
        const size_t distance = name_distance(wrong, n_wrong, names[i], n_name);
        if (distance < best_distance &&
            near_enough(distance, n_wrong > n_name ? n_wrong : n_name)) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
