/* SPDX-License-Identifier: Apache-2.0
 *
 * Other hosts, as small trees of kernel files: what is there is read, what is missing is unknown, and nothing is read as
 * good that was not seen.
 */
#include "test_helpers.h"

#include "sys/host_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int make_root(void **state) {
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/eco-host-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int drop_root(void **state) {
    (void)state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void put_file(const char *path, const char *text) {
    char full[512];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void nothing_known(void **state) {
    (void)state;
    eco_host_facts host;
    eco_cpu_times times;
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.load_1min, -1.0, 0.0);
    ASSERT_NEAR(host.cgroup_cpus, -1.0, 0.0);
    assert_string_equal(host.governor, "");
    assert_string_equal(host.container, "");
    assert_string_equal(host.nvidia_module, "");
    assert_false(host.hypervisor);
    assert_false(host.wsl);
    assert_false(ecoi_cpu_times(root, &times));
}

static void a_crowded_container(void **state) {
    (void)state;
    eco_host_facts host;
    eco_cpu_times times;
    put_file("/proc/loadavg", "12.34 8.00 4.00 1/200 4242\n");
    put_file("/proc/stat", "cpu  100 20 30 1000 50 6 7 80 9 9\ncpu0 1 2 3\n");
    put_file("/proc/cpuinfo", "flags\t: fpu vme hypervisor lahf_lm\n");
    put_file("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
    put_file("/proc/self/cgroup", "0::/kubepods/pod7\n");
    put_file("/sys/fs/cgroup/kubepods/pod7/cpu.max", "150000 100000\n");
    put_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put_file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    put_file("/proc/1/cgroup", "11:cpu:/kubepods/burstable/x\n");
    put_file("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Sep\n"
             "GCC version:  gcc version 12.2.0\n");
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.load_1min, 12.34, 1e-9);
    ASSERT_NEAR(host.cgroup_cpus, 1.5, 1e-12);
    assert_string_equal(host.governor, "powersave");
    assert_true(host.governors_differ);
    assert_true(host.hypervisor);
    assert_true(host.wsl);
    assert_string_equal(host.container, "kubernetes");
    assert_string_equal(host.nvidia_module, "580.159.04");
    assert_true(ecoi_cpu_times(root, &times));
    assert_int_equal(times.total, 1293);
    assert_int_equal(times.busy, 243);
    assert_int_equal(times.stolen, 80);
    put_file(
        "/proc/driver/nvidia/version", /* the open module, as on an H200 */
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n");
    ecoi_host_facts(root, &host);
    assert_string_equal(host.nvidia_module, "580.159.04");
    put_file("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64\n");
    ecoi_host_facts(root, &host);
    assert_string_equal(host.nvidia_module, "");
}

static void limits_of_both_kinds(void **state) {
    (void)state;
    eco_host_facts host;
    put_file("/proc/self/cgroup", "0::/\n");
    put_file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.cgroup_cpus, 0.0, 0.0);
    put_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.cgroup_cpus, 0.5, 1e-12);
    drop_root(state);
    make_root(state);
    put_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    put_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.cgroup_cpus, 4.0, 1e-12);
    put_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    ecoi_host_facts(root, &host);
    ASSERT_NEAR(host.cgroup_cpus, 0.0, 0.0);
}

static void folders(void **state) {
    (void)state;
    uint64_t free_bytes = 0;
    bool writable = false;
    char missing[96];
    assert_true(ecoi_folder_space(root, &free_bytes, &writable));
    assert_true(writable);
    assert_true(free_bytes > 0);
    (void)snprintf(missing, sizeof missing, "%s/missing", root);
    assert_false(ecoi_folder_space(missing, &free_bytes, &writable));
    assert_false(writable);
}

static void the_clock(void **state) {
    (void)state;
    int64_t resolution_ns = 0;
    int64_t step_ns = 0;
    char source[32];
    ecoi_clock_facts(&resolution_ns, &step_ns, source, sizeof source);
    assert_true(resolution_ns >= 1 && resolution_ns <= 10000000);
    assert_true(step_ns >= 1 && step_ns < 1000000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_known, make_root, drop_root),
        cmocka_unit_test_setup_teardown(a_crowded_container, make_root, drop_root),
        cmocka_unit_test_setup_teardown(limits_of_both_kinds, make_root, drop_root),
        cmocka_unit_test_setup_teardown(folders, make_root, drop_root),
        cmocka_unit_test(the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
