/* SPDX-License-Identifier: Apache-2.0
 *
 * A load: an arm at work in a thread of its own until it is stopped, so that the thread that measures can wait for ticks.
 */
#ifndef ECOCOMPUTE_PROTOCOL_LOAD_H
#define ECOCOMPUTE_PROTOCOL_LOAD_H

#include "ecocompute/engine.h"

typedef struct eco_load eco_load;

ECO_NODISCARD eco_status ecoi_load_start(eco_arm *arm, eco_work_kind kind, uint64_t n_units_max,
                                         eco_load **out, eco_error *err);
/* The arm has come to an end by itself: a fault, or n_units_max. */
bool ecoi_load_ended(const eco_load *load);
/* Stops, joins and frees; returns the work's own status. NULL gives ECO_OK. */
ECO_NODISCARD eco_status ecoi_load_stop(eco_load *load, eco_work_result *result, eco_error *err);
/* The same for a load that may never end, on a driver that hangs: after `seconds` its thread is left to itself, *result
 * is zeroed and ECO_E_STUCK returned. Then nothing of its arm may be released. */
ECO_NODISCARD eco_status ecoi_load_stop_within(eco_load *load, double seconds,
                                               eco_work_result *result, eco_error *err);

#endif
