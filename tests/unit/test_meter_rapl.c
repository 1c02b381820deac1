/* SPDX-License-Identifier: Apache-2.0
 *
 * RAPL on a fake tree whose counters count at a known power: which zones are added, wrap-around, what cannot be known
 * and is therefore refused, permission, the perf fallback, and the sampler's windows on it. FIELD rows 30, 76 to 78, 81.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "fake_powercap.h"

#include "meters/rapl_zones.h"
#include "meters/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

static eco_error error;
static const uint64_t wide_uj = 262143328850; /* of a real machine */
static const int64_t ms_ns = 1000000;

static eco_meter *open_rapl(const fake_powercap *fake) {
    const eco_meter_options options = {.name = "rapl",
                                       .work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                                       .config = {.system_root = fake->root}};
    eco_meter *meter = NULL;
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    return meter;
}

/* Opens nothing; the message is in `error`. */
static eco_status refused(const char *root) {
    const eco_meter_options options = {.name = "rapl", .config = {.system_root = root}};
    eco_meter *meter = NULL;
    const eco_status status = eco_meter_open(&options, &meter, &error);
    assert_null(meter);
    assert_int_not_equal(status, ECO_OK);
    return status;
}

static void assert_says(const char *what) {
    if (strstr(error.message, what) == NULL) {
        print_error("'%s' does not say '%s'\n", error.message, what);
        fail();
    }
}

/* ---- the counter alone ---- */

static void test_wraps(void **state) {
    (void)state;
    eco_rapl_track track = {.range_uj = wide_uj, .last_uj = wide_uj - 400, .last_ns = 0};
    assert_true(ecoi_rapl_advance(&track, 600, 50 * ms_ns)); /* 400 to the end, 600 from 0 */
    assert_int_equal(track.total_uj, 1000);
    assert_true(ecoi_rapl_advance(&track, 600, 100 * ms_ns));
    assert_int_equal(track.total_uj, 1000);
    /* 24 wraps in 30 s. */
    track = (eco_rapl_track){.range_uj = 500000000};
    uint64_t uj = 0;
    for (int i = 1; i <= 600; i++) {
        uj += 20000000; /* 20 J in 50 ms: 400 W */
        assert_true(ecoi_rapl_advance(&track, uj % track.range_uj, i * 50 * ms_ns));
    }
    assert_int_equal(track.total_uj, UINT64_C(12000000000));
}

/* Counters beyond 32 bits, and beyond what a double holds exactly. */
static void test_big_counters(void **state) {
    (void)state;
    const uint64_t start = (UINT64_C(1) << 62) + 1;
    eco_rapl_track track = {.range_uj = UINT64_MAX, .last_uj = start};
    assert_true(ecoi_rapl_advance(&track, start + 7, ms_ns));
    assert_int_equal(track.total_uj, 7);
    track = (eco_rapl_track){.last_uj = 5000000000u};
    assert_true(ecoi_rapl_advance(&track, 5000000011u, ms_ns));
    assert_int_equal(track.total_uj, 11);
}

/* Where one wrap cannot be told from two, from a reset or from nonsense, nothing is added. */
static void test_gaps(void **state) {
    (void)state;
    const double patience_s = ecoi_rapl_patience_s(65712999613u);
    ASSERT_NEAR(patience_s, 65.463, 0.001); /* a small server range at 1000 W, less 0.25 s */
    eco_rapl_track track = {.range_uj = 65712999613u, .last_uj = 1000};
    assert_true(ecoi_rapl_advance(&track, 2000, (int64_t)((patience_s - 0.01) * 1e9)));
    assert_false(ecoi_rapl_advance(&track, 3000, (int64_t)((2 * patience_s + 0.01) * 1e9)));
    assert_int_equal(track.total_uj, 1000);
    assert_true(ecoi_rapl_advance(&track, 3500, (int64_t)((2 * patience_s + 0.02) * 1e9)));
    assert_int_equal(track.total_uj, 1500); /* goes on from where it was seen last */
    /* A module that was loaded again starts from 0: as a wrap that would be 65 kJ in 50 ms. */
    track = (eco_rapl_track){.range_uj = 65712999613u, .last_uj = 40000000000u};
    assert_false(ecoi_rapl_advance(&track, 5, 50 * ms_ns));
    assert_int_equal(track.total_uj, 0);
    track = (eco_rapl_track){.last_uj = 100}; /* no range: it cannot wrap, so this is a step back */
    assert_false(ecoi_rapl_advance(&track, 50, ms_ns));
    assert_true(isinf(ecoi_rapl_patience_s(0)));
}

/* ---- zones ---- */

static void add_server(fake_powercap *fake) {
    /* intel-rapl:1 is psys here, as on laptops; the second package comes after it. */
    fake_powercap_zone(fake, "intel-rapl:0", "package-0", 100.0, 7000000, wide_uj);
    fake_powercap_zone(fake, "intel-rapl:0:0", "core", 60.0, 0, wide_uj);
    fake_powercap_zone(fake, "intel-rapl:0:1", "dram", 20.0, 0, wide_uj);
    fake_powercap_zone(fake, "intel-rapl:1", "psys", 300.0, 0, wide_uj);
    fake_powercap_zone(fake, "intel-rapl:2", "package-1", 50.0, 0, wide_uj);
    fake_powercap_zone(fake, "intel-rapl-mmio:0", "package-0", 100.0, 0, wide_uj);
}

/* Mean power by the counter between two reads at least `seconds` apart. */
static double counter_power_w(eco_meter *meter, double seconds) {
    eco_meter_sample first;
    eco_meter_sample last;
    eco_meter_read(meter, ECO_READ_ENERGY, &first);
    assert_int_equal(first.energy_j.absence, ECO_PRESENT);
    do {
        ecoi_sleep_until_ns(ecoi_now_ns() + 20 * ms_ns);
        eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY, &last);
        assert_int_equal(last.power_w.absence, ECO_ABSENT_UNSUPPORTED);
        assert_int_equal(last.energy_j.absence, ECO_PRESENT);
    } while ((double)(last.t_ns - first.t_ns) < seconds * 1e9);
    return (last.energy_j.value - first.energy_j.value) / ((double)(last.t_ns - first.t_ns) * 1e-9);
}

static void test_packages_only(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    add_server(&fake);
    fake_powercap_run(&fake);
    eco_meter *meter = open_rapl(&fake);
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.domains,
                        "package-0 + package-1; inside: core; not counted: dram, psys");
    assert_string_equal(info.overridden, fake.root);
    assert_string_equal(info.measurement_source, "direct-rapl");
    ASSERT_NEAR(info.declared.gain, 0.10, 1e-15);
    ASSERT_NEAR(info.declared.offset_w, 2.0, 1e-15);
    assert_non_null(strstr(info.declared.source, "assumed"));
    assert_null(info.power_field);
    assert_non_null(info.energy_field);
    assert_int_equal(info.device.boundary.kind, ECO_BOUNDARY_CPU_PACKAGE);
    /* 100 + 50 W; with dram 170, with core 210, with psys 450, with the mmio twin 250. The writer may be late by as
     * much as the machine stalls. */
    ASSERT_NEAR(counter_power_w(meter, 1.0), 150.0, 7.5);
    eco_meter_part parts[8];
    assert_int_equal(eco_meter_parts(meter, parts, 8), 5);
    double counted_j = 0.0;
    double dram_j = 0.0;
    for (size_t i = 0; i < 5; i++) {
        counted_j += parts[i].counted ? parts[i].energy_j.value : 0.0;
        dram_j = strcmp(parts[i].name, "dram") == 0 ? parts[i].energy_j.value : dram_j;
        assert_int_equal(parts[i].counted, strncmp(parts[i].name, "package-", 8) == 0);
    }
    assert_true(counted_j > 140.0 && dram_j > 15.0 && dram_j < counted_j / 5.0);
    eco_meter_close(meter);
    fake_powercap_free(&fake);
}

static eco_meter_part part_named(eco_meter *meter, const char *name) {
    eco_meter_part parts[8];
    const size_t n = eco_meter_parts(meter, parts, 8);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            return parts[i];
        }
    }
    fail_msg("no part %s", name);
    return parts[0];
}

/* A part whose counter cannot be read has no energy, not its last; one that was reset steps back by more than a host
 * uses in a year, so that no difference across it looks like an energy. The other parts keep theirs. */
static void test_parts_that_fail(void **state) {
    (void)state;
    static const char *const names[] = {"package-0", "dram"};
    static const char *const files[] = {"sys/class/powercap/intel-rapl:0/energy_uj",
                                        "sys/class/powercap/intel-rapl:0:1/energy_uj"};
    fake_powercap fake;
    fake_powercap_new(&fake);
    add_server(&fake);
    fake_powercap_run(&fake);
    eco_meter *meter = open_rapl(&fake);
    ASSERT_NEAR(counter_power_w(meter, 0.3), 150.0, 15.0);
    atomic_store(&fake.stop, true);
    (void)pthread_join(fake.thread, NULL);
    fake.running = false;
    for (size_t i = 0; i < 2; i++) {
        eco_meter_sample sample;
        eco_meter_read(meter, ECO_READ_ENERGY, &sample);
        const double before_j = part_named(meter, names[i]).energy_j.value;
        const double other_j = part_named(meter, "package-1").energy_j.value;
        assert_true(before_j > 1.0 && other_j > 1.0);
        fake_powercap_file(&fake, files[i], "no number\n");
        eco_meter_read(meter, ECO_READ_ENERGY, &sample);
        assert_int_equal(sample.energy_j.absence, i == 0 ? ECO_ABSENT_FAILED : ECO_PRESENT);
        assert_int_equal(part_named(meter, names[i]).energy_j.absence, ECO_ABSENT_FAILED);
        ASSERT_NEAR(part_named(meter, "package-1").energy_j.value, other_j, 1e-9);
        fake_powercap_file(&fake, files[i], "5\n");
        eco_meter_read(meter, ECO_READ_ENERGY, &sample);
        const eco_meter_part after = part_named(meter, names[i]);
        assert_int_equal(after.energy_j.absence, ECO_PRESENT);
        ASSERT_NEAR(after.energy_j.value, before_j - 1e9, 1e-3);
    }
    eco_meter_close(meter);
    fake_powercap_free(&fake);
}

/* Two dies of one package are two counters of it. */
static void test_dies_and_missing_packages(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0-die-0", 40.0, 0, wide_uj);
    fake_powercap_zone(&fake, "intel-rapl:1", "package-0-die-1", 30.0, 0, wide_uj);
    fake_powercap_run(&fake);
    fake_powercap_file(&fake, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    fake_powercap_file(&fake, "sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n");
    assert_int_equal(ecoi_rapl_packages(fake.root), 1);
    eco_meter *meter = open_rapl(&fake);
    ASSERT_NEAR(counter_power_w(meter, 0.6), 70.0, 4.0);
    eco_meter_close(meter);
    fake_powercap_file(&fake, "sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n");
    assert_int_equal(refused(fake.root), ECO_E_UNSUPPORTED);
    assert_says("1 of 2 CPU packages");
    fake_powercap_free(&fake);
}

/* ---- windows ---- */

static const double window_s = 5.0;

/* A window between two ticks; false where the meter itself says that this machine stood still too long to follow. */
static bool window_power(eco_meter *meter, eco_sampler *sampler, double *power_w) {
    eco_edge open;
    eco_edge close;
    char why[200];
    eco_edge_request request = {.block = 1, .phase = ECO_PHASE_DECODE, .after = ECO_PHASE_RAMP};
    ASSERT_OK(ecoi_sampler_edge(sampler, &request, &open, &error), &error);
    const eco_edge_condition condition = {.not_before_ns = open.t_ns + (int64_t)(window_s * 1e9),
                                          .timeout_ns = 1000 * ms_ns};
    request.condition = &condition;
    request.closing = true;
    const eco_status status = ecoi_sampler_edge(sampler, &request, &close, &error);
    if (status == ECO_E_INVALID) {
        eco_meter_trouble(meter, why, sizeof why);
        assert_non_null(strstr(why, "wrapped unseen"));
        return false;
    }
    ASSERT_OK(status, &error);
    const double seconds = (double)(close.t_ns - open.t_ns) * 1e-9;
    assert_true(seconds >= window_s);
    *power_w = (close.energy_j.value - open.energy_j.value) / seconds;
    return true;
}

/* A window through several wraps, by the real sampler. */
static void test_window_through_wraps(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0", 400.0, 0, 800000000); /* every 2 s */
    fake_powercap_run(&fake);
    eco_meter *meter = open_rapl(&fake);
    eco_sampler *sampler = NULL;
    const eco_sampler_options options = {.meter = meter, .rate_hz = 20.0, .capacity = 1000};
    ASSERT_OK(ecoi_sampler_open(&options, &sampler, &error), &error);
    double power_w = 0.0;
    int tries = 1;
    while (!window_power(meter, sampler, &power_w)) {
        assert_true(tries++ < 5);
        ecoi_sampler_clear(sampler);
    }
    ASSERT_NEAR_REL(power_w, 400.0, 0.02);
    size_t n = 0;
    size_t n_energy = 0;
    const eco_sample *rows = ecoi_sampler_rows(sampler, &n);
    for (size_t i = 0; i < n; i++) {
        assert_false(eco_reading_present(rows[i].power_w));
        n_energy += eco_reading_present(rows[i].energy_j);
    }
    assert_true(n_energy > 40); /* each row has it: no power to put there */
    eco_reading idle_w;
    eco_reading temp_c;
    ecoi_sampler_latest(sampler, &idle_w, &temp_c);
    assert_int_equal(idle_w.absence, ECO_PRESENT); /* the counter's rise over the last sample */
    assert_int_equal(temp_c.absence, ECO_ABSENT_UNSUPPORTED);
    ecoi_sampler_close(sampler);
    eco_meter_close(meter);
    fake_powercap_free(&fake);
}

/* Nobody read for longer than a wrap takes at 1000 W: the counter steps back, far enough that no later window passes. */
static void test_unseen_wrap_steps_back(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0", 100.0, 0, 1200000000);
    fake_powercap_run(&fake);
    eco_meter *meter = open_rapl(&fake);
    eco_meter_sample before;
    eco_meter_sample after;
    char why[200];
    eco_meter_read(meter, ECO_READ_ENERGY, &before);
    eco_meter_trouble(meter, why, sizeof why);
    assert_string_equal(why, "");
    ecoi_sleep_until_ns(before.t_ns + 1000 * ms_ns); /* patience is 0.95 s */
    eco_meter_read(meter, ECO_READ_ENERGY, &after);
    assert_true(after.energy_j.value < before.energy_j.value - 9e8);
    eco_meter_trouble(meter, why, sizeof why);
    assert_non_null(strstr(why, "may have wrapped unseen"));
    eco_meter_close(meter);
    fake_powercap_free(&fake);
}

/* ---- why not ---- */

static void test_reasons(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    assert_int_equal(refused(fake.root), ECO_E_UNSUPPORTED);
    assert_says("/sys/class/powercap");
    assert_says("intel_rapl_msr");
    fake_powercap_file(&fake, "proc/cpuinfo", "flags\t\t: fpu hypervisor tsc\n");
    (void)refused(fake.root);
    assert_says("virtual machine");
    fake_powercap_file(&fake, "proc/version", "Linux version 5.15-microsoft-standard-WSL2\n");
    (void)refused(fake.root);
    assert_says("WSL");
    /* Zones that always read the same are no meter: a power of 0 would come of them. */
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0", 0.0, 0, wide_uj);
    assert_int_equal(refused(fake.root), ECO_E_UNSUPPORTED);
    assert_says("stands still");
    fake_powercap_file(&fake, "sys/class/powercap/intel-rapl:0/energy_uj", "not a number\n");
    assert_int_equal(refused(fake.root), ECO_E_UNSUPPORTED);
    assert_says("intel-rapl:0/energy_uj");
    eco_meter_status status;
    const eco_meter_options wanted = {.work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                                      .config = {.system_root = fake.root}};
    assert_false(eco_meter_choose(&wanted, &status));
    assert_string_equal(status.name, "rapl");
    assert_non_null(strstr(status.reason, "intel-rapl:0/energy_uj"));
    fake_powercap_free(&fake);
}

static void test_permission(void **state) {
    (void)state;
    fake_powercap fake;
    char path[2 * FAKE_PATH_MAX];
    fake_powercap_new(&fake);
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0", 10.0, 0, wide_uj);
    (void)snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:0/energy_uj", fake.root);
    assert_int_equal(chmod(path, 0400), 0);
    const bool root =
        geteuid() == 0; /* root may read it all the same: be somebody else meanwhile */
    if (root) {
        assert_int_equal(seteuid(65534), 0);
    } else {
        assert_int_equal(chmod(path, 0), 0);
    }
    const eco_status status = refused(fake.root);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(status, ECO_E_PERMISSION);
    assert_int_equal(error.native, EACCES);
    assert_says("intel-rapl:0/energy_uj");
    assert_says("SUBSYSTEM==\"powercap\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"");
    assert_says("perf_event_paranoid");
    assert_null(strstr(error.message, "sudo"));
    fake_powercap_free(&fake);
}

/* ---- perf ---- */

/* The event is the kernel's own CPU clock, one nanosecond a count on each CPU: as joules at a scale of 1e-8, 10 W. */
static void add_perf(fake_powercap *fake, const char *scale) {
    fake_powercap_file(fake, "sys/bus/event_source/devices/power/type", "1\n");
    fake_powercap_file(fake, "sys/bus/event_source/devices/power/cpumask", "0\n");
    fake_powercap_file(fake, "sys/bus/event_source/devices/power/events/energy-pkg",
                       "event=0x00\n");
    fake_powercap_file(fake, "sys/bus/event_source/devices/power/events/energy-pkg.unit",
                       "Joules\n");
    fake_powercap_file(fake, "sys/bus/event_source/devices/power/events/energy-pkg.scale", scale);
}

static bool perf_is_open(void) {
    struct perf_event_attr attr = {.size = sizeof attr, .type = PERF_TYPE_SOFTWARE};
    const long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0UL);
    if (fd >= 0) {
        (void)close((int)fd);
    }
    return fd >= 0;
}

static void test_perf_fallback(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    add_perf(&fake, "1e-8\n");
    if (!perf_is_open()) { /* then the refusal must say so */
        assert_int_equal(refused(fake.root), ECO_E_PERMISSION);
        assert_says("perf_event_paranoid");
        fake_powercap_free(&fake);
        return;
    }
    eco_meter *meter = open_rapl(&fake);
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_string_equal(info.energy_field, "perf power/energy-pkg");
    assert_string_equal(info.domains, "power/energy-pkg of 1 package");
    ASSERT_NEAR_REL(counter_power_w(meter, 0.3), 10.0, 0.02);
    eco_meter_close(meter);
    fake_powercap_file(&fake, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    fake_powercap_file(&fake, "sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
    assert_int_equal(refused(fake.root), ECO_E_UNSUPPORTED);
    fake_powercap_free(&fake);
}

static void test_perf_odd_files(void **state) {
    (void)state;
    static const char *const odd[][2] = {{"type", "x\n"},
                                         {"events/energy-pkg", "event=2\n"},
                                         {"events/energy-pkg", "event=0x\n"},
                                         {"events/energy-pkg.unit", "uJ\n"},
                                         {"events/energy-pkg.scale", "-1\n"},
                                         {"events/energy-pkg.scale", "\n"},
                                         {"cpumask", "0-\n"},
                                         {"cpumask", "3-1\n"},
                                         {"cpumask", "\n"},
                                         {"cpumask", "99999999\n"}};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        fake_powercap fake;
        char path[128];
        eco_rapl_perf perf;
        fake_powercap_new(&fake);
        add_perf(&fake, "1e-8\n");
        (void)snprintf(path, sizeof path, "sys/bus/event_source/devices/power/%s", odd[i][0]);
        fake_powercap_file(&fake, path, odd[i][1]);
        assert_int_equal(ecoi_rapl_perf_open(fake.root, &perf, &error), ECO_E_UNSUPPORTED);
        assert_int_equal(perf.n, 0);
        assert_says(odd[i][0]);
        fake_powercap_free(&fake);
    }
}

/* ---- boundary ---- */

static void test_boundary(void **state) {
    (void)state;
    fake_powercap fake;
    fake_powercap_new(&fake);
    fake_powercap_zone(&fake, "intel-rapl:0", "package-0", 10.0, 0, wide_uj);
    fake_powercap_run(&fake);
    eco_meter *meter = NULL;
    eco_meter_options options = {.name = "rapl",
                                 .work = {.kind = ECO_BOUNDARY_GPU, .uuid = "GPU-1"},
                                 .config = {.system_root = fake.root}};
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    options.work = (eco_boundary){.kind = ECO_BOUNDARY_HOST};
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    eco_meter_status status;
    assert_false(eco_meter_choose(&options, &status));
    assert_non_null(strstr(status.reason, "does not see work on boundary host"));
    /* Found by boundary alone. */
    options = (eco_meter_options){.work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                                  .config = {.system_root = fake.root}};
    assert_true(eco_meter_choose(&options, &status));
    assert_string_equal(status.name, "rapl");
    ASSERT_OK(eco_meter_open(&options, &meter, &error), &error);
    eco_meter_close(meter);
    fake_powercap_free(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_big_counters),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_packages_only),
        cmocka_unit_test(test_parts_that_fail),
        cmocka_unit_test(test_dies_and_missing_packages),
        cmocka_unit_test(test_window_through_wraps),
        cmocka_unit_test(test_unseen_wrap_steps_back),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_permission),
        cmocka_unit_test(test_perf_fallback),
        cmocka_unit_test(test_perf_odd_files),
        cmocka_unit_test(test_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
