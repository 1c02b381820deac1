/* SPDX-License-Identifier: Apache-2.0
 *
 * proc(5): field 22 of /proc/self/stat is the start in clock ticks since boot, and CLOCK_BOOTTIME counts from boot. The
 * second field is the program's name in parentheses, which may hold blanks and parentheses: fields are counted behind
 * the last one.
 */
#include "sys/process_age.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAT_FIELD_AFTER_NAME = 3, STAT_FIELD_START = 22, STAT_BYTES_MAX = 2048 };

bool ecoi_process_start_ticks(const char *stat, unsigned long long *ticks) {
    const char *at = strrchr(stat, ')');
    if (at == NULL) {
        return false;
    }
    at++;
    for (int field = STAT_FIELD_AFTER_NAME; field <= STAT_FIELD_START; field++) {
        at += strspn(at, " ");
        if (field == STAT_FIELD_START) {
            char *end = NULL;
            *ticks = strtoull(at, &end, 10);
            return end != at && *ticks > 0;
        }
        at += strcspn(at, " ");
    }
    return false;
}

bool ecoi_process_age(double *seconds) {
    char stat[STAT_BYTES_MAX];
    struct timespec now = {0};
    unsigned long long ticks = 0;
    *seconds = 0.0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) {
        return false;
    }
    const size_t n = fread(stat, 1, sizeof stat - 1, file);
    (void)fclose(file);
    stat[n] = '\0';
    const long per_s = sysconf(_SC_CLK_TCK);
    if (per_s <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0 ||
        !ecoi_process_start_ticks(stat, &ticks)) {
        return false;
    }
    *seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - (double)ticks / (double)per_s;
    return *seconds >= 0.0;
}
