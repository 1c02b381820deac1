/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-file-description locks (fcntl(2), Linux 3.15 and POSIX.1-2024). The older per-process locks would be lost as soon
 * as any other descriptor of the same file is closed, as after reading it.
 */
#define _GNU_SOURCE

#include "sys/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int ecoi_lock_take(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        return 0;
    }
    return errno == EACCES ? EAGAIN : errno;
}

int ecoi_lock_test(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) {
        return errno;
    }
    return lock.l_type == F_UNLCK ? 0 : EAGAIN;
}

int ecoi_lock_folder(const char *path, int *fd) {
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0) {
        return errno;
    }
    /* A folder cannot be opened for writing, which the locks above want. flock(2) has its prototype in a header of the same
     * name as our own sys/file.h. */
    if (syscall(SYS_flock, *fd, LOCK_EX | LOCK_NB) == 0) {
        return 0;
    }
    const int code = errno == EWOULDBLOCK ? EAGAIN : errno;
    (void)close(*fd);
    *fd = -1;
    return code;
}
