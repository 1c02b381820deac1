/* SPDX-License-Identifier: Apache-2.0
 *
 * What an engine driver provides. One file engine_<name>.c and one row in engines.def add an engine.
 * Entries mirror include/ecocompute/engine.h, which says units, errors and ownership.
 */
#ifndef ECOCOMPUTE_ENGINES_DRIVER_H
#define ECOCOMPUTE_ENGINES_DRIVER_H

#include "ecocompute/engine.h"

typedef struct eco_engine_driver {
    const char *name, *summary;
    void (*formats)(eco_engine_status *out); /* what it has kernels for; looks at nothing */
    void (*probe)(eco_engine_status *out);   /* what is usable here */
    eco_status (*open)(const eco_engine_options *options, void **state, eco_error *err);
    void (*describe)(const void *state, eco_engine_info *out);
    eco_status (*arm_check)(const void *state, const eco_workload *workload, eco_error *err);
    uint64_t (*arm_bytes)(const void *state, const eco_workload *workload);
    eco_status (*arm_open)(void *state, const eco_workload *workload, void **arm, eco_error *err);
    void (*arm_describe)(const void *arm, eco_arm_info *out);
    eco_status (*arm_work)(void *arm, const eco_work *work, eco_work_result *out, eco_error *err);
    /* NULL: the engine cannot show logits. */
    eco_status (*arm_logits)(void *arm, const uint32_t *tokens, size_t n, float *logits,
                             eco_error *err);
    void (*arm_close)(void *arm);
    void (*close)(void *state);
} eco_engine_driver;

#endif
