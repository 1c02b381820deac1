/* SPDX-License-Identifier: Apache-2.0
 *
 * Which boards a command that is watched can use: CUDA_VISIBLE_DEVICES hides the others from it, and NVML shows all.
 */
#ifndef ECOCOMPUTE_PROTOCOL_VISIBLE_BOARDS_H
#define ECOCOMPUTE_PROTOCOL_VISIBLE_BOARDS_H

#include "ecocompute/run_command.h"

typedef struct eco_visible_boards {
    bool limited; /* the variable is set, and CUDA said what it leaves */
    eco_boundary boards[ECO_RUN_METERS_MAX];
    uint32_t n;
} eco_visible_boards;

/* Asks CUDA, without a context. Not limited where the variable is not set or CUDA cannot be asked. */
void ecoi_visible_boards(eco_visible_boards *out);
/* The board that this boundary is may be used by the command. Anything but a GPU may. */
bool ecoi_board_visible(const eco_visible_boards *visible, const eco_boundary *board);

#endif
