/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread a load. Signals are blocked in it, so that SIGINT always reaches the measuring thread.
 */
#include "protocol/load.h"

#include "core/alloc.h"
#include "sys/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static const int64_t STEP_NS = 2000000;

struct eco_load {
    pthread_t thread;
    eco_arm *arm;
    eco_work work;
    int stop;
    atomic_bool ended;
    eco_work_result result;
    eco_status status;
    eco_error error;
};

static void *load_main(void *argument) {
    eco_load *load = argument;
    load->status = eco_arm_work(load->arm, &load->work, &load->result, &load->error);
    atomic_store_explicit(&load->ended, true, memory_order_release);
    return NULL;
}

eco_status ecoi_load_start(eco_arm *arm, eco_work_kind kind, uint64_t n_units_max, eco_load **out,
                           eco_error *err) {
    *out = NULL;
    eco_load *load = ecoi_calloc(1, sizeof *load);
    if (load == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "load: out of memory");
    }
    load->arm = arm;
    load->work = (eco_work){.kind = kind, .stop = &load->stop, .n_units_max = n_units_max};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&load->thread, NULL, load_main, load);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        ecoi_free(load);
        return eco_error_set(err, ECO_E_FAILED, failed,
                             "load: no thread could be started (error %d)", failed);
    }
    *out = load;
    return ECO_OK;
}

bool ecoi_load_ended(const eco_load *load) {
    return atomic_load_explicit(&load->ended, memory_order_acquire);
}

eco_status ecoi_load_stop(eco_load *load, eco_work_result *result, eco_error *err) {
    if (result != NULL) {
        *result = (eco_work_result){0};
    }
    if (load == NULL) {
        return ECO_OK;
    }
    __atomic_store_n(&load->stop, 1, __ATOMIC_RELEASE);
    pthread_join(load->thread, NULL);
    const eco_status status = load->status;
    if (result != NULL) {
        *result = load->result;
    }
    if (status != ECO_OK && err != NULL) {
        *err = load->error;
    }
    ecoi_free(load);
    return status;
}

eco_status ecoi_load_stop_within(eco_load *load, double seconds, eco_work_result *result,
                                 eco_error *err) {
    *result = (eco_work_result){0};
    if (load == NULL) {
        return ECO_OK;
    }
    __atomic_store_n(&load->stop, 1, __ATOMIC_RELEASE);
    const int64_t until_ns = ecoi_now_ns() + (int64_t)(seconds * 1e9);
    while (!ecoi_load_ended(load)) {
        const int64_t now_ns = ecoi_now_ns();
        if (now_ns >= until_ns) {
            pthread_detach(load->thread); /* it keeps what it uses */
            return eco_error_set(err, ECO_E_STUCK, 0, "the engine did not stop within %.0f s",
                                 seconds);
        }
        ecoi_sleep_until_ns(now_ns + STEP_NS);
    }
    return ecoi_load_stop(load, result, err);
}
