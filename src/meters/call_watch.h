/* SPDX-License-Identifier: Apache-2.0
 *
 * A watch over calls that may never return. One thread makes the calls, another looks; the watcher may give up, and
 * then the caller is told as soon as its call does return. No clock: both sides bring the time.
 */
#ifndef ECOCOMPUTE_METERS_CALL_WATCH_H
#define ECOCOMPUTE_METERS_CALL_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ecoi_call_watch {
    _Atomic int64_t since_ns; /* begin of the call under way; 0 = none, -1 = given up */
    /* Only the watcher from here on. */
    int64_t limit_ns;
    int64_t seen_ns, looked_ns, waited_ns; /* the call looked at, when last, and for how long */
} ecoi_call_watch;

void ecoi_call_watch_init(ecoi_call_watch *watch, int64_t limit_ns);
/* The calling thread, around each call. End false: the watcher has given up, and what both knew is the watcher's now. */
void ecoi_call_begin(ecoi_call_watch *watch, int64_t now_ns);
bool ecoi_call_end(ecoi_call_watch *watch);
/* The watching thread, often: true once one call has lasted longer than the limit, and from then on. Time between two
 * looks counts for ECOI_CALL_LOOK_MAX_NS at most, so that a process that was stopped gives its calls a new chance. */
enum { ECOI_CALL_LOOK_MAX_NS = 100000000 };
bool ecoi_call_given_up(ecoi_call_watch *watch, int64_t now_ns);

#endif
