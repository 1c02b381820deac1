/* SPDX-License-Identifier: Apache-2.0
 *
 * What a meter driver provides. One file meter_<name>.c and one row in meters.def add a meter; registry.c
 * needs no change. Every driver compiles on every host: vendor libraries come by dlopen (sys/dl.h).
 */
#ifndef ECOCOMPUTE_METERS_DRIVER_H
#define ECOCOMPUTE_METERS_DRIVER_H

#include "ecocompute/meter.h"

typedef struct eco_meter_driver {
    const char *name, *summary;
    eco_source source;
    eco_boundary_kind boundary;
    /* No side effects on the device; fills out->usable, reason, n_devices. */
    void (*probe)(eco_meter_status *out);
    /* Opens the device whose boundary contains *work (kind NONE: the first). */
    eco_status (*open)(const eco_boundary *work, void **state, eco_error *err);
    /* Opens device `index` in the vendor's order; for listings. */
    eco_status (*open_index)(uint32_t index, void **state, eco_error *err);
    void (*describe)(const void *state,
                     eco_meter_info *out); /* name and source are set by the registry */
    /* *out is preset to all-absent; fills what `what` asks for and it has. No allocation, no log. */
    void (*read)(void *state, uint32_t what, eco_meter_sample *out);
    /* NULL: the meter cannot tell who else uses its device. */
    eco_status (*tenants)(void *state, eco_tenant *out, size_t capacity, size_t *n_out,
                          eco_error *err);
    void (*close)(void *state);
} eco_meter_driver;

#endif
