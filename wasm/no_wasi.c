/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's printf can complain of a long double on standard error, and would import WASI's file functions for it.
 * There are no files here, so these three stand before the library's and the module imports nothing at all.
 */
#include <wasi/api.h>

__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) {
    (void)fd;
    return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence,
                              __wasi_filesize_t *new_offset) {
    (void)fd;
    (void)offset;
    (void)whence;
    *new_offset = 0;
    return __WASI_ERRNO_BADF;
}

__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *parts, size_t n_parts,
                               __wasi_size_t *n_written) {
    (void)fd;
    (void)parts;
    (void)n_parts;
    *n_written = 0;
    return __WASI_ERRNO_BADF;
}
