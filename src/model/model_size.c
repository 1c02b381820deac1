/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a model's weights and of its cache, by the shapes that the energy model counts with: exact for a model of the
 * table, typical for a bare size.
 */
#include "model/energy_model_parts.h"
#include "model/estimator.h"

#include <math.h>

static ecoi_energy_shape shape_of(const char *model, double params_b) {
    ecoi_energy_shape shape;
    (void)ecoi_energy_shape_of(model, params_b, &shape);
    return shape;
}

double ecoi_model_weight_gb(const char *model, double params_b, const char *precision) {
    const ecoi_energy_shape shape = shape_of(model, params_b);
    const double linear_g = fmin(shape.linear_g, params_b);
    eco_format format = ECO_FORMAT_FP16;
    (void)eco_format_find(precision, &format);
    return linear_g * eco_format_at(format)->bits_per_weight / 8 + (params_b - linear_g) * 2;
}

double ecoi_model_kv_bytes(const char *model, double params_b) {
    return shape_of(model, params_b).kv_gb * 1e9;
}

double ecoi_model_layers(const char *model, double params_b) {
    return shape_of(model, params_b).layers;
}
