/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are whole or absent. A writer fills a temporary file in the target's folder; only a
 * commit gives it the name, after fsync, so a crash or a full disk leaves the old file. Readers
 * take regular files only, with a size cap. Messages name the path; `native` of an error is errno.
 */
#ifndef ECOCOMPUTE_SYS_FILE_H
#define ECOCOMPUTE_SYS_FILE_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eco_file_writer eco_file_writer;

/* The folder of `path` must exist. The file gets mode 0666 less the umask. */
ECO_NODISCARD eco_status ecoi_file_begin(const char *path, eco_file_writer **out, eco_error *err);
ECO_NODISCARD eco_status ecoi_file_append(eco_file_writer *writer, const void *data, size_t size,
                                          eco_error *err);
/* fsync, rename, fsync of the folder. Frees the writer in every case; on failure nothing of it
 * stays on disk. */
ECO_NODISCARD eco_status ecoi_file_commit(eco_file_writer *writer, eco_error *err);
void ecoi_file_discard(eco_file_writer *writer); /* NULL is fine; the target stays as it was */

/* begin, append, commit in one. */
ECO_NODISCARD eco_status ecoi_file_write(const char *path, const void *data, size_t size,
                                         eco_error *err);

typedef struct eco_file_limits {
    size_t size_max;     /* a larger file is ECO_E_RANGE */
    bool refuse_symlink; /* the last component may not be a symbolic link (ECO_E_INVALID) */
} eco_file_limits;

/* Reads a whole regular file into *data (malloc'ed, the caller frees; one NUL follows the *size
 * bytes). ECO_E_NOT_FOUND, ECO_E_PERMISSION, ECO_E_INVALID for a folder, device, pipe or socket,
 * which is not waited for. */
ECO_NODISCARD eco_status ecoi_file_read(const char *path, const eco_file_limits *limits,
                                        char **data, size_t *size, eco_error *err);
bool ecoi_file_exists(const char *path); /* anything of that name, a dangling link too */

/* Makes the folder and its parents, mode 0777 less the umask; an existing folder is fine. */
ECO_NODISCARD eco_status ecoi_folder_make(const char *path, eco_error *err);
/* Shows by doing that a file of `size_bytes` can be made in the folder: creates, allocates and
 * removes one. */
ECO_NODISCARD eco_status ecoi_folder_prove(const char *path, uint64_t size_bytes, eco_error *err);
/* Entries of a folder sync to disk: after making files in it by other means. */
ECO_NODISCARD eco_status ecoi_folder_sync(const char *path, eco_error *err);
/* Makes or replaces the symbolic link `path` in one step. A file or folder of that name is left
 * (ECO_E_INVALID). */
ECO_NODISCARD eco_status ecoi_link_replace(const char *path, const char *target, eco_error *err);

#endif
