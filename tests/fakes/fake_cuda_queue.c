/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of all launches are known when they are added: a launch begins when the former ends, or
 * now. A worker a board sleeps to each end (absolute deadlines: the average is exact whatever the
 * wake-up costs), advances the counter and is the only writer of the board's page.
 */
#include "fake_cuda_queue.h"

#include "fake_page.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE_MAX = 1024 };

struct queue_entry {
    struct fake_work work;
    int64_t begin_ns, end_ns;
};

static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t worker;
    bool open, closing, lost;
    double context_w, power_w; /* power_w: what the page was told last */
    struct queue_entry entries[QUEUE_MAX];
    uint64_t n_added, n_ended;
    int64_t last_end_ns;
} queues[FAKE_DEVICES] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void sleep_until(int64_t t_ns) {
    const struct timespec t = {.tv_sec = t_ns / 1000000000, .tv_nsec = t_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
    }
}

/* Called with the board's lock held, which makes one writer. */
static void tell_power(uint32_t board, int64_t t_ns, double power_w) {
    struct queue *queue = &queues[board];
    struct fake_device *device = &fake_page_map()->devices[board];
    const uint32_t n = atomic_load_explicit(&device->n_events, memory_order_relaxed);
    queue->power_w = power_w;
    if (n >= FAKE_EVENTS) {
        (void)fprintf(stderr, "fake cuda: the page of board %u is full\n", board);
        abort();
    }
    device->events[n] = (struct fake_event){.t_ns = t_ns, .power_w = power_w};
    atomic_store_explicit(&device->n_events, n + 1, memory_order_release);
}

static void finish(uint32_t board, const struct queue_entry *entry) {
    struct queue *queue = &queues[board];
    if (entry->work.counter != NULL) {
        (void)__atomic_fetch_add(entry->work.counter, entry->work.n_units, __ATOMIC_RELEASE);
    }
    queue->n_ended++;
    const bool follows = queue->n_ended < queue->n_added &&
                         queue->entries[queue->n_ended % QUEUE_MAX].begin_ns <= entry->end_ns;
    if (!follows) {
        tell_power(board, entry->end_ns, queue->context_w);
    }
    (void)pthread_cond_broadcast(&queue->changed);
}

static void *worker_main(void *user) {
    const uint32_t board = (uint32_t)(uintptr_t)user;
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (queue->n_ended == queue->n_added && !queue->closing) {
            (void)pthread_cond_wait(&queue->changed, &queue->lock);
        }
        if (queue->n_ended == queue->n_added || queue->lost) {
            break;
        }
        const struct queue_entry entry = queue->entries[queue->n_ended % QUEUE_MAX];
        if (entry.work.power_w < queue->power_w || entry.work.power_w > queue->power_w) {
            tell_power(board, entry.begin_ns, entry.work.power_w);
        }
        (void)pthread_mutex_unlock(&queue->lock);
        sleep_until(entry.end_ns);
        (void)pthread_mutex_lock(&queue->lock);
        if (queue->lost) {
            break;
        }
        finish(board, &entry);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return NULL;
}

void fake_queue_open(uint32_t board, double context_w) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    queue->closing = false;
    queue->lost = false;
    queue->context_w = context_w;
    queue->n_added = 0;
    queue->n_ended = 0;
    queue->last_end_ns = now_ns();
    tell_power(board, queue->last_end_ns, context_w);
    if (pthread_create(&queue->worker, NULL, worker_main, (void *)(uintptr_t)board) != 0) {
        (void)fprintf(stderr, "fake cuda: no worker thread\n");
        abort();
    }
    queue->open = true;
    (void)pthread_mutex_unlock(&queue->lock);
}

void fake_queue_close(uint32_t board, double bare_w) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    const bool was_open = queue->open;
    queue->closing = true;
    queue->open = false;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    if (!was_open) {
        return;
    }
    (void)pthread_join(queue->worker, NULL);
    (void)pthread_mutex_lock(&queue->lock);
    tell_power(board, now_ns(), bare_w);
    (void)pthread_mutex_unlock(&queue->lock);
}

uint64_t fake_queue_add(uint32_t board, const struct fake_work *work) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->n_added - queue->n_ended == QUEUE_MAX && !queue->lost) {
        (void)pthread_cond_wait(&queue->changed,
                                &queue->lock); /* as a real driver does when its ring is full */
    }
    const int64_t now = now_ns();
    const bool busy = queue->n_added > 0 && queue->last_end_ns > now;
    const int64_t begin_ns = busy ? queue->last_end_ns : now;
    queue->last_end_ns = begin_ns + work->duration_ns;
    queue->entries[queue->n_added % QUEUE_MAX] =
        (struct queue_entry){.work = *work, .begin_ns = begin_ns, .end_ns = queue->last_end_ns};
    const uint64_t ticket = ++queue->n_added;
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    return ticket;
}

uint64_t fake_queue_last(uint32_t board) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    const uint64_t ticket = queue->n_added;
    (void)pthread_mutex_unlock(&queue->lock);
    return ticket;
}

void fake_queue_wait(uint32_t board, uint64_t ticket) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    while (queue->n_ended < ticket && !queue->lost) {
        (void)pthread_cond_wait(&queue->changed, &queue->lock);
    }
    (void)pthread_mutex_unlock(&queue->lock);
}

void fake_queue_lose(uint32_t board) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    queue->lost = true;
    tell_power(board, now_ns(), queue->context_w);
    atomic_store_explicit(&fake_page_map()->devices[board].lost, 1, memory_order_release);
    (void)pthread_cond_broadcast(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
}

bool fake_queue_lost(uint32_t board) {
    struct queue *queue = &queues[board];
    (void)pthread_mutex_lock(&queue->lock);
    const bool lost = queue->lost;
    (void)pthread_mutex_unlock(&queue->lock);
    return lost;
}

/* A library that is closed while a context is still there (its release failed, say) takes its threads with it. */
__attribute__((destructor)) static void stop_workers(void) {
    for (uint32_t board = 0; board < FAKE_DEVICES; board++) {
        struct queue *queue = &queues[board];
        (void)pthread_mutex_lock(&queue->lock);
        const bool open = queue->open;
        queue->lost = queue->lost || open; /* what is still to run is dropped */
        (void)pthread_mutex_unlock(&queue->lock);
        if (open) {
            fake_queue_close(board, queue->context_w);
        }
    }
}
