/* SPDX-License-Identifier: Apache-2.0
 *
 * Stop signals: the flag, which signal it was, SIGPIPE ignored, a sleep that wakes, and the second
 * SIGINT that kills (in a child, since it does).
 */
#include "sys/clock.h"
#include "sys/signals.h"
#include "test_helpers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int reset(void **state) {
    (void)state;
    ecoi_signals_reset();
    return 0;
}

static void flag_remembers_the_first_signal(void **state) {
    (void)state;
    const volatile int *stop = ecoi_interrupted();
    assert_ptr_equal(stop, eco_interrupted());
    assert_int_equal(*stop, 0);
    assert_true(eco_signals_install());
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(*stop, SIGTERM);
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(*stop, SIGTERM);
    ecoi_signals_reset();
    assert_int_equal(*stop, 0);
}

static void closed_pipe_is_an_error_not_a_death(void **state) {
    (void)state;
    assert_true(eco_signals_install());
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(close(ends[1]), 0);
}

static void *interrupt_sleeper(void *sleeper) {
    /* Again and again until the sleeper has joined us out of it: no guess about when it falls
     * asleep. */
    for (int i = 0; i < 2000 && *ecoi_interrupted() == 0; i++) {
        (void)pthread_kill(*(pthread_t *)sleeper, SIGTERM);
        ecoi_sleep_until_ns(ecoi_now_ns() + 1000000);
    }
    return NULL;
}

static void a_sleeping_clock_wakes(void **state) {
    (void)state;
    assert_true(eco_signals_install());
    pthread_t self = pthread_self();
    pthread_t other;
    const int64_t start = ecoi_now_ns();
    assert_int_equal(pthread_create(&other, NULL, interrupt_sleeper, &self), 0);
    while (*ecoi_interrupted() == 0) {
        ecoi_sleep_until_ns(start + 30 * INT64_C(1000000000));
    }
    assert_in_range(ecoi_now_ns() - start, 0, 10 * INT64_C(1000000000));
    assert_int_equal(pthread_join(other, NULL), 0);
}

/* Runs `body` in a child and gives its wait status. */
static int child_status(void (*body)(void)) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(7);
    }
    assert_true(child > 0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        assert_int_equal(errno, EINTR);
    }
    return status;
}

static void one_interrupt(void) {
    if (!eco_signals_install() || raise(SIGINT) != 0) {
        _exit(8);
    }
}

static void two_interrupts(void) {
    one_interrupt();
    (void)raise(SIGINT);
}

static void two_terminations(void) {
    if (!eco_signals_install() || raise(SIGTERM) != 0 || raise(SIGTERM) != 0) {
        _exit(8);
    }
}

static void second_interrupt_kills(void **state) {
    (void)state;
    int status = child_status(one_interrupt);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = child_status(two_interrupts);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    /* A service manager may repeat SIGTERM; the report is still being written. */
    status = child_status(two_terminations);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flag_remembers_the_first_signal, reset, reset),
        cmocka_unit_test_setup_teardown(closed_pipe_is_an_error_not_a_death, reset, reset),
        cmocka_unit_test_setup_teardown(a_sleeping_clock_wakes, reset, reset),
        cmocka_unit_test_setup_teardown(second_interrupt_kills, reset, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
