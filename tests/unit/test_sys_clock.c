/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock: monotonic, absolute sleeps that do not wake early, CPU time apart from wall time, the
 * two UTC forms.
 */
#include "sys/clock.h"
#include "test_helpers.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

static void time_never_steps_back(void **state) {
    (void)state;
    int64_t before = ecoi_now_ns();
    for (int i = 0; i < 100000; i++) {
        const int64_t now = ecoi_now_ns();
        assert_true(now >= before);
        before = now;
    }
}

static void sleep_reaches_its_deadline(void **state) {
    (void)state;
    const int64_t start = ecoi_now_ns();
    const int64_t deadline = start + 20 * INT64_C(1000000);
    const int64_t cpu_before = ecoi_thread_cpu_ns();
    ecoi_sleep_until_ns(deadline);
    const int64_t woke = ecoi_now_ns();
    assert_true(woke >= deadline);
    /* Asleep, not spinning: the thread used less than half of the time. */
    assert_in_range(ecoi_thread_cpu_ns() - cpu_before, 0, (woke - start) / 2);
    ecoi_sleep_until_ns(start); /* past: returns at once */
    ecoi_sleep_until_ns(-5);
}

static void cpu_time_grows_with_work(void **state) {
    (void)state;
    const int64_t before = ecoi_thread_cpu_ns();
    volatile double sum = 0.0;
    for (int i = 1; i < 2000000; i++) {
        sum = sum + 1.0 / i;
    }
    assert_true(ecoi_thread_cpu_ns() - before > 100000);
}

static bool matches(const char *text, const char *pattern) {
    if (strlen(text) != strlen(pattern)) {
        return false;
    }
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        const bool digit = isdigit((unsigned char)text[i]) != 0;
        if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) {
            return false;
        }
    }
    return true;
}

static void utc_has_its_form_and_value(void **state) {
    (void)state;
    char iso[ECO_UTC_MAX];
    char compact[ECO_UTC_MAX];
    const time_t before = time(NULL);
    ecoi_utc_iso(iso);
    ecoi_utc_compact(compact);
    const time_t after = time(NULL);
    assert_true(matches(iso, "0000-00-00T00:00:00.000000Z"));
    assert_true(matches(compact, "00000000T000000Z"));

    /* The value, by the C library's own way from broken-down time. */
    char low[ECO_UTC_MAX];
    char high[ECO_UTC_MAX];
    struct tm parts;
    assert_non_null(gmtime_r(&before, &parts));
    assert_int_equal(strftime(low, sizeof low, "%Y%m%dT%H%M%SZ", &parts), 16);
    assert_non_null(gmtime_r(&after, &parts));
    assert_int_equal(strftime(high, sizeof high, "%Y%m%dT%H%M%SZ", &parts), 16);
    assert_true(strcmp(low, compact) <= 0 && strcmp(compact, high) <= 0);
    assert_non_null(gmtime_r(&before, &parts));
    assert_int_equal(strftime(low, sizeof low, "%Y-%m-%dT%H:%M:%S", &parts), 19);
    assert_non_null(gmtime_r(&after, &parts));
    assert_int_equal(strftime(high, sizeof high, "%Y-%m-%dT%H:%M:%S", &parts), 19);
    assert_true(strncmp(low, iso, 19) <= 0 && strncmp(iso, high, 19) <= 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_steps_back),
        cmocka_unit_test(sleep_reaches_its_deadline),
        cmocka_unit_test(cpu_time_grows_with_work),
        cmocka_unit_test(utc_has_its_form_and_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
