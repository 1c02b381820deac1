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
    eco_boundary_kind boundary; /* NONE: as the config declares it */
    bool named_only;            /* never chosen by boundary alone: its readings are the user's */
    eco_sensor_term declared;   /* what its sensor may err by; every driver states its own */
    /* No side effects on the device; fills out->usable, reason, n_devices; boundary where it is declared. */
    void (*probe)(const eco_meter_config *config, eco_meter_status *out);
    /* Opens the device whose boundary contains options->work (kind NONE: the first). */
    eco_status (*open)(const eco_meter_options *options, void **state, eco_error *err);
    /* Opens device `index` in the vendor's order; for listings. */
    eco_status (*open_index)(const eco_meter_config *config, uint32_t index, void **state,
                             eco_error *err);
    void (*describe)(const void *state,
                     eco_meter_info *out); /* name and source are set by the registry */
    /* *out is preset to all-absent; fills what `what` asks for and it has. No allocation, no log. */
    void (*read)(void *state, uint32_t what, eco_meter_sample *out);
    /* NULL: the meter cannot tell who else uses its device. */
    eco_status (*tenants)(void *state, eco_tenant *out, size_t capacity, size_t *n_out,
                          eco_error *err);
    /* NULL: one counter, or none. */
    size_t (*parts)(void *state, eco_meter_part *out, size_t capacity);
    /* NULL: nothing to tell beyond the readings' absence. *out is preset to "". */
    void (*trouble)(const void *state, char *out, size_t size);
    void (*close)(void *state);
} eco_meter_driver;

#endif
