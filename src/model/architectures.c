/* SPDX-License-Identifier: Apache-2.0
 *
 * The classes of a set of curves as the published API lists them. Pure.
 */
#include "ecocompute/curve.h"

#include "model/json_maker.h"

#include <string.h>

static void put_curve(ecoi_maker *m, ecoi_json *precisions, const eco_curve *curve) {
    ecoi_json *entry = ecoi_make_object(m);
    ecoi_json *range = ecoi_make_array(m);
    ecoi_append(m, range, ecoi_json_new_number(&m->doc, curve->n_min_b));
    ecoi_append(m, range, ecoi_json_new_number(&m->doc, curve->n_max_b));
    ecoi_put(m, entry, "measured_range_b", range);
    ecoi_put_reading(m, entry, "crossover_b", curve->crossover_b);
    ecoi_put(m, precisions, curve->precision, entry);
}

eco_status eco_curves_write_architectures(const eco_curve_set *set, eco_text *out, eco_error *err) {
    ecoi_maker m = {0};
    ecoi_json *root = ecoi_make_object(&m);
    for (size_t i = 0; i < set->n_curves; i++) {
        const char *arch = set->curves[i].arch;
        if (i > 0 && strcmp(arch, set->curves[i - 1].arch) == 0) {
            continue; /* curves of a class follow each other */
        }
        ecoi_json *entry = ecoi_make_object(&m);
        ecoi_json *precisions = ecoi_make_object(&m);
        const char *label = eco_curve_label(set, arch);
        for (size_t k = i; k < set->n_curves && strcmp(set->curves[k].arch, arch) == 0; k++) {
            put_curve(&m, precisions, &set->curves[k]);
        }
        ecoi_put_text(&m, entry, "label", label != NULL ? label : arch);
        ecoi_put(&m, entry, "precisions", precisions);
        ecoi_put(&m, root, arch, entry);
    }
    for (size_t i = 0; i < set->n_borrows; i++) {
        const char *arch = set->borrows[i].arch;
        const char *label = eco_curve_label(set, arch);
        ecoi_json *entry = ecoi_make_object(&m);
        ecoi_put_text(&m, entry, "label", label != NULL ? label : arch);
        ecoi_put_text(&m, entry, "borrows_from", set->borrows[i].value);
        ecoi_put(&m, entry, "precisions", ecoi_make_object(&m));
        ecoi_put(&m, root, arch, entry);
    }
    return ecoi_make_end(&m, root, "architectures", out, err);
}
