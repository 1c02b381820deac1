/* SPDX-License-Identifier: Apache-2.0
 *
 * One check of a workload before any device sees it, so that the devices' size arithmetic has known
 * bounds.
 */
#include "kernels/workload.h"

#include <math.h>

typedef struct dimension {
    const char *name;
    uint32_t value, max;
} dimension;

static eco_status check_shape(const eco_model_shape *shape, eco_error *err) {
    const dimension dimensions[] = {
        {"n_layers", shape->n_layers, 4096},
        {"d_model", shape->d_model, 1u << 20},
        {"n_heads", shape->n_heads, 4096},
        {"n_kv_heads", shape->n_kv_heads, 4096},
        {"d_head", shape->d_head, 4096},
        {"d_ff", shape->d_ff, 1u << 22},
        {"n_vocab", shape->n_vocab, 1u << 24},
        {"n_positions_max", shape->n_positions_max, 1u << 24},
    };
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        if (dimensions[i].value == 0 || dimensions[i].value > dimensions[i].max) {
            return eco_error_set(err, ECO_E_RANGE, 0, "model %s: %s is %u, not 1 to %u",
                                 shape->name, dimensions[i].name, dimensions[i].value,
                                 dimensions[i].max);
        }
    }
    if (shape->n_heads % shape->n_kv_heads != 0) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "model %s: %u heads do not share %u kv heads evenly", shape->name,
                             shape->n_heads, shape->n_kv_heads);
    }
    if (shape->d_head % 2 != 0) {
        return eco_error_set(err, ECO_E_RANGE, 0, "model %s: d_head is %u, not even", shape->name,
                             shape->d_head);
    }
    if (!(shape->rope_theta > 0.0) || !(shape->norm_eps > 0.0)) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "model %s: rope_theta and norm_eps must be above 0", shape->name);
    }
    return ECO_OK;
}

eco_status ecoi_workload_check(const eco_workload *workload, eco_error *err) {
    if (workload == NULL || workload->shape == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "workload without a model");
    }
    if (eco_format_at(workload->linear) == NULL || eco_format_at(workload->head) == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "unknown weight format");
    }
    if (workload->batch == 0 || workload->batch > ECO_WORKLOAD_BATCH_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "batch %u is not 1 to %d", workload->batch,
                             ECO_WORKLOAD_BATCH_MAX);
    }
    ECO_TRY(check_shape(workload->shape, err));
    if (workload->n_prompt == 0 || workload->n_tokens == 0) {
        return eco_error_set(err, ECO_E_RANGE, 0, "prompt (%u) and tokens (%u) must be at least 1",
                             workload->n_prompt, workload->n_tokens);
    }
    const uint64_t n_positions = (uint64_t)workload->n_prompt + workload->n_tokens;
    if (n_positions > workload->shape->n_positions_max) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "prompt and tokens make %llu positions; model %s has %u",
                             (unsigned long long)n_positions, workload->shape->name,
                             workload->shape->n_positions_max);
    }
    return ECO_OK;
}

uint32_t ecoi_outlier_permille(const eco_workload *workload, eco_format format) {
    return format == ECO_FORMAT_INT8 ? workload->outlier_permille : 0;
}

float ecoi_linear_scale(uint32_t n_columns) {
    return (float)(1.0 / sqrt((double)n_columns));
}
