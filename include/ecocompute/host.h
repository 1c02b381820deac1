/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program around the library needs from the host: the stop signals, colour. The signal flag is the only state of
 * the library that belongs to the process and not to a handle.
 */
#ifndef ECOCOMPUTE_HOST_H
#define ECOCOMPUTE_HOST_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

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
