/* SPDX-License-Identifier: Apache-2.0
 *
 * The metering program as a child: fork and exec of its words, a reader thread on its two pipes, an orderly end. The
 * thread owns the pipes and the waiting; readings and the reason of an end are handed over by atomics, so that a reading
 * is taken without a lock.
 */
#define _GNU_SOURCE

#include "meters/exec_child.h"
#include "core/alloc.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t exec_step_ns = 2 * 1000000;
static const int64_t exec_grace_ns = 500 * 1000000; /* from SIGTERM to SIGKILL */
static const double exec_ns_per_s = 1e9;

enum { EXEC_READ_BYTES = 4096, EXEC_NOTE_MAX = 96, EXEC_REASON_MAX = 256 };

/* Bytes of a pipe until a line feed. */
typedef struct exec_lines {
    char text[ECO_EXEC_LINE_MAX];
    size_t length;
    bool too_long;
} exec_lines;

typedef struct exec_latest {
    _Atomic double value;
    _Atomic int64_t t_ns; /* of arrival; 0 = none yet */
    _Atomic uint64_t n;
} exec_latest;

struct eco_exec_child {
    pid_t pid;
    int out_fd, err_fd, stop_fd;
    pthread_t thread;
    bool threaded;
    char program[64];
    exec_latest latest[ECO_EXEC_KINDS];
    atomic_bool bad_line; /* the last line was none */
    atomic_bool ended;    /* set after `reason` was written */
    char reason[EXEC_REASON_MAX];
    /* Only the reader thread from here on. */
    exec_lines lines, notes;
    char note[EXEC_NOTE_MAX]; /* last line of standard error, or the line not understood */
};

/* ---- lines ---- */

static void exec_keep_note(eco_exec_child *child, const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length && n + 1 < sizeof child->note; i++) {
        const unsigned char c = (unsigned char)text[i];
        child->note[n++] = c >= 0x20 && c < 0x7f ? (char)c : '?'; /* for a terminal */
    }
    child->note[n] = '\0';
}

static void exec_reading(eco_exec_child *child, const exec_lines *lines, int64_t now_ns) {
    eco_exec_kind kind = ECO_EXEC_POWER;
    double value = 0.0;
    const bool fine = !lines->too_long && ecoi_exec_line(lines->text, lines->length, &kind, &value);
    atomic_store_explicit(&child->bad_line, !fine, memory_order_relaxed);
    if (!fine) {
        exec_keep_note(child, lines->text, lines->length);
        return;
    }
    exec_latest *latest = &child->latest[kind];
    atomic_store_explicit(&latest->value, value, memory_order_relaxed);
    atomic_store_explicit(&latest->t_ns, now_ns, memory_order_release);
    atomic_fetch_add_explicit(&latest->n, 1, memory_order_release);
}

/* Feeds what came; every whole line is a reading (`is_output`) or the newest note. */
static void exec_feed(eco_exec_child *child, bool is_output, const char *bytes, size_t n,
                      int64_t now_ns) {
    exec_lines *lines = is_output ? &child->lines : &child->notes;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            if (lines->length < sizeof lines->text) {
                lines->text[lines->length++] = bytes[i];
            } else {
                lines->too_long = true;
            }
            continue;
        }
        if (is_output) {
            exec_reading(child, lines, now_ns);
        } else if (lines->length > 0) {
            exec_keep_note(child, lines->text, lines->length);
        }
        lines->length = 0;
        lines->too_long = false;
    }
}

/* ---- the reader thread ---- */

/* False at the end of the pipe. */
static bool exec_drain(eco_exec_child *child, bool is_output) {
    char bytes[EXEC_READ_BYTES];
    const int fd = is_output ? child->out_fd : child->err_fd;
    for (;;) {
        const ssize_t n = read(fd, bytes, sizeof bytes);
        if (n > 0) {
            exec_feed(child, is_output, bytes, (size_t)n, ecoi_now_ns());
        } else if (n == 0) {
            return false;
        } else if (errno != EINTR) {
            return errno == EAGAIN;
        }
        if (n > 0 && (size_t)n < sizeof bytes) {
            return true;
        }
    }
}

/* Leaves it a zombie, so that its group's number stays ours until ecoi_exec_stop. False: it still runs. */
static bool exec_gone_until(const eco_exec_child *child, int64_t until_ns, siginfo_t *how) {
    for (;;) {
        memset(how, 0, sizeof *how);
        if (waitid(P_PID, (id_t)child->pid, how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            how->si_pid == child->pid) {
            return true;
        }
        const int64_t now_ns = ecoi_now_ns();
        if (now_ns >= until_ns) {
            return false;
        }
        ecoi_sleep_until_ns(now_ns + exec_step_ns);
    }
}

/* Its standard output is at its end: says what became of it. */
static void exec_note_end(eco_exec_child *child) {
    siginfo_t end;
    char how[64];
    const bool gone = exec_gone_until(child, ecoi_now_ns() + exec_grace_ns, &end);
    (void)exec_drain(child, false);
    if (!gone) {
        (void)snprintf(how, sizeof how, "closed its output");
    } else if (end.si_code != CLD_EXITED) {
        (void)snprintf(how, sizeof how, "was ended by signal %d", end.si_status);
    } else {
        (void)snprintf(how, sizeof how, "ended with status %d", end.si_status);
    }
    (void)snprintf(child->reason, sizeof child->reason, "%s %s%s%s", child->program, how,
                   child->note[0] != '\0' ? ": " : "", child->note);
    atomic_store_explicit(&child->ended, true, memory_order_release);
}

static void *exec_main(void *argument) {
    eco_exec_child *child = argument;
    struct pollfd files[] = {{.fd = child->stop_fd, .events = POLLIN},
                             {.fd = child->out_fd, .events = POLLIN},
                             {.fd = child->err_fd, .events = POLLIN}};
    for (;;) {
        if (poll(files, sizeof files / sizeof files[0], -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if ((files[0].revents & POLLIN) != 0) {
            return NULL;
        }
        if (files[2].revents != 0 && !exec_drain(child, false)) {
            files[2].fd = -1; /* poll passes over it */
        }
        if (files[1].revents != 0 && !exec_drain(child, true)) {
            exec_note_end(child);
            return NULL;
        }
    }
}

/* ---- start ---- */

/* In the child, between fork and exec: async-signal-safe calls only. Never returns. */
__attribute__((noreturn)) static void exec_become(char *const *words, int pipes[3][2],
                                                  pid_t parent) {
    static const int ordinary[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof ordinary / sizeof ordinary[0]; i++) {
        (void)signal(ordinary[i], SIG_DFL);
    }
    (void)setpgid(0, 0); /* a Ctrl-C is for us: we end the program in order */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null_fd = open("/dev/null", O_RDONLY);
    if (getppid() == parent && null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
        dup2(pipes[0][1], STDOUT_FILENO) >= 0 && dup2(pipes[1][1], STDERR_FILENO) >= 0) {
        (void)execvp(words[0], words);
    }
    const int failed = errno;
    const ssize_t told = write(pipes[2][1], &failed, sizeof failed);
    _exit(told == (ssize_t)sizeof failed ? 126 : 127);
}

static void exec_close_pipes(int pipes[3][2]) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            if (pipes[i][k] >= 0) {
                (void)close(pipes[i][k]);
                pipes[i][k] = -1;
            }
        }
    }
}

static eco_status exec_fork(eco_exec_child *child, char *const *words, eco_error *err) {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}}; /* its output, its errors, failure to exec */
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            const int failed = errno;
            exec_close_pipes(pipes);
            return eco_error_set(err, ECO_E_FAILED, failed, "exec: %s", strerror(failed));
        }
    }
    const pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) {
        exec_become(words, pipes, parent);
    }
    const int fork_errno = errno;
    (void)close(pipes[2][1]);
    pipes[2][1] = -1;
    int failed = child->pid < 0 ? fork_errno : 0;
    if (failed == 0) {
        ssize_t n = 0;
        do { /* ends when exec closes the other end */
            n = read(pipes[2][0], &failed, sizeof failed);
        } while (n < 0 && errno == EINTR);
        failed = n == (ssize_t)sizeof failed ? failed : 0;
        if (failed != 0) {
            (void)waitpid(child->pid, NULL, 0);
            child->pid = -1;
        }
    }
    if (failed != 0) {
        exec_close_pipes(pipes);
        const eco_status code = failed == ENOENT   ? ECO_E_NOT_FOUND
                                : failed == EACCES ? ECO_E_PERMISSION
                                                   : ECO_E_FAILED;
        return eco_error_set(err, code, failed, "exec: %s: %s", words[0], strerror(failed));
    }
    (void)setpgid(child->pid, child->pid); /* also here: whoever comes first */
    child->out_fd = pipes[0][0];
    child->err_fd = pipes[1][0];
    pipes[0][0] = -1;
    pipes[1][0] = -1;
    exec_close_pipes(pipes);
    (void)fcntl(child->out_fd, F_SETFL, O_NONBLOCK);
    (void)fcntl(child->err_fd, F_SETFL, O_NONBLOCK);
    return ECO_OK;
}

/* Cuts `text` at blanks; *words ends with NULL. */
static eco_status exec_split(char *text, char *words[ECO_EXEC_WORDS_MAX + 1], eco_error *err) {
    size_t n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (n == ECO_EXEC_WORDS_MAX) {
            return eco_error_set(err, ECO_E_USAGE, 0, "exec: more than %d words",
                                 ECO_EXEC_WORDS_MAX);
        }
        words[n++] = word;
    }
    words[n] = NULL;
    return n > 0 ? ECO_OK : eco_error_set(err, ECO_E_USAGE, 0, "exec: the command is empty");
}

static eco_status exec_thread(eco_exec_child *child, eco_error *err) {
    sigset_t all;
    sigset_t before;
    child->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (child->stop_fd < 0) {
        return eco_error_set(err, ECO_E_FAILED, errno, "exec: %s", strerror(errno));
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&child->thread, NULL, exec_main, child);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    child->threaded = failed == 0;
    return failed == 0 ? ECO_OK
                       : eco_error_set(err, ECO_E_FAILED, failed, "exec: cannot start a thread: %s",
                                       strerror(failed));
}

/* Until a kind has come twice or both have come: then it is known what the program gives. */
static eco_status exec_wait_first(const eco_exec_child *child, double first_s, eco_error *err) {
    const int64_t until_ns = ecoi_now_ns() + (int64_t)(first_s * exec_ns_per_s);
    for (;;) {
        const uint64_t n_power =
            atomic_load_explicit(&child->latest[ECO_EXEC_POWER].n, memory_order_acquire);
        const uint64_t n_energy =
            atomic_load_explicit(&child->latest[ECO_EXEC_ENERGY].n, memory_order_acquire);
        const bool any = n_power > 0 || n_energy > 0;
        if (ecoi_exec_ended(child)) {
            return eco_error_set(err, ECO_E_FAILED, 0, "exec: %s", child->reason);
        }
        if (n_power > 1 || n_energy > 1 || (n_power > 0 && n_energy > 0)) {
            return ECO_OK;
        }
        if (!any && atomic_load_explicit(&child->bad_line, memory_order_relaxed)) {
            return eco_error_set(err, ECO_E_PARSE, 0,
                                 "exec: %s printed a line that is no reading; expected 'power_w "
                                 "12.3' or 'energy_j 4567.8'",
                                 child->program);
        }
        const int64_t now_ns = ecoi_now_ns();
        if (now_ns >= until_ns) {
            return any ? ECO_OK
                       : eco_error_set(err, ECO_E_TIMEOUT, 0,
                                       "exec: %s printed no reading in %.3g s", child->program,
                                       first_s);
        }
        ecoi_sleep_until_ns(now_ns + exec_step_ns);
    }
}

eco_status ecoi_exec_start(const char *command, double first_s, eco_exec_child **out,
                           eco_error *err) {
    *out = NULL;
    char *words[ECO_EXEC_WORDS_MAX + 1];
    const size_t size = strlen(command) + 1;
    char *text = ecoi_malloc(size);
    eco_exec_child *child = ecoi_calloc(1, sizeof *child);
    eco_status status = ECO_OK;
    if (text == NULL || child == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "exec: out of memory");
        goto done;
    }
    *child = (eco_exec_child){.pid = -1, .out_fd = -1, .err_fd = -1, .stop_fd = -1};
    memcpy(text, command, size);
    status = exec_split(text, words, err);
    if (status != ECO_OK) {
        goto done;
    }
    const char *slash = strrchr(words[0], '/');
    (void)snprintf(child->program, sizeof child->program, "%s",
                   slash != NULL ? slash + 1 : words[0]);
    status = exec_fork(child, words, err);
    if (status == ECO_OK) {
        status = exec_thread(child, err);
    }
    if (status == ECO_OK) {
        status = exec_wait_first(child, first_s, err);
    }
done:
    ecoi_free(text);
    if (status != ECO_OK) {
        ecoi_exec_stop(child);
        return status;
    }
    *out = child;
    return ECO_OK;
}

void ecoi_exec_stop(eco_exec_child *child) {
    if (child == NULL) {
        return;
    }
    if (child->threaded) {
        const uint64_t one = 1;
        if (write(child->stop_fd, &one, sizeof one) != (ssize_t)sizeof one) {
            (void)kill(-child->pid, SIGKILL); /* the thread ends with the program's output */
        }
        (void)pthread_join(child->thread, NULL);
    }
    if (child->pid > 0) {
        siginfo_t how;
        (void)kill(-child->pid, SIGTERM); /* the whole group: what the program started too */
        (void)exec_gone_until(child, ecoi_now_ns() + exec_grace_ns, &how);
        (void)kill(-child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (child->out_fd >= 0) {
        (void)close(child->out_fd);
        (void)close(child->err_fd);
    }
    if (child->stop_fd >= 0) {
        (void)close(child->stop_fd);
    }
    ecoi_free(child);
}

/* ---- what it gave ---- */

bool ecoi_exec_gives(const eco_exec_child *child, eco_exec_kind kind) {
    return atomic_load_explicit(&child->latest[kind].n, memory_order_acquire) > 0;
}

eco_reading ecoi_exec_latest(const eco_exec_child *child, eco_exec_kind kind, double stale_s) {
    const exec_latest *latest = &child->latest[kind];
    const int64_t t_ns = atomic_load_explicit(&latest->t_ns, memory_order_acquire);
    if (ecoi_exec_ended(child) || atomic_load_explicit(&child->bad_line, memory_order_relaxed)) {
        return eco_reading_absent(ECO_ABSENT_FAILED);
    }
    if ((double)(ecoi_now_ns() - t_ns) > stale_s * exec_ns_per_s) {
        return eco_reading_absent(ECO_ABSENT_STALE);
    }
    return eco_reading_of(atomic_load_explicit(&latest->value, memory_order_relaxed));
}

bool ecoi_exec_ended(const eco_exec_child *child) {
    return atomic_load_explicit(&child->ended, memory_order_acquire);
}

void ecoi_exec_reason(const eco_exec_child *child, char *out, size_t size) {
    (void)snprintf(out, size, "%s", ecoi_exec_ended(child) ? child->reason : "");
}

const char *ecoi_exec_program(const eco_exec_child *child) {
    return child->program;
}
