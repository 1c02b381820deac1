/* SPDX-License-Identifier: Apache-2.0
 *
 * The stop flag as the library's own files see it; installing and reading it from a program:
 * ecocompute/host.h.
 */
#ifndef ECOCOMPUTE_SYS_SIGNALS_H
#define ECOCOMPUTE_SYS_SIGNALS_H

#include "ecocompute/host.h"

/* The same pointer as eco_interrupted(): 0, or the first signal that asked to stop. */
const volatile int *ecoi_interrupted(void);
/* Takes the flag back to 0 and the default actions back into force; for tests and for a program
 * that goes on. */
void ecoi_signals_reset(void);

#endif
