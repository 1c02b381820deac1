/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults that others met with NVML (docs/field.md, by row), on the scripted library: what a card can do is asked and not
 * looked up, a refusal is kept with its reason, one bad board leaves the others alone, counters are wide, and CUDA's,
 * NVML's and the user's names for a board meet in its UUID.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "ecocompute/meter.h"
#include "fake_driver.h"

static eco_error error;

static eco_status open_named(const char *uuid, const char *pci, eco_meter **out) {
    eco_meter_options options = {.name = "nvml", .work = {.kind = ECO_BOUNDARY_GPU}};
    (void)snprintf(options.work.uuid, sizeof options.work.uuid, "%s", uuid);
    (void)snprintf(options.work.pci_bus_id, sizeof options.work.pci_bus_id, "%s", pci);
    return eco_meter_open(&options, out, &error);
}

static void describe(const char *script, eco_meter_info *out) {
    eco_meter *meter = NULL;
    fake_driver_start(script);
    ASSERT_OK(open_named(FAKE_UUID_0, "", &meter), &error);
    eco_meter_describe(meter, out);
    eco_meter_close(meter);
}

/* Row 5: a table said Pascal counts energy, the truth was Volta and newer. The card is asked. */
static void test_field_c1_5_the_card_is_asked(void **state) {
    (void)state;
    eco_meter_info info;
    describe("cc 6.0\nname Tesla P100\n", &info);
    assert_string_equal(info.energy_field, "nvmlDeviceGetTotalEnergyConsumption");
    describe("cc 9.0\nname NVIDIA H100\ncounter none\n", &info);
    assert_null(info.energy_field);
    describe("cc 9.0\ninstant_field no\n", &info);
    assert_string_equal(info.power_field, "nvmlDeviceGetPowerUsage");
}

/* Row 18: on a superchip a field may mean the module. Only the GPU's scope is read, and is named. */
static void test_field_c1_18_scope_is_the_gpu(void **state) {
    (void)state;
    eco_meter_info info;
    describe("", &info); /* the scripted library refuses any other scope */
    assert_string_equal(info.power_field, "NVML_FI_DEV_POWER_INSTANT");
    assert_string_equal(info.scope, "gpu");
}

/* Row 19: a counter that answers with an error is another thing than a card without one. */
static void test_field_c1_19_an_error_is_not_unsupported(void **state) {
    (void)state;
    eco_meter_info info;
    describe("return.nvmlDeviceGetTotalEnergyConsumption 27\n", &info);
    assert_null(info.energy_field);
    assert_non_null(info.power_field);
    assert_non_null(strstr(info.method, "the energy counter answers with an error"));
    describe("return.nvmlDeviceGetTotalEnergyConsumption 4\n", &info);
    assert_non_null(strstr(info.method, "no permission to read the energy counter"));
    describe("counter none\n", &info);
    assert_non_null(strstr(info.method, "no energy counter"));
    /* A field that another driver answers in place of the call is no loss at all. */
    describe("counter none\nenergy_field yes\n", &info);
    assert_non_null(strstr(info.method, "NVML energy counter"));
}

/* Rows 6 and 7: each board for itself, wherever the bad one stands; a lost one too. */
static void test_field_c1_7_one_bad_board(void **state) {
    static const char *const scripts[] = {
        "devices 2\npower.%d no\ncounter.%d none\n",
        "devices 2\npower.%d denied\ncounter.%d denied\n",
        "devices 2\npower.%d zero\ncounter.%d none\n",
        "devices 2\nlost_at_s.%d 0\nname.%d Lost\n",
    };
    static const char *const uuids[] = {FAKE_UUID_0, FAKE_UUID_1};
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (int bad = 0; bad < 2; bad++) {
            char script[128];
            eco_meter *meter = NULL;
            eco_meter_status status;
            eco_meter_info info;
            eco_meter_sample sample;
            int length = 0;
            for (const char *at = scripts[i]; *at != '\0'; at++) {
                const bool number = at[0] == '%';
                script[length++] = number ? (char)('0' + bad) : *at;
                at += number;
            }
            script[length] = '\0';
            fake_driver_start(script);
            eco_meter_probe(0, &status);
            assert_true(status.usable);
            assert_int_equal(status.n_devices, 2);
            ASSERT_OK(open_named(uuids[1 - bad], "", &meter), &error);
            eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY, &sample);
            assert_int_equal(sample.power_w.absence, ECO_PRESENT);
            assert_int_equal(sample.energy_j.absence, ECO_PRESENT);
            eco_meter_close(meter);
            meter = NULL;
            assert_int_not_equal(open_named(uuids[bad], "", &meter), ECO_OK);
            assert_null(meter);
            assert_true(error.message[0] != '\0');
            ASSERT_OK(eco_meter_device(0, (uint32_t)(1 - bad), &info, &error), &error);
        }
    }
}

/* Row 81: 2^32 mJ are 102 minutes at 700 W. Beyond that, and beyond 2^53 µJ, nothing is cut. */
static void test_field_c4_81_counters_are_wide(void **state) {
    static const double bases_j[] = {4294967.0, 4294968.0, 9007199255.0, 1e12};
    (void)state;
    for (size_t i = 0; i < sizeof bases_j / sizeof bases_j[0]; i++) {
        for (int field = 0; field < 2; field++) {
            char script[160];
            eco_meter *meter = NULL;
            eco_meter_sample sample;
            (void)snprintf(script, sizeof script, "counter_base_j %.0f\nread_cost_energy_us 10\n%s",
                           bases_j[i],
                           field == 1 ? "return.nvmlDeviceGetTotalEnergyConsumption 3\n"
                                        "energy_field yes\n"
                                      : "");
            fake_driver_start(script);
            ASSERT_OK(open_named(FAKE_UUID_0, "", &meter), &error);
            eco_meter_read(meter, ECO_READ_ENERGY, &sample);
            assert_int_equal(sample.energy_j.absence, ECO_PRESENT);
            assert_true(sample.energy_j.value >= bases_j[i]);
            assert_true(sample.energy_j.value < bases_j[i] + 1e9);
            eco_meter_close(meter);
        }
    }
}

/* Rows 36 to 40: whatever order NVML has, UUID and PCI address lead to the same board; its number never does. */
static void test_field_c2_36_uuid_and_pci_agree(void **state) {
    static const char *const orders[] = {"0 1", "1 0"};
    static const char *const uuids[] = {FAKE_UUID_0, FAKE_UUID_1};
    static const char *const pci[][3] = {
        {"0000:00:00.0", "00000000:00:00.0", "00:00"},
        {"0000:01:00.0", "00000000:01:00.0", "01:00.0"},
    };
    (void)state;
    for (size_t o = 0; o < 2; o++) {
        char script[160];
        (void)snprintf(script, sizeof script,
                       "devices 2\nnvml_order \"%s\"\nidle_bare_w.0 70\nidle_bare_w.1 90\n"
                       "read_cost_energy_us 10\n",
                       orders[o]);
        fake_driver_start(script);
        for (size_t board = 0; board < 2; board++) {
            for (size_t form = 0; form < 4; form++) {
                eco_meter *meter = NULL;
                eco_meter_info info;
                eco_meter_sample sample;
                ASSERT_OK(open_named(form == 3 ? uuids[board] : "",
                                     form == 3 ? "" : pci[board][form], &meter),
                          &error);
                eco_meter_describe(meter, &info);
                assert_string_equal(info.device.boundary.uuid, uuids[board]);
                assert_int_equal(info.device.vendor_index, o == 0 ? board : 1 - board);
                eco_meter_read(meter, ECO_READ_POWER, &sample);
                ASSERT_NEAR(sample.power_w.value, board == 0 ? 70.0 : 90.0, 0.01);
                eco_meter_close(meter);
            }
        }
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const int unready = fake_driver_setup(argv);
    if (unready != 0) {
        return unready;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field_c1_5_the_card_is_asked),
        cmocka_unit_test(test_field_c1_7_one_bad_board),
        cmocka_unit_test(test_field_c1_18_scope_is_the_gpu),
        cmocka_unit_test(test_field_c1_19_an_error_is_not_unsupported),
        cmocka_unit_test(test_field_c2_36_uuid_and_pci_agree),
        cmocka_unit_test(test_field_c4_81_counters_are_wide),
    };
    const int failed = cmocka_run_group_tests_name("field_nvml", tests, NULL, NULL);
    fake_driver_cleanup();
    return failed;
}
