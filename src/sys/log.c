/* SPDX-License-Identifier: Apache-2.0
 *
 * The log sink and its hold buffer. One mutex guards both; a line is formatted before the lock is
 * taken, and the sink is called under it, so lines of two threads never mix. A sink must not log.
 */
#include "sys/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct log_line {
    eco_log_level level;
    char text[ECO_LOG_LINE_MAX];
} log_line;

typedef struct log_state {
    pthread_mutex_t mutex;
    eco_log_sink sink;
    void *user;
    eco_log_level level;
    uint32_t n_holds, n_held, n_lost;
    log_line held[ECO_LOG_HELD_MAX];
} log_state;

static log_state the_log = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void eco_log_set(eco_log_sink sink, void *user, eco_log_level level) {
    pthread_mutex_lock(&the_log.mutex);
    the_log.sink = sink;
    the_log.user = user;
    the_log.level = sink != NULL ? level : ECO_LOG_NONE;
    pthread_mutex_unlock(&the_log.mutex);
}

/* A line is one line for whoever reads it: control characters lose their effect. */
static void text_tame(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20u || *c == 0x7F) {
            *c = '?';
        }
    }
}

void ecoi_log(eco_log_level level, const char *format, ...) {
    log_line line = {.level = level};
    va_list arguments;
    va_start(arguments, format);
    const int written = vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
    if (written < 0) {
        return;
    }
    text_tame(line.text);

    pthread_mutex_lock(&the_log.mutex);
    if (the_log.sink != NULL && level != ECO_LOG_NONE && level <= the_log.level) {
        if (the_log.n_holds == 0) {
            the_log.sink(the_log.user, level, line.text);
        } else if (the_log.n_held < ECO_LOG_HELD_MAX) {
            the_log.held[the_log.n_held++] = line;
        } else {
            the_log.n_lost++;
        }
    }
    pthread_mutex_unlock(&the_log.mutex);
}

void ecoi_log_hold(void) {
    pthread_mutex_lock(&the_log.mutex);
    the_log.n_holds++;
    pthread_mutex_unlock(&the_log.mutex);
}

void ecoi_log_release(void) {
    pthread_mutex_lock(&the_log.mutex);
    if (the_log.n_holds > 0 && --the_log.n_holds == 0) {
        for (uint32_t i = 0; i < the_log.n_held && the_log.sink != NULL; i++) {
            the_log.sink(the_log.user, the_log.held[i].level, the_log.held[i].text);
        }
        if (the_log.n_lost > 0 && the_log.sink != NULL) {
            char text[ECO_LOG_LINE_MAX];
            (void)snprintf(text, sizeof text, "%u more log lines were dropped while measuring",
                           the_log.n_lost);
            the_log.sink(the_log.user, ECO_LOG_WARN, text);
        }
        the_log.n_held = 0;
        the_log.n_lost = 0;
    }
    pthread_mutex_unlock(&the_log.mutex);
}
