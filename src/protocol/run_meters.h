/* SPDX-License-Identifier: Apache-2.0
 *
 * The meters of this machine that a command is watched with: opened, the headline meter first, never added to one
 * another.
 */
#ifndef ECOCOMPUTE_PROTOCOL_RUN_METERS_H
#define ECOCOMPUTE_PROTOCOL_RUN_METERS_H

#include "protocol/command_watch.h"

/* Opens what the plan asks for. No meter at all is no fault, unless one was asked for by name or device: result->no_meter
 * says why. ECO_E_USAGE: unknown meter or malformed device. */
ECO_NODISCARD eco_status ecoi_run_meters_open(const eco_run_plan *plan, eco_command_watch *watch,
                                              char no_meter[ECO_ERROR_MESSAGE_MAX], eco_error *err);
void ecoi_run_meters_close(eco_command_watch *watch);

#endif
