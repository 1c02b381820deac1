/* SPDX-License-Identifier: Apache-2.0
 *
 * device_kernels [tiny | cut | adversarial | adversarial-small | speed [FORMATS [MODELS]] | all]:
 * the CUDA backend against the CPU backend, on the GPU
 * that CUDA shows first. Logits after several numbers of tokens, for tiny odd shapes of each family
 * and for two-layer cuts of the models of the table at their true widths; the same with weights that no
 * model has (outliers, zeros, denormals, the largest numbers, one-hot rows) in each kind of matrix, one
 * sequence and five, twice with poisoned buffers, to the bit; then each kind of work for a moment. Device memory is NaN before it is filled (cuda_fill.c), so an
 * unwritten value shows. Exit 0: all within tolerance; 1: not; 77: no GPU, with the reason.
 */
#include "ecocompute/arch.h"
#include "kernels/kernels.h"
#include "kernels/synthetic.h"

#include "adversarial_weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tolerances are of ‖gpu − cpu‖ / ‖cpu‖ of the logits. Sums are ordered otherwise, and where that
 * moves an activation over a rounding boundary of FP16 it changes by 2^-11; a wrong kernel is off by
 * 0.1 to 1.4. */
enum { COUNTS = 3 };

/* What the persistent kernel multiplies with. An activation that another order of a sum moves over a
 * boundary changes its INT8 code. */
static const struct {
    eco_format format;
    double tolerance;
} formats[] = {{ECO_FORMAT_FP16, 2e-3},  {ECO_FORMAT_BF16, 2e-3}, {ECO_FORMAT_NF4, 2e-3},
               {ECO_FORMAT_W8A16, 2e-3}, {ECO_FORMAT_Q4_0, 2e-3}, {ECO_FORMAT_Q8_0, 2e-3},
               {ECO_FORMAT_FP8, 2e-3},   {ECO_FORMAT_INT8, 1e-2}, {ECO_FORMAT_NF4_DQ, 2e-3}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static double tolerance_of(eco_format format) {
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].format == format) {
            return formats[i].tolerance;
        }
    }
    return 0.0;
}

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

static uint32_t highest(const float *logits, uint32_t n) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

static void fail(const char *name, const char *what, const eco_error *err) {
    printf("FAIL  %-34s %s: %s\n", name, what, err->message);
    n_bad++;
}

static void compare(const char *name, const eco_workload *workload, void *cpu, void *cuda,
                    const uint32_t counts[COUNTS]) {
    const uint32_t n_vocab = workload->shape->n_vocab;
    float *want = calloc(n_vocab, sizeof *want);
    float *got = calloc(n_vocab, sizeof *got);
    uint32_t *tokens = calloc(counts[COUNTS - 1], sizeof *tokens);
    if (want == NULL || got == NULL || tokens == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < counts[COUNTS - 1]; i++) {
        tokens[i] = syn_prompt_token(workload->seed + 1, i, n_vocab);
    }
    for (uint32_t i = 0; i < COUNTS; i++) {
        eco_error err = {0};
        if (ecoi_backend_cpu.logits(cpu, tokens, counts[i], want, &err) != ECO_OK) {
            fail(name, "cpu logits", &err);
            continue;
        }
        if (ecoi_backend_cuda.logits(cuda, tokens, counts[i], got, &err) != ECO_OK) {
            fail(name, "cuda logits", &err);
            continue;
        }
        const double error = relative_error(got, want, n_vocab);
        const bool good = error <= tolerance_of(workload->linear);
        n_cases++;
        n_bad += good ? 0 : 1;
        worst = error <= worst ? worst : error;
        printf("%s  %-34s %-6s %5u tokens  %.2e of %.0e  %s\n", good ? "ok  " : "FAIL", name,
               eco_format_at(workload->linear)->name, counts[i], error,
               tolerance_of(workload->linear),
               highest(got, n_vocab) == highest(want, n_vocab) ? "same token" : "other token");
    }
    free(tokens);
    free(got);
    free(want);
}

static void run_case(const char *name, const eco_model_shape *shape, eco_format linear,
                     eco_format head, uint32_t n_positions, const uint32_t counts[COUNTS]) {
    const eco_workload workload = {.shape = shape,
                                   .linear = linear,
                                   .head = head,
                                   .batch = 1,
                                   .n_prompt = 1,
                                   .n_tokens = n_positions - 1,
                                   .seed = 20261130};
    void *cpu = NULL;
    void *cuda = NULL;
    eco_error err = {0};
    if (ecoi_backend_cpu.model_open(cpu_state, &workload, &cpu, &err) != ECO_OK) {
        fail(name, "cpu model", &err);
    } else if (ecoi_backend_cuda.model_open(cuda_state, &workload, &cuda, &err) != ECO_OK) {
        fail(name, "cuda model", &err);
    } else {
        compare(name, &workload, cpu, cuda, counts);
    }
    ecoi_backend_cuda.model_close(cuda);
    ecoi_backend_cpu.model_close(cpu);
    (void)fflush(stdout);
}

/* MARK: - Shapes */

/* layers, width, heads, KV heads, head, FFN, vocabulary */
static eco_model_shape tiny_shape(const char *name, const uint32_t n[7], bool tied, bool bias) {
    return (eco_model_shape){.name = name,
                             .hf_id = name,
                             .family = "test",
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

static void tiny_cases(bool is_long) {
    static const struct {
        const char *name;
        uint32_t n[7];
        bool tied, bias;
    } rows[] = {
        {"llama, odd rows", {2, 40, 5, 1, 8, 72, 301}, false, false},
        {"qwen2, tied, biases", {2, 72, 3, 3, 24, 104, 97}, true, true},
        {"mistral, head of 10", {2, 88, 6, 2, 10, 56, 61}, false, false},
        {"heads narrower than the model", {1, 136, 4, 2, 16, 200, 1009}, true, false},
        {"head of 64", {2, 192, 3, 1, 64, 264, 515}, false, true},
        {"head of 128, one row", {1, 256, 2, 1, 128, 1, 7}, true, true},
        {"head of 256", {1, 8, 1, 1, 256, 33, 11}, false, false},
        {"columns of nothing", {1, 33, 1, 1, 2, 65, 129}, true, true},
    };
    const uint32_t counts[COUNTS] = {1, 9, is_long ? 1300 : 200};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_model_shape shape =
            tiny_shape(rows[i].name, rows[i].n, rows[i].tied, rows[i].bias);
        const bool split = i % 2 == 1; /* attention split over positions */
        const uint32_t n_positions = split ? 1500 : is_long ? 1301 : 201;
        for (size_t f = 0; f < FORMATS; f++) {
            const eco_format head = i % 3 == 0 ? formats[f].format : ECO_FORMAT_FP16;
            run_case(rows[i].name, &shape, formats[f].format, head, n_positions, counts);
        }
    }
}

static uint32_t between(uint64_t *state, uint32_t low, uint32_t high) {
    *state += 0x9E3779B97F4A7C15ull;
    return low + (uint32_t)(syn_mix(*state) % (high - low + 1));
}

static void random_cases(uint32_t n) {
    uint64_t state = 7;
    for (uint32_t i = 0; i < n; i++) {
        char name[48];
        (void)snprintf(name, sizeof name, "random %u", i);
        const uint32_t n_kv = between(&state, 1, 3);
        const uint32_t d[7] = {between(&state, 1, 3),        8 * between(&state, 1, 40),
                               n_kv * between(&state, 1, 4), n_kv,
                               2 * between(&state, 1, 40),   between(&state, 1, 400),
                               between(&state, 7, 900)};
        const bool tied = between(&state, 0, 1) == 1;
        const bool bias = between(&state, 0, 1) == 1;
        const eco_model_shape shape = tiny_shape(name, d, tied, bias);
        const uint32_t counts[COUNTS] = {1, 2, between(&state, 3, 20)};
        for (size_t f = 0; f < FORMATS; f++) {
            run_case(name, &shape, formats[f].format, ECO_FORMAT_FP16, between(&state, 40, 1200),
                     counts);
        }
    }
}

/* Two layers at true widths; the vocabulary is cut, but for the smallest models, to keep the CPU's
 * part short. */
static void cut_cases(void) {
    const uint32_t counts[COUNTS] = {1, 7, 24};
    for (size_t i = 0; i < eco_model_count(); i++) {
        eco_model_shape shape = *eco_model_at(i);
        shape.n_layers = 2;
        if (shape.d_model > 1024) {
            shape.n_vocab = 4099;
        }
        for (size_t f = 0; f < FORMATS; f++) {
            run_case(shape.name, &shape, formats[f].format, ECO_FORMAT_FP16, 384, counts);
        }
    }
}

/* MARK: - Adversarial weights */

enum { ADV_TOKENS = 4, ADV_BATCH = 5 };

/* Two runs that begin with NaN everywhere give the same bits; the logits of the second are left in `got`. */
static bool run_twice(void *cuda, const uint32_t *tokens, size_t n_logits, float *first, float *got,
                      eco_error *err) {
    for (int run = 0; run < 2; run++) {
        memset(got, 0xff, n_logits * sizeof *got);
        if (!adv_poison(cuda)) {
            (void)eco_error_set(err, ECO_E_FAILED, 0, "the buffers could not be poisoned");
            return false;
        }
        if (ecoi_backend_cuda.logits(cuda, tokens, ADV_TOKENS, got, err) != ECO_OK) {
            return false;
        }
        if (run == 0) {
            memcpy(first, got, n_logits * sizeof *got);
        }
    }
    if (memcmp(first, got, n_logits * sizeof *got) != 0) {
        (void)eco_error_set(err, ECO_E_FAILED, 0, "two runs differ");
        return false;
    }
    return true;
}

/* Of zeros the error is 0 or everything. */
static double adversarial_error(const float *got, const float *want, size_t n) {
    double size = 0.0;
    double off = 0.0;
    for (size_t i = 0; i < n; i++) {
        size += fabs((double)want[i]);
        off += fabs((double)got[i]);
    }
    return size > 0.0 ? relative_error(got, want, (uint32_t)n) : off;
}

static void adversarial_model(const char *name, const eco_workload *workload, void *cpu,
                              void *cuda) {
    const size_t n = (size_t)workload->batch * workload->shape->n_vocab;
    float *want = calloc(3 * n, sizeof *want);
    uint32_t tokens[ADV_BATCH * ADV_TOKENS];
    if (want == NULL) {
        abort();
    }
    for (uint32_t i = 0; i < ADV_BATCH * ADV_TOKENS; i++) {
        tokens[i] = syn_prompt_token(5, i, workload->shape->n_vocab);
    }
    eco_cpu_model *model = (eco_cpu_model *)(uintptr_t)ecoi_cpu_arm_model(cpu);
    for (int p = 0; p < ADV_PATTERNS; p++) {
        for (int t = 0; t < ADV_TARGETS; t++) {
            char what[96];
            eco_error err = {0};
            const adv_pattern pattern = (adv_pattern)p;
            const adv_target target = (adv_target)t;
            if (!adv_applies(pattern, target)) {
                continue;
            }
            (void)snprintf(what, sizeof what, "%s x%u %s", adv_names[p], workload->batch,
                           adv_targets[t]);
            if (!adv_store_all(cuda, model, pattern, target) ||
                ecoi_backend_cpu.logits(cpu, tokens, ADV_TOKENS, want, &err) != ECO_OK ||
                !run_twice(cuda, tokens, n, want + n, want + 2 * n, &err)) {
                fail(name, what, &err);
            } else {
                const double error = adversarial_error(want + 2 * n, want, n);
                const bool good = error <= tolerance_of(workload->linear);
                n_bad += good ? 0 : 1;
                worst = error <= worst ? worst : error;
                printf("%s  %-34s %-6s %-24s %.2e of %.0e\n", good ? "ok  " : "FAIL", name,
                       eco_format_at(workload->linear)->name, what, error,
                       tolerance_of(workload->linear));
            }
            n_cases++;
            /* The next kind of matrix stands alone again. */
            (void)adv_store_all(cuda, model, ADV_ONE_HOT, target);
        }
    }
    free(want);
    (void)fflush(stdout);
}

/* Odd sizes; every matrix starts out one-hot, so that one kind at a time is at its worst. */
static void adversarial_cases(bool is_small) {
    static const struct {
        const char *name;
        uint32_t n[7];
        bool bias;
    } rows[] = {{"columns of nothing", {1, 33, 1, 1, 2, 65, 67}, true},
                {"blocks and a rest", {1, 136, 4, 2, 16, 200, 77}, true},
                {"odd rows", {2, 40, 5, 1, 8, 72, 301}, false}};
    const uint32_t batch_max = is_small ? 1 : ADV_BATCH;
    for (size_t i = 0; i < (is_small ? 1 : sizeof rows / sizeof rows[0]); i++) {
        const eco_model_shape shape = tiny_shape(rows[i].name, rows[i].n, false, rows[i].bias);
        for (size_t f = 0; f < FORMATS; f++) {
            for (uint32_t batch = 1; batch <= batch_max; batch += ADV_BATCH - 1) {
                const eco_workload workload = {.shape = &shape,
                                               .linear = formats[f].format,
                                               .head = formats[f].format,
                                               .batch = batch,
                                               .n_prompt = 4,
                                               .n_tokens = 60,
                                               .seed = 3};
                void *cpu = NULL;
                void *cuda = NULL;
                eco_error err = {0};
                if (ecoi_backend_cpu.model_open(cpu_state, &workload, &cpu, &err) != ECO_OK ||
                    ecoi_backend_cuda.model_open(cuda_state, &workload, &cuda, &err) != ECO_OK) {
                    fail(rows[i].name, eco_format_at(workload.linear)->name, &err);
                } else {
                    adversarial_model(rows[i].name, &workload, cpu, cuda);
                }
                ecoi_backend_cuda.model_close(cuda);
                ecoi_backend_cpu.model_close(cpu);
            }
        }
    }
}

/* MARK: - Work */

static void run_work(void *model, const char *name, eco_work_kind kind, uint64_t n_units) {
    static const char *const kinds[] = {"decode", "generation", "prefill", "read", "launch"};
    const int stop = 0;
    const eco_work work = {.kind = kind, .stop = &stop, .n_units_max = n_units};
    eco_work_result result = {0};
    eco_error err = {0};
    if (ecoi_backend_cuda.work(model, &work, &result, &err) != ECO_OK) {
        fail(name, kinds[kind], &err);
        return;
    }
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    const bool exact =
        *info.progress == 0 && result.n_units >= n_units &&
        (kind == ECO_WORK_LAUNCH ? result.n_units < n_units + 256 : result.n_units == n_units);
    n_cases++;
    n_bad += exact ? 0 : 1;
    const double each_us = result.busy_s / (double)result.n_units * 1e6;
    printf("%s  %-34s %-10s %8llu units  %10.2f us each", exact ? "ok  " : "FAIL", name,
           kinds[kind], (unsigned long long)result.n_units, each_us);
    if (kind == ECO_WORK_READ) {
        printf("  %.3f TB/s", result.unit_bytes / each_us * 1e-6);
    } else if (kind != ECO_WORK_LAUNCH) {
        printf("  %.1f /s, weights at %.3f TB/s", 1e6 / each_us,
               (double)info.weight_bytes / each_us * 1e-6);
    }
    printf("\n");
    (void)fflush(stdout);
}

static void speed(const char *name, eco_format format, uint64_t n_units) {
    const eco_model_shape *shape = eco_model_find(name);
    char title[64];
    (void)snprintf(title, sizeof title, "%s %s", name, eco_format_at(format)->name);
    const eco_workload workload = {.shape = shape,
                                   .linear = format,
                                   .head = ECO_FORMAT_FP16,
                                   .batch = 1,
                                   .n_prompt = 128,
                                   .n_tokens = 256,
                                   .seed = 1};
    void *model = NULL;
    eco_error err = {0};
    if (shape == NULL ||
        ecoi_backend_cuda.model_open(cuda_state, &workload, &model, &err) != ECO_OK) {
        fail(title, "model", &err);
        return;
    }
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    printf("      %-34s prepared in %.3f s, %llu bytes, %u launches a token\n", title,
           info.prepare_s, (unsigned long long)info.device_bytes, info.launches_per_token);
    run_work(model, title, ECO_WORK_DECODE, n_units);
    run_work(model, title, ECO_WORK_DECODE, n_units);
    if (format == ECO_FORMAT_FP16) {
        run_work(model, title, ECO_WORK_READ, 200);
        run_work(model, title, ECO_WORK_LAUNCH, 20000);
    }
    ecoi_backend_cuda.model_close(model);
}

static void open_or_exit(void) {
    char reason[ECO_ERROR_MESSAGE_MAX] = "";
    eco_error err = {0};
    if (!ecoi_backend_cuda.usable(reason, sizeof reason)) {
        printf("skip: no usable GPU: %s\n", reason);
        exit(77);
    }
    if (ecoi_backend_cuda.open(NULL, 0, &cuda_state, &err) != ECO_OK) {
        printf("FAIL  opening the GPU: %s\n", err.message);
        exit(1);
    }
    if (ecoi_backend_cpu.open(NULL, 0, &cpu_state, &err) != ECO_OK) {
        printf("FAIL  opening the CPU: %s\n", err.message);
        exit(1);
    }
    eco_engine_info info;
    ecoi_backend_cuda.describe(cuda_state, &info);
    printf("%s, %s, PCI %s\n%s\nlibrary %s, opened in %.3f s, compiled in %.3f s\n",
           info.device_name, info.boundary.uuid, info.boundary.pci_bus_id, info.detail,
           info.library_path, info.open_s, info.compile_s);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    const bool all = strcmp(what, "all") == 0;
    open_or_exit();
    if (all || strcmp(what, "tiny") == 0) {
        tiny_cases(all);
        random_cases(all ? 24 : 4);
    }
    if (all || strcmp(what, "cut") == 0) {
        cut_cases();
    }
    const bool is_small = strcmp(what, "adversarial-small") == 0; /* for an emulated GPU */
    if (all || is_small || strcmp(what, "adversarial") == 0) {
        adversarial_cases(is_small);
    }
    if (all || strcmp(what, "speed") == 0) {
        static const char *const names[] = {"Qwen2-0.5B", "TinyLlama-1.1B", "Qwen2-7B"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            for (size_t f = 0; f < FORMATS; f++) {
                if ((argc > 2 && strstr(argv[2], eco_format_at(formats[f].format)->name) == NULL) ||
                    (argc > 3 && strstr(argv[3], names[i]) == NULL)) {
                    continue;
                }
                speed(names[i], formats[f].format, i == 2 ? 300 : 1500);
            }
        }
    }
    ecoi_backend_cuda.close(cuda_state);
    ecoi_backend_cpu.close(cpu_state);
    printf("%u cases, %u bad; largest relative error %.2e: %s\n", n_cases, n_bad, worst,
           n_bad == 0 && n_cases > 0 ? "PASS" : "FAIL");
    return n_bad == 0 && n_cases > 0 ? 0 : 1;
}
