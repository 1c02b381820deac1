/* SPDX-License-Identifier: Apache-2.0
 *
 * A child's end is seen through a pidfd (or, on kernels without, by asking every few milliseconds); stop signals come
 * through a signalfd, so that it is known who sent them: a terminal has told the child already, another process has
 * not. A failed execve reports its errno through a pipe that closes on success.
 */
#define _GNU_SOURCE
#include "sys/proc.h"

#include "core/alloc.h"
#include "sys/clock.h"
#include "sys/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t ASK_NS = 5000000; /* without a pidfd */
static const int64_t SECOND_SIGNAL_NS =
    500000000; /* one event may send two: to us and to our group */

enum { PATH_ROOM = 4096 };

struct eco_proc_watch {
    sigset_t mask_before;
    int signal_fd, pid_fd, channel_fd; /* -1 = none */
    pid_t pid;                         /* 0 = no child */
    bool own_group;
    int channel_error; /* errno of a read; the channel is closed then */
    int interrupted;
    int64_t interrupted_ns;
    bool flag_seen; /* the signal flag of the process was taken into account */
};

static void close_fd(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

eco_status ecoi_proc_watch_open(eco_proc_watch **out, eco_error *err) {
    *out = NULL;
    eco_proc_watch *watch = ecoi_calloc(1, sizeof *watch);
    if (watch == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "proc: out of memory");
    }
    watch->pid_fd = -1;
    watch->channel_fd = -1;
    sigset_t stops;
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGINT);
    (void)sigaddset(&stops, SIGTERM);
    watch->signal_fd = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signal_fd < 0) {
        const int error = errno;
        ecoi_free(watch);
        return eco_error_set(err, ECO_E_FAILED, error, "signalfd: %s", strerror(error));
    }
    (void)pthread_sigmask(SIG_BLOCK, &stops, &watch->mask_before);
    *out = watch;
    return ECO_OK;
}

/* ---- signals ---- */

static void child_signal(const eco_proc_watch *watch, int number) {
    if (watch->pid > 0) {
        (void)kill(watch->own_group ? -watch->pid : watch->pid, number);
    }
}

/* `told`: the terminal has sent it to the child as well. */
static void stop_seen(eco_proc_watch *watch, int number, bool told) {
    const int64_t now_ns = ecoi_now_ns();
    if (watch->interrupted == 0) {
        watch->interrupted = number;
        watch->interrupted_ns = now_ns;
        if (!told || watch->own_group) {
            child_signal(watch, number);
        }
    } else if (now_ns - watch->interrupted_ns >= SECOND_SIGNAL_NS) {
        child_signal(watch, SIGKILL);
    }
}

static void take_signals(eco_proc_watch *watch) {
    struct signalfd_siginfo info;
    while (read(watch->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        stop_seen(watch, (int)info.ssi_signo, info.ssi_code == SI_KERNEL);
    }
    /* A thread of a driver library that does not block the signals may have taken one. */
    const int flag = *ecoi_interrupted();
    if (flag != 0 && !watch->flag_seen) {
        watch->flag_seen = true;
        stop_seen(watch, flag, false);
    }
}

int ecoi_proc_interrupted(eco_proc_watch *watch) {
    take_signals(watch);
    return watch->interrupted;
}

/* ---- start ---- */

static bool terminal_shared(void) {
    const int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return false;
    }
    (void)close(fd);
    return true;
}

/* Replaces the process, or returns the errno worth telling. Only async-signal-safe calls. */
static int execute(char *const *argv, char *const *environment) {
    if (strchr(argv[0], '/') != NULL) {
        (void)execve(argv[0], argv, environment);
        return errno;
    }
    const char *path = getenv("PATH");
    path = path != NULL && path[0] != '\0' ? path : "/usr/local/bin:/usr/bin:/bin";
    int worth = ENOENT;
    const size_t n_name = strlen(argv[0]);
    for (const char *at = path;; at++) {
        const size_t n = strcspn(at, ":");
        char file[PATH_ROOM];
        if (n + n_name + 3 <= sizeof file && n_name > 0) {
            memcpy(file, n > 0 ? at : ".", n > 0 ? n : 1);
            const size_t n_folder = n > 0 ? n : 1;
            file[n_folder] = '/';
            memcpy(file + n_folder + 1, argv[0], n_name + 1);
            (void)execve(file, argv, environment);
            worth = errno == ENOENT || errno == ENOTDIR ? worth : errno;
        }
        at += n;
        if (*at == '\0') {
            return worth;
        }
    }
}

typedef struct start_pipes {
    int failed[2], channel[2];
} start_pipes;

static void start_pipes_close(start_pipes *pipes) {
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->failed[i]);
        close_fd(&pipes->channel[i]);
    }
}

_Noreturn static void child_main(const eco_proc_watch *watch, const eco_proc_options *options,
                                 const start_pipes *pipes, char *const *environment) {
    int error = 0;
    if (watch->own_group) {
        (void)setpgid(0, 0);
    }
    (void)signal(SIGPIPE, SIG_DFL); /* ignored by this program; the handlers go with execve */
    (void)sigprocmask(SIG_SETMASK, &watch->mask_before, NULL);
    if (options->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        error = errno;
    }
    if (pipes->channel[1] >= 0 && fcntl(pipes->channel[1], F_SETFD, 0) < 0) {
        error = errno;
    }
    if (error == 0) {
        error = execute(options->argv, environment);
    }
    const ssize_t told = write(pipes->failed[1], &error, sizeof error);
    _exit(told == (ssize_t)sizeof error ? 127 : 126);
}

/* The environment with the channel's number; *entry and the array are one allocation. */
static char **environment_with(const char *name, int number) {
    size_t n = 0;
    while (environ != NULL && environ[n] != NULL) {
        n++;
    }
    const size_t n_text = strlen(name) + 16;
    char **copy = ecoi_malloc((n + 2) * sizeof *copy + n_text);
    if (copy == NULL) {
        return NULL;
    }
    char *entry = (char *)(copy + n + 2);
    (void)snprintf(entry, n_text, "%s=%d", name, number);
    size_t at = 0;
    const size_t n_name = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], name, n_name) != 0 || environ[i][n_name] != '=') {
            copy[at++] = environ[i];
        }
    }
    copy[at++] = entry;
    copy[at] = NULL;
    return copy;
}

static eco_status pipes_open(const eco_proc_options *options, start_pipes *pipes, eco_error *err) {
    *pipes = (start_pipes){{-1, -1}, {-1, -1}};
    if (pipe2(pipes->failed, O_CLOEXEC) != 0 ||
        (options->channel_name != NULL && (pipe2(pipes->channel, O_CLOEXEC) != 0 ||
                                           fcntl(pipes->channel[0], F_SETFL, O_NONBLOCK) != 0))) {
        const int error = errno;
        start_pipes_close(pipes);
        return eco_error_set(err, ECO_E_FAILED, error, "pipe: %s", strerror(error));
    }
    return ECO_OK;
}

/* Waits for the execve: 0, or its errno. */
static int execute_result(int fd) {
    int error = 0;
    ssize_t n = 0;
    do {
        n = read(fd, &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof error ? error : 0;
}

static eco_status started(eco_proc_watch *watch, const eco_proc_options *options,
                          start_pipes *pipes, eco_error *err) {
    close_fd(&pipes->failed[1]);
    close_fd(&pipes->channel[1]);
    if (watch->own_group) {
        (void)setpgid(watch->pid, watch->pid); /* the child does the same; whoever is first */
    }
    const int error = execute_result(pipes->failed[0]);
    if (error != 0) {
        (void)waitpid(watch->pid, NULL, 0);
        watch->pid = 0;
        return eco_error_set(err, error == ENOENT ? ECO_E_NOT_FOUND : ECO_E_PERMISSION, error,
                             "%s: %s", options->argv[0],
                             error == ENOENT ? "not found" : strerror(error));
    }
    watch->channel_fd = pipes->channel[0];
    pipes->channel[0] = -1;
    watch->pid_fd = (int)syscall(SYS_pidfd_open, watch->pid, 0);
    return ECO_OK;
}

eco_status ecoi_proc_start(eco_proc_watch *watch, const eco_proc_options *options, int64_t *t_ns,
                           eco_error *err) {
    *t_ns = 0;
    if (watch->pid != 0 || options->argv == NULL || options->argv[0] == NULL) {
        return eco_error_set(err, ECO_E_INVALID, 0, "proc: one child at a time, with a name");
    }
    start_pipes pipes;
    close_fd(&watch->channel_fd);
    watch->channel_error = 0;
    ECO_TRY(pipes_open(options, &pipes, err));
    char **environment = NULL;
    eco_status status = ECO_OK;
    if (options->channel_name != NULL) {
        environment = environment_with(options->channel_name, pipes.channel[1]);
        if (environment == NULL) {
            status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "proc: out of memory");
            goto done;
        }
    }
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL; /* an inherited SIG_IGN would reap the child behind our back */
    (void)sigaction(SIGCHLD, &usual, NULL);
    watch->own_group = !terminal_shared();
    *t_ns = ecoi_now_ns();
    const pid_t pid = fork();
    if (pid == 0) {
        child_main(watch, options, &pipes, environment != NULL ? environment : environ);
    }
    if (pid < 0) {
        const int error = errno;
        status = eco_error_set(err, ECO_E_FAILED, error, "fork: %s", strerror(error));
        goto done;
    }
    watch->pid = pid;
    status = started(watch, options, &pipes, err);
done:
    start_pipes_close(&pipes);
    ecoi_free(environment);
    return status;
}

/* ---- wait ---- */

static bool child_ended(eco_proc_watch *watch, eco_proc_end *end) {
    int state = 0;
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
    const pid_t pid = wait4(watch->pid, &state, WNOHANG, &usage);
    if (pid == 0 || (pid < 0 && errno == EINTR)) {
        return false;
    }
    *end = (eco_proc_end){.t_ns = ecoi_now_ns()};
    if (pid > 0 && WIFSIGNALED(state)) {
        end->signal = WTERMSIG(state);
    } else {
        end->exit_status = pid > 0 ? WEXITSTATUS(state) : 125;
    }
    end->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    watch->pid = 0;
    close_fd(&watch->pid_fd);
    return true;
}

static struct timespec time_left(int64_t until_ns) {
    const int64_t left_ns = until_ns - ecoi_now_ns();
    const int64_t wait_ns = left_ns > 0 ? left_ns : 0;
    return (struct timespec){.tv_sec = (time_t)(wait_ns / INT64_C(1000000000)),
                             .tv_nsec = (long)(wait_ns % INT64_C(1000000000))};
}

uint32_t ecoi_proc_wait(eco_proc_watch *watch, int64_t until_ns, eco_proc_end *end) {
    *end = (eco_proc_end){0};
    for (;;) {
        struct pollfd fds[] = {{.fd = watch->signal_fd, .events = POLLIN},
                               {.fd = watch->pid_fd, .events = POLLIN},
                               {.fd = watch->channel_fd, .events = POLLIN}};
        int64_t wake_ns = until_ns;
        if (watch->pid_fd < 0 && watch->pid != 0 && ecoi_now_ns() + ASK_NS < wake_ns) {
            wake_ns = ecoi_now_ns() + ASK_NS;
        }
        const struct timespec left = time_left(wake_ns);
        const int n = ppoll(fds, sizeof fds / sizeof fds[0], &left, NULL);
        take_signals(watch);
        uint32_t seen = 0;
        if (n > 0 && (fds[2].revents & POLLIN) != 0) {
            seen |= ECO_PROC_CHANNEL;
        } else if (n > 0 && (fds[2].revents & (POLLHUP | POLLERR)) != 0) {
            close_fd(&watch->channel_fd); /* all writers are gone */
        }
        if (watch->pid != 0 && (watch->pid_fd < 0 || (n > 0 && fds[1].revents != 0)) &&
            child_ended(watch, end)) {
            seen |= ECO_PROC_ENDED;
        }
        if (seen != 0 || ecoi_now_ns() >= until_ns) {
            return seen;
        }
    }
}

size_t ecoi_proc_channel_read(eco_proc_watch *watch, char *out, size_t size) {
    if (watch->channel_fd < 0) {
        return 0;
    }
    const ssize_t n = read(watch->channel_fd, out, size);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        watch->channel_error = errno;
        close_fd(&watch->channel_fd); /* else it would be ready for ever */
    }
    return n > 0 ? (size_t)n : 0;
}

int ecoi_proc_channel_error(const eco_proc_watch *watch) {
    return watch->channel_error;
}

bool ecoi_proc_channel_held(const eco_proc_watch *watch) {
    struct pollfd fd = {.fd = watch->channel_fd, .events = POLLIN};
    return watch->channel_fd >= 0 && poll(&fd, 1, 0) >= 0 &&
           (fd.revents & (POLLHUP | POLLERR)) == 0;
}

void ecoi_proc_watch_close(eco_proc_watch *watch) {
    if (watch == NULL) {
        return;
    }
    if (watch->pid > 0) {
        child_signal(watch, SIGKILL);
        while (waitpid(watch->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close_fd(&watch->pid_fd);
    close_fd(&watch->channel_fd);
    take_signals(watch);
    close_fd(&watch->signal_fd);
    (void)pthread_sigmask(SIG_SETMASK, &watch->mask_before, NULL);
    ecoi_free(watch);
}
