/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole-or-absent files, see file.h. The order that makes a write durable: data, fsync of the file,
 * rename, fsync of the folder (a rename is an entry of the folder). EINTR is retried everywhere:
 * the stop signals must not lose the report they ask for. A reader opens without blocking, so that
 * a pipe under the expected name cannot hang it.
 */
#include "sys/file.h"

#include "core/alloc.h"
#include "sys/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct eco_file_writer {
    int fd;
    char *path, *temporary; /* one allocation each */
};

enum { FILE_NAME_TRIES = 100, FILE_MODE = 0666, FOLDER_MODE = 0777, FILE_BLOCK_BYTES = 65536 };

static eco_status status_of_errno(int code) {
    switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
        return ECO_E_PERMISSION;
    case ENOENT:
        return ECO_E_NOT_FOUND;
    case ENOMEM:
        return ECO_E_NO_MEMORY;
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
        return ECO_E_INVALID;
    default:
        return ECO_E_IO;
    }
}

/* `code` is errno at the failure; the caller kept it from what came after. */
static eco_status file_error(eco_error *err, const char *path, const char *doing, int code) {
    return eco_error_set(err, status_of_errno(code), code, "%s: cannot %s: %s", path, doing,
                         strerror(code));
}

static char *text_join(const char *a, const char *b) {
    const size_t size = strlen(a) + strlen(b) + 1;
    char *joined = ecoi_malloc(size);
    if (joined != NULL) {
        (void)snprintf(joined, size, "%s%s", a, b);
    }
    return joined;
}

/* The folder part of a path: "a/b/c" → "a/b", "/c" → "/", "c" → ".". */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return text_join(".", "");
    }
    char *folder = text_join(path, "");
    if (folder != NULL) {
        folder[slash == path ? 1 : slash - path] = '\0';
    }
    return folder;
}

/* A name beside `path` that nobody else takes: process, clock and a count. */
static char *temporary_name(const char *path, unsigned attempt) {
    char suffix[64];
    (void)snprintf(suffix, sizeof suffix, ".tmp-%ld-%llx-%u", (long)getpid(),
                   (unsigned long long)ecoi_now_ns(), attempt);
    return text_join(path, suffix);
}

/* ---- writing ---- */

static eco_status descriptor_write(int fd, const char *path, const void *data, size_t size,
                                   eco_error *err) {
    const char *next = data;
    while (size > 0) {
        const ssize_t written = write(fd, next, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return file_error(err, path, "write", errno);
        }
        next += written;
        size -= (size_t)written;
    }
    return ECO_OK;
}

static int descriptor_sync(int fd) {
    while (fsync(fd) != 0) {
        if (errno == EINTR) {
            continue;
        }
        /* A file system without fsync for this kind of object is not a failed write. */
        return errno == EINVAL || errno == EROFS ? 0 : errno;
    }
    return 0;
}

static void writer_free(eco_file_writer *writer) {
    ecoi_free(writer->path);
    ecoi_free(writer->temporary);
    ecoi_free(writer);
}

eco_status ecoi_file_begin(const char *path, eco_file_writer **out, eco_error *err) {
    *out = NULL;
    eco_file_writer *writer = ecoi_calloc(1, sizeof *writer);
    if (writer == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path);
    }
    writer->fd = -1;
    writer->path = text_join(path, "");
    int code = writer->path == NULL ? ENOMEM : EEXIST;
    for (unsigned attempt = 0; code == EEXIST && attempt < FILE_NAME_TRIES; attempt++) {
        ecoi_free(writer->temporary);
        writer->temporary = temporary_name(path, attempt);
        if (writer->temporary == NULL) {
            code = ENOMEM;
            break;
        }
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
        code = writer->fd >= 0 ? 0 : errno;
    }
    if (code != 0) {
        writer_free(writer);
        return file_error(err, path, "write", code);
    }
    *out = writer;
    return ECO_OK;
}

eco_status ecoi_file_append(eco_file_writer *writer, const void *data, size_t size,
                            eco_error *err) {
    return descriptor_write(writer->fd, writer->path, data, size, err);
}

void ecoi_file_discard(eco_file_writer *writer) {
    if (writer == NULL) {
        return;
    }
    if (writer->fd >= 0) {
        (void)close(writer->fd);
    }
    (void)unlink(writer->temporary);
    writer_free(writer);
}

eco_status ecoi_folder_sync(const char *path, eco_error *err) {
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return file_error(err, path, "open the folder", errno);
    }
    const int code = descriptor_sync(fd);
    (void)close(fd);
    return code == 0 ? ECO_OK : file_error(err, path, "sync the folder", code);
}

eco_status ecoi_file_commit(eco_file_writer *writer, eco_error *err) {
    int code = descriptor_sync(writer->fd);
    if (close(writer->fd) != 0 && code == 0 && errno != EINTR) {
        code = errno;
    }
    writer->fd = -1;
    if (code == 0 && rename(writer->temporary, writer->path) != 0) {
        code = errno;
    }
    if (code != 0) {
        const eco_status status = file_error(err, writer->path, "write", code);
        ecoi_file_discard(writer);
        return status;
    }
    char *folder = folder_of(writer->path);
    eco_status status = ECO_OK;
    if (folder == NULL) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", writer->path);
    } else {
        status = ecoi_folder_sync(folder, err);
    }
    ecoi_free(folder);
    writer_free(writer);
    return status;
}

eco_status ecoi_file_write(const char *path, const void *data, size_t size, eco_error *err) {
    eco_file_writer *writer = NULL;
    ECO_TRY(ecoi_file_begin(path, &writer, err));
    const eco_status status = ecoi_file_append(writer, data, size, err);
    if (status != ECO_OK) {
        ecoi_file_discard(writer);
        return status;
    }
    return ecoi_file_commit(writer, err);
}

/* ---- reading ---- */

static eco_status regular_open(const char *path, const eco_file_limits *limits, int *out,
                               size_t *size_guess, eco_error *err) {
    const int links = limits->refuse_symlink ? O_NOFOLLOW : 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links);
    if (fd < 0 && errno == ELOOP && limits->refuse_symlink) {
        return eco_error_set(err, ECO_E_INVALID, ELOOP, "%s: is a symbolic link", path);
    }
    if (fd < 0) {
        return file_error(err, path, "read", errno);
    }
    struct stat facts;
    eco_status status = ECO_OK;
    if (fstat(fd, &facts) != 0) {
        status = file_error(err, path, "read", errno);
    } else if (!S_ISREG(facts.st_mode)) {
        status = eco_error_set(err, ECO_E_INVALID, 0, "%s: is not a regular file", path);
    } else if ((uint64_t)facts.st_size > limits->size_max) {
        status = eco_error_set(err, ECO_E_RANGE, 0, "%s: has %lld bytes, at most %zu are read",
                               path, (long long)facts.st_size, limits->size_max);
    }
    if (status != ECO_OK) {
        (void)close(fd);
        return status;
    }
    *out = fd;
    *size_guess = (size_t)facts.st_size;
    return ECO_OK;
}

/* Files of /proc and /sys say size 0 and others may grow while they are read: read to the end,
 * within the cap. */
static eco_status descriptor_read(int fd, const char *path, const eco_file_limits *limits,
                                  size_t size_guess, char **data, size_t *size, eco_error *err) {
    size_t capacity = size_guess + 1; /* guess ≤ size_max, a size that malloc can refuse */
    size_t length = 0;
    char *buffer = ecoi_malloc(capacity + 1);
    while (buffer != NULL) {
        const ssize_t got = read(fd, buffer + length, capacity - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            const int code = errno;
            ecoi_free(buffer);
            return file_error(err, path, "read", code);
        }
        length += (size_t)got;
        if (length > limits->size_max) {
            ecoi_free(buffer);
            return eco_error_set(err, ECO_E_RANGE, 0, "%s: has more than %zu bytes", path,
                                 limits->size_max);
        }
        if (got == 0) {
            buffer[length] = '\0';
            *data = buffer;
            *size = length;
            return ECO_OK;
        }
        if (length == capacity) {
            capacity += capacity / 2 + FILE_BLOCK_BYTES;
            char *larger = ecoi_realloc(buffer, capacity + 1);
            if (larger == NULL) {
                ecoi_free(buffer);
            }
            buffer = larger;
        }
    }
    return eco_error_set(err, ECO_E_NO_MEMORY, ENOMEM, "%s: out of memory for %zu bytes", path,
                         capacity);
}

eco_status ecoi_file_read(const char *path, const eco_file_limits *limits, char **data,
                          size_t *size, eco_error *err) {
    *data = NULL;
    *size = 0;
    int fd = -1;
    size_t size_guess = 0;
    ECO_TRY(regular_open(path, limits, &fd, &size_guess, err));
    const eco_status status = descriptor_read(fd, path, limits, size_guess, data, size, err);
    (void)close(fd);
    return status;
}

bool ecoi_file_exists(const char *path) {
    struct stat facts;
    return lstat(path, &facts) == 0;
}

/* ---- folders and links ---- */

static eco_status folder_make_one(const char *path, eco_error *err) {
    if (mkdir(path, FOLDER_MODE) == 0) {
        return ECO_OK;
    }
    const int code = errno;
    struct stat facts;
    if (stat(path, &facts) == 0) {
        if (S_ISDIR(facts.st_mode)) {
            return ECO_OK;
        }
        return eco_error_set(err, ECO_E_INVALID, ENOTDIR, "%s: is there and is not a folder", path);
    }
    return file_error(err, path, "make the folder", code);
}

eco_status ecoi_folder_make(const char *path, eco_error *err) {
    if (path[0] == '\0') {
        return eco_error_set(err, ECO_E_INVALID, 0, "the folder's name is empty");
    }
    char *part = text_join(path, "");
    if (part == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path);
    }
    eco_status status = ECO_OK;
    for (char *c = part + 1; status == ECO_OK && *c != '\0'; c++) {
        if (*c == '/') {
            *c = '\0';
            status = folder_make_one(part, err);
            *c = '/';
        }
    }
    if (status == ECO_OK) {
        status = folder_make_one(part, err);
    }
    ecoi_free(part);
    return status;
}

eco_status ecoi_folder_prove(const char *path, uint64_t size_bytes, eco_error *err) {
    char *name = text_join(path, "/probe");
    if (name == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path);
    }
    eco_file_writer *writer = NULL;
    eco_status status = ecoi_file_begin(name, &writer, err);
    ecoi_free(name);
    if (status != ECO_OK) {
        /* Name the folder, not the probe. */
        const int code = err != NULL ? (int)err->native : 0;
        return code != 0 ? file_error(err, path, "write into the folder", code) : status;
    }
    /* Written and allocated: a quota may let an empty file pass. */
    status = descriptor_write(writer->fd, path, "probe\n", 6, err);
    if (status == ECO_OK && size_bytes > 0) {
        const int code = posix_fallocate(writer->fd, 0, (off_t)size_bytes);
        if (code != 0 && code != EINVAL && code != EOPNOTSUPP) {
            status =
                eco_error_set(err, status_of_errno(code), code, "%s: no room for %llu bytes: %s",
                              path, (unsigned long long)size_bytes, strerror(code));
        }
    }
    ecoi_file_discard(writer);
    return status;
}

eco_status ecoi_link_replace(const char *path, const char *target, eco_error *err) {
    struct stat facts;
    if (lstat(path, &facts) == 0 && !S_ISLNK(facts.st_mode)) {
        return eco_error_set(err, ECO_E_INVALID, EEXIST, "%s: is there and is not a symbolic link",
                             path);
    }
    char *temporary = temporary_name(path, 0);
    if (temporary == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", path);
    }
    int code = symlink(target, temporary) == 0 ? 0 : errno;
    if (code == 0 && rename(temporary, path) != 0) {
        code = errno;
        (void)unlink(temporary);
    }
    ecoi_free(temporary);
    return code == 0 ? ECO_OK : file_error(err, path, "make the link", code);
}
