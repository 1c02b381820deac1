/* SPDX-License-Identifier: Apache-2.0
 *
 * --meter LIST: the first of a list that can run and sees the work is taken; the others are named with the reason, whether
 * they come before it or after. And what each driver declares of its sensor.
 */
#include "ecocompute/meter.h"

#include "test_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/eco-meter-list-XXXXXX";
static char trace[128];
static eco_error error;

static int make_trace(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(trace, sizeof trace, "%s/trace.csv", folder);
    FILE *const out = fopen(trace, "w");
    if (out == NULL) {
        return -1;
    }
    fputs("t_s,power_w,energy_j,tokens,temp_c,block,phase\n"
          "0.000000,50.000,,,,0,cooldown\n60.000000,50.000,,,,0,cooldown\n",
          out);
    return fclose(out);
}

static int remove_trace(void **state) {
    (void)state;
    return unlink(trace) + rmdir(folder);
}

static eco_meter_options options_of(const char *list, eco_boundary_kind work) {
    return (eco_meter_options){
        .name = list,
        .work = {.kind = work},
        .config = {.replay_path = trace, .boundary = {.kind = ECO_BOUNDARY_CPU_PACKAGE}}};
}

/* The meter's name and what it says of the others. */
static void expect(const char *list, const char *name, const char *passed_over) {
    const eco_meter_options options = options_of(list, ECO_BOUNDARY_CPU_PACKAGE);
    eco_meter *meter = NULL;
    eco_meter_info info;
    eco_meter_status status;
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    eco_meter_describe(meter, &info);
    assert_string_equal(info.name, name);
    assert_string_equal(info.passed_over, passed_over);
    eco_meter_close(meter);
    assert_true(eco_meter_choose(&options, &status));
    assert_string_equal(status.name, name);
}

static void the_first_that_can(void **state) {
    (void)state;
    expect("replay", "replay", "");
    expect("exec,replay", "replay", "exec: no program was named (--meter-exec 'CMD ARG')");
    expect("nvml,replay", "replay", "no device of nvml here sees the work on cpu-package");
    expect("replay,nvml", "replay", "nvml: not needed");
    expect("exec,replay,nvml,replay", "replay",
           "exec: no program was named (--meter-exec 'CMD ARG'); nvml: not needed");
}

static void none_can(void **state) {
    (void)state;
    eco_meter *meter = NULL;
    eco_meter_status status;
    eco_meter_options options = options_of("nvml,exec", ECO_BOUNDARY_CPU_PACKAGE);
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    assert_null(meter);
    assert_string_equal(error.message,
                        "no device of nvml here sees the work on cpu-package; exec: no "
                        "program was named (--meter-exec 'CMD ARG')");
    assert_false(eco_meter_choose(&options, &status));
    /* Declared to cover the CPU, so it is no meter for work on a card, whatever its place. */
    options = options_of("replay", ECO_BOUNDARY_GPU);
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    options.name = "replay,wall";
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "no meter is called 'wall'"));
    options.name = "";
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_NOT_FOUND);
}

static void lists(void **state) {
    (void)state;
    assert_true(eco_meter_listed(NULL, "rapl"));
    assert_true(eco_meter_listed("nvml,rapl", "rapl"));
    assert_true(eco_meter_listed("nvml,rapl", "nvml"));
    assert_false(eco_meter_listed("nvml,rapl2", "rapl"));
    assert_false(eco_meter_listed("", "rapl"));
    char name[5];
    const char *list = "a,replay,,b";
    const char *const names[] = {"a", "repl", "", "b"}; /* cut, not overrun */
    for (size_t i = 0; i < 4; i++) {
        assert_true(eco_meter_list_next(&list, name, sizeof name));
        assert_string_equal(name, names[i]);
    }
    assert_false(eco_meter_list_next(&list, name, sizeof name));
}

static void declared_terms(void **state) {
    (void)state;
    const eco_meter_options options = options_of("replay", ECO_BOUNDARY_CPU_PACKAGE);
    eco_meter *meter = NULL;
    eco_meter_info info;
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    eco_meter_describe(meter, &info);
    eco_meter_close(meter);
    ASSERT_NEAR(info.declared.gain, 0.10, 1e-15);
    ASSERT_NEAR(info.declared.offset_w, 5.0, 1e-15);
    assert_true(strncmp(info.declared.source, "declared by default", 19) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_can),
        cmocka_unit_test(none_can),
        cmocka_unit_test(lists),
        cmocka_unit_test(declared_terms),
    };
    return cmocka_run_group_tests(tests, make_trace, remove_trace);
}
