/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the scripted libcuda share.
 */
#ifndef ECO_FAKE_CUDA_H
#define ECO_FAKE_CUDA_H

#include "fake_page.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    E_VALUE = 1,
    E_MEMORY = 2,
    E_UNINITIALIZED = 3,
    E_NO_DEVICE = 100,
    E_DEVICE = 101,
    E_CONTEXT = 201,
    E_PTX_VERSION = 222,
    E_NOT_FOUND = 500,
    E_CAPTURE = 900
};

struct context {
    uint32_t board;
    uint32_t n_retained;
};

extern _Thread_local struct context *fake_current;
extern pthread_mutex_t fake_lock;

/* Every entry begins with this: the script may have the call fail. */
#define FAKE_CALL()                                     \
    do {                                                \
        const int fake_fault = fake_call_fault("cuda"); \
        if (fake_fault != 0) {                          \
            return fake_fault;                          \
        }                                               \
    } while (0)

/* What gives something back has done so when it answers, as in the driver, whose such calls may tell
 * of earlier failures: else the program could not but leak. */
#define FAKE_CALL_AFTER(code)                                        \
    do {                                                             \
        const int fake_code = (code);                                \
        return fake_code != 0 ? fake_code : fake_call_fault("cuda"); \
    } while (0)

/* A number of the script, its value for one board first. */
double fake_board_number(uint32_t board, const char *key, double otherwise);
bool fake_scripted_compute(void);
/* 0, or why nothing can be done: no context in this thread, or its board is lost. */
int fake_trouble(void);
/* Everything that is not a graph takes no time, after all that came before. */
void fake_drain(void);

#endif
