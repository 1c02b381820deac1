/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the user's that prints readings, one a line: "power_w 12.3" or "energy_j 4567.8". A thread of ours reads
 * and stamps them as they arrive. The program is started from words, never by a shell, in a process group of its own,
 * and ends with us.
 */
#ifndef ECOCOMPUTE_METERS_EXEC_CHILD_H
#define ECOCOMPUTE_METERS_EXEC_CHILD_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"

typedef enum eco_exec_kind { ECO_EXEC_POWER = 0, ECO_EXEC_ENERGY, ECO_EXEC_KINDS } eco_exec_kind;

enum { ECO_EXEC_LINE_MAX = 128, ECO_EXEC_WORDS_MAX = 64 };

/* One line without its line feed. False unless it is a kind, one blank and a finite number that is not negative. */
bool ecoi_exec_line(const char *line, size_t length, eco_exec_kind *kind, double *value);

typedef struct eco_exec_child eco_exec_child;

/* Starts the program and waits up to first_s for its first readings. ECO_E_NOT_FOUND, ECO_E_PERMISSION: it could not be
 * started; ECO_E_TIMEOUT: no reading; ECO_E_FAILED: it ended, or printed something else. The message quotes what the
 * program last wrote on standard error. */
ECO_NODISCARD eco_status ecoi_exec_start(const char *command, double first_s, eco_exec_child **out,
                                         eco_error *err);
/* Ends the program's process group (SIGTERM, then SIGKILL) and reaps it. NULL is fine. */
void ecoi_exec_stop(eco_exec_child *child);

bool ecoi_exec_gives(const eco_exec_child *child, eco_exec_kind kind); /* since it was started */
/* The newest reading; STALE when older than stale_s, FAILED after a line that is none or when the program ended. */
eco_reading ecoi_exec_latest(const eco_exec_child *child, eco_exec_kind kind, double stale_s);
bool ecoi_exec_ended(const eco_exec_child *child);
/* What happened to it: "" while it runs. */
void ecoi_exec_reason(const eco_exec_child *child, char *out, size_t size);
const char *ecoi_exec_program(const eco_exec_child *child); /* its name without folders */

#endif
