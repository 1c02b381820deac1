/* SPDX-License-Identifier: Apache-2.0
 *
 * A read that does not return: the watch over calls on made-up times, and the sampler on a meter written here, which
 * replaces the registry at link time and keeps a reader until it is let go.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "meters/call_watch.h"
#include "meters/sampler.h"
#include "sys/clock.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

static const int64_t ms_ns = 1000000;
static eco_error error;

/* ---- the watch ---- */

static void test_a_call_in_time(void **state) {
    (void)state;
    ecoi_call_watch watch;
    ecoi_call_watch_init(&watch, 50 * ms_ns);
    assert_false(ecoi_call_given_up(&watch, 1000 * ms_ns)); /* no call */
    for (int64_t at_ns = 1; at_ns < 5; at_ns++) {           /* one after the other, each in time */
        ecoi_call_begin(&watch, at_ns);
        assert_false(ecoi_call_given_up(&watch, at_ns * 1000 * ms_ns));
        assert_false(ecoi_call_given_up(&watch, (at_ns * 1000 + 50) * ms_ns));
        assert_true(ecoi_call_end(&watch));
    }
    assert_false(ecoi_call_given_up(&watch, 9000 * ms_ns));
}

static void test_a_call_for_too_long(void **state) {
    (void)state;
    ecoi_call_watch watch;
    ecoi_call_watch_init(&watch, 50 * ms_ns);
    ecoi_call_begin(&watch, 1);
    assert_false(ecoi_call_given_up(&watch, 1000 * ms_ns));
    assert_false(ecoi_call_given_up(&watch, 1050 * ms_ns));
    assert_true(ecoi_call_given_up(&watch, 1051 * ms_ns));
    assert_false(ecoi_call_end(&watch));                   /* the caller hears of it, */
    assert_true(ecoi_call_given_up(&watch, 1052 * ms_ns)); /* and nothing takes it back */
}

/* A stopped process: an hour between two looks is a tenth of a second. */
static void test_time_between_looks_is_capped(void **state) {
    (void)state;
    ecoi_call_watch watch;
    ecoi_call_watch_init(&watch, 250 * ms_ns);
    ecoi_call_begin(&watch, 1);
    assert_false(ecoi_call_given_up(&watch, ms_ns));
    assert_false(ecoi_call_given_up(&watch, 3600000 * ms_ns));
    assert_false(ecoi_call_given_up(&watch, 7200000 * ms_ns));
    assert_true(ecoi_call_given_up(&watch, 7200100 * ms_ns));
}

/* ---- the sampler ---- */

struct eco_meter {
    _Atomic uint32_t n_reads;
    uint32_t keep_from; /* counter reads from this one on wait to be let go */
    sem_t let_go;
};

void eco_meter_describe(const eco_meter *meter, eco_meter_info *out) {
    (void)meter;
    memset(out, 0, sizeof *out);
    out->name = "scripted";
    out->energy_field = "counter";
    out->power_field = "power";
    (void)strcpy(out->device.boundary.uuid, "GPU-1");
}

void eco_meter_read(eco_meter *meter, uint32_t what, eco_meter_sample *out) {
    memset(out, 0, sizeof *out);
    out->t_ns = ecoi_now_ns();
    out->power_w = eco_reading_of(100.0);
    if ((what & ECO_READ_ENERGY) != 0) {
        const uint32_t number = atomic_fetch_add(&meter->n_reads, 1) + 1;
        out->energy_j = eco_reading_of(number / 3);
        if (number >= meter->keep_from) {
            (void)sem_wait(&meter->let_go);
        }
    }
}

static eco_sampler *open_sampler(eco_meter *meter, uint32_t keep_from) {
    *meter = (eco_meter){.keep_from = keep_from};
    assert_int_equal(sem_init(&meter->let_go, 0, 0), 0);
    eco_sampler *sampler = NULL;
    const eco_sampler_options options = {
        .meter = meter, .rate_hz = 20.0, .capacity = 1000, .stuck_after_ns = 200 * ms_ns};
    ASSERT_OK(ecoi_sampler_open(&options, &sampler, &error), &error);
    return sampler;
}

static eco_status edge_of(eco_sampler *sampler, eco_edge *out) {
    const eco_edge_request request = {.block = 1, .phase = ECO_PHASE_DECODE};
    return ecoi_sampler_edge(sampler, &request, out, &error);
}

static void assert_given_up(eco_sampler *sampler) {
    eco_edge edge;
    assert_int_equal(edge_of(sampler, &edge), ECO_E_STUCK);
    assert_string_equal(error.message,
                        "scripted GPU-1: a reading did not return for 0.2 s; the driver hangs");
    assert_true(ecoi_sampler_stuck(sampler));
    const int64_t before_ns = ecoi_now_ns();
    assert_int_equal(edge_of(sampler, &edge), ECO_E_STUCK); /* at once from now on */
    ecoi_sampler_reset_extremes(sampler);
    assert_true(ecoi_now_ns() - before_ns < 150 * ms_ns);
}

static void test_the_rows_are_kept(void **state) {
    (void)state;
    static eco_meter meter; /* outlives the reader that is left in it */
    eco_sampler *sampler = open_sampler(&meter, 12);
    eco_edge edge;
    ASSERT_OK(edge_of(sampler, &edge), &error);
    ASSERT_OK(edge_of(sampler, &edge), &error);
    ASSERT_OK(edge_of(sampler, &edge), &error);
    assert_given_up(sampler);
    size_t n = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    size_t n_edges = 0;
    for (size_t i = 0; i < n; i++) {
        n_edges += eco_reading_present(rows[i].energy_j);
    }
    assert_int_equal(n_edges, 3);
    ecoi_sampler_clear(sampler);
    (void)ecoi_sampler_rows(sampler, &n);
    assert_int_equal(n, 0);
    assert_false(ecoi_sampler_close(sampler));
    (void)sem_post(&meter.let_go); /* comes back to a sampler that is closed, and frees it */
}

static void test_back_before_the_close(void **state) {
    (void)state;
    static eco_meter meter;
    eco_sampler *sampler = open_sampler(&meter, 1);
    assert_given_up(sampler);
    (void)sem_post(&meter.let_go);
    assert_false(ecoi_sampler_close(sampler));
}

static void test_found_at_the_close(void **state) {
    (void)state;
    static eco_meter meter;
    eco_sampler *sampler = open_sampler(&meter, 2);
    const eco_edge_request request = {
        .block = 1, .phase = ECO_PHASE_DECODE, .interrupted = &(volatile int){1}};
    eco_edge edge;
    assert_int_equal(ecoi_sampler_edge(sampler, &request, &edge, &error), ECO_E_STUCK);
    assert_false(ecoi_sampler_close(sampler));
    (void)sem_post(&meter.let_go);
    eco_sampler *whole = open_sampler(&(eco_meter){0}, 1000000);
    assert_true(ecoi_sampler_close(whole)); /* and nothing is given up where all goes well */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_in_time),
        cmocka_unit_test(test_a_call_for_too_long),
        cmocka_unit_test(test_time_between_looks_is_capped),
        cmocka_unit_test(test_the_rows_are_kept),
        cmocka_unit_test(test_back_before_the_close),
        cmocka_unit_test(test_found_at_the_close),
    };
    return cmocka_run_group_tests_name("sampler_stuck", tests, NULL, NULL);
}
