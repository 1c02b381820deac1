/* SPDX-License-Identifier: Apache-2.0
 *
 * How long this process has been there, by the kernel's own account.
 */
#ifndef ECOCOMPUTE_SYS_PROCESS_AGE_H
#define ECOCOMPUTE_SYS_PROCESS_AGE_H

#include <stdbool.h>

/* Seconds since the process was made, before its program was loaded, at a moment of CLOCK_MONOTONIC read in the same call
 * (ecoi_now_ns() just before or after it). The kernel keeps the start in ticks: 0.01 s. False where it does not tell. */
bool ecoi_process_age(double *seconds);

/* The start in ticks since boot out of the text of /proc/PID/stat; false: it is not there. The name in it may hold
 * anything. */
bool ecoi_process_start_ticks(const char *stat, unsigned long long *ticks);

#endif
