/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_cpu_decode [MODEL [LAYERS [THREADS [ROUNDS [BATCH [FORMAT]]]]]]: decodes on the CPU in every format, or in one, and prints
 * the bytes a token must read times tokens a second, as a share of what the same threads read from
 * memory; then, with a batch, the tokens a second of all its sequences and how many times those of one it is. Reading and decoding take turns, and the best round of each counts, so that a neighbour on
 * the machine spoils a round and not the result. Fewer layers than the model has make it fit a small
 * machine.
 */
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 16, TOKENS = 32, READ_UNITS = 16 };

typedef struct bench {
    const eco_model_shape *shape;
    long n_rounds;
    uint32_t n_batch;
    void *state;
    eco_error err;
} bench;

/* Units a second of one work; 0: it failed. */
static double rate_of(bench *b, void *arm, eco_work_kind kind, uint64_t n_units, double *bytes) {
    eco_work_result result = {0};
    const eco_work work = {.kind = kind, .n_units_max = n_units};
    if (ecoi_backend_cpu.work(arm, &work, &result, &b->err) != ECO_OK || result.busy_s <= 0.0) {
        return 0.0;
    }
    *bytes = result.unit_bytes;
    return (double)result.n_units / result.busy_s;
}

static eco_workload workload_of(const bench *b, eco_format format, uint32_t batch) {
    return (eco_workload){.shape = b->shape,
                          .linear = format,
                          .head = ECO_FORMAT_FP16,
                          .batch = batch,
                          .n_prompt = PROMPT,
                          .n_tokens = TOKENS,
                          .seed = 1,
                          .outlier_permille = 1};
}

/* Tokens a second of the best round, and in *read bytes a second of the best reading; 0: it failed. */
static double measure(bench *b, eco_format format, uint32_t batch, double *read) {
    const eco_workload workload = workload_of(b, format, batch);
    void *arm = NULL;
    if (ecoi_backend_cpu.model_open(b->state, &workload, &arm, &b->err) != ECO_OK) {
        return 0.0;
    }
    double tokens = 0.0;
    for (long i = 0; i < b->n_rounds; i++) {
        double unit_bytes = 0.0;
        const double units = rate_of(b, arm, ECO_WORK_READ, READ_UNITS, &unit_bytes);
        *read = units * unit_bytes > *read ? units * unit_bytes : *read;
        const double decoded =
            rate_of(b, arm, ECO_WORK_DECODE, (uint64_t)TOKENS * batch, &unit_bytes);
        tokens = decoded > tokens ? decoded : tokens;
    }
    ecoi_backend_cpu.model_close(arm);
    return tokens;
}

static int run(bench *b, eco_format format) {
    double read = 0.0;
    const double tokens = measure(b, format, 1, &read);
    if (read <= 0.0 || tokens <= 0.0) {
        return 1;
    }
    const double bytes = eco_model_token_bytes(b->shape, format, ECO_FORMAT_FP16,
                                               (double)PROMPT + (double)TOKENS / 2.0)
                             .total;
    (void)printf("%-8s %8.2f tokens/s %8.3f GB/token %8.2f GB/s of %.2f: %5.1f %%",
                 eco_format_at(format)->name, tokens, bytes * 1e-9, tokens * bytes * 1e-9,
                 read * 1e-9, 100.0 * tokens * bytes / read);
    if (b->n_batch > 1) {
        const double together = measure(b, format, b->n_batch, &read);
        (void)printf("; batch %u %8.2f tokens/s, %.2f times", b->n_batch, together,
                     together / tokens);
    }
    (void)printf("\n");
    return 0;
}

int main(int argc, char **argv) {
    const eco_model_shape *known = eco_model_find(argc > 1 ? argv[1] : "TinyLlama-1.1B");
    if (known == NULL) {
        (void)fprintf(stderr, "bench_cpu_decode: no model %s\n", argv[1]);
        return 2;
    }
    eco_model_shape shape = *known;
    const long n_layers = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const long n_threads = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    if (n_layers > 0) {
        shape.n_layers = (uint32_t)n_layers;
    }
    bench b = {.shape = &shape,
               .n_rounds = argc > 4 ? strtol(argv[4], NULL, 10) : 6,
               .n_batch = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 1};
    int failed = ecoi_backend_cpu.open("", (uint32_t)n_threads, &b.state, &b.err) != ECO_OK;
    if (!failed) {
        eco_engine_info info;
        ecoi_backend_cpu.describe(b.state, &info);
        (void)printf("%s, %s, %u layers, %s\n", info.device_name, info.detail, shape.n_layers,
                     shape.name);
    }
    int n_run = 0;
    for (eco_format format = ECO_FORMAT_FP16; !failed && format < ECO_FORMAT_COUNT; format++) {
        const int wanted = argc <= 6 || strcmp(eco_format_at(format)->name, argv[6]) == 0;
        n_run += wanted;
        failed = wanted && run(&b, format);
        (void)fflush(stdout);
    }
    if (failed) {
        (void)fprintf(stderr, "bench_cpu_decode: %s\n", b.err.message);
    } else if (n_run == 0) {
        (void)fprintf(stderr, "bench_cpu_decode: no format %s\n", argv[6]);
        failed = 2;
    }
    if (b.state != NULL) {
        ecoi_backend_cpu.close(b.state);
    }
    return failed;
}
