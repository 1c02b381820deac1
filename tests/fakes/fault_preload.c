/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded with LD_PRELOAD: fails the n-th call of a kind that the program itself makes (not one by the C library or by
 * the scripted drivers, told apart by the return address), once or from then on. Kinds: alloc (malloc, calloc,
 * realloc), read (read, pread, fgets, readdir), write, open (open, fopen, opendir), sync (fsync), rename, thread
 * (pthread_create), make (mkdir, symlink), room (posix_fallocate), pipe (pipe2, eventfd, signalfd), fork.
 * ECO_FAULT_KIND, ECO_FAULT_NTH (0 = count only), ECO_FAULT_AFTER (1 = all after it too); ECO_FAULT_COUNTS names a file
 * that gets "kind calls failed" lines at the end, and what the program leaves to the system to tidy up: left_fds
 * (but for the page that the scripted drivers share), left_threads and left_children. A child between fork and execve is counted with the program; what it executes is not
 * touched.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum fault_kind { ALLOC, READ, WRITE, OPEN, SYNC, RENAME, THREAD, MAKE, ROOM, PIPE, FORK, N_KINDS };
enum { FDS_MAX = 1024 };

static const char *const names[N_KINDS] = {"alloc",  "read", "write", "open", "sync", "rename",
                                           "thread", "make", "room",  "pipe", "fork"};
typedef struct fault_count {
    _Atomic uint64_t calls, failed;
} fault_count;
static fault_count *counts; /* N_KINDS of them, shared with what the program forks */
static bool open_at_start[FDS_MAX];
static pid_t program;
static uintptr_t program_begin, program_end;
static int chosen = -1;
static uint64_t nth;
static bool and_after;

static int note_program(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    (void)user;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            program_begin = info->dlpi_addr + part->p_vaddr;
            program_end = program_begin + part->p_memsz;
        }
    }
    return 1; /* the first is the program */
}

/* Calls visit for every number in a folder of /proc/self, but not for the descriptor that this needs; how many it took. */
static unsigned fault_list(const char *folder, bool (*visit)(unsigned number)) {
    DIR *list = opendir(folder); /* not called by the program, so never due */
    unsigned n = 0;
    for (struct dirent *entry = NULL; list != NULL && (entry = readdir(list)) != NULL;) {
        const unsigned number = (unsigned)strtoul(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && (int)number != dirfd(list)) {
            n += visit(number);
        }
    }
    if (list != NULL) {
        (void)closedir(list);
    }
    return n;
}

static bool fd_at_start(unsigned fd) {
    if (fd < FDS_MAX) {
        open_at_start[fd] = true;
    }
    return true;
}

static bool fd_is_new(unsigned fd) {
    char name[32];
    char target[256] = "";
    (void)snprintf(name, sizeof name, "/proc/self/fd/%u", fd);
    const ssize_t length = readlink(name, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    return (fd >= FDS_MAX || !open_at_start[fd]) && strstr(target, "eco-fake-page") == NULL;
}

static bool thread_is_other(unsigned id) {
    return (pid_t)id != program;
}

/* The kernel wakes who joins a thread before it takes the thread off its list: looked at again until it is gone, for a
 * second at most. One that was left stays. */
static unsigned threads_left(void) {
    static const struct timespec millisecond = {.tv_nsec = 1000000};
    unsigned left = fault_list("/proc/self/task", thread_is_other);
    for (int i = 0; left > 0 && i < 1000; i++) {
        (void)nanosleep(&millisecond, NULL);
        left = fault_list("/proc/self/task", thread_is_other);
    }
    return left;
}

__attribute__((constructor)) static void fault_start(void) {
    const char *kind = getenv("ECO_FAULT_KIND");
    const char *number = getenv("ECO_FAULT_NTH");
    const char *after = getenv("ECO_FAULT_AFTER");
    for (int i = 0; i < N_KINDS; i++) {
        chosen = kind != NULL && strcmp(kind, names[i]) == 0 ? i : chosen;
    }
    if (kind != NULL && chosen < 0) {
        abort(); /* a mistyped kind must not pass as a sweep without a finding */
    }
    nth = number != NULL ? strtoull(number, NULL, 10) : 0;
    and_after = after != NULL && after[0] == '1';
    counts = mmap(NULL, N_KINDS * sizeof *counts, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED) {
        abort();
    }
    (void)unsetenv("LD_PRELOAD");
    program = getpid();
    (void)fault_list("/proc/self/fd", fd_at_start);
    (void)dl_iterate_phdr(note_program, NULL);
}

__attribute__((destructor)) static void fault_tell(void) {
    const unsigned left_fds = fault_list("/proc/self/fd", fd_is_new);
    const unsigned left_threads = threads_left();
    siginfo_t info;
    const bool left_child = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    const char *path = getenv("ECO_FAULT_COUNTS");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    for (int i = 0; file != NULL && i < N_KINDS; i++) {
        (void)fprintf(file, "%s %llu %llu\n", names[i], (unsigned long long)counts[i].calls,
                      (unsigned long long)counts[i].failed);
    }
    if (file != NULL) {
        (void)fprintf(file, "left_fds %u\nleft_threads %u\nleft_children %d\n", left_fds,
                      left_threads, left_child);
        (void)fclose(file);
    }
}

/* Whether this call is to fail. */
static bool due(enum fault_kind kind, const void *caller) {
    const uintptr_t address = (uintptr_t)caller;
    if (address < program_begin || address >= program_end) {
        return false;
    }
    const uint64_t n = ++counts[kind].calls;
    if ((int)kind != chosen || nth == 0 || n < nth || (n > nth && !and_after)) {
        return false;
    }
    counts[kind].failed++;
    return true;
}

/* The function behind ours. ISO C has no cast from an object to a function pointer. */
#define NEXT(name)                                   \
    __typeof__(name) *next = NULL;                   \
    do {                                             \
        void *const found = dlsym(RTLD_NEXT, #name); \
        memcpy(&next, &found, sizeof next);          \
    } while (0)
#define FAIL_IF_DUE(kind, code, result)                 \
    do {                                                \
        if (due((kind), __builtin_return_address(0))) { \
            errno = (code);                             \
            return (result);                            \
        }                                               \
    } while (0)

/* The allocator behind ours, by names that need no look-up (dlsym itself may allocate): AddressSanitizer's where the
 * program has it (which then needs verify_asan_link_order=0), else the C library's. */
extern void *__interceptor_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_calloc(size_t n, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *memory, size_t size) __attribute__((weak));
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size) {
    FAIL_IF_DUE(ALLOC, ENOMEM, NULL);
    return __interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    FAIL_IF_DUE(ALLOC, ENOMEM, NULL);
    return __interceptor_calloc != NULL ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size) {
    FAIL_IF_DUE(ALLOC, ENOMEM, NULL);
    return __interceptor_realloc != NULL ? __interceptor_realloc(memory, size)
                                         : __libc_realloc(memory, size);
}

ssize_t read(int fd, void *data, size_t size) {
    FAIL_IF_DUE(READ, EIO, -1);
    NEXT(read);
    return next(fd, data, size);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
    FAIL_IF_DUE(READ, EIO, -1);
    NEXT(pread);
    return next(fd, data, size, offset);
}

char *fgets(char *line, int size, FILE *file) {
    FAIL_IF_DUE(READ, EIO, NULL);
    NEXT(fgets);
    return next(line, size, file);
}

struct dirent *readdir(DIR *folder) {
    FAIL_IF_DUE(READ, EIO, NULL);
    NEXT(readdir);
    return next(folder);
}

ssize_t write(int fd, const void *data, size_t size) {
    FAIL_IF_DUE(WRITE, ENOSPC, -1);
    NEXT(write);
    return next(fd, data, size);
}

int open(const char *path, int flags, ...) {
    FAIL_IF_DUE(OPEN, EMFILE, -1);
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = (mode_t)va_arg(arguments, int);
        va_end(arguments);
    }
    NEXT(open);
    return next(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
    FAIL_IF_DUE(OPEN, EMFILE, NULL);
    NEXT(fopen);
    return next(path, mode);
}

DIR *opendir(const char *path) {
    FAIL_IF_DUE(OPEN, EMFILE, NULL);
    NEXT(opendir);
    return next(path);
}

int pipe2(int ends[2], int flags) {
    FAIL_IF_DUE(PIPE, EMFILE, -1);
    NEXT(pipe2);
    return next(ends, flags);
}

int eventfd(unsigned value, int flags) {
    FAIL_IF_DUE(PIPE, EMFILE, -1);
    NEXT(eventfd);
    return next(value, flags);
}

int signalfd(int fd, const sigset_t *mask, int flags) {
    FAIL_IF_DUE(PIPE, EMFILE, -1);
    NEXT(signalfd);
    return next(fd, mask, flags);
}

pid_t fork(void) {
    FAIL_IF_DUE(FORK, EAGAIN, -1);
    NEXT(fork);
    return next();
}

int fsync(int fd) {
    FAIL_IF_DUE(SYNC, EIO, -1);
    NEXT(fsync);
    return next(fd);
}

int rename(const char *from, const char *to) {
    FAIL_IF_DUE(RENAME, EACCES, -1);
    NEXT(rename);
    return next(from, to);
}

int mkdir(const char *path, mode_t mode) {
    FAIL_IF_DUE(MAKE, ENOSPC, -1);
    NEXT(mkdir);
    return next(path, mode);
}

int symlink(const char *target, const char *path) {
    FAIL_IF_DUE(MAKE, ENOSPC, -1);
    NEXT(symlink);
    return next(target, path);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
    if (due(ROOM, __builtin_return_address(0))) {
        return ENOSPC;
    }
    NEXT(posix_fallocate);
    return next(fd, offset, length);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *user) {
    if (due(THREAD, __builtin_return_address(0))) {
        return EAGAIN;
    }
    NEXT(pthread_create);
    return next(thread, attributes, run, user);
}
