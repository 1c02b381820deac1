/* SPDX-License-Identifier: Apache-2.0
 *
 * A region is a generation number: run() raises it, workers wait for it to change. Both sides first
 * spin, then sleep on a condition variable. A sleeper announces itself and then looks at the number
 * again; the waker changes the number and then looks for sleepers; with sequentially consistent
 * order one of the two sees the other.
 */
#include "kernels/cpu/thread_pool.h"

#include "core/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { POOL_SPINS = 4000 };

typedef struct pool_worker {
    eco_pool *pool;
    uint32_t index;
    pthread_t thread;
} pool_worker;

struct eco_pool {
    uint32_t n_threads;
    uint32_t n_started; /* workers, at most n_threads - 1 */
    eco_pool_task *task;
    void *context;
    char pad_before[64]; /* the two spun upon lie on cache lines of their own */
    atomic_uint generation;
    char pad_between[64];
    atomic_uint n_busy; /* workers not yet through the present region */
    char pad_after[64];
    atomic_uint n_asleep; /* workers that wait for the next region */
    atomic_bool caller_asleep;
    atomic_bool quit;
    pthread_mutex_t lock;
    pthread_cond_t begun, done;
    pool_worker workers[];
};

static void pool_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_for_region(eco_pool *pool, unsigned seen) {
    for (int i = 0; i < POOL_SPINS; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) {
            return;
        }
        pool_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->n_asleep, 1);
    while (atomic_load(&pool->generation) == seen) {
        pthread_cond_wait(&pool->begun, &pool->lock);
    }
    atomic_fetch_sub(&pool->n_asleep, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void begin_region(eco_pool *pool) {
    atomic_store(&pool->n_busy, pool->n_started);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->n_asleep) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->begun);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void leave_region(eco_pool *pool) {
    if (atomic_fetch_sub(&pool->n_busy, 1) == 1 && atomic_load(&pool->caller_asleep)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void wait_for_workers(eco_pool *pool) {
    for (int i = 0; i < POOL_SPINS; i++) {
        if (atomic_load_explicit(&pool->n_busy, memory_order_acquire) == 0) {
            return;
        }
        pool_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_asleep, true);
    while (atomic_load(&pool->n_busy) != 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    atomic_store(&pool->caller_asleep, false);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *argument) {
    const pool_worker *self = argument;
    eco_pool *pool = self->pool;
    for (unsigned seen = 0;;
         seen++) { /* generations come one by one: the caller waits for every worker */
        wait_for_region(pool, seen);
        if (atomic_load_explicit(&pool->quit, memory_order_acquire)) {
            return NULL;
        }
        pool->task(pool->context, self->index, pool->n_threads);
        leave_region(pool);
    }
}

static void pool_join(eco_pool *pool) {
    atomic_store(&pool->quit, true);
    begin_region(pool);
    for (uint32_t i = 0; i < pool->n_started; i++) {
        pthread_join(pool->workers[i].thread, NULL);
    }
}

eco_status ecoi_pool_open(uint32_t n_threads, eco_pool **out, eco_error *err) {
    *out = NULL;
    if (n_threads == 0 || n_threads > ECO_POOL_THREADS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%u threads: not 1 to %d", n_threads,
                             ECO_POOL_THREADS_MAX);
    }
    const size_t size = sizeof(eco_pool) + (n_threads - 1) * sizeof(pool_worker);
    eco_pool *pool = ecoi_calloc(1, size);
    if (pool == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "thread pool: %zu bytes", size);
    }
    pool->n_threads = n_threads;
    pthread_mutex_init(&pool->lock,
                       NULL); /* with default attributes these three cannot fail on Linux */
    pthread_cond_init(&pool->begun, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (uint32_t i = 0; i + 1 < n_threads; i++) {
        pool->workers[i] = (pool_worker){.pool = pool, .index = i + 1};
        const int error =
            pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]);
        if (error != 0) {
            ecoi_pool_close(pool);
            return eco_error_set(err, ECO_E_FAILED, error, "thread %u of %u did not start: %s",
                                 i + 2, n_threads, strerror(error));
        }
        pool->n_started++;
    }
    *out = pool;
    return ECO_OK;
}

void ecoi_pool_close(eco_pool *pool) {
    if (pool == NULL) {
        return;
    }
    pool_join(pool);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->begun);
    pthread_mutex_destroy(&pool->lock);
    ecoi_free(pool);
}

uint32_t ecoi_pool_n_threads(const eco_pool *pool) {
    return pool->n_threads;
}

void ecoi_pool_run(eco_pool *pool, eco_pool_task *task, void *context) {
    if (pool->n_started == 0) {
        task(context, 0, 1);
        return;
    }
    pool->task = task;
    pool->context = context;
    begin_region(pool);
    task(context, 0, pool->n_threads);
    wait_for_workers(pool);
}

eco_range ecoi_pool_share(size_t n_rows, size_t grain, uint32_t index, uint32_t n) {
    const size_t n_grains = (n_rows + grain - 1) / grain;
    const size_t begin = n_grains / n * index + n_grains % n * index / n;
    const size_t end = n_grains / n * (index + 1u) + n_grains % n * (index + 1u) / n;
    const size_t last = end * grain;
    return (eco_range){.begin = begin * grain < n_rows ? begin * grain : n_rows,
                       .end = last < n_rows ? last : n_rows};
}
