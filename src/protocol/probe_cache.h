/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe's file in the user's cache: $XDG_CACHE_HOME/ecocompute/probe-<hash>.json (else ~/.cache), the hash over
 * device, driver and program.
 */
#ifndef ECOCOMPUTE_PROTOCOL_PROBE_CACHE_H
#define ECOCOMPUTE_PROTOCOL_PROBE_CACHE_H

#include "ecocompute/probe.h"

/* Replaces *probe, which names device, driver and program, by the cached one; false (and unchanged) if there is none. */
bool ecoi_probe_cached(eco_probe *probe);
/* Whole or not at all. ECO_E_UNSUPPORTED: the user has no cache folder. */
ECO_NODISCARD eco_status ecoi_probe_keep(const eco_probe *probe, eco_error *err);

#endif
