/* SPDX-License-Identifier: Apache-2.0
 *
 * The boards of this machine, looked at without measuring.
 */
#ifndef ECOCOMPUTE_CLI_MEASURE_BOARDS_H
#define ECOCOMPUTE_CLI_MEASURE_BOARDS_H

#include "ecocompute/meter.h"

/* True if the energy of the chosen board can be read; every board in a line of standard output if `print`. */
bool cli_boards_ready(const eco_boundary *chosen, bool print);

#endif
