/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, graphs and events of the scripted libcuda: what is recorded, and what a launch of it
 * means in time and power.
 */
#define _GNU_SOURCE

#include "fake_cuda.h"

#include "fake_cuda_kernels.h"
#include "fake_cuda_queue.h"
#include "fake_page.h"
#include "kernels/gpu/batch_args.h"
#include "kernels/gpu/stream_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct node {
    const struct fake_kernel *kernel;
    void *args;
    uint32_t grid_x, grid_y, block, shared_bytes;
};

struct graph {
    struct node *nodes;
    size_t n_nodes, n_room;
};

struct stream {
    uint32_t board;
    struct graph *recording; /* NULL: launches run */
};

struct event {
    uint32_t board;
    uint64_t ticket;
};

static uint64_t n_launches; /* under fake_lock */

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t loaded_ns;
__attribute__((constructor)) static void remember_load(void) {
    loaded_ns = now_ns();
}

int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreate(struct stream **stream, unsigned flags) {
    FAKE_CALL();
    (void)flags;
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    *stream = calloc(1, sizeof **stream);
    if (*stream == NULL) {
        return E_MEMORY;
    }
    (*stream)->board = fake_current->board;
    return 0;
}

static void graph_free(struct graph *graph) {
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        free(graph->nodes[i].args);
    }
    free(graph->nodes);
    free(graph);
}

int cuStreamDestroy_v2(struct stream *stream);
int cuStreamDestroy_v2(struct stream *stream) {
    graph_free(stream->recording); /* its capture was never ended */
    free(stream);
    FAKE_CALL_AFTER(0);
}

int cuStreamSynchronize(struct stream *stream);
int cuStreamSynchronize(struct stream *stream) {
    FAKE_CALL();
    if (stream->recording != NULL) {
        return E_CAPTURE;
    }
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    fake_queue_wait(stream->board, fake_queue_last(stream->board));
    return fake_trouble();
}

int cuGraphDestroy(struct graph *graph);
int cuGraphDestroy(struct graph *graph) {
    graph_free(graph);
    FAKE_CALL_AFTER(0);
}

int cuStreamBeginCapture_v2(struct stream *stream, int mode);
int cuStreamBeginCapture_v2(struct stream *stream, int mode) {
    FAKE_CALL();
    (void)mode;
    const int code = fake_trouble();
    if (code != 0 || stream->recording != NULL) {
        return code != 0 ? code : E_CAPTURE;
    }
    stream->recording = calloc(1, sizeof *stream->recording);
    return stream->recording == NULL ? E_MEMORY : 0;
}

int cuStreamEndCapture(struct stream *stream, struct graph **graph);
int cuStreamEndCapture(struct stream *stream, struct graph **graph) {
    FAKE_CALL();
    *graph = stream->recording;
    stream->recording = NULL;
    return *graph == NULL ? E_CAPTURE : 0;
}

static bool add_node(struct graph *graph, const struct node *node) {
    if (graph->n_nodes == graph->n_room) {
        const size_t n_room = graph->n_room * 2 + 64;
        struct node *nodes = realloc(graph->nodes, n_room * sizeof *nodes);
        if (nodes == NULL) {
            return false;
        }
        graph->nodes = nodes;
        graph->n_room = n_room;
    }
    struct node *added = &graph->nodes[graph->n_nodes];
    *added = *node;
    added->args = malloc(node->kernel->args_size);
    if (added->args == NULL) {
        return false;
    }
    memcpy(added->args, node->args, node->kernel->args_size);
    graph->n_nodes++;
    return true;
}

static void run_node(const struct node *node) {
    fake_kernel_run(node->kernel, node->args, node->grid_x, node->grid_y, node->block,
                    node->shared_bytes);
}

int cuLaunchKernel(const struct fake_kernel *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, struct stream *stream, void **params, void **extra);
int cuLaunchKernel(const struct fake_kernel *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, struct stream *stream, void **params, void **extra) {
    FAKE_CALL();
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    if (grid_x == 0 || grid_y == 0 || grid_z != 1 || block_x == 0 || block_x > 1024 ||
        block_y != 1 || block_z != 1 || extra != NULL || shared_bytes > FAKE_SHARED_BYTES) {
        return E_VALUE;
    }
    const struct node node = {function, params[0], grid_x, grid_y, block_x, shared_bytes};
    if (stream->recording != NULL) {
        return add_node(stream->recording, &node) ? 0 : E_MEMORY;
    }
    fake_drain();
    if (fake_scripted_compute()) {
        (void)pthread_mutex_lock(&fake_lock);
        run_node(&node);
        (void)pthread_mutex_unlock(&fake_lock);
    }
    return 0;
}

int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph, unsigned long long flags);
int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph,
                                unsigned long long flags) {
    FAKE_CALL();
    (void)flags;
    *exec = calloc(1, sizeof **exec);
    if (*exec == NULL) {
        return E_MEMORY;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (!add_node(*exec, &graph->nodes[i])) {
            graph_free(*exec);
            *exec = NULL;
            return E_MEMORY;
        }
    }
    return fake_trouble();
}

int cuGraphExecDestroy(struct graph *exec);
int cuGraphExecDestroy(struct graph *exec) {
    graph_free(exec);
    FAKE_CALL_AFTER(0);
}

/* What a graph is, by the names in it; and the counter its last kernel advances, which is that
 * kernel's first argument, by its second (eco_token_done: by 1). A step of a batch and a chunk of a
 * prompt take one step's time, eco_units_done's units each their own. */
static struct fake_work work_of(const struct graph *exec, uint32_t board) {
    const char *kind = "fp16";
    struct fake_work work = {.n_units = 1};
    uint64_t n_steps = 1; /* of those that take their time one after another */
    for (size_t i = 0; i < exec->n_nodes; i++) {
        const struct node *node = &exec->nodes[i];
        const char *name = node->kernel->name;
        uint64_t first = 0;
        if (strstr(name, "nf4") != NULL) {
            kind = "nf4";
        } else if (strstr(name, "read") != NULL) {
            kind = "read";
        } else if (strstr(name, "empty") != NULL) {
            kind = "launch";
        } else if (strstr(name, "rate_") != NULL) {
            kind = strstr(name, "int8") != NULL ? "matrix_int8" : "matrix_fp16";
        } else if (strcmp(name, "eco_stream") == 0) {
            struct gpu_stream_args args;
            memcpy(&args, node->args, sizeof args);
            const bool nf4 = args.format == STREAM_NF4 || args.format == STREAM_NF4_SMALL ||
                             args.format == STREAM_NF4_DQ || args.format == STREAM_NF4_DQ_SMALL;
            kind = nf4 ? "nf4" : kind;
        } else if (strstr(name, "batch_gemm") != NULL) {
            uint32_t format = 0;
            memcpy(&format, node->args, sizeof format);
            kind = format == BATCH_NF4 || format == BATCH_NF4_DQ ? "nf4" : kind;
        } else if (strstr(name, "_done") != NULL) {
            memcpy(&first, node->args, sizeof first);
            work.counter = (uint64_t *)(uintptr_t)first;
        }
        if (strstr(name, "_done") != NULL && strcmp(name, "eco_token_done") != 0) {
            memcpy(&work.n_units, (const char *)node->args + sizeof first, sizeof work.n_units);
        }
        n_steps = strcmp(name, "eco_units_done") == 0 ? work.n_units : n_steps;
    }
    static const struct {
        const char *kind;
        double step_us, power_w;
    } usual[] = {{"fp16", 800, 495}, {"nf4", 700, 327},          {"read", 1870, 635},
                 {"launch", 2, 180}, {"matrix_fp16", 2000, 680}, {"matrix_int8", 2000, 640}};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (strcmp(usual[i].kind, kind) == 0) {
            char key[32];
            (void)snprintf(key, sizeof key, "step_us.%s", kind);
            const double minutes = (double)(now_ns() - loaded_ns) / 60e9;
            const double longer = 1 + fake_board_number(board, "drift_pct", 0) / 100 * minutes;
            const double step_us = fake_board_number(board, key, usual[i].step_us) * longer;
            work.duration_ns = (int64_t)(step_us * 1e3 * (double)n_steps);
            (void)snprintf(key, sizeof key, "power_w.%s", kind);
            work.power_w = fake_board_number(board, key, usual[i].power_w);
        }
    }
    return work;
}

int cuGraphLaunch(struct graph *exec, struct stream *stream);
int cuGraphLaunch(struct graph *exec, struct stream *stream) {
    FAKE_CALL();
    int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&fake_lock);
    n_launches++;
    const double lost_at = fake_script_number("lost_at_launch", 0);
    const bool lost = lost_at > 0 && (double)n_launches >= lost_at;
    for (size_t i = 0; fake_scripted_compute() && !lost && i < exec->n_nodes; i++) {
        run_node(&exec->nodes[i]);
    }
    (void)pthread_mutex_unlock(&fake_lock);
    if (lost) {
        fake_queue_lose(stream->board);
        return fake_trouble();
    }
    if (!fake_scripted_compute()) {
        const struct fake_work work = work_of(exec, stream->board);
        (void)fake_queue_add(stream->board, &work);
    }
    return 0;
}

int cuEventCreate(struct event **event, unsigned flags);
int cuEventCreate(struct event **event, unsigned flags) {
    FAKE_CALL();
    (void)flags;
    const int code = fake_trouble();
    if (code != 0) {
        return code;
    }
    *event = calloc(1, sizeof **event);
    if (*event == NULL) {
        return E_MEMORY;
    }
    (*event)->board = fake_current->board;
    return 0;
}

int cuEventRecord(struct event *event, struct stream *stream);
int cuEventRecord(struct event *event, struct stream *stream) {
    FAKE_CALL();
    event->ticket = fake_queue_last(stream->board);
    return fake_trouble();
}

int cuEventSynchronize(struct event *event);
int cuEventSynchronize(struct event *event) {
    FAKE_CALL();
    fake_queue_wait(event->board, event->ticket);
    return fake_trouble();
}

int cuEventDestroy_v2(struct event *event);
int cuEventDestroy_v2(struct event *event) {
    free(event);
    FAKE_CALL_AFTER(0);
}
