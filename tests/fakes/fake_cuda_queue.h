/* SPDX-License-Identifier: Apache-2.0
 *
 * Time and power of the scripted GPU: work of one device runs in order, each piece for exactly its
 * scripted time, and the page hears of every change between idle and busy and between kinds of
 * work.
 */
#ifndef ECO_FAKE_CUDA_QUEUE_H
#define ECO_FAKE_CUDA_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* One launch of a graph. */
struct fake_work {
    int64_t duration_ns;
    double power_w;
    uint64_t *counter; /* advanced by n_units when the work ends; NULL: none */
    uint64_t n_units;
};

void fake_queue_open(uint32_t board,
                     double context_w); /* a context comes to the board: starts its worker */
void fake_queue_close(uint32_t board, double bare_w); /* waits for all work, stops the worker */
uint64_t fake_queue_add(uint32_t board, const struct fake_work *work); /* its ticket: 1, 2, … */
uint64_t fake_queue_last(uint32_t board); /* ticket of the last added; 0: none */
void fake_queue_wait(uint32_t board,
                     uint64_t ticket); /* until that work has ended, or the board is lost */
void fake_queue_lose(uint32_t board);  /* the board is gone: nothing more ends, the page says so */
bool fake_queue_lost(uint32_t board);

#endif
