/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program around the library needs from the host: where log lines go, the stop signals,
 * colour. The log sink and the signal flag are the only state of the library that belongs to the
 * process and not to a handle.
 */
#ifndef ECOCOMPUTE_HOST_H
#define ECOCOMPUTE_HOST_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eco_log_level {
    ECO_LOG_NONE = 0, /* nothing is passed on */
    ECO_LOG_WARN,
    ECO_LOG_INFO,
    ECO_LOG_DEBUG
} eco_log_level;

/* Gets one line, without "\n"; valid during the call. Called by one thread at a time, never inside
 * a measured window. */
typedef void (*eco_log_sink)(void *user, eco_log_level level, const char *line);

/* Lines up to `level` go to `sink`; a NULL sink (the default) drops them. Call it while no other
 * thread uses the library. */
void eco_log_set(eco_log_sink sink, void *user, eco_log_level level);

/* SIGINT and SIGTERM set a flag from now on, SIGPIPE and SIGXFSZ are ignored. A second SIGINT ends the process
 * at once, by the default action. False when the system refused a handler. */
bool eco_signals_install(void);
/* 0, or the signal that asked to stop (the first one). The pointer is valid for ever; reading is
 * safe in any thread. */
const volatile int *eco_interrupted(void);

typedef enum eco_color_choice {
    ECO_COLOR_AUTO = 0,
    ECO_COLOR_ALWAYS,
    ECO_COLOR_NEVER
} eco_color_choice;
/* "auto", "always", "never"; false for anything else. */
bool eco_color_parse(const char *text, eco_color_choice *out);
/* Colour on file descriptor `fd`? AUTO: a terminal, NO_COLOR unset or empty, and TERM not "dumb".
 */
bool eco_color_wanted(eco_color_choice choice, int fd);
bool eco_is_tty(int fd);

#ifdef __cplusplus
}
#endif
#endif
