/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into the program by tests: a disk that is full, a wall clock that was set back, a process that is killed at
 * a chosen step of its writing. Only regular files count, so that what is said on standard error is not a step.
 *   ECO_IO_FULL=FILE       while FILE exists, a write gets half of its bytes to the disk, then ENOSPC
 *   ECO_IO_WALL_BACK=FILE  while FILE exists, CLOCK_REALTIME is ten years behind
 *   ECO_IO_KILL_AT=N       SIGKILL at the n-th write, fsync, rename or ftruncate; a write has half of its bytes out
 *   ECO_IO_COUNT=FILE      at the end FILE holds how many such steps there were
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { TEN_YEARS_S = 315360000 };

static atomic_long io_steps;

/* The next definition of `name`, as a pointer to function through the only cast C leaves for it. */
static void io_next(const char *name, void *function, size_t size) {
    void *const symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL) {
        abort();
    }
    memcpy(function, &symbol, size);
}

static int io_flag(const char *variable) {
    const char *path = getenv(variable);
    return path != NULL && access(path, F_OK) == 0;
}

static int io_is_file(int fd) {
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* True at the step at which to die. */
static int io_step(void) {
    const char *at = getenv("ECO_IO_KILL_AT");
    return atomic_fetch_add(&io_steps, 1) + 1 == (at != NULL ? strtol(at, NULL, 10) : -1);
}

static void io_die(void) {
    (void)kill(getpid(), SIGKILL);
    (void)pause();
}

__attribute__((destructor)) static void io_count(void) {
    const char *path = getenv("ECO_IO_COUNT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "%ld\n", atomic_load(&io_steps));
        (void)fclose(file);
    }
}

ssize_t write(int fd, const void *data, size_t size) {
    ssize_t (*next)(int, const void *, size_t) = NULL;
    io_next("write", &next, sizeof next);
    if (!io_is_file(fd)) {
        return next(fd, data, size);
    }
    if (io_step()) {
        (void)!next(fd, data, size / 2);
        io_die();
    }
    if (io_flag("ECO_IO_FULL")) {
        if (size > 1) {
            return next(fd, data, size / 2);
        }
        errno = ENOSPC;
        return -1;
    }
    return next(fd, data, size);
}

int fsync(int fd) {
    int (*next)(int) = NULL;
    io_next("fsync", &next, sizeof next);
    if (io_step()) {
        io_die();
    }
    return next(fd);
}

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = NULL;
    io_next("rename", &next, sizeof next);
    if (io_step()) {
        io_die();
    }
    return next(from, to);
}

int ftruncate(int fd, off_t size) {
    int (*next)(int, off_t) = NULL;
    io_next("ftruncate", &next, sizeof next);
    if (io_step()) {
        io_die();
    }
    return next(fd, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
    int (*next)(int, off_t, off_t) = NULL;
    io_next("posix_fallocate", &next, sizeof next);
    return io_flag("ECO_IO_FULL") ? ENOSPC : next(fd, offset, size);
}

/* Every way to the wall clock; the monotonic ones pass. */
int clock_gettime(clockid_t clock, struct timespec *out) {
    int (*next)(clockid_t, struct timespec *) = NULL;
    io_next("clock_gettime", &next, sizeof next);
    const int failed = next(clock, out);
    if (failed == 0 && clock == CLOCK_REALTIME && io_flag("ECO_IO_WALL_BACK")) {
        out->tv_sec -= TEN_YEARS_S;
    }
    return failed;
}

time_t time(time_t *out) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}
