/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT and SIGTERM set one flag and do nothing else; the run ends in order and keeps what it has.
 * A second SIGINT meets the default action, so a run that hangs in a driver call can still be ended
 * from the keyboard. SA_RESTART is left out on purpose: a sleeping clock must wake.
 */
#include "sys/signals.h"

#include <signal.h>
#include <string.h>

/* int, not sig_atomic_t, because that is what its readers take: glibc's sig_atomic_t is int. */
static volatile int interrupted;
_Static_assert(_Generic((sig_atomic_t)0, int : 1, default : 0), "sig_atomic_t is int here");

static void on_stop(int number) {
    if (interrupted == 0) {
        interrupted = number;
    }
    if (number == SIGINT) {
        struct sigaction usual;
        memset(&usual, 0, sizeof usual);
        usual.sa_handler = SIG_DFL;
        (void)sigemptyset(&usual.sa_mask);
        (void)sigaction(SIGINT, &usual, NULL);
    }
}

static bool signal_set(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    (void)sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

bool eco_signals_install(void) {
    const bool stops = signal_set(SIGINT, on_stop) && signal_set(SIGTERM, on_stop);
    /* A closed pipe or a file-size limit is an error of that write, told by its errno. */
    return signal_set(SIGPIPE, SIG_IGN) && signal_set(SIGXFSZ, SIG_IGN) && stops;
}

const volatile int *eco_interrupted(void) {
    return &interrupted;
}

const volatile int *ecoi_interrupted(void) {
    return &interrupted;
}

void ecoi_signals_reset(void) {
    (void)signal_set(SIGINT, SIG_DFL);
    (void)signal_set(SIGTERM, SIG_DFL);
    (void)signal_set(SIGPIPE, SIG_DFL);
    (void)signal_set(SIGXFSZ, SIG_DFL);
    interrupted = 0;
}
