/* SPDX-License-Identifier: Apache-2.0
 *
 * Log lines of the library, on their way to the program's sink (ecocompute/host.h). Any thread may
 * log. Between ecoi_log_hold and ecoi_log_release lines are kept in a fixed buffer and nothing is
 * called, so that a measured window sees no sink and no allocation; what does not fit is counted
 * and said at the release.
 */
#ifndef ECOCOMPUTE_SYS_LOG_H
#define ECOCOMPUTE_SYS_LOG_H

#include "ecocompute/host.h"

enum { ECO_LOG_LINE_MAX = 320, ECO_LOG_HELD_MAX = 64 };

/* A line longer than ECO_LOG_LINE_MAX - 1 bytes is cut. Control characters become '?'. */
void ecoi_log(eco_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ecoi_log_hold(void);    /* nests */
void ecoi_log_release(void); /* the outermost release passes the kept lines on, in order */

#endif
