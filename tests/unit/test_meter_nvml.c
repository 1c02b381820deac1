/* SPDX-License-Identifier: Apache-2.0
 *
 * The NVML meter through its real dlopen path, on a scripted driver library: which device it takes,
 * what it reads, what it says when something is missing, and that it shuts down what it started.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "ecocompute/meter.h"
#include "fake_driver.h"
#include "sys/clock.h"

#include <dlfcn.h>

static eco_error error;

static eco_meter *open_gpu(const char *uuid, const char *pci) {
    eco_meter *meter = NULL;
    eco_meter_options options = {.name = "nvml", .work = {.kind = ECO_BOUNDARY_GPU}};
    (void)snprintf(options.work.uuid, sizeof options.work.uuid, "%s", uuid);
    (void)snprintf(options.work.pci_bus_id, sizeof options.work.pci_bus_id, "%s", pci);
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    return meter;
}

static eco_status open_fails(const char *uuid, const char *pci) {
    eco_meter *meter = NULL;
    eco_meter_options options = {.name = "nvml", .work = {.kind = ECO_BOUNDARY_GPU}};
    (void)snprintf(options.work.uuid, sizeof options.work.uuid, "%s", uuid);
    (void)snprintf(options.work.pci_bus_id, sizeof options.work.pci_bus_id, "%s", pci);
    memset(&error, 0, sizeof error);
    const eco_status status = eco_meter_open(&options, &meter, &error);
    assert_null(meter);
    assert_int_equal(status, error.code);
    return status;
}

static void assert_says(const char *part) {
    if (strstr(error.message, part) == NULL) {
        print_error("message '%s' does not hold '%s'\n", error.message, part);
        fail();
    }
}

/* Number of inits without shutdown in a library that a test keeps loaded meanwhile. */
static int inits_left(void *library) {
    int (*count)(void) = NULL;
    void *symbol = dlsym(library, "eco_fake_nvml_init_count");
    assert_non_null(symbol);
    memcpy(&count, &symbol, sizeof count);
    return count();
}

static void test_swapped_order_is_resolved_by_uuid(void **state) {
    (void)state;
    fake_driver_start("devices 2\nnvml_order \"1 0\"\nname.0 Zero\nname.1 One\nidle_bare_w.0 "
                      "70\nidle_bare_w.1 90\n"
                      "read_cost_energy_us 10\n");
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_sample sample;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.device.name, "Zero");
    assert_string_equal(info.device.boundary.uuid, FAKE_UUID_0);
    assert_string_equal(info.device.boundary.pci_bus_id, "0000:00:00.0");
    assert_int_equal(info.device.vendor_index, 1);
    eco_meter_read(meter, ECO_READ_POWER, &sample);
    ASSERT_NEAR(sample.power_w.value, 70.0, 0.01);
    eco_meter_close(meter);
    /* By PCI address, in the form other libraries write it; and by an unambiguous start of the
     * UUID. */
    meter = open_gpu("", "00000000:01:00.0");
    eco_meter_describe(meter, &info);
    assert_string_equal(info.device.name, "One");
    assert_int_equal(info.device.vendor_index, 0);
    eco_meter_close(meter);
    assert_int_equal(open_fails("GPU-fa4e0000", ""), ECO_E_BOUNDARY_MISMATCH);
    assert_says("more than one GPU is GPU-fa4e0000");
    assert_int_equal(open_fails("GPU-11111111-0000-0000-0000-000000000000", ""),
                     ECO_E_BOUNDARY_MISMATCH);
    assert_says("no GPU is GPU-11111111");
    assert_says("(2 seen)");
    assert_int_equal(open_fails("", "no address"), ECO_E_PARSE);
    assert_says("'no address'");
}

static void test_prefix_of_the_only_match(void **state) {
    (void)state;
    fake_driver_start(
        "devices 2\nuuid.1 GPU-beef0000-1111-2222-3333-444455556666\nread_cost_energy_us 10\n");
    eco_meter *meter = open_gpu("GPU-beef", "");
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.device.boundary.uuid, "GPU-beef0000-1111-2222-3333-444455556666");
    eco_meter_close(meter);
    assert_int_equal(open_fails("GPU-", ""), ECO_E_BOUNDARY_MISMATCH);
}

static void test_record_and_fields(void **state) {
    (void)state;
    fake_driver_start("persistence off\nmig none\npower_limit_w 450.5\ncc 8.9\ndriver 570.1\n");
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.name, "nvml");
    assert_int_equal(info.source, ECO_SOURCE_SENSOR);
    assert_string_equal(info.power_field, "NVML_FI_DEV_POWER_INSTANT");
    assert_string_equal(info.average_field, "nvmlDeviceGetPowerUsage");
    assert_string_equal(info.energy_field, "nvmlDeviceGetTotalEnergyConsumption");
    assert_string_equal(info.scope, "gpu");
    assert_string_equal(info.device.driver, "570.1");
    assert_string_equal(info.device.vbios, "96.00.FA.4E.00");
    assert_int_equal(info.device.cc_major, 8);
    assert_int_equal(info.device.cc_minor, 9);
    ASSERT_NEAR(info.device.power_limit_w.value, 450.5, 1e-9);
    ASSERT_NEAR(info.device.memory_bytes.value, 143771.0 * 1048576.0, 1.0);
    ASSERT_NEAR(info.device.persistence_enabled.value, 0.0, 0.0);
    assert_int_equal(info.device.persistence_enabled.absence, ECO_PRESENT);
    assert_int_equal(info.device.mig_enabled.absence, ECO_ABSENT_UNSUPPORTED);
    ASSERT_NEAR(info.device.ecc_enabled.value, 1.0, 0.0);
    ASSERT_NEAR(info.device.sm_clock_max_mhz.value, 1980.0, 0.0);
    ASSERT_NEAR(info.device.mem_clock_max_mhz.value, 2619.0, 0.0);
    assert_false(info.device.library_known); /* the fakes' folder is none of the driver's */
    assert_non_null(strstr(info.device.library_path, "/libnvidia-ml.so"));
    eco_meter_close(meter);
}

static void test_readings(void **state) {
    (void)state;
    fake_driver_start("temp_c 51\nsm_clock_mhz 1755\nthrottle 0x24\nread_cost_energy_us 3000\n");
    const int64_t now_ns = ecoi_now_ns();
    fake_driver_power(0, now_ns - 400000000,
                      500.0); /* on for 0.4 s: the 1 s average lags, the instant does not */
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_sample sample;
    eco_meter_read(meter, ECO_READ_POWER | ECO_READ_POWER_AVERAGE, &sample);
    ASSERT_NEAR(sample.power_w.value, 500.0, 0.01);
    assert_true(sample.power_average_w.value > 78.0 + 422.0 * 0.2);
    assert_true(sample.power_average_w.value < 78.0 + 422.0 * 0.9);
    assert_int_equal(sample.energy_j.absence, ECO_ABSENT_NOT_READ);
    assert_int_equal(sample.temp_c.absence, ECO_ABSENT_NOT_READ);
    eco_meter_read(meter, ECO_READ_TEMP | ECO_READ_CLOCKS | ECO_READ_THROTTLE, &sample);
    ASSERT_NEAR(sample.temp_c.value, 51.0, 0.0);
    ASSERT_NEAR(sample.sm_clock_mhz.value, 1755.0, 0.0);
    ASSERT_NEAR(sample.mem_clock_mhz.value, 2619.0, 0.0);
    assert_int_equal(sample.throttle_read, ECO_PRESENT);
    assert_int_equal(sample.throttle, ECO_THROTTLE_POWER_CAP | ECO_THROTTLE_THERMAL);
    assert_int_equal(sample.power_w.absence, ECO_ABSENT_NOT_READ);
    const int64_t before_ns = ecoi_now_ns();
    eco_meter_read(meter, ECO_READ_ENERGY, &sample);
    const int64_t after_ns = ecoi_now_ns();
    assert_true(sample.cost_ns >= 3000000);
    assert_true(sample.t_ns - before_ns >= sample.cost_ns / 2);
    assert_true(after_ns - sample.t_ns >= sample.cost_ns / 2);
    /* Joules, not millijoules: the fake's counter is its true energy since time zero, as of the
     * last update. */
    const double tick_s = floor((double)sample.t_ns / 1e8) / 10.0;
    ASSERT_NEAR(sample.energy_j.value, fake_driver_true_j(0, 0, (int64_t)(tick_s * 1e9), 78.0),
                50.5);
    eco_meter_close(meter);
}

static void test_throttle_bits(void **state) {
    static const struct {
        const char *script;
        uint32_t bits;
    } cases[] = {
        {"throttle 0x1\n", 0},
        {"throttle 0x2\n", ECO_THROTTLE_USER_CLOCKS},
        {"throttle 0x8\n", ECO_THROTTLE_OTHER},
        {"throttle 0x48\n", ECO_THROTTLE_THERMAL},
        {"throttle 0x88\n", ECO_THROTTLE_POWER_BRAKE},
        {"throttle 0x10\n", ECO_THROTTLE_OTHER},
        {"throttle 0x8000\n", ECO_THROTTLE_OTHER},
        {"throttle 0x5\n", ECO_THROTTLE_POWER_CAP},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake_driver_start(cases[i].script);
        eco_meter *meter = open_gpu(FAKE_UUID_0, "");
        eco_meter_sample sample;
        eco_meter_read(meter, ECO_READ_THROTTLE, &sample);
        assert_int_equal(sample.throttle, cases[i].bits);
        eco_meter_close(meter);
    }
}

static void test_mig_instance_leads_to_its_parent(void **state) {
    (void)state;
    fake_driver_start("devices 2\nmig.1 on\nmig_uuid.1 MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f\n");
    static const char *const forms[] = {"MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f",
                                        "MIG-" FAKE_UUID_1 "/1/0"};
    for (size_t i = 0; i < 2; i++) {
        eco_meter *meter = open_gpu(forms[i], "");
        eco_meter_info info;
        eco_meter_describe(meter, &info);
        assert_string_equal(info.device.boundary.uuid, FAKE_UUID_1);
        ASSERT_NEAR(info.device.mig_enabled.value, 1.0, 0.0);
        eco_meter_close(meter);
    }
    /* As CUDA tells it: the instance's UUID behind "GPU-", and the card's address. */
    static const char told[] = "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f";
    eco_meter *sliced = open_gpu(told, "0000:01:00.0");
    eco_meter_info sliced_info;
    eco_meter_describe(sliced, &sliced_info);
    assert_string_equal(sliced_info.device.boundary.uuid, FAKE_UUID_1);
    ASSERT_NEAR(sliced_info.device.mig_enabled.value, 1.0, 0.0);
    eco_meter_close(sliced);
    assert_int_equal(open_fails(told, "0000:00:00.0"), ECO_E_BOUNDARY_MISMATCH); /* a whole card */
    assert_int_equal(open_fails(told, ""), ECO_E_BOUNDARY_MISMATCH);
    assert_int_equal(open_fails("MIG-00000000-0000-0000-0000-000000000000", ""),
                     ECO_E_BOUNDARY_MISMATCH);
    assert_says("MIG-00000000");
    assert_says("Not Found");
}

static void test_older_drivers(void **state) {
    (void)state;
    /* No instant field: the averaged power is the only one, and is named so. */
    fake_driver_start("instant_field no\n");
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_sample sample;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.power_field, "nvmlDeviceGetPowerUsage");
    assert_null(info.average_field);
    eco_meter_read(meter, ECO_READ_POWER | ECO_READ_POWER_AVERAGE, &sample);
    ASSERT_NEAR(sample.power_w.value, 78.0, 0.01);
    assert_int_equal(sample.power_average_w.absence, ECO_ABSENT_UNSUPPORTED);
    eco_meter_close(meter);
    /* No counter: energy is unsupported, never zero. */
    fake_driver_start(
        "counter none\nreturn.nvmlDeviceGetPciInfo_v3 13\nreturn.nvmlDeviceGetMemoryInfo 13\n"
        "return.nvmlDeviceGetTemperature 13\nreturn.nvmlSystemGetDriverVersion 13\n"
        "return.nvmlDeviceGetCudaComputeCapability 13\n");
    meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_describe(meter, &info);
    assert_null(info.energy_field);
    assert_string_equal(info.device.boundary.pci_bus_id, "");
    assert_string_equal(info.device.driver, "");
    assert_int_equal(info.device.cc_major, -1);
    assert_int_equal(info.device.memory_bytes.absence, ECO_ABSENT_UNSUPPORTED);
    eco_meter_read(meter, ECO_READ_ENERGY | ECO_READ_TEMP | ECO_READ_POWER, &sample);
    assert_int_equal(sample.energy_j.absence, ECO_ABSENT_UNSUPPORTED);
    assert_int_equal(sample.temp_c.absence, ECO_ABSENT_UNSUPPORTED);
    assert_int_equal(sample.power_w.absence, ECO_PRESENT);
    eco_meter_close(meter);
    /* The counter only as a field. */
    fake_driver_start("counter none\nenergy_field yes\n");
    meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_describe(meter, &info);
    assert_string_equal(info.energy_field, "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION");
    eco_meter_read(meter, ECO_READ_ENERGY, &sample);
    assert_int_equal(sample.energy_j.absence, ECO_PRESENT);
    assert_true(sample.energy_j.value > 1.0);
    eco_meter_close(meter);
}

static void test_nothing_readable_is_no_meter(void **state) {
    (void)state;
    fake_driver_start("power no\ncounter none\nname Quadro K600\n");
    assert_int_equal(open_fails(FAKE_UUID_0, ""), ECO_E_UNSUPPORTED);
    assert_says("Quadro K600");
    assert_says("neither power");
    fake_driver_start("power denied\ncounter denied\n");
    assert_int_equal(open_fails(FAKE_UUID_0, ""), ECO_E_PERMISSION);
    assert_says("no permission");
    /* All power fields zero is a sensor that does not work, and not zero watts. */
    fake_driver_start("power zero\n");
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_null(info.power_field);
    assert_non_null(info.energy_field);
    eco_meter_close(meter);
    fake_driver_start("power zero\ncounter none\n");
    assert_int_equal(open_fails(FAKE_UUID_0, ""), ECO_E_UNSUPPORTED);
}

static void test_implausible_power_is_a_failed_read(void **state) {
    (void)state;
    fake_driver_start("gain 2000\n"); /* 156 kW */
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_null(info.power_field);
    eco_meter_close(meter);
}

static void test_not_ready_is_asked_again(void **state) {
    (void)state;
    fake_driver_start("fail_for_s 0.03\nfail_code 27\n"); /* the first 30 ms after init */
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.power_field, "NVML_FI_DEV_POWER_INSTANT");
    assert_non_null(info.energy_field);
    eco_meter_close(meter);
}

static void test_lost_device(void **state) {
    (void)state;
    fake_driver_start("");
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    eco_meter_sample sample;
    eco_meter_read(meter, ECO_READ_POWER, &sample);
    assert_false(sample.device_lost);
    atomic_store(&fake_page_map()->devices[0].lost, 1);
    eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY, &sample);
    assert_true(sample.device_lost);
    assert_int_equal(sample.native_error, 15);
    assert_int_equal(sample.power_w.absence, ECO_ABSENT_FAILED);
    assert_int_equal(sample.energy_j.absence, ECO_ABSENT_FAILED);
    eco_meter_close(meter);
}

static void test_tenants(void **state) {
    (void)state;
    /* The scripted other process is in the compute and the graphics list, ourselves in the former.
     */
    static const char *const scripts[] = {
        "other_tenant_pid 4000001\nother_tenant_name trainer\nother_tenant_mib 512\n",
        "other_tenant_pid 4000001\nother_tenant_name trainer\nother_tenant_mib 512\n"
        "return.nvmlDeviceGetComputeRunningProcesses_v3 13\n",
        "other_tenant_pid 4000001\nother_tenant_name trainer\nother_tenant_mib 512\n"
        "return.nvmlDeviceGetComputeRunningProcesses_v3 "
        "13\nreturn.nvmlDeviceGetComputeRunningProcesses_v2 13\n"
        "return.nvmlDeviceGetGraphicsRunningProcesses_v3 3\n",
    };
    eco_tenant tenants[4];
    size_t n = 99;
    for (size_t i = 0; i < 3; i++) {
        fake_driver_start(scripts[i]);
        eco_meter *meter = open_gpu(FAKE_UUID_0, "");
        ASSERT_OK(eco_meter_tenants(meter, tenants, 4, &n, &error), &error);
        assert_int_equal(n, 1);
        assert_int_equal(tenants[0].pid, 4000001);
        assert_string_equal(tenants[0].name, "trainer");
        ASSERT_NEAR(tenants[0].memory_bytes.value, 512.0 * 1048576.0, 0.5);
        ASSERT_OK(eco_meter_tenants(meter, NULL, 0, &n, &error), &error); /* only how many */
        assert_int_equal(n, 1);
        eco_meter_close(meter);
    }
    fake_driver_start(
        "other_tenant_pid 1\n"); /* a name from the system where the driver has none */
    eco_meter *meter = open_gpu(FAKE_UUID_0, "");
    ASSERT_OK(eco_meter_tenants(meter, tenants, 4, &n, &error), &error);
    assert_int_equal(n, 1);
    assert_true(tenants[0].name[0] != '\0');
    eco_meter_close(meter);
    fake_driver_start("");
    meter = open_gpu(FAKE_UUID_0, "");
    ASSERT_OK(eco_meter_tenants(meter, tenants, 4, &n, &error), &error);
    assert_int_equal(n, 0);
    eco_meter_close(meter);
    fake_driver_start("return.nvmlDeviceGetComputeRunningProcesses_v3 3\n"
                      "return.nvmlDeviceGetGraphicsRunningProcesses_v3 3\n");
    meter = open_gpu(FAKE_UUID_0, "");
    assert_int_equal(eco_meter_tenants(meter, tenants, 4, &n, &error), ECO_E_UNSUPPORTED);
    assert_says("process list");
    assert_int_equal(n, 0);
    eco_meter_close(meter);
}

static void test_probe_and_listing(void **state) {
    (void)state;
    fake_driver_start("devices 2\nnvml_order \"1 0\"\n");
    eco_meter_status status;
    eco_meter_info info;
    assert_int_equal(eco_meter_count(), 4);
    eco_meter_probe(0, &status);
    assert_string_equal(status.name, "nvml");
    assert_true(status.usable);
    assert_int_equal(status.n_devices, 2);
    assert_int_equal(status.boundary, ECO_BOUNDARY_GPU);
    assert_non_null(strstr(status.reason, "580.159.04"));
    ASSERT_OK(eco_meter_device(0, 0, &info, &error), &error);
    assert_string_equal(info.device.boundary.uuid, FAKE_UUID_1);
    assert_int_equal(eco_meter_device(0, 2, &info, &error), ECO_E_RANGE);
    assert_says("no device 2");
    assert_int_equal(eco_meter_device(7, 0, &info, &error), ECO_E_RANGE);
    eco_meter_probe(7, &status);
    assert_false(status.usable);
    fake_driver_start("return.nvmlInit_v2 18\n");
    eco_meter_probe(0, &status);
    assert_false(status.usable);
    assert_non_null(strstr(status.reason, "version mismatch"));
    assert_non_null(strstr(status.reason, "reboot"));
    fake_driver_start("devices 0\n");
    eco_meter_probe(0, &status);
    assert_false(status.usable);
    assert_non_null(strstr(status.reason, "sees no GPU"));
}

static void test_choosing_a_meter(void **state) {
    (void)state;
    fake_driver_start("");
    eco_meter *meter = NULL;
    eco_meter_options options = {.name = "watts"};
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_NOT_FOUND);
    assert_says("'watts'");
    assert_says("nvml");
    options = (eco_meter_options){.work = {.kind = ECO_BOUNDARY_HOST}};
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    options.work.kind = ECO_BOUNDARY_CPU_PACKAGE;
    options.name = "nvml";
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    assert_null(meter);
    options =
        (eco_meter_options){.name = NULL}; /* no boundary: the first device of the first meter */
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    eco_meter_close(meter);
    eco_meter_close(NULL);
}

static void test_what_was_started_is_shut_down(void **state) {
    (void)state;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    eco_meter_status status;
    eco_meter_info info;
    fake_driver_start("devices 2\n");
    eco_meter *meter = open_gpu(FAKE_UUID_1, "");
    assert_int_equal(inits_left(library), 1);
    eco_meter_probe(0, &status);
    assert_int_equal(inits_left(library), 1);
    eco_meter_close(meter);
    assert_int_equal(inits_left(library), 0);
    (void)open_fails("GPU-none-such", "");
    (void)open_fails("MIG-none-such", "");
    assert_int_equal(eco_meter_device(0, 5, &info, &error), ECO_E_RANGE);
    assert_int_equal(inits_left(library), 0);
    (void)dlclose(library);
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    fake_driver_start("power no\ncounter none\n");
    assert_int_equal(open_fails(FAKE_UUID_0, ""), ECO_E_UNSUPPORTED);
    assert_int_equal(inits_left(library), 0);
    (void)dlclose(library);
}

int main(int argc, char **argv) {
    (void)argc;
    const int unready = fake_driver_setup(argv);
    if (unready != 0) {
        return unready;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swapped_order_is_resolved_by_uuid),
        cmocka_unit_test(test_prefix_of_the_only_match),
        cmocka_unit_test(test_record_and_fields),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_throttle_bits),
        cmocka_unit_test(test_mig_instance_leads_to_its_parent),
        cmocka_unit_test(test_older_drivers),
        cmocka_unit_test(test_nothing_readable_is_no_meter),
        cmocka_unit_test(test_implausible_power_is_a_failed_read),
        cmocka_unit_test(test_not_ready_is_asked_again),
        cmocka_unit_test(test_lost_device),
        cmocka_unit_test(test_tenants),
        cmocka_unit_test(test_probe_and_listing),
        cmocka_unit_test(test_choosing_a_meter),
        cmocka_unit_test(test_what_was_started_is_shut_down),
    };
    const int failed = cmocka_run_group_tests_name("meter_nvml", tests, NULL, NULL);
    fake_driver_cleanup();
    return failed;
}
