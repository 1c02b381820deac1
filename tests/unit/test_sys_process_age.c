/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a process out of the kernel's line, whatever its name holds; and this process's own age against the clock.
 */
#include "test_helpers.h"

#include "sys/clock.h"
#include "sys/process_age.h"

#include <stdio.h>

static void test_the_name_may_hold_anything(void **state) {
    (void)state;
    static const char tail[] = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21 22\n";
    static const char *const names[] = {"42 (eco)", "42 (a b) R (c)", "42 ())", "42 ( 1 2 3 )"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[256];
        unsigned long long ticks = 0;
        (void)snprintf(line, sizeof line, "%s%s", names[i], tail);
        assert_true(ecoi_process_start_ticks(line, &ticks));
        assert_int_equal(ticks, 4711);
    }
    unsigned long long ticks = 0;
    assert_false(ecoi_process_start_ticks("", &ticks));
    assert_false(ecoi_process_start_ticks("42 (eco) S 1 2 3", &ticks));
    assert_false(ecoi_process_start_ticks("42 eco S 1 2 3", &ticks));
}

static void test_age_grows_with_the_clock(void **state) {
    (void)state;
    double before_s = 0.0;
    double after_s = 0.0;
    const int64_t before_ns = ecoi_now_ns();
    assert_true(ecoi_process_age(&before_s));
    ecoi_sleep_until_ns(ecoi_now_ns() + 50000000);
    const int64_t after_ns = ecoi_now_ns();
    assert_true(ecoi_process_age(&after_s));
    assert_true(before_s >= 0.0 && before_s < 60.0);
    ASSERT_NEAR(after_s - before_s, (double)(after_ns - before_ns) * 1e-9, 0.03);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_name_may_hold_anything),
        cmocka_unit_test(test_age_grows_with_the_clock),
    };
    return cmocka_run_group_tests_name("sys_process_age", tests, NULL, NULL);
}
