/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampling thread. It owns the meter, the row buffer's tail and all totals; the controlling
 * thread talks to it through one mailbox (a command, two semaphores) and reads totals from atomics.
 * Counter ticks are caught by reading the counter back to back around the moment wanted, so a
 * window's energy is known to the tick and its time to half a read. Nothing in the loop allocates,
 * locks or logs; messages are written by the requester.
 */
#define _GNU_SOURCE

#include "meters/sampler.h"
#include "core/alloc.h"
#include "meters/call_watch.h"
#include "meters/sampler_totals.h"
#include "sys/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static const int64_t sampler_s_ns = 1000000000;
static const int64_t sampler_poll_lead_ns =
    150 * 1000000; /* counter polling begins this long before an edge may be */
static const int64_t sampler_poll_cheap_ns = 50 * 1000; /* a counter that costs less ... */
static const int64_t sampler_poll_pause_ns =
    200 * 1000; /* ... is polled this often, not back to back */
static const int64_t sampler_wide_ns =
    100 * 1000000; /* two reads this far apart may hide more than one tick */
static const int64_t sampler_any_tick_ns = 2000000000; /* patience of an edge without a condition */
static const int64_t sampler_frozen_ns = 20 * INT64_C(1000000000);
static const int64_t sampler_stuck_ns = 5 * INT64_C(1000000000);
static const int64_t sampler_answer_ns =
    20 * 1000000; /* how often a waiting requester looks at its interrupt flag */
static const uint32_t sampler_slow_reads = ECO_READ_TEMP | ECO_READ_CLOCKS | ECO_READ_THROTTLE;

enum {
    SAMPLER_SPARE_ROWS = 64,  /* kept for window edges, so that a full buffer never loses one */
    SAMPLER_SLOW_PUT_OFF = 3, /* slow reads come at most so many times their interval late */
    SAMPLER_RATE_MAX_HZ = 1000,
    SAMPLER_TIMER_SLACK_NS = 1000
};

typedef enum sampler_mail {
    SAMPLER_MAIL_EMPTY = 0,
    SAMPLER_MAIL_POSTED,
    SAMPLER_MAIL_DONE
} sampler_mail;
typedef enum sampler_verb { SAMPLER_EDGE = 0, SAMPLER_CLEAR, SAMPLER_RESET } sampler_verb;

/* Written by the requester before POSTED, by the sampler before DONE. */
typedef struct sampler_command {
    sampler_verb verb;
    eco_edge_condition condition;
    bool conditional, closing;
    int32_t block;
    eco_phase phase, after;
    size_t n_forget;
    eco_status status;
    eco_edge edge;
    double from_j, to_j;  /* a step back */
    int64_t native_error; /* of the last failed counter read */
} sampler_command;

struct eco_sampler {
    eco_meter *meter;
    eco_meter_info info;
    int64_t period_ns, frozen_ns;
    uint32_t slow_every; /* samples between two slow reads */
    eco_sample *rows;    /* capacity + SAMPLER_SPARE_ROWS */
    size_t capacity;
    size_t *n_seen; /* rows the controller has been shown; its own */
    _Atomic size_t n_rows;
    _Atomic uint64_t mark; /* block in the upper half, phase in the lower */
    const uint64_t *_Atomic progress;
    atomic_bool stop, cancel;
    _Atomic int mail;
    sem_t wake, done;
    sampler_command command;
    ecoi_sampler_totals totals;
    pthread_t thread;
    atomic_bool ended, one_left; /* the thread's loop is over; one of the two threads is gone */
    ecoi_call_watch watch;       /* of the thread's reads; the requester looks */
    /* Only the sampler thread from here on. */
    int64_t deadline_ns, last_read_ns;
    uint32_t since_slow;
    eco_reading last_energy_j;
    bool counter_only; /* no power to read: it follows from the counter */
    int64_t step_ns;   /* when the counter was last seen to change, and to what */
    eco_reading step_j;
};

/* One counter read, with the finished units on both sides of it. */
typedef struct counter_read {
    int64_t start_ns, end_ns, middle_ns;
    double tokens_start, tokens_end;
    eco_reading energy_j;
} counter_read;

/* ---- small parts ---- */

static uint64_t sampler_mark_pack(int32_t block, eco_phase phase) {
    return ((uint64_t)(uint32_t)block << 32) | (uint64_t)(uint32_t)phase;
}

static void sampler_max(_Atomic int64_t *total, int64_t value) {
    if (value > atomic_load_explicit(total, memory_order_relaxed)) {
        atomic_store_explicit(total, value, memory_order_relaxed);
    }
}

static void sampler_count(_Atomic uint64_t *total) {
    atomic_fetch_add_explicit(total, 1, memory_order_relaxed);
}

static eco_reading sampler_tokens(const eco_sampler *sampler) {
    const uint64_t *progress = atomic_load_explicit(&sampler->progress, memory_order_acquire);
    if (progress == NULL) {
        return eco_reading_absent(ECO_ABSENT_NOT_READ);
    }
    return eco_reading_of((double)__atomic_load_n(progress, __ATOMIC_ACQUIRE));
}

static double sampler_tokens_value(const eco_sampler *sampler) {
    const eco_reading tokens = sampler_tokens(sampler);
    return eco_reading_present(tokens) ? tokens.value : 0.0;
}

static void sampler_free(eco_sampler *sampler) {
    (void)sem_destroy(&sampler->wake);
    (void)sem_destroy(&sampler->done);
    ecoi_free(sampler->rows);
    ecoi_free(sampler->n_seen);
    ecoi_free(sampler);
}

/* Where the thread was given up, of the two that know the sampler the last to leave frees it. */
static void sampler_leave(eco_sampler *sampler) {
    if (atomic_exchange(&sampler->one_left, true)) {
        sampler_free(sampler);
    }
}

/* Every read of the thread. One that was given up comes back to nothing: the rest is the requester's. */
static void sampler_read(eco_sampler *sampler, uint32_t what, eco_meter_sample *out) {
    ecoi_call_begin(&sampler->watch, ecoi_now_ns());
    eco_meter_read(sampler->meter, what, out);
    if (!ecoi_call_end(&sampler->watch)) {
        sampler_leave(sampler);
        pthread_exit(NULL);
    }
}

static void sampler_wait(sem_t *semaphore, int64_t until_ns) {
    const struct timespec until = {.tv_sec = (time_t)(until_ns / sampler_s_ns),
                                   .tv_nsec = until_ns % sampler_s_ns};
    (void)sem_clockwait(semaphore, CLOCK_MONOTONIC, &until);
}

/* ---- rows ---- */

static void rows_push(eco_sampler *sampler, const eco_sample *row) {
    const size_t n = atomic_load_explicit(&sampler->n_rows, memory_order_relaxed);
    if (n >= sampler->capacity) {
        sampler_count(&sampler->totals.n_dropped);
        return;
    }
    sampler->rows[n] = *row;
    atomic_store_explicit(&sampler->n_rows, n + 1, memory_order_release);
}

/* Puts an edge where its time belongs; samples taken after it change to what the edge starts. */
static bool rows_insert_edge(eco_sampler *sampler, const eco_sample *row,
                             const sampler_command *command) {
    const size_t n = atomic_load_explicit(&sampler->n_rows, memory_order_relaxed);
    if (n >= sampler->capacity + SAMPLER_SPARE_ROWS) {
        return false;
    }
    size_t at = n;
    while (at > 0 && sampler->rows[at - 1].t_ns > row->t_ns) {
        sampler->rows[at] = sampler->rows[at - 1];
        sampler->rows[at].block = command->block;
        sampler->rows[at].phase = command->closing ? command->after : command->phase;
        at--;
    }
    sampler->rows[at] = *row;
    atomic_store_explicit(&sampler->n_rows, n + 1, memory_order_release);
    return true;
}

static void rows_forget(eco_sampler *sampler, size_t n_forget) {
    const size_t n = atomic_load_explicit(&sampler->n_rows, memory_order_relaxed);
    const size_t n_gone = n_forget < n ? n_forget : n;
    memmove(sampler->rows, sampler->rows + n_gone, (n - n_gone) * sizeof sampler->rows[0]);
    atomic_store_explicit(&sampler->n_rows, n - n_gone, memory_order_release);
}

/* ---- sampling ---- */

static void sampler_account(eco_sampler *sampler, const eco_meter_sample *read) {
    ecoi_sampler_totals *totals = &sampler->totals;
    sampler_max(&totals->longest_read_ns, read->cost_ns);
    if (read->device_lost) {
        atomic_store_explicit(&totals->device_lost, true, memory_order_relaxed);
    }
}

static void sampler_take_slow(eco_sampler *sampler, eco_sample *row) {
    ecoi_sampler_totals *totals = &sampler->totals;
    eco_meter_sample read;
    sampler->since_slow = 0;
    sampler_read(sampler, sampler_slow_reads, &read);
    sampler_account(sampler, &read);
    row->temp_c = read.temp_c;
    atomic_store_explicit(&totals->temp_c, read.temp_c.value, memory_order_relaxed);
    atomic_store_explicit(&totals->temp_absence, (int)read.temp_c.absence, memory_order_release);
    if (read.throttle_read == ECO_PRESENT) {
        atomic_fetch_or_explicit(&totals->throttle, read.throttle, memory_order_relaxed);
    }
    if (eco_reading_present(read.sm_clock_mhz)) {
        ecoi_totals_clock(totals, read.sm_clock_mhz.value);
    }
}

/* Time in which nothing was read: power, or the joules of a meter that has only those. */
static void sampler_gap(eco_sampler *sampler, int64_t t_ns) {
    if (sampler->last_read_ns != 0) {
        sampler_max(&sampler->totals.longest_gap_ns, t_ns - sampler->last_read_ns);
    }
    sampler->last_read_ns = t_ns;
}

/* A sample counts towards rate and gaps only when its power was really read. */
static void sampler_took(eco_sampler *sampler, int64_t t_ns) {
    ecoi_sampler_totals *totals = &sampler->totals;
    if (sampler->last_read_ns == 0) {
        atomic_store_explicit(&totals->first_ns, t_ns, memory_order_relaxed);
    }
    sampler_gap(sampler, t_ns);
    atomic_store_explicit(&totals->last_ns, t_ns, memory_order_relaxed);
    sampler_count(&totals->n_samples);
}

/* Mean power between two changes of the counter, for idle bands; never part of a row. */
static void sampler_derive_power(eco_sampler *sampler, const eco_meter_sample *read) {
    ecoi_sampler_totals *totals = &sampler->totals;
    const eco_reading before_j = sampler->step_j;
    if (!eco_reading_present(read->energy_j) ||
        (eco_reading_present(before_j) && !(read->energy_j.value > before_j.value) &&
         !(read->energy_j.value < before_j.value))) {
        return;
    }
    if (eco_reading_present(before_j) && read->energy_j.value > before_j.value) {
        const double seconds = (double)(read->t_ns - sampler->step_ns) / (double)sampler_s_ns;
        atomic_store_explicit(&totals->power_w, (read->energy_j.value - before_j.value) / seconds,
                              memory_order_relaxed);
        atomic_store_explicit(&totals->power_absence, (int)ECO_PRESENT, memory_order_release);
    }
    sampler->step_j = read->energy_j;
    sampler->step_ns = read->t_ns;
}

/* Reads power and progress into *row; energy only where the meter has no power. */
static void sampler_take(eco_sampler *sampler, eco_sample *row) {
    ecoi_sampler_totals *totals = &sampler->totals;
    const uint64_t mark = atomic_load_explicit(&sampler->mark, memory_order_relaxed);
    memset(row, 0, sizeof *row);
    row->block = (int32_t)(uint32_t)(mark >> 32);
    row->phase = (eco_phase)(mark & UINT32_MAX);
    if (sampler->meter == NULL) {
        row->t_ns = ecoi_now_ns();
        row->tokens = sampler_tokens(sampler);
        sampler_took(sampler, row->t_ns);
        return;
    }
    eco_meter_sample read;
    const eco_reading before = sampler_tokens(sampler);
    sampler_read(sampler, sampler->counter_only ? ECO_READ_ENERGY : ECO_READ_POWER, &read);
    const eco_reading after = sampler_tokens(sampler);
    sampler_account(sampler, &read);
    row->t_ns = read.t_ns;
    row->power_w = read.power_w;
    row->energy_j = read.energy_j;
    row->tokens = eco_reading_present(before) && eco_reading_present(after)
                      ? eco_reading_of((before.value + after.value) / 2.0)
                      : after;
    if (sampler->counter_only) {
        sampler_derive_power(sampler, &read);
        if (eco_reading_present(read.energy_j)) {
            sampler_gap(sampler, row->t_ns);
        } else if (read.energy_j.absence != ECO_ABSENT_UNSUPPORTED) {
            sampler_count(&totals->n_read_errors);
        }
        return;
    }
    atomic_store_explicit(&totals->power_w, read.power_w.value, memory_order_relaxed);
    atomic_store_explicit(&totals->power_absence, (int)read.power_w.absence, memory_order_release);
    if (eco_reading_present(read.power_w)) {
        sampler_took(sampler, row->t_ns);
    } else if (read.power_w.absence != ECO_ABSENT_UNSUPPORTED) {
        sampler_count(&totals->n_read_errors);
    }
}

static void sampler_next_deadline(eco_sampler *sampler) {
    const int64_t late_ns = ecoi_now_ns() - sampler->deadline_ns;
    const int64_t n_periods = late_ns >= 0 ? late_ns / sampler->period_ns + 1 : 1;
    sampler->deadline_ns += n_periods * sampler->period_ns;
}

/* A row when one is due. Temperature, clocks and throttle reasons may stall the driver for
 * milliseconds, so while a tick is awaited (`hurried`) they are put off for a while. */
static void sampler_sample_if_due(eco_sampler *sampler, bool hurried) {
    if (ecoi_now_ns() < sampler->deadline_ns) {
        return;
    }
    eco_sample row;
    sampler_take(sampler, &row);
    sampler->since_slow++;
    const uint32_t patience =
        hurried ? SAMPLER_SLOW_PUT_OFF * sampler->slow_every : sampler->slow_every;
    if (sampler->meter != NULL && sampler->since_slow >= patience) {
        sampler_take_slow(sampler, &row);
    }
    rows_push(sampler, &row);
    atomic_store_explicit(&sampler->totals.cpu_ns, ecoi_thread_cpu_ns(), memory_order_relaxed);
    sampler_next_deadline(sampler);
}

/* ---- edges ---- */

static eco_status edge_state(eco_sampler *sampler) {
    if (atomic_load_explicit(&sampler->cancel, memory_order_acquire) ||
        atomic_load_explicit(&sampler->stop, memory_order_acquire)) {
        return ECO_E_INTERRUPTED;
    }
    if (atomic_load_explicit(&sampler->totals.device_lost, memory_order_relaxed)) {
        return ECO_E_DEVICE_LOST;
    }
    return ECO_OK;
}

/* Sleeps to `until_ns` and goes on sampling meanwhile. */
static eco_status edge_sample_until(eco_sampler *sampler, int64_t until_ns) {
    for (;;) {
        ECO_TRY(edge_state(sampler));
        sampler_sample_if_due(sampler, false);
        if (ecoi_now_ns() >= until_ns) {
            return ECO_OK;
        }
        sampler_wait(&sampler->wake,
                     until_ns < sampler->deadline_ns ? until_ns : sampler->deadline_ns);
    }
}

static void edge_read_counter(eco_sampler *sampler, counter_read *out) {
    eco_meter_sample read;
    out->tokens_start = sampler_tokens_value(sampler);
    out->start_ns = ecoi_now_ns();
    sampler_read(sampler, ECO_READ_ENERGY, &read);
    out->end_ns = ecoi_now_ns();
    out->tokens_end = sampler_tokens_value(sampler);
    out->middle_ns = read.t_ns;
    out->energy_j = read.energy_j;
    sampler_account(sampler, &read);
    sampler_count(&sampler->totals.n_energy_reads);
    sampler->command.native_error = read.native_error;
    if (!eco_reading_present(read.energy_j)) {
        sampler_count(&sampler->totals.n_read_errors);
    }
}

/* Finished units at t, piecewise linear through the four progress reads around two counter reads.
 */
static double edge_tokens_at(const counter_read *old, const counter_read *fresh, int64_t t_ns) {
    const int64_t x_ns[] = {old->start_ns, old->end_ns, fresh->start_ns, fresh->end_ns};
    const double y[] = {old->tokens_start, old->tokens_end, fresh->tokens_start, fresh->tokens_end};
    for (size_t i = 0; i < 3; i++) {
        if (t_ns <= x_ns[i + 1]) {
            const int64_t width_ns = x_ns[i + 1] - x_ns[i];
            const double part = width_ns > 0 ? (double)(t_ns - x_ns[i]) / (double)width_ns : 1.0;
            return y[i] + (part < 0.0 ? 0.0 : part) * (y[i + 1] - y[i]);
        }
    }
    return y[3];
}

static bool edge_units_whole(const sampler_command *command, double tokens) {
    const eco_edge_condition *condition = &command->condition;
    if (!(condition->unit_period > 0.0)) {
        return true;
    }
    const double rest = fmod(tokens - condition->tokens_open, condition->unit_period);
    const double distance = fmin(fabs(rest), condition->unit_period - fabs(rest));
    return distance <= condition->slack;
}

/* Is this tick the one asked for? Past `patience_ns` any tick after the wanted time is. */
static bool edge_accepts(const sampler_command *command, const eco_edge *edge,
                         int64_t patience_ns) {
    if (edge->t_ns < command->condition.not_before_ns) {
        return false;
    }
    return edge->t_ns > patience_ns ||
           (2 * edge->u_t_ns <= sampler_wide_ns && edge_units_whole(command, edge->tokens));
}

static eco_status edge_stepped_back(eco_sampler *sampler, double from_j, double to_j) {
    atomic_store_explicit(&sampler->totals.counter_stepped_back, true, memory_order_relaxed);
    sampler->command.from_j = from_j;
    sampler->command.to_j = to_j;
    return ECO_E_INVALID;
}

/* Judges one good read against the last: a step back, a tick (true in *tick), or neither. A counter
 * that restarted between two windows harms neither, so an opening edge only notes it. */
static eco_status edge_judge(eco_sampler *sampler, const counter_read *old,
                             const counter_read *fresh, bool *tick) {
    const eco_reading last_j = sampler->last_energy_j;
    const double energy_j = fresh->energy_j.value;
    const bool have_old = eco_reading_present(old->energy_j);
    *tick = false;
    sampler->last_energy_j = fresh->energy_j;
    if (eco_reading_present(last_j) && energy_j < last_j.value) {
        const eco_status stepped = edge_stepped_back(sampler, last_j.value, energy_j);
        if (have_old || sampler->command.closing) {
            return stepped;
        }
    }
    *tick = have_old && energy_j > old->energy_j.value;
    return ECO_OK;
}

static void edge_fill(const counter_read *old, const counter_read *fresh, eco_edge *out) {
    out->t_ns = old->middle_ns + (fresh->middle_ns - old->middle_ns) / 2;
    out->u_t_ns = (fresh->middle_ns - old->middle_ns + 1) / 2;
    out->energy_j = fresh->energy_j;
    out->tokens = edge_tokens_at(old, fresh, out->t_ns);
}

/* Polls the counter until the tick asked for. */
static eco_status edge_tick(eco_sampler *sampler, int64_t patience_ns) {
    const sampler_command *command = &sampler->command;
    eco_edge *edge = &sampler->command.edge;
    ECO_TRY(edge_sample_until(sampler, command->condition.not_before_ns - sampler_poll_lead_ns));
    counter_read old = {0}; /* no energy: nothing to compare with yet */
    int64_t changed_ns = ecoi_now_ns();
    for (;;) {
        counter_read fresh = {0};
        ECO_TRY(edge_state(sampler));
        sampler_sample_if_due(sampler, true);
        edge_read_counter(sampler, &fresh);
        const int64_t cost_ns = fresh.end_ns - fresh.start_ns;
        edge->read_cost_ns = cost_ns > edge->read_cost_ns ? cost_ns : edge->read_cost_ns;
        bool tick = false;
        if (eco_reading_present(fresh.energy_j)) {
            ECO_TRY(edge_judge(sampler, &old, &fresh, &tick));
        }
        if (tick) {
            changed_ns = fresh.middle_ns;
            edge_fill(&old, &fresh, edge);
            if (edge_accepts(command, edge, patience_ns)) {
                return ECO_OK;
            }
        }
        if (fresh.end_ns - changed_ns > sampler->frozen_ns) {
            return edge_state(sampler) == ECO_E_DEVICE_LOST ? ECO_E_DEVICE_LOST : ECO_E_TIMEOUT;
        }
        old = fresh; /* a failed read breaks the pair: the change may lie anywhere in the gap */
        if (cost_ns < sampler_poll_cheap_ns) {
            sampler_wait(&sampler->wake, fresh.start_ns + sampler_poll_pause_ns);
        }
    }
}

/* Without a counter: one sample at the wanted time, when whole units are done. *row is it. */
static eco_status edge_power(eco_sampler *sampler, int64_t patience_ns, eco_sample *row) {
    const sampler_command *command = &sampler->command;
    eco_edge *edge = &sampler->command.edge;
    ECO_TRY(edge_sample_until(sampler, command->condition.not_before_ns));
    while (!edge_units_whole(command, sampler_tokens_value(sampler)) &&
           ecoi_now_ns() <= patience_ns) {
        ECO_TRY(edge_sample_until(sampler, ecoi_now_ns() + sampler_poll_pause_ns));
    }
    const int64_t start_ns = ecoi_now_ns();
    for (;;) {
        const int64_t before_ns = ecoi_now_ns();
        sampler_take(sampler, row);
        const int64_t after_ns = ecoi_now_ns();
        edge->t_ns = row->t_ns;
        edge->u_t_ns = (after_ns - before_ns + 1) / 2;
        edge->tokens = eco_reading_present(row->tokens) ? row->tokens.value : 0.0;
        if (sampler->meter == NULL || eco_reading_present(row->power_w)) {
            return ECO_OK;
        }
        ECO_TRY(edge_state(sampler));
        if (after_ns - start_ns > sampler->frozen_ns) {
            return ECO_E_TIMEOUT;
        }
        ECO_TRY(edge_sample_until(sampler, after_ns + sampler_poll_pause_ns));
    }
}

static eco_status edge_catch(eco_sampler *sampler) {
    sampler_command *command = &sampler->command;
    const eco_edge_condition *condition = &command->condition;
    const int64_t now_ns = ecoi_now_ns();
    const int64_t wanted_ns = condition->not_before_ns > now_ns ? condition->not_before_ns : now_ns;
    const int64_t patience_ns =
        wanted_ns + (command->conditional ? condition->timeout_ns : sampler_any_tick_ns);
    eco_sample row = {0};
    if (sampler->meter != NULL && sampler->info.energy_field != NULL) {
        ECO_TRY(edge_tick(sampler, patience_ns));
        row.t_ns = command->edge.t_ns;
        row.energy_j = command->edge.energy_j;
        if (atomic_load_explicit(&sampler->progress, memory_order_relaxed) != NULL) {
            row.tokens = eco_reading_of(command->edge.tokens);
        }
    } else {
        ECO_TRY(edge_power(sampler, patience_ns, &row));
        command->edge.energy_j = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    row.block = command->block;
    row.phase = command->phase;
    if (!rows_insert_edge(sampler, &row, command)) {
        return ECO_E_RANGE;
    }
    atomic_store_explicit(
        &sampler->mark,
        sampler_mark_pack(command->block, command->closing ? command->after : command->phase),
        memory_order_relaxed);
    return ECO_OK;
}

/* ---- the thread ---- */

static void sampler_serve(eco_sampler *sampler) {
    sampler_command *command = &sampler->command;
    switch (command->verb) {
    case SAMPLER_EDGE:
        command->status = edge_catch(sampler);
        command->edge.device_lost =
            atomic_load_explicit(&sampler->totals.device_lost, memory_order_relaxed);
        break;
    case SAMPLER_CLEAR:
        rows_forget(sampler, command->n_forget);
        command->status = ECO_OK;
        break;
    case SAMPLER_RESET:
    default:
        ecoi_totals_reset(&sampler->totals);
        command->status = ECO_OK;
        break;
    }
    atomic_store_explicit(&sampler->totals.cpu_ns, ecoi_thread_cpu_ns(), memory_order_relaxed);
    atomic_store_explicit(&sampler->mail, SAMPLER_MAIL_DONE, memory_order_release);
    (void)sem_post(&sampler->done);
}

static void *sampler_main(void *argument) {
    eco_sampler *sampler = argument;
    (void)prctl(PR_SET_TIMERSLACK, (unsigned long)SAMPLER_TIMER_SLACK_NS, 0UL, 0UL, 0UL);
    sampler->deadline_ns = ecoi_now_ns();
    sampler->since_slow =
        SAMPLER_SLOW_PUT_OFF * sampler->slow_every; /* the first reads everything */
    while (!atomic_load_explicit(&sampler->stop, memory_order_acquire)) {
        if (atomic_load_explicit(&sampler->mail, memory_order_acquire) == SAMPLER_MAIL_POSTED) {
            sampler_serve(sampler);
        }
        sampler_sample_if_due(sampler, false);
        sampler_wait(&sampler->wake, sampler->deadline_ns);
    }
    atomic_store_explicit(&sampler->ended, true, memory_order_release);
    (void)sem_post(&sampler->done);
    return NULL;
}

/* Hands the command over and waits for its answer. A set *interrupted only makes the sampler answer
 * soon. False: the thread is in a read that does not return, and was given up. */
static bool sampler_ask(eco_sampler *sampler, const volatile int *interrupted) {
    atomic_store_explicit(&sampler->cancel, false, memory_order_relaxed);
    atomic_store_explicit(&sampler->mail, SAMPLER_MAIL_POSTED, memory_order_release);
    (void)sem_post(&sampler->wake);
    while (atomic_load_explicit(&sampler->mail, memory_order_acquire) != SAMPLER_MAIL_DONE) {
        sampler_wait(&sampler->done, ecoi_now_ns() + sampler_answer_ns);
        if (ecoi_sampler_stuck(sampler)) {
            return false;
        }
        if (interrupted != NULL && *interrupted != 0 &&
            !atomic_exchange_explicit(&sampler->cancel, true, memory_order_release)) {
            (void)sem_post(&sampler->wake);
        }
    }
    atomic_store_explicit(&sampler->mail, SAMPLER_MAIL_EMPTY, memory_order_relaxed);
    return true;
}

/* ---- open and close ---- */

static eco_status sampler_start(eco_sampler *sampler, eco_error *err) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals go to the controlling thread */
    const int failed = pthread_create(&sampler->thread, NULL, sampler_main, sampler);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        return eco_error_set(err, ECO_E_FAILED, failed, "sampler: cannot start a thread: %s",
                             strerror(failed));
    }
    return ECO_OK;
}

eco_status ecoi_sampler_open(const eco_sampler_options *options, eco_sampler **out,
                             eco_error *err) {
    *out = NULL;
    if (!(options->rate_hz > 0.0) || options->rate_hz > (double)SAMPLER_RATE_MAX_HZ ||
        options->capacity == 0) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "sampler: rate %g Hz, capacity %u: want 0 < rate <= %d, capacity > 0",
                             options->rate_hz, options->capacity, SAMPLER_RATE_MAX_HZ);
    }
    eco_sampler *sampler = ecoi_calloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, errno, "sampler: out of memory");
    }
    sampler->capacity = options->capacity;
    sampler->rows = ecoi_calloc(sampler->capacity + SAMPLER_SPARE_ROWS, sizeof *sampler->rows);
    sampler->n_seen = ecoi_calloc(1, sizeof *sampler->n_seen);
    (void)sem_init(&sampler->wake, 0, 0);
    (void)sem_init(&sampler->done, 0, 0);
    if (sampler->rows == NULL || sampler->n_seen == NULL) {
        sampler_free(sampler);
        return eco_error_set(err, ECO_E_NO_MEMORY, errno, "sampler: no memory for %u rows",
                             options->capacity);
    }
    /* Touch the buffer now: a page fault inside a window would cost time there. */
    memset(sampler->rows, 0, (sampler->capacity + SAMPLER_SPARE_ROWS) * sizeof *sampler->rows);
    sampler->meter = options->meter;
    if (sampler->meter != NULL) {
        eco_meter_describe(sampler->meter, &sampler->info);
        sampler->info.energy_field = options->power_only ? NULL : sampler->info.energy_field;
        sampler->counter_only =
            sampler->info.power_field == NULL && sampler->info.energy_field != NULL;
    }
    sampler->period_ns = (int64_t)((double)sampler_s_ns / options->rate_hz);
    sampler->frozen_ns =
        options->frozen_after_ns > 0 ? options->frozen_after_ns : sampler_frozen_ns;
    ecoi_call_watch_init(&sampler->watch,
                         options->stuck_after_ns > 0 ? options->stuck_after_ns : sampler_stuck_ns);
    sampler->slow_every = options->rate_hz >= 1.0 ? (uint32_t)lround(options->rate_hz) : 1;
    ecoi_totals_reset(&sampler->totals);
    const eco_status status = sampler_start(sampler, err);
    if (status != ECO_OK) {
        sampler_free(sampler);
        return status;
    }
    *out = sampler;
    return ECO_OK;
}

bool ecoi_sampler_stuck(eco_sampler *sampler) {
    return ecoi_call_given_up(&sampler->watch, ecoi_now_ns());
}

bool ecoi_sampler_close(eco_sampler *sampler) {
    if (sampler == NULL) {
        return true;
    }
    atomic_store_explicit(&sampler->stop, true, memory_order_release);
    (void)sem_post(&sampler->wake);
    while (!atomic_load_explicit(&sampler->ended, memory_order_acquire)) {
        if (ecoi_sampler_stuck(sampler)) {
            (void)pthread_detach(sampler->thread);
            sampler_leave(sampler);
            return false;
        }
        sampler_wait(&sampler->done, ecoi_now_ns() + sampler_answer_ns);
    }
    (void)pthread_join(sampler->thread, NULL);
    sampler_free(sampler);
    return true;
}

/* ---- the controlling thread's side ---- */

void ecoi_sampler_mark(eco_sampler *sampler, int32_t block, eco_phase phase) {
    atomic_store_explicit(&sampler->mark, sampler_mark_pack(block, phase), memory_order_relaxed);
}

void ecoi_sampler_follow(eco_sampler *sampler, const uint64_t *progress) {
    atomic_store_explicit(&sampler->progress, progress, memory_order_release);
}

/* Says once what went wrong at an edge. */
static eco_status sampler_edge_error(const eco_sampler *sampler, eco_error *err) {
    const sampler_command *command = &sampler->command;
    const char *name = sampler->meter != NULL ? sampler->info.name : "no meter";
    const char *uuid = sampler->info.device.boundary.uuid;
    const bool counter = sampler->info.energy_field != NULL;
    const double frozen_s = (double)sampler->frozen_ns / (double)sampler_s_ns;
    switch ((int)command->status) { /* edge_catch has no others */
    case ECO_E_INVALID:
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "%s %s: energy counter stepped back from %.3f J to %.3f J", name, uuid,
                             command->from_j, command->to_j);
    case ECO_E_TIMEOUT:
        return eco_error_set(err, ECO_E_TIMEOUT, command->native_error, "%s %s: %s for %.3g s",
                             name, uuid,
                             !counter                     ? "power could not be read"
                             : command->native_error != 0 ? "energy counter could not be read"
                                                          : "energy counter did not change",
                             frozen_s);
    case ECO_E_DEVICE_LOST:
        return eco_error_set(err, ECO_E_DEVICE_LOST, command->native_error, "%s %s: device lost",
                             name, uuid);
    case ECO_E_RANGE:
        return eco_error_set(err, ECO_E_RANGE, 0, "sampler: no room for a window edge in %zu rows",
                             sampler->capacity);
    case ECO_E_INTERRUPTED:
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted at a window edge");
    default:
        return eco_error_set(err, command->status, 0, "sampler: window edge failed");
    }
}

eco_status ecoi_sampler_check(eco_sampler *sampler, eco_error *err) {
    if (!ecoi_sampler_stuck(sampler)) {
        return ECO_OK;
    }
    return eco_error_set(err, ECO_E_STUCK, 0,
                         "%s %s: a reading did not return for %.3g s; the driver hangs",
                         sampler->info.name, sampler->info.device.boundary.uuid,
                         (double)sampler->watch.limit_ns / (double)sampler_s_ns);
}

eco_status ecoi_sampler_edge(eco_sampler *sampler, const eco_edge_request *request, eco_edge *out,
                             eco_error *err) {
    *out = (eco_edge){0};
    ECO_TRY(ecoi_sampler_check(sampler, err)); /* the command is nobody's then */
    sampler_command *command = &sampler->command;
    *command = (sampler_command){
        .verb = SAMPLER_EDGE,
        .conditional = request->condition != NULL,
        .closing = request->closing,
        .block = request->block,
        .phase = request->phase,
        .after = request->after,
    };
    if (request->condition != NULL) {
        command->condition = *request->condition;
    }
    if (!sampler_ask(sampler, request->interrupted)) {
        return ecoi_sampler_check(sampler, err);
    }
    *out = command->edge;
    return command->status == ECO_OK ? ECO_OK : sampler_edge_error(sampler, err);
}

const eco_sample *ecoi_sampler_rows(const eco_sampler *sampler, size_t *n_out) {
    *n_out = atomic_load_explicit(&sampler->n_rows, memory_order_acquire);
    *sampler->n_seen = *n_out;
    return sampler->rows;
}

void ecoi_sampler_clear(eco_sampler *sampler) {
    const size_t n_seen = *sampler->n_seen;
    const size_t n_forget = n_seen > 0 ? n_seen : SIZE_MAX;
    *sampler->n_seen = 0;
    if (!ecoi_sampler_stuck(sampler)) {
        sampler->command = (sampler_command){.verb = SAMPLER_CLEAR, .n_forget = n_forget};
        if (sampler_ask(sampler, NULL)) {
            return;
        }
    }
    rows_forget(sampler, n_forget); /* the thread touches them no more */
}

void ecoi_sampler_reset_extremes(eco_sampler *sampler) {
    if (!ecoi_sampler_stuck(sampler)) {
        sampler->command = (sampler_command){.verb = SAMPLER_RESET};
        (void)sampler_ask(sampler, NULL);
    }
}

void ecoi_sampler_stats(const eco_sampler *sampler, eco_sampler_stats *out) {
    ecoi_totals_stats(&sampler->totals, out);
}

void ecoi_sampler_latest(const eco_sampler *sampler, eco_reading *power_w, eco_reading *temp_c) {
    ecoi_totals_latest(&sampler->totals, power_w, temp_c);
}
