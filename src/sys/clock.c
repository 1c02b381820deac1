/* SPDX-License-Identifier: Apache-2.0
 *
 * The one clock, see clock.h. clock_gettime cannot fail for the clocks used here on any Linux this
 * builds on; it is asserted, not reported, because a caller could do nothing about it.
 */
#include "sys/clock.h"

#include <assert.h>
#include <time.h>

static int64_t clock_ns(clockid_t id) {
    struct timespec now = {0};
    const int failed = clock_gettime(id, &now);
    assert(failed == 0);
    (void)failed;
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t ecoi_now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t ecoi_thread_cpu_ns(void) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void ecoi_sleep_until_ns(int64_t t_ns) {
    if (t_ns <= 0) {
        return;
    }
    const struct timespec until = {.tv_sec = (time_t)(t_ns / INT64_C(1000000000)),
                                   .tv_nsec = (long)(t_ns % INT64_C(1000000000))};
    /* EINTR ends the sleep early by contract. */
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Wall time in parts; integers only, so the locale has no say in what is written. */
static struct tm utc_now(long *microseconds) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct tm parts = {0};
    if (gmtime_r(&now.tv_sec, &parts) == NULL) {
        parts = (struct tm){.tm_year = 70, .tm_mday = 1};
    }
    *microseconds = now.tv_nsec / 1000;
    return parts;
}

/* Writes the last `n` decimal digits of `value` and returns the place after them. */
static char *put_digits(char *out, long value, int n) {
    for (int i = n - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
    return out + n;
}

static char *put_char(char *out, char c) {
    *out = c;
    return out + 1;
}

/* Date and time of day, with the separators given; '\0' = none. */
static char *put_time(char *out, const struct tm *t, char date_separator, char time_separator) {
    const long parts[6] = {t->tm_year + 1900L, t->tm_mon + 1L, t->tm_mday,
                           t->tm_hour,         t->tm_min,      t->tm_sec};
    const char after[6] = {date_separator, date_separator, 'T', time_separator, time_separator, 0};
    for (int i = 0; i < 6; i++) {
        out = put_digits(out, parts[i], i == 0 ? 4 : 2);
        if (after[i] != '\0') {
            out = put_char(out, after[i]);
        }
    }
    return out;
}

void ecoi_utc_iso(char out[ECO_UTC_MAX]) {
    long microseconds = 0;
    const struct tm t = utc_now(&microseconds);
    char *end = put_char(put_time(out, &t, '-', ':'), '.');
    end = put_char(put_digits(end, microseconds, 6), 'Z');
    *end = '\0';
}

void ecoi_utc_compact(char out[ECO_UTC_MAX]) {
    long microseconds = 0;
    const struct tm t = utc_now(&microseconds);
    char *end = put_char(put_time(out, &t, '\0', '\0'), 'Z');
    *end = '\0';
}
