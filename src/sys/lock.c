/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-file-description locks (fcntl(2), Linux 3.15 and POSIX.1-2024). The older per-process locks would be lost as soon
 * as any other descriptor of the same file is closed, as after reading it.
 */
#define _GNU_SOURCE

#include "sys/lock.h"

#include <errno.h>
#include <fcntl.h>
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
