/* SPDX-License-Identifier: Apache-2.0
 *
 * The one clock. Monotonic nanoseconds for everything measured; wall time only as a label.
 */
#ifndef ECOCOMPUTE_SYS_CLOCK_H
#define ECOCOMPUTE_SYS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t ecoi_now_ns(void);              /* CLOCK_MONOTONIC */
int64_t ecoi_thread_cpu_ns(void);       /* CPU time of the calling thread */
void ecoi_sleep_until_ns(int64_t t_ns); /* absolute, CLOCK_MONOTONIC; returns early on a signal */
/* "2026-11-30T13:33:09.123456Z" (27 characters and NUL) and "20261130T133309Z" (16 and NUL). */
enum { ECO_UTC_MAX = 32 };
void ecoi_utc_iso(char out[ECO_UTC_MAX]);
void ecoi_utc_compact(char out[ECO_UTC_MAX]);

#endif
