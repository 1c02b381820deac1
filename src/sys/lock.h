/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock on an open file that the kernel lets go of when the last descriptor of that opening is closed, also by the death
 * of the process: it cannot be left behind. Other processes, and other openings in this one, see it.
 */
#ifndef ECOCOMPUTE_SYS_LOCK_H
#define ECOCOMPUTE_SYS_LOCK_H

/* Takes the whole file for this opening, without waiting; `fd` is open for writing. 0, EAGAIN when another has it, or
 * another errno. */
int ecoi_lock_take(int fd);
/* 0 when nobody else has the file, EAGAIN when somebody has, or another errno. Takes nothing. */
int ecoi_lock_test(int fd);
/* Takes a folder, without waiting; *fd is to be closed to let go of it, -1 on failure. Values as above. */
int ecoi_lock_folder(const char *path, int *fd);

#endif
