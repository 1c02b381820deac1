/* SPDX-License-Identifier: Apache-2.0
 *
 * A curves.json from outside. What is read answers every look-up with a number, and its list of classes is written.
 */
#include "fuzz_check.h"

#include "ecocompute/curve.h"

#include <math.h>

static void check_set(const eco_curve_set *set) {
    static const double sizes_b[] = {0.001, 1.0, 7.0, 1000.0};
    for (size_t i = 0; i < set->n_curves; i++) {
        const eco_curve *curve = &set->curves[i];
        FUZZ_DEMAND(eco_curve_find(set, curve->arch, curve->precision) != NULL);
        FUZZ_DEMAND(curve->n_anchors > 0 && curve->n_min_b <= curve->n_max_b);
        FUZZ_DEMAND(eco_curve_cap_pct(set, curve->precision) <= 100.0);
        for (size_t k = 0; k < sizeof sizes_b / sizeof sizes_b[0]; k++) {
            FUZZ_DEMAND(isfinite(eco_curve_value(curve, sizes_b[k])));
        }
        for (size_t k = 0; k < curve->n_anchors; k++) {
            FUZZ_DEMAND(curve->anchors[k].gpu != NULL && curve->anchors[k].model != NULL);
            FUZZ_DEMAND(curve->anchors[k].params_b > 0.0);
        }
    }
    for (size_t i = 0; i < set->n_baselines; i++) {
        FUZZ_DEMAND(eco_curve_baseline(set, set->baselines[i].arch) != NULL);
        for (size_t k = 1; k < set->baselines[i].n_anchors; k++) {
            FUZZ_DEMAND(set->baselines[i].anchors[k].params_b >
                        set->baselines[i].anchors[k - 1].params_b);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    eco_curve_file *file = NULL;
    eco_error err = {0};
    if (eco_curves_read(text, size, "input", &file, &err) == ECO_OK) {
        eco_text list = {0};
        check_set(eco_curve_file_set(file));
        FUZZ_DEMAND(eco_curves_write_architectures(eco_curve_file_set(file), &list, &err) ==
                    ECO_OK);
        eco_text_free(&list);
    } else {
        FUZZ_DEMAND(err.message[0] != '\0' && file == NULL);
    }
    eco_curve_file_free(file);
    free(text);
    return 0;
}
