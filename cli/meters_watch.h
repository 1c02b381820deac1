/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute meters --watch: what every usable meter reads, once a second.
 */
#ifndef ECOCOMPUTE_CLI_METERS_WATCH_H
#define ECOCOMPUTE_CLI_METERS_WATCH_H

#include "meter_options.h"

/* Until `n_lines` lines are out (0 = no end) or a signal asks to stop; the exit status. */
int meters_watch(const cli_meter *chosen, uint64_t n_lines, bool json);

#endif
