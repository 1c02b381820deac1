/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes by fork and execve with argument arrays, never a shell. A watch owns the stop signals of the calling
 * thread while it is open: they reach the child first, and no child outlives the watch. Its standard input, output and
 * error are this process's own. One thread uses a watch, and one child runs at a time.
 */
#ifndef ECOCOMPUTE_SYS_PROC_H
#define ECOCOMPUTE_SYS_PROC_H

#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eco_proc_watch eco_proc_watch;

typedef struct eco_proc_options {
    char *const *argv;        /* ended by NULL; [0] is looked up in PATH unless it holds a slash */
    bool stdout_to_stderr;    /* the child's standard output goes where this process's errors go */
    const char *channel_name; /* environment variable that names the channel; NULL = no channel */
} eco_proc_options;

typedef struct eco_proc_end {
    int exit_status; /* 0 … 255, meaningful when signal is 0 */
    int signal;      /* that killed it, or 0 */
    int64_t t_ns;    /* when the end was seen */
    double cpu_s;    /* user and system time of the child and of what it waited for */
} eco_proc_end;

/* What ecoi_proc_wait saw; several bits at once are possible. */
enum { ECO_PROC_ENDED = 1u << 0, ECO_PROC_CHANNEL = 1u << 1 };

/* Blocks SIGINT and SIGTERM in the calling thread until close. Open it before other threads are made. */
ECO_NODISCARD eco_status ecoi_proc_watch_open(eco_proc_watch **out, eco_error *err);
/* Kills and reaps a child that still runs; gives the signals back. NULL is fine. */
void ecoi_proc_watch_close(eco_proc_watch *watch);

/* Starts the child. *t_ns: just before. ECO_E_NOT_FOUND: no such program; ECO_E_PERMISSION: it cannot be executed (any
 * other reason of execve, native = errno); anything else is a failure of this process. With a channel the child can
 * write to the descriptor whose number is in the environment variable. Where there is no terminal to share, the child
 * leads a process group of its own, and signals go to the group. */
ECO_NODISCARD eco_status ecoi_proc_start(eco_proc_watch *watch, const eco_proc_options *options,
                                         int64_t *t_ns, eco_error *err);
/* Sleeps until the child ends, the channel can be read, or `until_ns`. Stop signals are passed on meanwhile; a second
 * one, half a second or more after the first, kills. After ECO_PROC_ENDED *end is filled and the child is reaped. */
uint32_t ecoi_proc_wait(eco_proc_watch *watch, int64_t until_ns, eco_proc_end *end);
/* What stands in the channel now: bytes read, 0 when there is none. */
size_t ecoi_proc_channel_read(eco_proc_watch *watch, char *out, size_t size);
/* 0, or the errno that ended the reading: the channel is closed, and what was still in it is lost. */
int ecoi_proc_channel_error(const eco_proc_watch *watch);
/* Some process still has the channel open for writing: after ECO_PROC_ENDED, one that the child left behind. */
bool ecoi_proc_channel_held(const eco_proc_watch *watch);
/* 0, or the first stop signal this watch has seen; looks for a new one. */
int ecoi_proc_interrupted(eco_proc_watch *watch);

#endif
