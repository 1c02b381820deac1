/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded with LD_PRELOAD: fails the n-th call of a kind that the program itself makes (not one by the C library or by
 * the scripted drivers, told apart by the return address), once or from then on. Kinds: alloc (malloc, calloc,
 * realloc), read, write, open, sync (fsync), rename, thread (pthread_create), make (mkdir, symlink), room
 * (posix_fallocate). ECO_FAULT_KIND, ECO_FAULT_NTH (0 = count only), ECO_FAULT_AFTER (1 = all after it too);
 * ECO_FAULT_COUNTS names a file that gets "kind calls failed" lines at the end.
 */
#define _GNU_SOURCE

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
#include <sys/stat.h>
#include <unistd.h>

enum fault_kind { ALLOC, READ, WRITE, OPEN, SYNC, RENAME, THREAD, MAKE, ROOM, N_KINDS };

static const char *const names[N_KINDS] = {"alloc",  "read",   "write", "open", "sync",
                                           "rename", "thread", "make",  "room"};
static _Atomic uint64_t n_calls[N_KINDS], n_failed[N_KINDS];
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
    (void)dl_iterate_phdr(note_program, NULL);
}

__attribute__((destructor)) static void fault_tell(void) {
    const char *path = getenv("ECO_FAULT_COUNTS");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    for (int i = 0; file != NULL && i < N_KINDS; i++) {
        (void)fprintf(file, "%s %llu %llu\n", names[i], (unsigned long long)n_calls[i],
                      (unsigned long long)n_failed[i]);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* Whether this call is to fail. */
static bool due(enum fault_kind kind, const void *caller) {
    const uintptr_t address = (uintptr_t)caller;
    if (address < program_begin || address >= program_end) {
        return false;
    }
    const uint64_t n = ++n_calls[kind];
    if ((int)kind != chosen || nth == 0 || n < nth || (n > nth && !and_after)) {
        return false;
    }
    n_failed[kind]++;
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
