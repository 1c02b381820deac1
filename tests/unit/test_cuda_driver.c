/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA backend through its real dlopen path, on a scripted driver: which device it takes, what it says when
 * something is wrong, that work is counted and timed, and that a lost device ends in one line and no hang.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "fake_driver.h"
#include "kernels/cuda_driver.h"
#include "kernels/kernels.h"
#include "sys/clock.h"

#include <pthread.h>

static eco_error error;

static const eco_model_shape shape = {.name = "tiny",
                                      .hf_id = "test/tiny",
                                      .family = "llama",
                                      .params_b = 0.001,
                                      .n_layers = 3,
                                      .d_model = 64,
                                      .n_heads = 4,
                                      .n_kv_heads = 2,
                                      .d_head = 16,
                                      .d_ff = 96,
                                      .n_vocab = 100,
                                      .n_positions_max = 4096,
                                      .rope_theta = 10000.0,
                                      .norm_eps = 1e-5};

static eco_workload workload(eco_format linear) {
    return (eco_workload){.shape = &shape,
                          .linear = linear,
                          .head = ECO_FORMAT_FP16,
                          .batch = 1,
                          .n_prompt = 8,
                          .n_tokens = 16,
                          .seed = 1};
}

static void assert_says(const char *part) {
    if (strstr(error.message, part) == NULL) {
        print_error("message '%s' does not hold '%s'\n", error.message, part);
        fail();
    }
    assert_null(strchr(error.message, '\n'));
}

static void *open_gpu(const char *selector) {
    void *device = NULL;
    ASSERT_OK(ecoi_backend_cuda.open(selector, 0, &device, &error), &error);
    return device;
}

static eco_status open_fails(const char *selector) {
    void *device = &error;
    memset(&error, 0, sizeof error);
    const eco_status status = ecoi_backend_cuda.open(selector, 0, &device, &error);
    assert_null(device);
    assert_int_not_equal(status, ECO_OK);
    assert_int_equal(status, error.code);
    return status;
}

static void *open_model(void *device, eco_format linear) {
    const eco_workload work = workload(linear);
    void *model = NULL;
    ASSERT_OK(ecoi_backend_cuda.model_open(device, &work, &model, &error), &error);
    return model;
}

static eco_engine_info describe(void *device) {
    eco_engine_info info;
    ecoi_backend_cuda.describe(device, &info);
    return info;
}

static void assert_uuid(const char *selector, const char *uuid, uint32_t index) {
    void *device = open_gpu(selector);
    const eco_engine_info info = describe(device);
    assert_string_equal(info.boundary.uuid, uuid);
    assert_int_equal(info.cuda_index, index);
    ecoi_backend_cuda.close(device);
}

static void test_devices_are_found_by_ordinal_and_uuid(void **state) {
    (void)state;
    fake_driver_start("devices 2\ncuda_order \"1 0\"\nname.0 Zero\nname.1 One\ncc.1 8.0\n");
    assert_uuid(NULL, FAKE_UUID_1, 0);
    assert_uuid("", FAKE_UUID_1, 0);
    assert_uuid("1", FAKE_UUID_0, 1);
    assert_uuid(FAKE_UUID_1, FAKE_UUID_1, 0);
    assert_uuid("gpu-FA4E0000-0000-0000-0000-000000000000", FAKE_UUID_0, 1);
    void *device = open_gpu("0");
    const eco_engine_info info = describe(device);
    assert_string_equal(info.device_name, "One");
    assert_string_equal(info.boundary.pci_bus_id, "0000:01:00.0");
    assert_int_equal(info.boundary.kind, ECO_BOUNDARY_GPU);
    assert_non_null(strstr(info.detail, "CUDA driver API 13.0"));
    assert_non_null(strstr(info.detail, "capability 8.0"));
    assert_non_null(strstr(info.library_path, "libcuda.so.1"));
    assert_false(info.library_known);
    assert_true(info.memory_free_bytes < info.memory_total_bytes);
    ecoi_backend_cuda.close(device);

    assert_int_equal(open_fails("GPU-fa4e"), ECO_E_USAGE);
    assert_says("beginning of 2 UUIDs");
    assert_int_equal(open_fails("GPU-1111"), ECO_E_NOT_FOUND);
    assert_says("'GPU-1111' among the 2 visible");
    assert_int_equal(open_fails("2"), ECO_E_NOT_FOUND);
    assert_says("no device 2");
    assert_int_equal(open_fails("first"), ECO_E_USAGE);
    assert_int_equal(open_fails("99999999999"), ECO_E_USAGE);
}

/* A card in MIG mode has its instance's UUID; whether the name says GPU or MIG, it is the UUID that counts. */
static void test_an_instance_is_found_by_its_uuid(void **state) {
    (void)state;
    fake_driver_start("devices 2\nmig.1 on\nmig_uuid.1 MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f\n");
    assert_uuid("MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f",
                "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 1);
    assert_uuid("mig-5C89", "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 1);
    assert_int_equal(open_fails("MIG-5c89852c-0000-0000-0000-000000000000"), ECO_E_NOT_FOUND);
    assert_says("among the 2 visible; of a MIG card CUDA shows one instance");
    assert_int_equal(open_fails("MIG-" FAKE_UUID_1 "/1/0"), ECO_E_NOT_FOUND);
    assert_says("CUDA_VISIBLE_DEVICES names");
}

static void test_visible_devices_are_obeyed(void **state) {
    (void)state;
    fake_driver_start("devices 2\n");
    (void)setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_uuid("0", FAKE_UUID_1, 0);
    assert_int_equal(open_fails("1"), ECO_E_NOT_FOUND);
    assert_says("CUDA_VISIBLE_DEVICES=1");
    (void)setenv("CUDA_VISIBLE_DEVICES", FAKE_UUID_1 "," FAKE_UUID_0, 1);
    assert_uuid("1", FAKE_UUID_0, 1);
    (void)setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(open_fails(NULL), ECO_E_NOT_FOUND);
    assert_says("CUDA_ERROR_NO_DEVICE 100");
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_unusable_drivers_say_why(void **state) {
    (void)state;
    static const struct {
        const char *script, *says;
        eco_status status;
    } rows[] = {
        {"no_device 1\n", "CUDA_ERROR_NO_DEVICE 100", ECO_E_NOT_FOUND},
        {"init_code 34\n", "stub library, not a driver", ECO_E_UNSUPPORTED},
        {"init_code 803\n", "differ in version", ECO_E_UNSUPPORTED},
        {"init_code 804\n", "forward-compatibility", ECO_E_UNSUPPORTED},
        {"init_code 12345\n", "unnamed error 12345", ECO_E_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[ECO_ERROR_MESSAGE_MAX] = "";
        fake_driver_start(rows[i].script);
        assert_int_equal(open_fails(NULL), rows[i].status);
        assert_says(rows[i].says);
        assert_false(ecoi_backend_cuda.usable(reason, sizeof reason));
        assert_string_equal(reason, error.message);
    }
    char reason[ECO_ERROR_MESSAGE_MAX] = "";
    fake_driver_start("devices 1\n");
    assert_true(ecoi_backend_cuda.usable(reason, sizeof reason));
    assert_non_null(strstr(reason, "1 device through "));
    fake_driver_start("retain_code 46\n");
    assert_int_equal(open_fails(NULL), ECO_E_BUSY);
    assert_says("CUDA_ERROR_DEVICE_UNAVAILABLE 46");
    fake_driver_start("refuse_ptx 1\n");
    assert_int_equal(open_fails(NULL), ECO_E_UNSUPPORTED);
    assert_says("compiling kernels 'decode': ptxas application ptx input, line 5; fatal   : "
                "Unsupported .version");
    assert_says("CUDA_ERROR_UNSUPPORTED_PTX_VERSION 222");
    assert_int_equal(error.native, CU_ERROR_UNSUPPORTED_PTX_VERSION);
    fake_driver_start("cc 6.1\n");
    assert_int_equal(open_fails(NULL), ECO_E_UNSUPPORTED);
    assert_says("6.1");
}

static void test_memory_exhausted_names_the_bytes(void **state) {
    (void)state;
    fake_driver_start("oom_at_bytes 100000\n");
    void *device = open_gpu(NULL);
    const eco_workload work = workload(ECO_FORMAT_FP16);
    const uint64_t bytes = ecoi_backend_cuda.model_bytes(device, &work);
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "tiny wants %llu bytes", (unsigned long long)bytes);
    void *model = &error;
    assert_int_equal(ecoi_backend_cuda.model_open(device, &work, &model, &error),
                     ECO_E_DEVICE_MEMORY);
    assert_null(model);
    assert_says(wanted);
    assert_says("has 100000 free");
    ecoi_backend_cuda.close(device);

    /* Memory comes back when a model is closed: room for one, never for two. */
    char script[64];
    (void)snprintf(script, sizeof script, "oom_at_bytes %llu\n",
                   (unsigned long long)(bytes * 3 / 2));
    fake_driver_start(script);
    device = open_gpu(NULL);
    model = open_model(device, ECO_FORMAT_FP16);
    void *second = NULL;
    assert_int_equal(ecoi_backend_cuda.model_open(device, &work, &second, &error),
                     ECO_E_DEVICE_MEMORY);
    assert_null(second);
    ecoi_backend_cuda.model_close(model);
    model = open_model(device, ECO_FORMAT_FP16);
    ecoi_backend_cuda.model_close(model);
    ecoi_backend_cuda.close(device);
}

static void test_bytes_and_launches_are_those_of_the_model(void **state) {
    (void)state;
    fake_driver_start("devices 1\n");
    void *device = open_gpu(NULL);
    static const eco_format formats[] = {ECO_FORMAT_FP16, ECO_FORMAT_NF4};
    for (size_t i = 0; i < 2; i++) {
        const eco_format format = formats[i];
        const eco_workload work = workload(format);
        void *model = open_model(device, format);
        eco_arm_info info;
        ecoi_backend_cuda.model_describe(model, &info);
        assert_int_equal(info.device_bytes, ecoi_backend_cuda.model_bytes(device, &work));
        assert_int_equal(info.launches_per_token,
                         format == ECO_FORMAT_FP16 ? 2 : 3); /* the head apart */
        const double linear = (double)eco_model_n_linear_params(&shape);
        const double rest = (double)eco_model_n_params(&shape) - linear;
        /* Rows are 64 or 96 wide: NF4 has 0.5 bytes and an absmax for each 64 or 48 of them. */
        const double expected =
            format == ECO_FORMAT_FP16 ? 2 * (linear + rest) : 0.5 * linear + 2 * rest + linear / 16;
        ASSERT_NEAR_REL((double)info.weight_bytes, expected, 0.15);
        assert_string_equal(info.prefill_method, "batched, chunks of 64");
        assert_int_equal(*info.progress, 0);
        ecoi_backend_cuda.model_close(model);
    }
    ecoi_backend_cuda.close(device);
}

/* Steps of 2 ms end on an absolute schedule: n of them never take less than 2n ms, and hardly more. */
static void assert_timed(void *model, eco_work_kind kind, uint64_t n_units, double expected_s) {
    /* Prompts of 8 go in one piece, which is not divided. */
    const bool by_chunks = kind == ECO_WORK_GENERATION || kind == ECO_WORK_PREFILL;
    const eco_work work = {.kind = kind, .n_units_max = by_chunks ? n_units - 6 : n_units};
    eco_work_result result;
    ASSERT_OK(ecoi_backend_cuda.work(model, &work, &result, &error), &error);
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    assert_int_equal(result.n_units, n_units);
    assert_int_equal(*info.progress, 0); /* nothing runs any more */
    assert_true(result.busy_s > expected_s - 0.0001);
    ASSERT_NEAR(result.busy_s, expected_s, 0.1);
    if (kind == ECO_WORK_READ) {
        ASSERT_NEAR(result.unit_bytes, 0x1p33, 0);
    }
}

static void test_work_is_counted_and_timed(void **state) {
    (void)state;
    fake_driver_start(
        "step_us.fp16 2000\nstep_us.nf4 1000\nstep_us.read 3000\nstep_us.launch 10\n"
        "context_w 120\npower_w.fp16 420\npower_w.nf4 320\npower_w.read 620\npower_w.launch 220\n");
    void *device = open_gpu(NULL);
    void *model = open_model(device, ECO_FORMAT_FP16);
    const int64_t from_ns = ecoi_now_ns();
    assert_timed(model, ECO_WORK_DECODE, 100, 0.200); /* after the prompt and its last logits */
    const int64_t decoded_ns = ecoi_now_ns();
    /* Twice prompt, logits and 16 tokens; then the prompt and its logits. */
    assert_timed(model, ECO_WORK_GENERATION, 56, 0.076);
    assert_timed(model, ECO_WORK_PREFILL, 56, 0.028);
    assert_timed(model, ECO_WORK_READ, 40, 0.120);
    assert_timed(model, ECO_WORK_LAUNCH, 25600, 0.256);
    ecoi_backend_cuda.model_close(model);
    model = open_model(device, ECO_FORMAT_NF4);
    assert_timed(model, ECO_WORK_DECODE, 100, 0.100);
    const int64_t to_ns = ecoi_now_ns();
    ecoi_backend_cuda.model_close(model);

    /* The page holds exactly the energy of these steps above the context's. */
    const double context_w = 120;
    const double decode_j = 300 * (0.002 * 102);
    ASSERT_NEAR_REL(fake_driver_true_j(0, from_ns, decoded_ns, 78) -
                        context_w * (double)(decoded_ns - from_ns) / 1e9,
                    decode_j, 1e-6);
    const double all_j = 300 * (0.002 * 154) + 500 * (0.003 * 40) + 100 * (0.00001 * 25600) +
                         200 * (0.001 * 101) + 300 * 0.002; /* the head is FP16 */
    ASSERT_NEAR_REL(fake_driver_true_j(0, from_ns, to_ns, 78) -
                        context_w * (double)(to_ns - from_ns) / 1e9,
                    all_j, 1e-6);
    ecoi_backend_cuda.close(device);
}

struct stopper {
    const uint64_t *progress;
    uint64_t at;
    int stop;
};

static void *stop_at(void *user) {
    struct stopper *stopper = user;
    while (__atomic_load_n(stopper->progress, __ATOMIC_ACQUIRE) < stopper->at) {
        ecoi_sleep_until_ns(ecoi_now_ns() + 100000);
    }
    __atomic_store_n(&stopper->stop, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void test_stop_ends_work_soon(void **state) {
    (void)state;
    fake_driver_start("step_us.fp16 500\n");
    void *device = open_gpu(NULL);
    void *model = open_model(device, ECO_FORMAT_FP16);
    eco_arm_info info;
    ecoi_backend_cuda.model_describe(model, &info);
    struct stopper stopper = {.progress = info.progress, .at = 40};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, stop_at, &stopper), 0);
    const eco_work work = {.kind = ECO_WORK_DECODE, .stop = &stopper.stop};
    eco_work_result result;
    ASSERT_OK(ecoi_backend_cuda.work(model, &work, &result, &error), &error);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(result.n_units >= 40);
    /* Already told to stop: nothing is done, also nothing of the prefill. */
    ASSERT_OK(ecoi_backend_cuda.work(model, &work, &result, &error), &error);
    assert_int_equal(result.n_units, 0);
    const eco_work endless = {.kind = ECO_WORK_DECODE};
    assert_int_equal(ecoi_backend_cuda.work(model, &endless, &result, &error), ECO_E_USAGE);
    ecoi_backend_cuda.model_close(model);
    ecoi_backend_cuda.close(device);
}

static void test_a_lost_device_ends_in_one_line(void **state) {
    (void)state;
    fake_driver_start("step_us.fp16 200\nlost_at_launch 60\n");
    void *device = open_gpu(NULL);
    void *model = open_model(device, ECO_FORMAT_FP16);
    const eco_work work = {.kind = ECO_WORK_DECODE, .n_units_max = 1000};
    eco_work_result result;
    assert_int_equal(ecoi_backend_cuda.work(model, &work, &result, &error), ECO_E_DEVICE_LOST);
    assert_says("CUDA_ERROR_LAUNCH_FAILED 719");
    assert_true(result.n_units < 60);
    assert_int_equal(atomic_load(&fake_page_map()->devices[0].lost), 1);
    assert_int_equal(ecoi_backend_cuda.work(model, &work, &result, &error), ECO_E_DEVICE_LOST);
    const eco_workload another = workload(ECO_FORMAT_NF4);
    void *second = NULL;
    assert_int_equal(ecoi_backend_cuda.model_open(device, &another, &second, &error),
                     ECO_E_DEVICE_LOST);
    ecoi_backend_cuda.model_close(model);
    ecoi_backend_cuda.close(device);

    fake_driver_start("step_us.fp16 200\nlost_at_launch 1\nlost_code 700\n");
    device = open_gpu(NULL);
    model = open_model(device, ECO_FORMAT_FP16);
    assert_int_equal(ecoi_backend_cuda.work(model, &work, &result, &error), ECO_E_FAILED);
    assert_says("CUDA_ERROR_ILLEGAL_ADDRESS 700");
    ecoi_backend_cuda.model_close(model);
    ecoi_backend_cuda.close(device);
}

static void test_bad_workloads_are_refused(void **state) {
    (void)state;
    fake_driver_start("devices 1\n");
    void *device = open_gpu(NULL);
    eco_model_shape wide = shape;
    wide.d_head = 258;
    eco_workload work = workload(ECO_FORMAT_FP16);
    work.shape = &wide;
    void *model = NULL;
    assert_int_equal(ecoi_backend_cuda.model_open(device, &work, &model, &error),
                     ECO_E_UNSUPPORTED);
    assert_says("heads of 258");
    wide = shape;
    wide.d_model = 8200; /* known without opening anything */
    assert_int_equal(ecoi_backend_cuda.model_check(device, &work, &error), ECO_E_UNSUPPORTED);
    assert_says("is 8200 wide; the kernels take up to 8192");
    wide = shape;
    wide.d_ff = 60000; /* 120 kB: more shared memory than a block has */
    assert_int_equal(ecoi_backend_cuda.model_open(device, &work, &model, &error),
                     ECO_E_UNSUPPORTED);
    assert_says("does not fit");
    work = workload(ECO_FORMAT_FP16);
    work.batch = 65;
    assert_int_equal(ecoi_backend_cuda.model_open(device, &work, &model, &error), ECO_E_RANGE);
    assert_int_equal(ecoi_backend_cuda.model_bytes(device, &work), 0);

    model = open_model(device, ECO_FORMAT_FP16);
    uint32_t tokens[25] = {0};
    float logits[100];
    assert_int_equal(ecoi_backend_cuda.logits(model, tokens, 25, logits, &error), ECO_E_RANGE);
    assert_int_equal(ecoi_backend_cuda.logits(model, tokens, 0, logits, &error), ECO_E_RANGE);
    tokens[1] = 100;
    assert_int_equal(ecoi_backend_cuda.logits(model, tokens, 2, logits, &error), ECO_E_RANGE);
    ecoi_backend_cuda.model_close(model);
    ecoi_backend_cuda.close(device);
}

int main(int argc, char **argv) {
    (void)argc;
    const int status = fake_driver_setup(argv);
    if (status != 0) {
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_are_found_by_ordinal_and_uuid),
        cmocka_unit_test(test_an_instance_is_found_by_its_uuid),
        cmocka_unit_test(test_visible_devices_are_obeyed),
        cmocka_unit_test(test_unusable_drivers_say_why),
        cmocka_unit_test(test_memory_exhausted_names_the_bytes),
        cmocka_unit_test(test_bytes_and_launches_are_those_of_the_model),
        cmocka_unit_test(test_work_is_counted_and_timed),
        cmocka_unit_test(test_stop_ends_work_soon),
        cmocka_unit_test(test_a_lost_device_ends_in_one_line),
        cmocka_unit_test(test_bad_workloads_are_refused),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fake_driver_cleanup();
    return failed;
}
