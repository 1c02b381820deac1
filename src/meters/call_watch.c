/* SPDX-License-Identifier: Apache-2.0
 *
 * Caller and watcher meet in one word: the caller takes its call out of it, the watcher puts "given up" in its place.
 * Whoever comes second sees what the other did.
 */
#include "meters/call_watch.h"

static const int64_t CALL_NONE = 0;
static const int64_t CALL_GIVEN_UP = -1;

void ecoi_call_watch_init(ecoi_call_watch *watch, int64_t limit_ns) {
    *watch = (ecoi_call_watch){.limit_ns = limit_ns};
}

void ecoi_call_begin(ecoi_call_watch *watch, int64_t now_ns) {
    atomic_store_explicit(&watch->since_ns, now_ns, memory_order_release);
}

bool ecoi_call_end(ecoi_call_watch *watch) {
    int64_t since_ns = atomic_load_explicit(&watch->since_ns, memory_order_relaxed);
    return since_ns != CALL_GIVEN_UP &&
           atomic_compare_exchange_strong(&watch->since_ns, &since_ns, CALL_NONE);
}

bool ecoi_call_given_up(ecoi_call_watch *watch, int64_t now_ns) {
    int64_t since_ns = atomic_load_explicit(&watch->since_ns, memory_order_acquire);
    if (since_ns == CALL_GIVEN_UP) {
        return true;
    }
    if (since_ns == CALL_NONE || since_ns != watch->seen_ns) {
        watch->seen_ns = since_ns;
        watch->looked_ns = now_ns;
        watch->waited_ns = 0;
        return false;
    }
    const int64_t step_ns = now_ns - watch->looked_ns;
    watch->waited_ns += step_ns < ECOI_CALL_LOOK_MAX_NS ? step_ns : ECOI_CALL_LOOK_MAX_NS;
    watch->looked_ns = now_ns;
    return watch->waited_ns > watch->limit_ns &&
           atomic_compare_exchange_strong(&watch->since_ns, &since_ns, CALL_GIVEN_UP);
}
