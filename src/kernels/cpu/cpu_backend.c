/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU as a device of the native engine. Work runs on the calling thread and the pool's; a
 * finished unit is published with release order, and `stop` is looked at before each unit.
 */
#include "kernels/kernels.h"

#include "core/alloc.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/cpu_rates.h"
#include "kernels/cpu/forward.h"
#include "kernels/cpu/reference.h"
#include "kernels/synthetic.h"
#include "kernels/workload.h"
#include "sys/clock.h"
#include "sys/cpu.h"

#include <stdio.h>
#include <string.h>

/* Reading must miss every cache: eight times the largest one, at least 512 MiB, at most what the
 * host can lend. */
static const uint64_t read_bytes_min = 512ull << 20;
static const uint64_t read_bytes_max = 8ull << 30;
enum { READ_CHUNK_BYTES = 64 << 20, READ_LINE_WORDS = 8, RATE_TURNS = 1 << 16 };

typedef struct cpu_device {
    eco_pool *pool;
    const eco_cpu_sums *sums;
} cpu_device;

typedef struct cpu_arm {
    cpu_device *device;
    eco_cpu_model *model;
    double prepare_s;
    uint64_t progress;
    bool prompt_cached; /* the cache holds the prompts: decoding writes behind them only */
    uint32_t first_tokens[ECO_WORKLOAD_BATCH_MAX]; /* that follow them, a sequence each */
} cpu_arm;

const eco_cpu_model *ecoi_cpu_arm_model(const void *model) {
    const cpu_arm *arm = model;
    return arm->model;
}

static void publish(cpu_arm *arm, uint64_t n) {
    __atomic_store_n(&arm->progress, n, __ATOMIC_RELEASE);
}

static bool stopped(const eco_work *work, uint64_t n_done) {
    return (work->n_units_max != 0 && n_done >= work->n_units_max) ||
           (work->stop != NULL && __atomic_load_n(work->stop, __ATOMIC_ACQUIRE) != 0);
}

static bool cpu_usable(char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "%u cores, %s", ecoi_cpu_allowed(), ecoi_cpu_sums_best()->isa);
    return true;
}

static eco_status cpu_open(const char *selector, uint32_t n_threads, void **state, eco_error *err) {
    *state = NULL;
    if (selector != NULL && selector[0] != '\0') {
        return eco_error_set(err, ECO_E_USAGE, 0, "device cpu takes no number or name, not \"%s\"",
                             selector);
    }
    cpu_device *device = ecoi_calloc(1, sizeof *device);
    if (device == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cpu device: %zu bytes", sizeof *device);
    }
    const uint32_t n_allowed = ecoi_cpu_allowed();
    const uint32_t n_default = n_allowed < ECO_POOL_THREADS_MAX ? n_allowed : ECO_POOL_THREADS_MAX;
    device->sums = ecoi_cpu_sums_best();
    const eco_status status =
        ecoi_pool_open(n_threads == 0 ? n_default : n_threads, &device->pool, err);
    if (status != ECO_OK) {
        ecoi_free(device);
        return status;
    }
    *state = device;
    return ECO_OK;
}

static void cpu_describe(const void *state, eco_engine_info *out) {
    const cpu_device *device = state;
    const eco_host_memory memory = ecoi_host_memory();
    const uint32_t n_threads = ecoi_pool_n_threads(device->pool);
    *out = (eco_engine_info){.name = "native",
                             .boundary = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                             .library_known = true, /* none is loaded */
                             .memory_free_bytes = memory.available_bytes,
                             .memory_total_bytes = memory.total_bytes};
    ecoi_cpu_model_name(out->device_name, sizeof out->device_name);
    snprintf(out->detail, sizeof out->detail, "%s, %u thread%s", device->sums->isa, n_threads,
             n_threads == 1 ? "" : "s");
}

static bool cpu_has_format(eco_format format) {
    return (unsigned)format < ECO_FORMAT_COUNT;
}

static eco_status cpu_model_check(const void *state, const eco_workload *workload, eco_error *err) {
    (void)state;
    (void)workload;
    (void)err;
    return ECO_OK;
}

static uint64_t cpu_model_bytes(const void *state, const eco_workload *workload) {
    (void)state;
    return ecoi_cpu_model_bytes(workload);
}

static eco_status cpu_model_open(void *state, const eco_workload *workload, void **model,
                                 eco_error *err) {
    *model = NULL;
    ECO_TRY(cpu_model_check(state, workload, err));
    cpu_device *device = state;
    const int64_t begun_ns = ecoi_now_ns();
    const uint64_t n_bytes = ecoi_cpu_model_bytes(workload);
    const eco_host_memory memory = ecoi_host_memory();
    if (memory.total_bytes != 0 &&
        n_bytes > memory.available_bytes) { /* before the kernel's killer finds out */
        return eco_error_set(err, ECO_E_NO_MEMORY, 0,
                             "model %s needs %llu bytes of memory, %llu are available",
                             workload->shape->name, (unsigned long long)n_bytes,
                             (unsigned long long)memory.available_bytes);
    }
    cpu_arm *arm = ecoi_calloc(1, sizeof *arm);
    if (arm == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "arm: %zu bytes", sizeof *arm);
    }
    arm->device = device;
    const eco_status status = ecoi_cpu_model_new(workload, device->pool, &arm->model, err);
    if (status != ECO_OK) {
        ecoi_free(arm);
        return status;
    }
    arm->prepare_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
    *model = arm;
    return ECO_OK;
}

static void cpu_model_describe(const void *model, eco_arm_info *out) {
    const cpu_arm *arm = model;
    *out = (eco_arm_info){.progress = &arm->progress,
                          .weight_bytes = arm->model->weight_bytes,
                          .device_bytes = arm->model->block_bytes,
                          .prefill_method = "token-by-token",
                          .kernels = arm->device->sums->summary,
                          .prepare_s = arm->prepare_s};
}

/* One position of all sequences. */
static void step(cpu_arm *arm, const uint32_t *tokens, uint32_t position, bool want_logits) {
    ecoi_cpu_step_all(arm->model, arm->device->pool, arm->device->sums, tokens, position,
                      want_logits);
}

static void greedy(const cpu_arm *arm, uint32_t *tokens) {
    const eco_cpu_buffer logits = arm->model->logits;
    for (uint32_t b = 0; b < arm->model->n_batch; b++) {
        tokens[b] = ecoi_ref_argmax(logits.values + b * logits.stride, arm->model->shape.n_vocab);
    }
}

/* The prompts, a position of all of them after the other, each token a unit if `count`, and in `tokens` what follows
 * them; false when stopped on the way. */
static bool prefill(cpu_arm *arm, const eco_work *work, bool count, uint32_t *tokens,
                    uint64_t *n_done) {
    const uint32_t n_prompt = arm->model->n_prompt;
    const uint32_t n_batch = arm->model->n_batch;
    for (uint32_t position = 0; position < n_prompt; position++) {
        if (stopped(work, *n_done)) {
            return false;
        }
        uint32_t fed[ECO_WORKLOAD_BATCH_MAX];
        for (uint32_t b = 0; b < n_batch; b++) {
            fed[b] = arm->model->prompt[(size_t)b * n_prompt + position];
        }
        step(arm, fed, position, position + 1 == n_prompt);
        if (count) {
            publish(arm, *n_done += n_batch);
        }
    }
    greedy(arm, tokens);
    return true;
}

/* n_tokens greedy steps of all sequences from `first` on, each token a unit; false when stopped on the
 * way. */
static bool decode(cpu_arm *arm, const eco_work *work, const uint32_t *first, uint64_t *n_done) {
    const uint32_t n_batch = arm->model->n_batch;
    uint32_t tokens[ECO_WORKLOAD_BATCH_MAX];
    memcpy(tokens, first, n_batch * sizeof *tokens);
    for (uint32_t i = 0; i < arm->model->n_tokens; i++) {
        if (stopped(work, *n_done)) {
            return false;
        }
        step(arm, tokens, arm->model->n_prompt + i, true);
        greedy(arm, tokens);
        publish(arm, *n_done += n_batch);
    }
    return true;
}

static void work_decode(cpu_arm *arm, const eco_work *work, eco_work_result *out) {
    uint64_t n_done = 0;
    if (!arm->prompt_cached) {
        if (!prefill(arm, work, false, arm->first_tokens, &n_done)) {
            return;
        }
        arm->prompt_cached = true;
    }
    const int64_t begun_ns = ecoi_now_ns();
    while (decode(arm, work, arm->first_tokens, &n_done)) {
    }
    out->n_units = n_done;
    out->busy_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
}

static void work_prompts(cpu_arm *arm, const eco_work *work, eco_work_result *out) {
    uint32_t tokens[ECO_WORKLOAD_BATCH_MAX] = {0};
    const int64_t begun_ns = ecoi_now_ns();
    while (prefill(arm, work, true, tokens, &out->n_units)) {
        if (work->kind == ECO_WORK_GENERATION && !decode(arm, work, tokens, &out->n_units)) {
            break;
        }
    }
    out->busy_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
}

/* ---- ceilings ---- */

typedef struct read_request {
    const eco_cpu_sums *sums;
    uint64_t *words;
    size_t n_words;    /* of the buffer */
    size_t begin, end; /* of the chunk */
    uint64_t
        *sinks; /* [n_threads], a cache line apart: keeps the reads from being optimised away */
} read_request;

static void touch_part(void *context, uint32_t index, uint32_t n) {
    const read_request *request = context;
    const eco_range range = ecoi_pool_share(request->n_words, READ_LINE_WORDS, index, n);
    for (size_t i = range.begin; i < range.end; i++) {
        request->words[i] = i;
    }
}

static void read_part(void *context, uint32_t index, uint32_t n) {
    const read_request *request = context;
    const eco_range range =
        ecoi_pool_share(request->end - request->begin, CPU_READ_WORDS, index, n);
    const uint64_t *words = request->words + request->begin + range.begin;
    request->sinks[index * READ_LINE_WORDS] += request->sums->read(words, range.end - range.begin);
}

static uint64_t read_bytes(void) {
    uint64_t bytes = 8 * ecoi_cpu_cache_bytes();
    bytes = bytes < read_bytes_min   ? read_bytes_min
            : bytes > read_bytes_max ? read_bytes_max
                                     : bytes;
    const eco_host_memory memory = ecoi_host_memory();
    if (memory.total_bytes != 0 && bytes > memory.available_bytes / 2 && bytes > read_bytes_min) {
        bytes = memory.available_bytes / 2 > read_bytes_min ? memory.available_bytes / 2
                                                            : read_bytes_min;
    }
    return bytes / READ_CHUNK_BYTES * READ_CHUNK_BYTES;
}

static eco_status work_read(cpu_arm *arm, const eco_work *work, eco_work_result *out,
                            eco_error *err) {
    eco_pool *pool = arm->device->pool;
    const uint64_t n_bytes = read_bytes();
    const size_t chunk_words = READ_CHUNK_BYTES / sizeof(uint64_t);
    read_request request = {.sums = arm->device->sums,
                            .n_words = (size_t)n_bytes / sizeof(uint64_t)};
    request.words = ecoi_malloc((size_t)n_bytes);
    request.sinks = ecoi_calloc(ecoi_pool_n_threads(pool), READ_LINE_WORDS * sizeof(uint64_t));
    if (request.words == NULL || request.sinks == NULL) {
        ecoi_free(request.words);
        ecoi_free(request.sinks);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0,
                             "bandwidth probe: no memory for its %llu bytes",
                             (unsigned long long)n_bytes);
    }
    ecoi_pool_run(pool, touch_part, &request);
    out->unit_bytes = READ_CHUNK_BYTES;
    const int64_t begun_ns = ecoi_now_ns();
    while (!stopped(work, out->n_units)) {
        request.begin = out->n_units * chunk_words % request.n_words;
        request.end = request.begin + chunk_words;
        ecoi_pool_run(pool, read_part, &request);
        publish(arm, ++out->n_units);
    }
    out->busy_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
    ecoi_free(request.words);
    ecoi_free(request.sinks);
    return ECO_OK;
}

static void empty_part(void *context, uint32_t index, uint32_t n) {
    (void)context;
    (void)index;
    (void)n;
}

static void work_launch(cpu_arm *arm, const eco_work *work, eco_work_result *out) {
    const int64_t begun_ns = ecoi_now_ns();
    while (!stopped(work, out->n_units)) {
        ecoi_pool_run(arm->device->pool, empty_part, NULL);
        publish(arm, ++out->n_units);
    }
    out->busy_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
}

typedef struct rate_request {
    eco_cpu_rate rate;
    uint8_t random[256];
    uint64_t *sinks; /* [n_threads], a cache line apart: what the products come to */
} rate_request;

static void rate_part(void *context, uint32_t index, uint32_t n) {
    (void)n;
    const rate_request *request = context;
    request->sinks[index * READ_LINE_WORDS] += request->rate.run(request->random, RATE_TURNS);
}

static eco_status work_matrix(cpu_arm *arm, const eco_work *work, eco_work_result *out,
                              eco_error *err) {
    eco_pool *pool = arm->device->pool;
    const uint32_t n_threads = ecoi_pool_n_threads(pool);
    rate_request request = {.rate = ecoi_cpu_rate(work->kind == ECO_WORK_MATRIX_INT8),
                            .sinks = ecoi_calloc(n_threads, READ_LINE_WORDS * sizeof(uint64_t))};
    if (request.sinks == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "matrix probe: no memory");
    }
    for (uint32_t i = 0; i < sizeof request.random; i++) {
        request.random[i] = (uint8_t)syn_mix(i * 0x9E3779B97F4A7C15ull);
    }
    out->unit_ops = (double)request.rate.ops_per_turn * (double)((uint64_t)RATE_TURNS * n_threads);
    const int64_t begun_ns = ecoi_now_ns();
    while (!stopped(work, out->n_units)) {
        ecoi_pool_run(pool, rate_part, &request);
        publish(arm, ++out->n_units);
    }
    out->busy_s = (double)(ecoi_now_ns() - begun_ns) * 1e-9;
    ecoi_free(request.sinks);
    return ECO_OK;
}

static eco_status work_by_kind(cpu_arm *arm, const eco_work *work, eco_work_result *out,
                               eco_error *err) {
    switch (work->kind) {
    case ECO_WORK_DECODE:
        work_decode(arm, work, out);
        return ECO_OK;
    case ECO_WORK_GENERATION:
    case ECO_WORK_PREFILL:
        work_prompts(arm, work, out);
        return ECO_OK;
    case ECO_WORK_READ:
        return work_read(arm, work, out, err);
    case ECO_WORK_LAUNCH:
        work_launch(arm, work, out);
        return ECO_OK;
    case ECO_WORK_MATRIX_FP16:
    case ECO_WORK_MATRIX_INT8:
        return work_matrix(arm, work, out, err);
    }
    return eco_error_set(err, ECO_E_USAGE, 0, "unknown kind of work %d", (int)work->kind);
}

/* The count is 0 whenever nothing runs, and through a decode's prefill: a watcher never sees the
 * last work's. */
static eco_status cpu_work(void *model, const eco_work *work, eco_work_result *out,
                           eco_error *err) {
    cpu_arm *arm = model;
    *out = (eco_work_result){0};
    publish(arm, 0);
    const eco_status status = work_by_kind(arm, work, out, err);
    publish(arm, 0);
    return status;
}

static eco_status cpu_logits(void *model, const uint32_t *tokens, size_t n, float *logits,
                             eco_error *err) {
    cpu_arm *arm = model;
    const eco_model_shape *shape = &arm->model->shape;
    if (n == 0 || n > arm->model->n_positions) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%zu tokens: the arm holds 1 to %u", n,
                             arm->model->n_positions);
    }
    for (size_t i = 0; i < n * arm->model->n_batch; i++) {
        if (tokens[i] >= shape->n_vocab) {
            return eco_error_set(err, ECO_E_RANGE, 0, "token %u at %zu: the vocabulary has %u",
                                 tokens[i], i, shape->n_vocab);
        }
    }
    arm->prompt_cached = false;
    const uint32_t n_batch = arm->model->n_batch;
    for (size_t i = 0; i < n; i++) {
        uint32_t fed[ECO_WORKLOAD_BATCH_MAX];
        for (uint32_t b = 0; b < n_batch; b++) {
            fed[b] = tokens[b * n + i];
        }
        step(arm, fed, (uint32_t)i, i + 1 == n);
    }
    const eco_cpu_buffer rows = arm->model->logits;
    for (uint32_t b = 0; b < n_batch; b++) {
        memcpy(logits + (size_t)b * shape->n_vocab, rows.values + b * rows.stride,
               shape->n_vocab * sizeof *logits);
    }
    return ECO_OK;
}

static void cpu_model_close(void *model) {
    cpu_arm *arm = model;
    if (arm != NULL) {
        ecoi_cpu_model_free(arm->model);
        ecoi_free(arm);
    }
}

static void cpu_close(void *state) {
    cpu_device *device = state;
    if (device != NULL) {
        ecoi_pool_close(device->pool);
        ecoi_free(device);
    }
}

const eco_backend ecoi_backend_cpu = {.name = "cpu",
                                      .usable = cpu_usable,
                                      .open = cpu_open,
                                      .describe = cpu_describe,
                                      .has_format = cpu_has_format,
                                      .model_check = cpu_model_check,
                                      .model_bytes = cpu_model_bytes,
                                      .model_open = cpu_model_open,
                                      .model_describe = cpu_model_describe,
                                      .work = cpu_work,
                                      .logits = cpu_logits,
                                      .model_close = cpu_model_close,
                                      .close = cpu_close};
