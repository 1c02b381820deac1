/* SPDX-License-Identifier: Apache-2.0
 *
 * A scripted board: what a real one would show of the true power in the page. Exact, because true
 * power is piecewise constant. fake_nvml.c puts the vendor's names on top.
 */
#ifndef ECO_FAKE_NVML_BOARD_H
#define ECO_FAKE_NVML_BOARD_H

#include "fake_page.h"

#include <stdbool.h>
#include <stddef.h>

enum board_reading {
    BOARD_POWER_INSTANT,
    BOARD_POWER_USAGE,
    BOARD_ENERGY_CALL,
    BOARD_ENERGY_FIELD,
    BOARD_TEMP,
    BOARD_SM_CLOCK,
    BOARD_MEM_CLOCK,
    BOARD_THROTTLE
};

struct board;

/* Reads the script anew. Times in it count from the first call. */
void board_setup(void);
unsigned board_count(void);
/* The board at an NVML index, NULL if there is none. */
struct board *board_at(unsigned index);
struct board *board_by_uuid(const char *uuid, bool *is_mig);
bool board_is_mig(const struct board *board);
struct board *board_parent(struct board *board);
int board_physical(const struct board *board);
/* Script keys of this board: with the suffix of its number first. */
double board_number(const struct board *board, const char *key, double otherwise);
const char *board_text(const struct board *board, const char *key, const char *otherwise);
void board_uuid(const struct board *board, char *out, size_t size);
/* 0, or the vendor code that every call on a lost board returns. */
int board_lost(const struct board *board);
/* Busy-waits the scripted cost and takes the value in the middle of it. Watts in mW, energy in mJ.
 * Vendor code. */
int board_read(struct board *board, enum board_reading what, unsigned long long *out);
/* Seconds since setup. */
double board_seconds(void);

#endif
