/* SPDX-License-Identifier: Apache-2.0
 *
 * device_batch [check | parts | speed | all]: batched decoding and prefill by chunks on the GPU that
 * CUDA shows first. check: logits of sequences against the CPU backend, after decoded steps and
 * after chunks, for tiny odd shapes and two-layer cuts of the table's models at true widths, in
 * every format that the kernels have; each twice, over poisoned memory, bit for bit. parts: time of each part of a layer
 * alone, with the bytes a product must read. speed: decoding and prefill as they are measured. Exit
 * 0: all within tolerance; 1: not; 77: no GPU, with the reason.
 */
#include "ecocompute/arch.h"
#include "kernels/cuda_batch_graph.h"
#include "kernels/cuda_model.h"
#include "kernels/kernels.h"
#include "kernels/synthetic.h"
#include "sys/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As device_kernels.c has it; tensor cores sum in another order, and NF4's values are rounded to
 * FP16, which adds some 10^-4. */
static const double tolerance = 2e-3;
/* INT8: where another order of a sum moves an activation over a boundary, its code changes by one of 127.
 * Were that so for every activation of one product, its result would be off by 4 / 127 of its size (the
 * largest of some thousand values is about four times their root mean square). */
static const double tolerance_int8 = 3e-2;

static void *cpu_state;
static void *cuda_state;
static double worst;
static unsigned n_cases, n_bad;

static double relative_error(const float *got, const float *want, uint32_t n) {
    double off = 0.0;
    double size = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        const double d = (double)got[i] - (double)want[i];
        off += d * d;
        size += (double)want[i] * (double)want[i];
    }
    return sqrt(off / size); /* NaN anywhere gives NaN, which passes no comparison */
}

static void report(const char *name, const char *what, bool good) {
    n_cases++;
    n_bad += good ? 0 : 1;
    printf("%s  %-34s %s\n", good ? "ok  " : "FAIL", name, what);
    (void)fflush(stdout);
}

static void *allocate(size_t n, size_t size) {
    void *memory = calloc(n, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* MARK: - Against the CPU */

typedef struct batch_case {
    const char *name;
    const eco_model_shape *shape;
    eco_format linear, head;
    uint32_t batch, n_positions, n_tokens;
} batch_case;

/* Nothing may be taken from before: NaN in all that a step or chunk writes before it reads. */
static eco_status poison(cuda_model *model, eco_error *err) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    const cuda_batch_memory *batch = &model->memory.batch;
    ECO_TRY(ecoi_cuda_done(
        model->device,
        api->set_words(batch->x, UINT32_MAX, (batch->arrived - batch->x) / 4, model->stream),
        "cuMemsetD32", err));
    return ecoi_cuda_done(model->device,
                          api->set_words(batch->attention_part, UINT32_MAX,
                                         (batch->tokens - batch->attention_part) / 4,
                                         model->stream),
                          "cuMemsetD32", err);
}

static void compare(const batch_case *c, void *cpu, cuda_model *model) {
    const uint32_t n_vocab = c->shape->n_vocab;
    const size_t n = (size_t)c->batch * n_vocab;
    uint32_t *tokens = allocate((size_t)c->batch * c->n_tokens, sizeof *tokens);
    float *got = allocate(2 * n, sizeof *got);
    float *want = allocate(n_vocab, sizeof *want);
    for (uint32_t i = 0; i < c->batch * c->n_tokens; i++) {
        tokens[i] = syn_batch_token(7, i / c->n_tokens, i % c->n_tokens, n_vocab);
    }
    const uint32_t looked_at[4] = {0, 1 % c->batch, c->batch / 2, c->batch - 1};
    char what[160];
    eco_error err = {0};
    for (uint32_t way = 0; way < 2; way++) {
        double largest = 0.0;
        eco_status status = ECO_OK;
        for (uint32_t run = 0; run < 2 && status == ECO_OK; run++) {
            status = poison(model, &err);
            if (status == ECO_OK) {
                status = ecoi_cuda_batch_logits(model, tokens, c->n_tokens, way == 1, got + run * n,
                                                &err);
            }
        }
        for (uint32_t i = 0; i < 4 && status == ECO_OK; i++) {
            const size_t b = looked_at[i];
            status =
                ecoi_backend_cpu.logits(cpu, tokens + b * c->n_tokens, c->n_tokens, want, &err);
            const double off = relative_error(got + b * n_vocab, want, n_vocab);
            largest = off <= largest ? largest : off;
        }
        const double most = c->linear == ECO_FORMAT_INT8 ? tolerance_int8 : tolerance;
        const bool same = memcmp(got, got + n, n * sizeof *got) == 0;
        (void)snprintf(what, sizeof what, "%-6s batch %2u %4u tokens %s %.2e of %.0e %s%.60s",
                       eco_format_at(c->linear)->name, c->batch, c->n_tokens,
                       way == 0 ? "decoded" : "chunks ", largest, most,
                       same ? "same bits" : "TWO RUNS DIFFER", status == ECO_OK ? "" : err.message);
        report(c->name, what, status == ECO_OK && same && largest <= most);
        worst = largest <= worst ? worst : largest;
    }
    free(tokens);
    free(got);
    free(want);
}

static void run_case(const batch_case *c) {
    eco_workload workload = {.shape = c->shape,
                             .linear = c->linear,
                             .head = c->head,
                             .batch = c->batch,
                             .n_prompt = 1,
                             .n_tokens = c->n_positions - 1,
                             .seed = 20261130,
                             .outlier_permille = 5};
    void *cpu = NULL;
    void *cuda = NULL;
    eco_error err = {0};
    eco_status status = ecoi_backend_cuda.model_open(cuda_state, &workload, &cuda, &err);
    workload.batch = 1;
    if (status == ECO_OK) {
        status = ecoi_backend_cpu.model_open(cpu_state, &workload, &cpu, &err);
    }
    if (status == ECO_OK) {
        compare(c, cpu, cuda);
    } else {
        report(c->name, err.message, false);
    }
    ecoi_backend_cpu.model_close(cpu);
    ecoi_backend_cuda.model_close(cuda);
}

static const eco_format formats[] = {ECO_FORMAT_FP16, ECO_FORMAT_NF4,  ECO_FORMAT_W8A16,
                                     ECO_FORMAT_BF16, ECO_FORMAT_Q4_0, ECO_FORMAT_Q8_0,
                                     ECO_FORMAT_FP8,  ECO_FORMAT_INT8, ECO_FORMAT_NF4_DQ};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static eco_model_shape tiny_shape(const char *name, const uint32_t n[7], bool tied, bool bias) {
    return (eco_model_shape){.name = name,
                             .hf_id = "tests/tiny",
                             .family = "llama",
                             .params_b = 0.001,
                             .n_layers = n[0],
                             .d_model = n[1],
                             .n_heads = n[2],
                             .n_kv_heads = n[3],
                             .d_head = n[4],
                             .d_ff = n[5],
                             .n_vocab = n[6],
                             .n_positions_max = 8192,
                             .tied_embeddings = tied,
                             .qkv_bias = bias,
                             .rope_theta = 10000.0,
                             .norm_eps = 1e-5};
}

static void tiny_cases(void) {
    static const struct {
        const char *name;
        uint32_t n[7];
        bool tied, bias;
    } rows[] = {
        {"llama, odd rows", {2, 40, 5, 1, 8, 72, 301}, false, false},
        {"qwen2, tied, biases", {2, 77, 3, 3, 24, 131, 97}, true, true},
        {"mistral, head of 10", {2, 88, 6, 2, 10, 56, 61}, false, false},
        {"head of 64, nine share", {2, 192, 9, 1, 64, 264, 515}, false, true},
        {"head of 256", {1, 8, 1, 1, 256, 33, 11}, false, false},
        {"more rows than tiles", {1, 264, 4, 2, 66, 17000, 34001}, true, true},
    };
    static const uint32_t batches[] = {1, 2, 3, 7, 8, 9, 16, 17, 33, 64};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_model_shape shape =
            tiny_shape(rows[i].name, rows[i].n, rows[i].tied, rows[i].bias);
        for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
            const eco_format format = formats[(i + k) % FORMATS];
            const batch_case c = {.name = rows[i].name,
                                  .shape = &shape,
                                  .linear = format,
                                  .head = k % 2 == 0 ? ECO_FORMAT_FP16 : format,
                                  .batch = batches[k],
                                  .n_positions = i % 2 == 0 ? 200 : 1500,
                                  .n_tokens = k % 3 == 0 ? 150 : 1 + (uint32_t)k};
            run_case(&c);
        }
    }
}

/* Two layers at true widths; the vocabulary is cut, but for the smallest models, to keep the CPU's
 * part short. */
static void cut_cases(void) {
    for (size_t i = 0; i < eco_model_count(); i++) {
        eco_model_shape shape = *eco_model_at(i);
        shape.n_layers = 2;
        if (shape.d_model > 1024) {
            shape.n_vocab = 4099;
        }
        for (size_t k = 0; k < FORMATS; k++) {
            const batch_case c = {.name = shape.name,
                                  .shape = &shape,
                                  .linear = formats[k],
                                  .head = ECO_FORMAT_FP16,
                                  .batch = k % 3 == 0   ? 64
                                           : k % 3 == 1 ? 16
                                                        : 4,
                                  .n_positions = 384,
                                  .n_tokens = 5};
            run_case(&c);
        }
    }
}

/* MARK: - Times */

static double graph_us(cuda_model *model, cu_graph_exec *graph, uint32_t n, eco_error *err) {
    const ecoi_cuda_api *api = &model->device->cuda.api;
    int64_t begin_ns = 0;
    for (uint32_t i = 0; i < n + 3; i++) {
        if (i == 3) { /* the first few warm up */
            (void)api->stream_synchronize(model->stream);
            begin_ns = ecoi_now_ns();
        }
        if (ecoi_cuda_done(model->device, api->graph_launch(graph, model->stream), "cuGraphLaunch",
                           err) != ECO_OK) {
            return (double)NAN;
        }
    }
    if (ecoi_cuda_done(model->device, api->stream_synchronize(model->stream), "waiting", err) !=
        ECO_OK) {
        return (double)NAN;
    }
    return (double)(ecoi_now_ns() - begin_ns) * 1e-3 / n;
}

static double matrix_bytes(const cuda_matrix *m) {
    const cuda_storage s = ecoi_cuda_storage(m->format);
    return (double)m->n_rows * (m->stride * s.weight_bits / 8.0 + m->n_blocks * s.scale_bytes);
}

/* A decoded step without some parts of every layer. */
static double step_us(cuda_model *model, uint32_t left_out, eco_error *err) {
    const cuda_batch_rows rows = {.n_rows = model->memory.batch.n_batch,
                                  .left_out = left_out,
                                  .counter = model->shared_address + offsetof(cuda_shared, quiet)};
    cu_graph_exec *graph = NULL;
    if (ecoi_cuda_capture(model, ecoi_cuda_record_batch, &rows, &graph, err) != ECO_OK) {
        return (double)NAN;
    }
    const double us = graph_us(model, graph, 30, err);
    (void)model->device->cuda.api.graph_exec_destroy(graph);
    return us;
}

enum {
    ALL_PARTS = CUDA_PART_NORM | CUDA_PART_QKV | CUDA_PART_ATTENTION | CUDA_PART_O |
                CUDA_PART_GATE_UP | CUDA_PART_DOWN
};

/* What a part takes alone: steps of this part in every layer, less steps of none. */
static void time_parts(const char *title, cuda_model *model) {
    const cuda_layer *layer = &model->layers[0];
    const struct {
        const char *name;
        uint32_t part;
        const cuda_matrix *matrix;
    } parts[] = {{"norms", CUDA_PART_NORM, NULL},
                 {"qkv", CUDA_PART_QKV, &layer->qkv},
                 {"attention", CUDA_PART_ATTENTION, NULL},
                 {"o", CUDA_PART_O, &layer->o},
                 {"gate, up", CUDA_PART_GATE_UP, &layer->gate_up},
                 {"down", CUDA_PART_DOWN, &layer->down},
                 {"all of them", ALL_PARTS, NULL}};
    const eco_work prompts = {.kind = ECO_WORK_PREFILL, .n_units_max = 1};
    eco_work_result result;
    eco_error err = {0};
    if (ecoi_backend_cuda.work(model, &prompts, &result, &err) != ECO_OK) {
        report(title, err.message, false);
        return;
    }
    const double ends_us = step_us(model, ALL_PARTS, &err);
    printf("      %-20s %-12s %9.1f us a step\n", title, "head, ends", ends_us);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const double us =
            (step_us(model, ALL_PARTS & ~parts[i].part, &err) - ends_us) / model->shape.n_layers;
        printf("      %-20s %-12s %9.2f us a layer", title, parts[i].name, us);
        if (parts[i].matrix != NULL) {
            printf(", %.3f TB/s", matrix_bytes(parts[i].matrix) / us * 1e-6);
        }
        printf("\n");
        (void)fflush(stdout);
    }
    if (err.message[0] != '\0') {
        report(title, err.message, false);
    }
}

static void run_work(void *model, const char *title, eco_work_kind kind, uint64_t n_units) {
    static const char *const kinds[] = {"decode", "generation", "prefill"};
    const int stop = 0;
    const eco_work work = {.kind = kind, .stop = &stop, .n_units_max = n_units};
    eco_work_result result = {0};
    eco_error err = {0};
    char what[200];
    if (ecoi_backend_cuda.work(model, &work, &result, &err) != ECO_OK) {
        report(title, err.message, false);
        return;
    }
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    const cuda_model *opened = model;
    const double each_us = result.busy_s / (double)result.n_units * 1e6;
    const double step_us = each_us * opened->workload.batch;
    (void)snprintf(what, sizeof what,
                   "%-10s %8llu units %10.2f us each, %10.1f /s, a step %9.1f us, weights at "
                   "%.3f TB/s",
                   kinds[kind], (unsigned long long)result.n_units, each_us, 1e6 / each_us, step_us,
                   (double)info.weight_bytes / step_us * 1e-6);
    report(title, what, *info.progress == 0 && result.n_units >= n_units);
}

static void speed(const char *name, eco_format format, uint32_t batch, bool parts) {
    const eco_model_shape *shape = eco_model_find(name);
    char title[64];
    (void)snprintf(title, sizeof title, "%s %s x%u", name, eco_format_at(format)->name, batch);
    const eco_workload workload = {.shape = shape,
                                   .linear = format,
                                   .head = ECO_FORMAT_FP16,
                                   .batch = batch,
                                   .n_prompt = 128,
                                   .n_tokens = 256,
                                   .seed = 1};
    void *model = NULL;
    eco_error err = {0};
    if (shape == NULL ||
        ecoi_backend_cuda.model_open(cuda_state, &workload, &model, &err) != ECO_OK) {
        report(title, err.message, false);
        return;
    }
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    printf("      %-34s prepared in %.3f s, %llu bytes, %u launches a step\n", title,
           info.prepare_s, (unsigned long long)info.device_bytes, info.launches_per_token);
    if (parts) {
        time_parts(title, model);
    } else {
        run_work(model, title, ECO_WORK_DECODE, 256ull * batch);
        run_work(model, title, ECO_WORK_DECODE, 256ull * batch);
        run_work(model, title, ECO_WORK_PREFILL, 128ull * 20 * batch);
        run_work(model, title, ECO_WORK_GENERATION, 384ull * batch);
    }
    ecoi_backend_cuda.model_close(model);
}

static void speeds(bool parts) {
    static const uint32_t batches[] = {64, 16, 4};
    static const eco_format studied[] = {ECO_FORMAT_FP16, ECO_FORMAT_W8A16, ECO_FORMAT_NF4};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            speed("Qwen2-7B", studied[i], batches[k], parts);
        }
    }
    for (size_t i = 0; i < FORMATS && !parts; i++) {
        speed("TinyLlama-1.1B", formats[i], 64, parts);
    }
}

static void open_or_exit(void) {
    char reason[ECO_ERROR_MESSAGE_MAX] = "";
    eco_error err = {0};
    if (!ecoi_backend_cuda.usable(reason, sizeof reason)) {
        printf("skip: no usable GPU: %s\n", reason);
        exit(77);
    }
    if (ecoi_backend_cuda.open(NULL, 0, &cuda_state, &err) != ECO_OK ||
        ecoi_backend_cpu.open(NULL, 0, &cpu_state, &err) != ECO_OK) {
        printf("FAIL  opening: %s\n", err.message);
        exit(1);
    }
    eco_engine_info info;
    ecoi_backend_cuda.describe(cuda_state, &info);
    printf("%s, %s\n%s\n", info.device_name, info.boundary.pci_bus_id, info.detail);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    const bool all = strcmp(what, "all") == 0;
    open_or_exit();
    if (all || strcmp(what, "check") == 0) {
        tiny_cases();
        cut_cases();
    }
    if (all || strcmp(what, "parts") == 0) {
        speeds(true);
    }
    if (all || strcmp(what, "speed") == 0) {
        speeds(false);
    }
    ecoi_backend_cuda.close(cuda_state);
    ecoi_backend_cpu.close(cpu_state);
    printf("%u cases, %u bad; largest relative error %.2e, tolerance %.0e (INT8 %.0e): %s\n",
           n_cases, n_bad, worst, tolerance, tolerance_int8, n_bad == 0 ? "PASS" : "FAIL");
    return n_bad == 0 ? 0 : 1;
}
