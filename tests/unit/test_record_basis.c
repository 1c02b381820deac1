/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of record.h: names go there and back, the weaker basis wins, a boundary contains what it should.
 */
#include "ecocompute/record.h"
#include "ecocompute/report.h"
#include "test_helpers.h"

#include <string.h>

static void test_bases(void **state) {
    (void)state;
    static const char *const names[] = {"unavailable",  "modelled", "estimated", "extrapolated",
                                        "interpolated", "computed", "replayed",  "measured"};
    for (int i = 0; i <= ECO_BASIS_MEASURED; i++) {
        eco_basis basis = ECO_BASIS_UNAVAILABLE;
        assert_string_equal(eco_basis_name((eco_basis)i), names[i]);
        assert_true(eco_basis_parse(names[i], &basis));
        assert_int_equal(basis, i);
    }
    eco_basis basis = ECO_BASIS_MEASURED;
    assert_false(eco_basis_parse("Measured", &basis));
    assert_int_equal(basis, ECO_BASIS_UNAVAILABLE);
    assert_int_equal(eco_basis_weaker(ECO_BASIS_MEASURED, ECO_BASIS_REPLAYED), ECO_BASIS_REPLAYED);
    assert_int_equal(eco_basis_weaker(ECO_BASIS_UNAVAILABLE, ECO_BASIS_MEASURED),
                     ECO_BASIS_UNAVAILABLE);
}

static void test_phases(void **state) {
    (void)state;
    for (int i = 0; i < ECO_PHASE_COUNT; i++) {
        const char *const name = eco_phase_name((eco_phase)i);
        eco_phase phase = ECO_PHASE_COUNT;
        assert_true(eco_phase_parse(name, strlen(name), &phase));
        assert_int_equal(phase, i);
        assert_false(eco_phase_parse(name, strlen(name) - 1, &phase));
    }
    assert_string_equal(eco_phase_name(ECO_PHASE_DECODE), "decode");
}

static void test_readings(void **state) {
    (void)state;
    assert_true(eco_reading_present(eco_reading_of(0.0)));
    assert_int_equal(eco_reading_of((double)NAN).absence, ECO_ABSENT_FAILED);
    assert_int_equal(eco_reading_of((double)INFINITY).absence, ECO_ABSENT_FAILED);
    assert_false(eco_reading_present(eco_reading_absent(ECO_ABSENT_PERMISSION)));
    assert_false(eco_reading_present(eco_reading_absent(ECO_PRESENT)));
    assert_string_equal(eco_absence_name(ECO_ABSENT_UNSUPPORTED), "unsupported");
}

static eco_boundary gpu(const char *uuid, const char *pci) {
    eco_boundary boundary = {.kind = ECO_BOUNDARY_GPU};
    strcpy(boundary.uuid, uuid);
    strcpy(boundary.pci_bus_id, pci);
    return boundary;
}

static bool contains(eco_boundary meter, eco_boundary work) {
    return eco_boundary_contains(&meter, &work);
}

static void test_boundaries(void **state) {
    (void)state;
    const eco_boundary a = gpu("GPU-aa", "0000:01:00.0"), b = gpu("GPU-bb", "0000:01:00.0");
    const eco_boundary pci = gpu("", "0000:01:00.0"), nothing = gpu("", "");
    const eco_boundary cpu = {.kind = ECO_BOUNDARY_CPU_PACKAGE}, host = {.kind = ECO_BOUNDARY_HOST};
    const eco_boundary none = {.kind = ECO_BOUNDARY_NONE};
    assert_true(contains(a, gpu("gpu-AA", "")));
    assert_false(contains(a, b)); /* UUIDs decide where both are known */
    assert_true(contains(a, pci) && contains(pci, b));
    assert_false(contains(nothing, nothing) || contains(a, nothing));
    assert_true(contains(cpu, cpu) && contains(host, cpu) && contains(host, a) &&
                contains(host, host));
    assert_false(contains(cpu, a) || contains(a, cpu) || contains(cpu, host) || contains(a, host));
    assert_false(contains(host, none) || contains(none, none) || contains(none, a));
    assert_string_equal(eco_boundary_kind_name(ECO_BOUNDARY_CPU_PACKAGE), "cpu-package");
}

/* The rows of the tables hang together: paths unique, parents in one piece, codes unique. */
static void test_tables(void **state) {
    (void)state;
    for (int i = 0; i < ECO_FIELD_COUNT; i++) {
        const eco_field_info *const field = eco_field_at((eco_field)i);
        assert_true(field->path[0] != '\0' && field->meaning[0] != '\0');
        assert_int_equal(strncmp(field->since, "1.", 2), 0);
        const char *const first = strstr(field->path, "[]");
        assert_true(first == NULL || strstr(first + 2, "[]") == NULL ||
                    strstr(strstr(first + 2, "[]") + 2, "[]") == NULL);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(field->path, eco_field_at((eco_field)k)->path);
        }
    }
    for (int i = 0; i < ECO_WARNING_COUNT; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(eco_warning_at((eco_warning)i)->code,
                                    eco_warning_at((eco_warning)k)->code);
        }
    }
    assert_string_equal(eco_field_at(ECO_FIELD_WI_J)->path, "trials.arms[].windows[].energy_j");
    assert_true(eco_warning_at(ECO_WARNING_REPLAYED)->invalidates);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bases),    cmocka_unit_test(test_phases),
        cmocka_unit_test(test_readings), cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
