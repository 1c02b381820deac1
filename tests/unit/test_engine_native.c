/* SPDX-License-Identifier: Apache-2.0
 *
 * The native engine through its public interface, on the CPU: every argument that can be wrong, the
 * same logits from any number of threads, progress seen by another thread, and stop obeyed at the
 * next unit.
 */
#include "ecocompute/engine.h"

#include "test_helpers.h"

#include <pthread.h>
#include <string.h>

static const eco_model_shape tiny = {.name = "tiny",
                                     .hf_id = "test/tiny",
                                     .family = "qwen2",
                                     .n_layers = 2,
                                     .d_model = 60,
                                     .n_heads = 6,
                                     .n_kv_heads = 2,
                                     .d_head = 10,
                                     .d_ff = 75,
                                     .n_vocab = 101,
                                     .n_positions_max = 24,
                                     .tied_embeddings = true,
                                     .qkv_bias = true,
                                     .rope_theta = 1e6,
                                     .norm_eps = 1e-6};

static const eco_workload plain = {.shape = &tiny,
                                   .linear = ECO_FORMAT_NF4,
                                   .head = ECO_FORMAT_FP16,
                                   .batch = 1,
                                   .n_prompt = 5,
                                   .n_tokens = 6,
                                   .seed = 9};

static eco_engine *open_cpu(uint32_t n_threads) {
    const eco_engine_options options = {.name = "native", .device = "cpu", .n_threads = n_threads};
    eco_engine *engine = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_engine_open(&options, &engine, &err), &err);
    return engine;
}

static eco_arm *open_arm(eco_engine *engine, const eco_workload *workload) {
    eco_arm *arm = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_arm_open(engine, workload, &arm, &err), &err);
    return arm;
}

/* ---- registry and device strings ---- */

static void test_probe(void **state) {
    (void)state;
    assert_int_equal(eco_engine_count(), 1);
    eco_engine_status status;
    eco_engine_probe(0, &status);
    assert_string_equal(status.name, "native");
    assert_true(strlen(status.summary) > 0);
    assert_true(status.cpu_usable);
    assert_true(strlen(status.cuda_reason) > 0);
    assert_true(status.cpu_formats[ECO_FORMAT_NF4]);
    eco_engine_name(0, &status);
    assert_string_equal(status.name, "native");
    assert_true(status.cuda_formats[ECO_FORMAT_NF4]);
    assert_string_equal(status.cuda_reason, ""); /* nothing was looked at */
    eco_engine_probe(1, &status);
    assert_string_equal(status.name, "");
    assert_false(status.cpu_usable);
}

static void check_open_refused(const char *name, const char *device, eco_status want,
                               const char *mentions) {
    const eco_engine_options options = {.name = name, .device = device, .n_threads = 1};
    eco_error err = {0};
    eco_engine *engine = NULL;
    const eco_status got = eco_engine_open(&options, &engine, &err);
    if (got != want || strstr(err.message, mentions) == NULL) {
        fail_msg("engine %s, device %s: status %d, \"%s\"; want %d and \"%s\"", name, device,
                 (int)got, err.message, (int)want, mentions);
    }
    assert_null(engine);
}

static void test_open_refuses(void **state) {
    (void)state;
    check_open_refused("nativ", "cpu", ECO_E_USAGE, "did you mean \"native\"");
    check_open_refused("zebra", "cpu", ECO_E_USAGE, "unknown engine \"zebra\"");
    check_open_refused("", "cpu", ECO_E_USAGE, "unknown engine");
    check_open_refused("native", "cuad", ECO_E_USAGE, "did you mean cuda");
    check_open_refused("native", "gpu", ECO_E_USAGE, "\"gpu\"");
    check_open_refused("native", "cpu:1", ECO_E_USAGE, "\"cpu:1\"");
    static const char *const malformed[] = {"cuda:",     "cuda:1x",    "cuda:-1", "cuda:12345",
                                            "cuda:GPU-", "cuda:gpu-1", "cuda1"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        check_open_refused("native", malformed[i], ECO_E_USAGE, malformed[i]);
    }
    eco_error err = {0};
    eco_engine *engine = NULL;
    assert_int_equal(eco_engine_open(NULL, &engine, &err), ECO_E_USAGE);
    const eco_engine_options no_name = {.device = "cpu"};
    assert_int_equal(eco_engine_open(&no_name, &engine, &err), ECO_E_USAGE);
    assert_int_equal(eco_engine_open(&no_name, NULL, NULL), ECO_E_USAGE);
    const eco_engine_options too_many = {.name = "native", .device = "cpu", .n_threads = 100000};
    assert_int_equal(eco_engine_open(&too_many, &engine, &err), ECO_E_RANGE);
    assert_null(engine);
    eco_engine_close(NULL);
    eco_arm_close(NULL);
}

static void test_describe(void **state) {
    (void)state;
    eco_engine *engine = open_cpu(2);
    eco_engine_info info;
    eco_engine_describe(engine, &info);
    assert_string_equal(info.name, "native");
    assert_int_equal(info.boundary.kind, ECO_BOUNDARY_CPU_PACKAGE);
    assert_true(strlen(info.device_name) > 0);
    assert_non_null(strstr(info.detail, "2 threads"));
    assert_string_equal(info.library_path, "");
    assert_true(info.memory_total_bytes >= info.memory_free_bytes);
    eco_arm *arm = open_arm(engine, &plain);
    eco_arm_info arm_info;
    eco_arm_describe(arm, &arm_info);
    assert_string_equal(arm_info.prefill_method, "token-by-token");
    assert_int_equal(arm_info.launches_per_token, 0);
    assert_int_equal(arm_info.device_bytes, eco_arm_bytes(engine, &plain));
    assert_true(arm_info.weight_bytes < arm_info.device_bytes);
    assert_int_equal(*arm_info.progress, 0);
    eco_arm_close(arm);
    eco_engine_close(engine);
}

/* ---- workloads ---- */

static void check_arm_refused(const eco_workload *workload, eco_status want, const char *mentions) {
    eco_engine *engine = open_cpu(1);
    eco_error err = {0};
    eco_arm *arm = NULL;
    const eco_status got = eco_arm_open(engine, workload, &arm, &err);
    if (got != want || strstr(err.message, mentions) == NULL) {
        fail_msg("status %d, \"%s\"; want %d and \"%s\"", (int)got, err.message, (int)want,
                 mentions);
    }
    assert_null(arm);
    assert_int_equal(eco_arm_bytes(engine, workload), 0);
    eco_engine_close(engine);
}

static void test_workload_refused(void **state) {
    (void)state;
    eco_workload w = plain;
    w.batch = 65;
    check_arm_refused(&w, ECO_E_RANGE, "batch 65 is not 1 to 64");
    w = plain;
    w.n_tokens = 20; /* 5 + 20 positions of 24 */
    check_arm_refused(&w, ECO_E_RANGE, "25 positions");
    w = plain;
    w.n_prompt = 0;
    check_arm_refused(&w, ECO_E_RANGE, "at least 1");
    w = plain;
    w.n_prompt = UINT32_MAX;
    check_arm_refused(&w, ECO_E_RANGE, "4294967301 positions");
    w = plain;
    w.linear = ECO_FORMAT_COUNT;
    check_arm_refused(&w, ECO_E_USAGE, "format");
    w = plain;
    w.shape = NULL;
    check_arm_refused(&w, ECO_E_USAGE, "model");
    check_arm_refused(NULL, ECO_E_USAGE, "workload");
}

static void test_shape_refused(void **state) {
    (void)state;
    eco_model_shape shape = tiny;
    eco_workload w = plain;
    w.shape = &shape;
    shape.d_head = 9;
    check_arm_refused(&w, ECO_E_RANGE, "d_head is 9, not even");
    shape = tiny;
    shape.n_kv_heads = 4;
    check_arm_refused(&w, ECO_E_RANGE, "6 heads do not share 4");
    shape = tiny;
    shape.d_ff = 0;
    check_arm_refused(&w, ECO_E_RANGE, "d_ff is 0");
    shape = tiny;
    shape.n_vocab = UINT32_MAX;
    check_arm_refused(&w, ECO_E_RANGE, "n_vocab");
    shape = tiny;
    shape.norm_eps = 0.0;
    check_arm_refused(&w, ECO_E_RANGE, "norm_eps");
}

/* ---- work ---- */

static void test_work_refuses(void **state) {
    (void)state;
    eco_engine *engine = open_cpu(1);
    eco_arm *arm = open_arm(engine, &plain);
    eco_error err = {0};
    eco_work_result result;
    const eco_work endless = {.kind = ECO_WORK_DECODE};
    assert_int_equal(eco_arm_work(arm, &endless, &result, &err), ECO_E_USAGE);
    const eco_work unknown = {.kind = (eco_work_kind)17, .n_units_max = 1};
    assert_int_equal(eco_arm_work(arm, &unknown, &result, &err), ECO_E_USAGE);
    const eco_work one = {.kind = ECO_WORK_DECODE, .n_units_max = 1};
    assert_int_equal(eco_arm_work(NULL, &one, &result, &err), ECO_E_USAGE);
    assert_int_equal(eco_arm_work(arm, NULL, &result, &err), ECO_E_USAGE);
    assert_int_equal(eco_arm_work(arm, &one, NULL, &err), ECO_E_USAGE);
    float logits[101];
    const uint32_t bad = 101;
    assert_int_equal(eco_arm_logits(arm, &bad, 1, logits, &err), ECO_E_RANGE);
    assert_int_equal(eco_arm_logits(arm, &bad, 0, logits, &err), ECO_E_USAGE);
    assert_int_equal(eco_arm_logits(arm, NULL, 1, logits, &err), ECO_E_USAGE);
    eco_arm_close(arm);
    eco_engine_close(engine);
}

static void test_logits_do_not_depend_on_threads_or_history(void **state) {
    (void)state;
    const uint32_t tokens[6] = {4, 100, 0, 55, 4, 4};
    float first[101];
    float again[101];
    eco_error err = {0};
    for (uint32_t n = 1; n <= 3; n++) {
        eco_engine *engine = open_cpu(n);
        eco_arm *arm = open_arm(engine, &plain);
        ASSERT_OK(eco_arm_logits(arm, tokens, 6, n == 1 ? first : again, &err), &err);
        eco_work_result result;
        const eco_work work = {.kind = ECO_WORK_DECODE, .n_units_max = 8};
        ASSERT_OK(eco_arm_work(arm, &work, &result, &err),
                  &err); /* leaves another sequence in the cache */
        ASSERT_OK(eco_arm_logits(arm, tokens, 6, again, &err), &err);
        assert_memory_equal(again, first, sizeof first);
        eco_arm_close(arm);
        eco_engine_close(engine);
    }
    eco_workload other = plain;
    other.seed = 10;
    eco_engine *engine = open_cpu(1);
    eco_arm *arm = open_arm(engine, &other);
    ASSERT_OK(eco_arm_logits(arm, tokens, 6, again, &err), &err);
    assert_memory_not_equal(again, first, sizeof first);
    eco_arm_close(arm);
    eco_engine_close(engine);
}

/* Waits for progress to reach a number, then stops the work. */
typedef struct watcher {
    const uint64_t *progress;
    uint64_t wanted, seen;
    int stop;
    bool went_back;
} watcher;

static void *watch(void *argument) {
    watcher *w = argument;
    uint64_t last = 0;
    while (last < w->wanted) {
        const uint64_t now = __atomic_load_n(w->progress, __ATOMIC_ACQUIRE);
        w->went_back = w->went_back || now < last;
        last = now;
    }
    w->seen = last;
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void test_stop_and_progress(void **state) {
    (void)state;
    eco_engine *engine = open_cpu(2);
    eco_arm *arm = open_arm(engine, &plain);
    eco_arm_info info;
    eco_arm_describe(arm, &info);
    static const eco_work_kind kinds[] = {ECO_WORK_DECODE, ECO_WORK_GENERATION, ECO_WORK_PREFILL,
                                          ECO_WORK_LAUNCH};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        watcher w = {.progress = info.progress, .wanted = 40};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
        const eco_work work = {.kind = kinds[i], .stop = &w.stop};
        eco_work_result result;
        eco_error err = {0};
        ASSERT_OK(eco_arm_work(arm, &work, &result, &err), &err);
        pthread_join(thread, NULL);
        assert_false(w.went_back);
        assert_true(w.seen >= 40);
        assert_true(result.n_units >= w.seen);
        assert_true(result.busy_s > 0.0);
        assert_int_equal(*info.progress, 0);
        ASSERT_OK(eco_arm_work(arm, &work, &result, &err), &err); /* stop is still set */
        assert_int_equal(result.n_units, 0);
    }
    eco_arm_close(arm);
    eco_engine_close(engine);
}

static void test_auto_opens(void **state) {
    (void)state;
    static const char *const devices[] = {NULL, "", "auto"};
    eco_engine_status status;
    eco_engine_probe(0, &status);
    for (size_t i = 0; i < 3; i++) {
        const eco_engine_options options = {.name = "native", .device = devices[i]};
        eco_engine *engine = NULL;
        eco_error err = {0};
        ASSERT_OK(eco_engine_open(&options, &engine, &err), &err);
        eco_engine_info info;
        eco_engine_describe(engine, &info);
        assert_int_equal(info.boundary.kind,
                         status.cuda_usable ? ECO_BOUNDARY_GPU : ECO_BOUNDARY_CPU_PACKAGE);
        eco_engine_close(engine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_open_refuses),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_workload_refused),
        cmocka_unit_test(test_shape_refused),
        cmocka_unit_test(test_work_refuses),
        cmocka_unit_test(test_logits_do_not_depend_on_threads_or_history),
        cmocka_unit_test(test_stop_and_progress),
        cmocka_unit_test(test_auto_opens),
    };
    return cmocka_run_group_tests_name("engine_native", tests, NULL, NULL);
}
