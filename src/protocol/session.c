/* SPDX-License-Identifier: Apache-2.0
 *
 * What every step of a measurement needs: progress lines, the interrupt flag, release in order.
 */
#include "protocol/session.h"

#include "core/alloc.h"
#include "sys/signals.h"

#include <stdarg.h>
#include <stdio.h>

void ecoi_session_say(const eco_session *session, const char *format, ...) {
    if (session->hooks == NULL || session->hooks->progress == NULL) {
        return;
    }
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    session->hooks->progress(session->hooks->user, line);
}

bool ecoi_session_interrupted(void) {
    return *ecoi_interrupted() != 0;
}

void ecoi_session_close(eco_session *session) {
    if (session == NULL) {
        return;
    }
    /* What is stuck in a driver still uses it, and to release it may hang as well: the process's end does. */
    const bool free_again = ecoi_sampler_close(session->sampler) && !session->stuck;
    for (uint32_t i = 0; i < ECO_ARMS_MAX; i++) {
        if (free_again) {
            eco_arm_close(session->arms[i].arm);
        }
        ecoi_free(session->arms[i].rows);
    }
    ecoi_journal_close(session->journal, false);
    if (free_again) {
        eco_meter_close(session->meter);
        eco_engine_close(session->engine);
    }
    ecoi_free(session);
}
