/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model does while it is measured. Every kind of work is one graph launched again and again,
 * a bounded number ahead, and a counter in pinned memory that the last kernel of each graph
 * advances: the host never waits for a single token, and the sampler reads the counter without
 * asking the driver.
 */
#include "kernels/cuda_model.h"

#include "sys/clock.h"

enum { RATE_TURNS = 16384, LAUNCH_BATCH = 256, READ_BLOCKS_PER_SM = 2, EMPTY_BLOCKS_PER_SM = 4 };
static const uint64_t read_bytes_max = 8ull << 30;

static bool stopped(const eco_work *work) {
    return work->stop != NULL && __atomic_load_n(work->stop, __ATOMIC_ACQUIRE) != 0;
}

/* Launches the graph until told to stop, or n_max times (0: no limit); then waits for the last. */
static eco_status loop(cuda_model *model, const eco_work *work, cu_graph_exec *graph,
                       uint64_t n_max, eco_error *err) {
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    for (uint64_t i = 0; (n_max == 0 || i < n_max) && !stopped(work); i++) {
        cu_event *event = model->events[i % CUDA_IN_FLIGHT];
        if (i >= CUDA_IN_FLIGHT) {
            ECO_TRY(
                ecoi_cuda_done(device, api->event_synchronize(event), "waiting for a step", err));
        }
        ECO_TRY(
            ecoi_cuda_done(device, api->graph_launch(graph, model->stream), "cuGraphLaunch", err));
        ECO_TRY(
            ecoi_cuda_done(device, api->event_record(event, model->stream), "cuEventRecord", err));
    }
    return ecoi_cuda_done(device, api->stream_synchronize(model->stream), "waiting for the work",
                          err);
}

static eco_status upload(cuda_model *model, uint64_t to, const void *from, size_t bytes,
                         eco_error *err) {
    const cuda_device *device = model->device;
    ECO_TRY(ecoi_cuda_done(device, device->cuda.api.copy_to_device(to, from, bytes, model->stream),
                           "cuMemcpyHtoD", err));
    /* Waits: `from` may be the caller's stack. */
    return ecoi_cuda_done(device, device->cuda.api.stream_synchronize(model->stream),
                          "cuMemcpyHtoD", err);
}

/* Stands at position 0, the first n_forced tokens given, positions turning inside lo … hi - 1. */
static eco_status start(cuda_model *model, const uint32_t *tokens, uint32_t n_forced, uint32_t lo,
                        uint32_t hi, eco_error *err) {
    const struct gpu_state state = {
        .position = 0, .token = tokens[0], .wrap_lo = lo, .wrap_hi = hi, .n_forced = n_forced};
    ECO_TRY(upload(model, model->memory.forced, tokens, sizeof tokens[0] * n_forced, err));
    return upload(model, model->memory.state, &state, sizeof state, err);
}

static eco_status reset_steps(cuda_model *model, eco_error *err) {
    const uint64_t zero = 0;
    return upload(model, model->memory.state + offsetof(struct gpu_state, steps), &zero,
                  sizeof zero, err);
}

static eco_status timed_loop(cuda_model *model, const eco_work *work, cu_graph_exec *graph,
                             uint64_t n_max, eco_work_result *out, eco_error *err) {
    const int64_t begin_ns = ecoi_now_ns();
    const eco_status status = loop(model, work, graph, n_max, err);
    out->busy_s = (double)(ecoi_now_ns() - begin_ns) * 1e-9;
    out->n_units = __atomic_load_n(&model->shared->progress, __ATOMIC_ACQUIRE);
    return status;
}

static eco_status work_decode(cuda_model *model, const eco_work *work, eco_work_result *out,
                              eco_error *err) {
    const uint32_t n_prompt = model->workload.n_prompt;
    ECO_TRY(start(model, model->prompt, n_prompt, n_prompt, model->memory.capacity, err));
    ECO_TRY(loop(model, work, model->quiet_graph, n_prompt, err));
    ECO_TRY(reset_steps(model, err));
    return timed_loop(model, work, model->token_graph, work->n_units_max, out, err);
}

static eco_status work_from_start(cuda_model *model, const eco_work *work, uint32_t n_positions,
                                  eco_work_result *out, eco_error *err) {
    ECO_TRY(start(model, model->prompt, model->workload.n_prompt, 0, n_positions, err));
    return timed_loop(model, work, model->token_graph, work->n_units_max, out, err);
}

/* MARK: - Ceilings */

typedef struct probe {
    uint64_t data, n_vecs;
} probe;

static eco_status launch_units_done(cuda_model *model, uint64_t n_units, eco_error *err) {
    struct gpu_units_done_args args = {
        .progress = model->shared_address, .n_units = n_units, .state = model->memory.state};
    const cuda_launch launch = {
        .kernel = CUDA_UNITS_DONE, .grid_x = 1, .grid_y = 1, .block = 1, .args = &args};
    return ecoi_cuda_launch(model, &launch, err);
}

static eco_status record_read(cuda_model *model, const void *user, eco_error *err) {
    const probe *read = user;
    struct gpu_read_args args = {
        .data = read->data, .n_vecs = read->n_vecs, .sink = model->memory.sink};
    const cuda_launch launch = {.kernel = CUDA_READ,
                                .grid_x = model->device->n_sm * READ_BLOCKS_PER_SM,
                                .grid_y = 1,
                                .block = GPU_READ_BLOCK,
                                .args = &args};
    ECO_TRY(ecoi_cuda_launch(model, &launch, err));
    return launch_units_done(model, 1, err);
}

static eco_status record_launches(cuda_model *model, const void *user, eco_error *err) {
    (void)user;
    struct gpu_empty_args args = {.sink = model->memory.sink};
    const cuda_launch launch = {.kernel = CUDA_EMPTY,
                                .grid_x = model->device->n_sm * EMPTY_BLOCKS_PER_SM,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = &args};
    for (uint32_t i = 1; i < LAUNCH_BATCH; i++) {
        ECO_TRY(ecoi_cuda_launch(model, &launch, err));
    }
    return launch_units_done(model, LAUNCH_BATCH, err); /* itself the last of them */
}

static eco_status work_probe(cuda_model *model, const eco_work *work, cuda_record *record,
                             const void *user, uint64_t n_max, eco_work_result *out,
                             eco_error *err) {
    cu_graph_exec *graph = NULL;
    ECO_TRY(ecoi_cuda_capture(model, record, user, &graph, err));
    eco_status status = reset_steps(model, err);
    if (status == ECO_OK) {
        status = timed_loop(model, work, graph, n_max, out, err);
    }
    (void)model->device->cuda.api.graph_exec_destroy(graph);
    return status;
}

/* A unit is one pass over the buffer: 2 ms on an H200. */
static eco_status work_read(cuda_model *model, const eco_work *work, eco_work_result *out,
                            eco_error *err) {
    const cuda_device *device = model->device;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ECO_TRY(ecoi_cuda_done(device, device->cuda.api.mem_info(&free_bytes, &total_bytes),
                           "cuMemGetInfo", err));
    const uint64_t some = (uint64_t)free_bytes / 10 * 6;
    const uint64_t bytes = (some < read_bytes_max ? some : read_bytes_max) / 4096 * 4096;
    if (bytes == 0) {
        return eco_error_set(err, ECO_E_DEVICE_MEMORY, 0, "cuda: no memory left on %s to read",
                             device->name);
    }
    probe read = {.n_vecs = bytes / 16};
    ECO_TRY(ecoi_cuda_allocate(device, bytes, "the read ceiling", &read.data, err));
    struct gpu_fill_random_args fill = {.out = read.data, .n_words = bytes / 8};
    const cuda_launch launch = {.kernel = CUDA_FILL_RANDOM,
                                .grid_x = device->n_sm * 8,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = &fill};
    eco_status status = ecoi_cuda_launch(model, &launch, err);
    if (status == ECO_OK) {
        out->unit_bytes = (double)bytes;
        status = work_probe(model, work, record_read, &read, work->n_units_max, out, err);
    }
    (void)device->cuda.api.stream_synchronize(
        model->stream); /* nothing may still read what is freed */
    (void)device->cuda.api.mem_free(read.data);
    return status;
}

typedef struct rate {
    cu_function *function;
    uint64_t sink; /* what every thread leaves */
    uint32_t n_blocks;
} rate;

static eco_status record_rate(cuda_model *model, const void *user, eco_error *err) {
    const rate *r = user;
    struct gpu_rate_args args = {.sink = r->sink, .n_turns = RATE_TURNS};
    const cuda_launch launch = {.function = r->function,
                                .grid_x = r->n_blocks,
                                .grid_y = 1,
                                .block = GPU_BLOCK,
                                .args = &args};
    ECO_TRY(ecoi_cuda_launch(model, &launch, err));
    return launch_units_done(model, 1, err);
}

/* A unit is one launch: some milliseconds. */
static eco_status work_matrix(cuda_model *model, const eco_work *work, eco_work_result *out,
                              eco_error *err) {
    const bool int8 = work->kind == ECO_WORK_MATRIX_INT8;
    rate r = {.n_blocks = model->device->n_sm * RATE_BLOCKS_PER_SM};
    ECO_TRY(ecoi_cuda_rate_kernel(model->device, int8, &r.function, err));
    ECO_TRY(ecoi_cuda_allocate(model->device, 4ull * r.n_blocks * GPU_BLOCK, "the matrix rate",
                               &r.sink, err));
    const uint64_t n_products =
        (uint64_t)RATE_PRODUCTS * RATE_TURNS * GPU_WARPS * (uint64_t)r.n_blocks;
    out->unit_ops = (double)(n_products * 2 * 16 * 8 * (int8 ? 32 : 16));
    const eco_status status = work_probe(model, work, record_rate, &r, work->n_units_max, out, err);
    (void)model->device->cuda.api.stream_synchronize(
        model->stream); /* nothing may still write what is freed */
    (void)model->device->cuda.api.mem_free(r.sink);
    return status;
}

static eco_status work_by_kind(cuda_model *model, const eco_work *work, eco_work_result *out,
                               eco_error *err) {
    if (model->has_batch && work->kind <= ECO_WORK_PREFILL) {
        return ecoi_cuda_batch_work(model, work, out, err);
    }
    switch (work->kind) {
    case ECO_WORK_DECODE:
        return work_decode(model, work, out, err);
    case ECO_WORK_GENERATION:
        return work_from_start(model, work, model->memory.capacity, out, err);
    case ECO_WORK_PREFILL:
        return work_from_start(model, work, model->workload.n_prompt, out, err);
    case ECO_WORK_READ:
        return work_read(model, work, out, err);
    case ECO_WORK_LAUNCH:
        return work_probe(model, work, record_launches, NULL,
                          (work->n_units_max + LAUNCH_BATCH - 1) / LAUNCH_BATCH, out, err);
    case ECO_WORK_MATRIX_FP16:
    case ECO_WORK_MATRIX_INT8:
        return work_matrix(model, work, out, err);
    }
    return eco_error_set(err, ECO_E_USAGE, 0, "cuda: unknown kind of work %d", (int)work->kind);
}

/* The count is 0 whenever nothing runs: a watcher never sees the last work's. */
eco_status ecoi_cuda_work(void *opaque, const eco_work *work, eco_work_result *out,
                          eco_error *err) {
    cuda_model *model = opaque;
    *out = (eco_work_result){0};
    if (work->stop == NULL && work->n_units_max == 0) {
        return eco_error_set(err, ECO_E_USAGE, 0, "cuda: work without an end");
    }
    ECO_TRY(ecoi_cuda_enter(model->device, err));
    __atomic_store_n(&model->shared->progress, 0, __ATOMIC_RELEASE);
    const eco_status status = work_by_kind(model, work, out, err);
    __atomic_store_n(&model->shared->progress, 0, __ATOMIC_RELEASE);
    return status;
}

eco_status ecoi_cuda_logits(void *opaque, const uint32_t *tokens, size_t n, float *logits,
                            eco_error *err) {
    cuda_model *model = opaque;
    const cuda_device *device = model->device;
    if (n == 0 || n > model->memory.capacity) {
        return eco_error_set(err, ECO_E_RANGE, 0, "cuda: %zu tokens for a cache of %u positions", n,
                             model->memory.capacity);
    }
    for (size_t i = 0; i < n * model->workload.batch; i++) {
        if (tokens[i] >= model->shape.n_vocab) {
            return eco_error_set(err, ECO_E_RANGE, 0, "cuda: token %u in a vocabulary of %u",
                                 tokens[i], model->shape.n_vocab);
        }
    }
    ECO_TRY(ecoi_cuda_enter(device, err));
    if (model->workload.batch > 1) {
        return ecoi_cuda_batch_logits(model, tokens, (uint32_t)n, false, logits, err);
    }
    ECO_TRY(start(model, tokens, (uint32_t)n, 0, model->memory.capacity, err));
    const eco_work whole = {.kind = ECO_WORK_PREFILL};
    ECO_TRY(loop(model, &whole, model->quiet_graph, n, err));
    ECO_TRY(ecoi_cuda_done(device,
                           device->cuda.api.copy_to_host(logits, model->memory.logits,
                                                         sizeof *logits * model->shape.n_vocab,
                                                         model->stream),
                           "cuMemcpyDtoH", err));
    return ecoi_cuda_done(device, device->cuda.api.stream_synchronize(model->stream),
                          "cuMemcpyDtoH", err);
}
