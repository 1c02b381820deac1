/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs steps of a batch and chunks of prompts: graphs, recorded when the model is opened and launched
 * a bounded number ahead, each of which advances the counter by what it has done.
 */
#include "kernels/cuda_batch.h"

#include "core/alloc.h"
#include "kernels/cuda_batch_graph.h"
#include "kernels/cuda_model.h"
#include "kernels/synthetic.h"
#include "sys/clock.h"

#include <string.h>

static bool stopped(const eco_work *work) {
    return work->stop != NULL && __atomic_load_n(work->stop, __ATOMIC_ACQUIRE) != 0;
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

/* MARK: - Graphs */

static uint64_t n_prompt_rows(const cuda_model *model, uint32_t n_prompt) {
    return (uint64_t)model->memory.batch.n_batch * n_prompt;
}

static eco_status record_prefill(cuda_model *model, uint64_t counter, cuda_prefill_graphs *out,
                                 eco_error *err) {
    const uint32_t n_prompt = model->workload.n_prompt;
    const uint64_t n_rows = n_prompt_rows(model, n_prompt);
    cuda_batch_rows rows = {
        .is_prefill = true, .n_rows = BATCH_MAX, .n_prompt = n_prompt, .counter = counter};
    if (n_rows >= BATCH_MAX) {
        ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_chunk, &rows, &out->chunk, err));
    }
    rows.n_rows = (uint32_t)(n_rows % BATCH_MAX);
    if (rows.n_rows > 0) {
        ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_chunk, &rows, &out->rest, err));
    }
    rows.n_rows = model->memory.batch.n_batch;
    return ecoi_cuda_capture(model, ecoi_cuda_record_first, &rows, &out->first, err);
}

static eco_status upload_prompts(cuda_model *model, eco_error *err) {
    const uint32_t n_prompt = model->workload.n_prompt;
    const uint64_t n = n_prompt_rows(model, n_prompt);
    uint32_t *tokens = ecoi_calloc(n, sizeof *tokens);
    if (tokens == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "cuda: no host memory for the prompts");
    }
    for (uint64_t i = 0; i < n; i++) {
        tokens[i] = syn_batch_token(model->workload.seed, (uint32_t)(i / n_prompt), i % n_prompt,
                                    model->shape.n_vocab);
    }
    const eco_status status =
        upload(model, model->memory.batch.prompts, tokens, n * sizeof *tokens, err);
    ecoi_free(tokens);
    return status;
}

eco_status ecoi_cuda_batch_open(cuda_model *model, eco_error *err) {
    const uint64_t counter = model->shared_address;
    const uint64_t quiet = counter + offsetof(cuda_shared, quiet);
    ECO_TRY(ecoi_cuda_batch_prepare(model, err));
    ECO_TRY(upload_prompts(model, err));
    ECO_TRY(record_prefill(model, quiet, &model->quiet_prefill, err));
    ECO_TRY(record_prefill(model, counter, &model->prefill, err));
    const cuda_batch_rows rows = {.n_rows = model->memory.batch.n_batch, .counter = counter};
    if (rows.n_rows > 1) {
        ECO_TRY(ecoi_cuda_capture(model, ecoi_cuda_record_batch, &rows, &model->token_graph, err));
        model->launches_per_token = model->n_launches;
    }
    model->has_batch = true;
    return ECO_OK;
}

void ecoi_cuda_batch_close(cuda_model *model) {
    cu_graph_exec *const graphs[] = {model->prefill.chunk,      model->prefill.rest,
                                     model->prefill.first,      model->quiet_prefill.chunk,
                                     model->quiet_prefill.rest, model->quiet_prefill.first};
    for (size_t i = 0; i < sizeof graphs / sizeof graphs[0]; i++) {
        if (graphs[i] != NULL) {
            (void)model->device->cuda.api.graph_exec_destroy(graphs[i]);
        }
    }
}

/* MARK: - Running */

/* Launches go out until told to stop or until the units reach the limit (0: none). */
typedef struct batch_run {
    cuda_model *model;
    const eco_work *work;
    uint64_t n_units_max, n_units; /* of what was launched */
    uint64_t n_launched;
} batch_run;

static bool enough(const batch_run *run) {
    return run->n_units_max != 0 && run->n_units >= run->n_units_max;
}

/* `times` launches of a graph that advances the count by n_units; 0: it ends what came before, and
 * is launched when that was enough, too. */
static eco_status go(batch_run *run, cu_graph_exec *graph, uint64_t times, uint32_t n_units,
                     eco_error *err) {
    cuda_model *model = run->model;
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    for (uint64_t i = 0; i < times && !stopped(run->work) && (n_units == 0 || !enough(run)); i++) {
        cu_event *event = model->events[run->n_launched % CUDA_IN_FLIGHT];
        if (run->n_launched >= CUDA_IN_FLIGHT) {
            ECO_TRY(
                ecoi_cuda_done(device, api->event_synchronize(event), "waiting for a step", err));
        }
        ECO_TRY(
            ecoi_cuda_done(device, api->graph_launch(graph, model->stream), "cuGraphLaunch", err));
        ECO_TRY(
            ecoi_cuda_done(device, api->event_record(event, model->stream), "cuEventRecord", err));
        run->n_launched++;
        run->n_units += n_units;
    }
    return ECO_OK;
}

static eco_status finish_run(const batch_run *run, eco_error *err) {
    const cuda_device *device = run->model->device;
    return ecoi_cuda_done(device, device->cuda.api.stream_synchronize(run->model->stream),
                          "waiting for the work", err);
}

/* All prompts once, from the first token, and the first tokens of all sequences. */
static eco_status run_prefill(batch_run *run, const cuda_prefill_graphs *graphs, eco_error *err) {
    cuda_model *model = run->model;
    const uint64_t n_rows = n_prompt_rows(model, model->workload.n_prompt);
    const uint32_t rest = (uint32_t)(n_rows % BATCH_MAX);
    ECO_TRY(go(run, graphs->chunk, n_rows / BATCH_MAX, BATCH_MAX, err));
    ECO_TRY(go(run, graphs->rest, rest > 0 ? 1 : 0, rest, err));
    return go(run, graphs->first, 1, 0, err);
}

/* Position and tokens are set by the prefill; from its end on, positions turn in the rest of the
 * cache. */
static eco_status start(cuda_model *model, eco_error *err) {
    const uint32_t zero = 0;
    const struct gpu_state state = {.wrap_lo = model->workload.n_prompt,
                                    .wrap_hi = model->memory.capacity};
    ECO_TRY(upload(model, model->memory.batch.chunk, &zero, sizeof zero, err));
    return upload(model, model->memory.state, &state, sizeof state, err);
}

static eco_status run_decode(batch_run *run, eco_error *err) {
    cuda_model *model = run->model;
    const eco_work whole = {.kind = ECO_WORK_PREFILL, .stop = run->work->stop};
    batch_run quiet = {.model = model, .work = &whole};
    ECO_TRY(run_prefill(&quiet, &model->quiet_prefill, err));
    ECO_TRY(finish_run(&quiet, err));
    const uint64_t zero = 0;
    ECO_TRY(upload(model, model->memory.state + offsetof(struct gpu_state, steps), &zero,
                   sizeof zero, err));
    return ECO_OK;
}

static eco_status run_loop(batch_run *run, eco_error *err) {
    cuda_model *model = run->model;
    const uint32_t n_batch = model->memory.batch.n_batch;
    while (!stopped(run->work) && !enough(run)) {
        if (run->work->kind != ECO_WORK_DECODE) {
            ECO_TRY(run_prefill(run, &model->prefill, err));
        }
        if (run->work->kind != ECO_WORK_PREFILL) {
            ECO_TRY(go(run, model->token_graph, model->workload.n_tokens, n_batch, err));
        }
    }
    return finish_run(run, err);
}

eco_status ecoi_cuda_batch_work(cuda_model *model, const eco_work *work, eco_work_result *out,
                                eco_error *err) {
    batch_run run = {.model = model, .work = work, .n_units_max = work->n_units_max};
    ECO_TRY(start(model, err));
    if (work->kind == ECO_WORK_DECODE) {
        ECO_TRY(run_decode(&run, err));
    }
    const int64_t begin_ns = ecoi_now_ns();
    const eco_status status = run_loop(&run, err);
    out->busy_s = (double)(ecoi_now_ns() - begin_ns) * 1e-9;
    out->n_units = __atomic_load_n(&model->shared->progress, __ATOMIC_ACQUIRE);
    return status;
}

/* MARK: - Logits */

/* The prompts' first n tokens of a row of `pitch`, in chunks, launched one by one. */
static eco_status feed(cuda_model *model, const uint32_t *tokens, uint32_t pitch, uint32_t n,
                       uint64_t counter, eco_error *err) {
    const uint32_t n_batch = model->memory.batch.n_batch;
    for (uint32_t b = 0; b < n_batch; b++) {
        ECO_TRY(upload(model, model->memory.batch.prompts + 4ull * b * n,
                       tokens + (size_t)b * pitch, n * sizeof *tokens, err));
    }
    cuda_batch_rows rows = {.is_prefill = true, .n_prompt = n, .counter = counter};
    for (uint64_t left = n_prompt_rows(model, n); left > 0; left -= rows.n_rows) {
        rows.n_rows = left < BATCH_MAX ? (uint32_t)left : BATCH_MAX;
        ECO_TRY(ecoi_cuda_record_chunk(model, &rows, err));
    }
    rows.n_rows = n_batch;
    return ecoi_cuda_record_first(model, &rows, err);
}

eco_status ecoi_cuda_batch_logits(cuda_model *model, const uint32_t *tokens, uint32_t n,
                                  bool all_as_prompt, float *logits, eco_error *err) {
    const cuda_device *device = model->device;
    const ecoi_cuda_api *api = &device->cuda.api;
    const cuda_batch_memory *batch = &model->memory.batch;
    const uint64_t quiet = model->shared_address + offsetof(cuda_shared, quiet);
    const uint32_t n_prompt = all_as_prompt ? n : n - 1;
    ECO_TRY(start(model, err));
    if (n_prompt > 0) {
        ECO_TRY(feed(model, tokens, n, n_prompt, quiet, err));
    }
    if (!all_as_prompt) {
        uint32_t last[BATCH_MAX];
        for (uint32_t b = 0; b < batch->n_batch; b++) {
            last[b] = tokens[(size_t)b * n + n - 1];
        }
        const struct gpu_state state = {
            .position = n - 1, .token = last[0], .wrap_hi = model->memory.capacity};
        ECO_TRY(upload(model, batch->tokens, last, sizeof last[0] * batch->n_batch, err));
        ECO_TRY(upload(model, model->memory.state, &state, sizeof state, err));
        const cuda_batch_rows rows = {.n_rows = batch->n_batch, .counter = quiet};
        ECO_TRY(ecoi_cuda_record_batch(model, &rows, err));
    }
    const size_t bytes = sizeof *logits * batch->n_batch * model->shape.n_vocab;
    ECO_TRY(ecoi_cuda_done(device, api->copy_to_host(logits, batch->logits, bytes, model->stream),
                           "cuMemcpyDtoH", err));
    ECO_TRY(ecoi_cuda_done(device, api->stream_synchronize(model->stream), "cuMemcpyDtoH", err));
    return upload_prompts(model, err); /* as they were */
}
