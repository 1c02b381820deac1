/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host offers, against what POSIX itself says of it.
 */
#include "sys/cpu.h"

#include "test_helpers.h"

#include <string.h>
#include <unistd.h>

static void test_allowed_cores(void **state) {
    (void)state;
    const uint32_t n = ecoi_cpu_allowed();
    assert_true(n >= 1);
    assert_true((long)n <= sysconf(_SC_NPROCESSORS_CONF));
}

static void test_model_name(void **state) {
    (void)state;
    char name[96] = "";
    ecoi_cpu_model_name(name, sizeof name);
    assert_true(strlen(name) > 0);
    assert_null(strchr(name, '\n'));
    char cut[4] = "";
    ecoi_cpu_model_name(cut, sizeof cut);
    assert_true(strlen(cut) <= 3);
    assert_int_equal(strncmp(cut, name, strlen(cut)), 0);
}

static void test_memory(void **state) {
    (void)state;
    const eco_host_memory memory = ecoi_host_memory();
    if (memory.total_bytes == 0) {
        print_message("no /proc/meminfo here\n");
        skip();
    }
    assert_true(memory.available_bytes > 0);
    assert_true(memory.available_bytes <= memory.total_bytes);
    assert_true(memory.total_bytes >= 64ull << 20); /* bytes, not kilobytes */
}

static void test_cache(void **state) {
    (void)state;
    const uint64_t bytes = ecoi_cpu_cache_bytes();
    assert_true(bytes == 0 || (bytes >= 16u << 10 && bytes <= 8ull << 30));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed_cores),
        cmocka_unit_test(test_model_name),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_cache),
    };
    return cmocka_run_group_tests_name("sys_cpu", tests, NULL, NULL);
}
