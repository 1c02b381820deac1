/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of a program: lines and their limits, what cannot be started, an end at any moment, staleness, and that no
 * process is left over. The programs are small shell scripts made here. FIELD rows 84 and 88.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "ecocompute/meter.h"
#include "meters/exec_child.h"
#include "sys/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static eco_error error;
static const int64_t ms_ns = 1000000;
static char folder[] = "/tmp/eco-exec-XXXXXX";
static char command[256];

/* Writes a script; `command` runs it. `exec` in it keeps the shell's own process as the meter. */
static void script(const char *text) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/meter.sh", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(command, sizeof command, "/bin/sh %s  %s", path, folder);
}

static eco_status open_exec(const eco_meter_config *config, eco_meter **out) {
    const eco_meter_options options = {
        .name = "exec", .work = {.kind = ECO_BOUNDARY_CPU_PACKAGE}, .config = *config};
    error = (eco_error){0};
    return eco_meter_open(&options, out, &error);
}

static eco_meter_config host(void) {
    return (eco_meter_config){
        .exec_command = command, .boundary = {.kind = ECO_BOUNDARY_HOST}, .first_s = 20.0};
}

/* The pid the script wrote. */
static pid_t written_pid(const char *name) {
    char path[128];
    int pid = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    (void)fclose(file);
    return pid;
}

static void assert_gone(pid_t pid) {
    const int64_t until_ns = ecoi_now_ns() + 10000 * ms_ns;
    while (kill(pid, 0) == 0 && ecoi_now_ns() < until_ns) {
        ecoi_sleep_until_ns(ecoi_now_ns() +
                            ms_ns); /* an orphan is reaped by init in its own time */
    }
    if (kill(pid, 0) == 0) {
        char path[64];
        char state = '?';
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            (void)fscanf(file, "%*d %*s %c", &state);
            (void)fclose(file);
        }
        assert_int_equal(state, 'Z'); /* dead, but nobody above us reaps orphans here */
    }
}

/* Until power has this absence. */
static eco_meter_sample wait_absence(eco_meter *meter, eco_absence wanted) {
    eco_meter_sample sample;
    const int64_t until_ns = ecoi_now_ns() + 20000 * ms_ns;
    do {
        eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY, &sample);
        ecoi_sleep_until_ns(ecoi_now_ns() + ms_ns);
    } while (sample.power_w.absence != wanted && ecoi_now_ns() < until_ns);
    assert_int_equal(sample.power_w.absence, wanted);
    return sample;
}

/* ---- lines ---- */

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool fine;
        eco_exec_kind kind;
        double value;
    } rows[] = {
        {"power_w 12.3", true, ECO_EXEC_POWER, 12.3},
        {"energy_j 4567.8", true, ECO_EXEC_ENERGY, 4567.8},
        {"power_w 0", true, ECO_EXEC_POWER, 0.0},
        {"energy_j 1e3", true, ECO_EXEC_ENERGY, 1000.0},
        {"12.3", false, 0, 0},
        {"power_w", false, 0, 0},
        {"power_w ", false, 0, 0},
        {"power_w  1", false, 0, 0},
        {"power_w 1 ", false, 0, 0},
        {"power_w 1\r", false, 0, 0},
        {"power_w -1", false, 0, 0},
        {"power_w nan", false, 0, 0},
        {"power_w inf", false, 0, 0},
        {"power_w 1e999", false, 0, 0},
        {"power_w 0x10", false, 0, 0},
        {"power_w 1,5", false, 0, 0},
        {"power_mw 12", false, 0, 0},
        {"energy_kwh 1", false, 0, 0},
        {"", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_exec_kind kind;
        double value = -1.0;
        const bool fine = ecoi_exec_line(rows[i].text, strlen(rows[i].text), &kind, &value);
        if (fine != rows[i].fine || (fine && kind != rows[i].kind)) {
            print_error("line '%s'\n", rows[i].text);
            fail();
        }
        if (fine) {
            ASSERT_NEAR(value, rows[i].value, 1e-12);
        }
    }
    char longest[ECO_EXEC_LINE_MAX + 2] = "power_w ";
    memset(longest + 8, '1', sizeof longest - 8);
    eco_exec_kind kind;
    double value = 0.0;
    assert_true(ecoi_exec_line(longest, ECO_EXEC_LINE_MAX, &kind, &value));
    assert_false(ecoi_exec_line(longest, ECO_EXEC_LINE_MAX + 1, &kind, &value));
    assert_false(ecoi_exec_line("power_w 1\0002", 11, &kind, &value));
}

/* ---- readings ---- */

static void test_power_and_energy(void **state) {
    (void)state;
    script("echo $$ >$1/pid; echo 'words after $(touch x) are only words' >&2\n"
           "while :; do echo power_w 41.5; echo energy_j 7.25; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    const eco_meter_config config = host();
    ASSERT_OK(open_exec(&config, &meter), &error);
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_int_equal(info.source, ECO_SOURCE_EXEC);
    assert_string_equal(info.measurement_source, "exec");
    assert_string_equal(info.device.name, "sh");
    assert_string_equal(info.scope, "host");
    assert_int_equal(info.device.boundary.kind, ECO_BOUNDARY_HOST);
    assert_non_null(info.power_field);
    assert_non_null(info.energy_field);
    const eco_meter_sample sample = wait_absence(meter, ECO_PRESENT);
    ASSERT_NEAR(sample.power_w.value, 41.5, 1e-12);
    ASSERT_NEAR(sample.energy_j.value, 7.25, 1e-12);
    assert_int_equal(sample.temp_c.absence, ECO_ABSENT_NOT_READ);
    assert_false(sample.device_lost);
    const pid_t pid = written_pid("pid");
    assert_int_equal(kill(pid, 0), 0);
    eco_meter_close(meter);
    assert_int_equal(kill(pid, 0), -1); /* reaped by us: not even a zombie */
    assert_int_equal(errno, ESRCH);
}

/* Only what was declared by the first lines is there. */
static void test_energy_only(void **state) {
    (void)state;
    script("i=0; while :; do i=$((i+1)); echo energy_j $i; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    const eco_meter_config config = host();
    ASSERT_OK(open_exec(&config, &meter), &error);
    eco_meter_info info;
    eco_meter_describe(meter, &info);
    assert_null(info.power_field);
    eco_meter_sample first;
    eco_meter_sample later;
    eco_meter_read(meter, ECO_READ_POWER | ECO_READ_ENERGY, &first);
    assert_int_equal(first.power_w.absence, ECO_ABSENT_UNSUPPORTED);
    assert_int_equal(first.energy_j.absence, ECO_PRESENT);
    const int64_t until_ns = ecoi_now_ns() + 20000 * ms_ns;
    do {
        ecoi_sleep_until_ns(ecoi_now_ns() + ms_ns);
        eco_meter_read(meter, ECO_READ_ENERGY, &later);
    } while (!(later.energy_j.value >= first.energy_j.value + 3.0) && ecoi_now_ns() < until_ns);
    assert_true(later.energy_j.value >= first.energy_j.value + 3.0);
    eco_meter_close(meter);
}

static void test_stale_and_back(void **state) {
    (void)state;
    script("echo power_w 5; echo power_w 6\n"
           "while [ ! -e $1/go ]; do sleep 0.02; done\n"
           "while :; do echo power_w 7; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    eco_meter_config config = host();
    config.stale_s = 0.4;
    ASSERT_OK(open_exec(&config, &meter), &error);
    (void)wait_absence(meter, ECO_ABSENT_STALE);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", folder);
    FILE *go = fopen(path, "w");
    assert_non_null(go);
    (void)fclose(go);
    ASSERT_NEAR(wait_absence(meter, ECO_PRESENT).power_w.value, 7.0, 1e-12);
    eco_meter_close(meter);
    assert_int_equal(unlink(path), 0);
}

/* A line that is no reading makes the readings absent until the next good one. */
static void test_bad_line(void **state) {
    (void)state;
    script("echo power_w 5; echo power_w 6\n"
           "while [ ! -e $1/go ]; do echo power_w 1 W; sleep 0.02; done\n"
           "while :; do echo power_w 7; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    const eco_meter_config config = host();
    ASSERT_OK(open_exec(&config, &meter), &error);
    (void)wait_absence(meter, ECO_ABSENT_FAILED);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", folder);
    FILE *go = fopen(path, "w");
    assert_non_null(go);
    (void)fclose(go);
    ASSERT_NEAR(wait_absence(meter, ECO_PRESENT).power_w.value, 7.0, 1e-12);
    eco_meter_close(meter);
    assert_int_equal(unlink(path), 0);
}

static void test_end_is_told(void **state) {
    (void)state;
    script("echo power_w 5; echo power_w 6; echo 'bus \033[31mis off' >&2; exit 3\n");
    eco_meter *meter = NULL;
    const eco_meter_config config = host();
    char why[ECO_ERROR_MESSAGE_MAX];
    const eco_status status = open_exec(&config, &meter);
    if (status == ECO_OK) { /* the readings were seen before the end */
        const eco_meter_sample sample = wait_absence(meter, ECO_ABSENT_FAILED);
        assert_true(sample.device_lost);
        eco_meter_trouble(meter, why, sizeof why);
        eco_meter_close(meter);
    } else {
        (void)snprintf(why, sizeof why, "%s", error.message);
    }
    assert_non_null(strstr(why, "sh ended with status 3: bus ?[31mis off"));
    /* By a signal. */
    script(
        "echo power_w 5; echo power_w 6; while [ ! -e $1/go ]; do sleep 0.02; done; kill -9 $$\n");
    ASSERT_OK(open_exec(&config, &meter), &error);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/go", folder);
    FILE *go = fopen(path, "w");
    assert_non_null(go);
    (void)fclose(go);
    (void)wait_absence(meter, ECO_ABSENT_FAILED);
    eco_meter_trouble(meter, why, sizeof why);
    assert_non_null(strstr(why, "was ended by signal 9"));
    eco_meter_close(meter);
    assert_int_equal(unlink(path), 0);
}

/* ---- what cannot be opened ---- */

static void test_refusals(void **state) {
    (void)state;
    eco_meter *meter = NULL;
    eco_meter_config config = {.boundary = {.kind = ECO_BOUNDARY_HOST}};
    assert_int_equal(open_exec(&config, &meter), ECO_E_UNSUPPORTED);
    config.exec_command = "/nonexistent/meter -v";
    assert_int_equal(open_exec(&config, &meter), ECO_E_NOT_FOUND);
    assert_string_equal(error.message, "exec: /nonexistent/meter: No such file or directory");
    config.exec_command = "/tmp";
    assert_int_equal(open_exec(&config, &meter), ECO_E_PERMISSION);
    config.exec_command = " \t ";
    assert_int_equal(open_exec(&config, &meter), ECO_E_USAGE);
    config.boundary.kind = ECO_BOUNDARY_NONE;
    assert_int_equal(open_exec(&config, &meter), ECO_E_USAGE);
    script("echo 12; sleep 60\n");
    config = host();
    assert_int_equal(open_exec(&config, &meter), ECO_E_PARSE);
    script("echo $$ >$1/pid; exec sleep 60\n");
    config.first_s = 0.5;
    const int64_t start_ns = ecoi_now_ns();
    assert_int_equal(open_exec(&config, &meter), ECO_E_TIMEOUT);
    assert_true(ecoi_now_ns() - start_ns < 10000 * ms_ns);
    assert_gone(written_pid("pid"));
    script("echo 'no such bus' >&2; exit 4\n");
    config = host();
    assert_int_equal(open_exec(&config, &meter), ECO_E_FAILED);
    assert_string_equal(error.message, "exec: sh ended with status 4: no such bus");
    assert_null(meter);
}

/* Deaf to SIGTERM, with a child of its own: both are gone after close. */
static void test_close_kills_the_group(void **state) {
    (void)state;
    script("trap '' TERM; echo $$ >$1/pid; (trap '' TERM; exec sleep 300) & echo $! >$1/child\n"
           "while :; do echo power_w 1; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    const eco_meter_config config = host();
    ASSERT_OK(open_exec(&config, &meter), &error);
    const pid_t pid = written_pid("pid");
    const pid_t child = written_pid("child");
    assert_int_equal(getpgid(pid), pid); /* a Ctrl-C of the terminal does not reach it */
    eco_meter_close(meter);
    assert_gone(pid);
    assert_gone(child);
}

/* Nothing is started for work the readings do not cover, nor without being named. */
static void test_boundary(void **state) {
    (void)state;
    script("echo $$ >$1/started; while :; do echo power_w 1; sleep 0.02; done\n");
    eco_meter *meter = NULL;
    eco_meter_status status;
    eco_meter_options options = {.name = "exec",
                                 .work = {.kind = ECO_BOUNDARY_CPU_PACKAGE},
                                 .config = {.exec_command = command}};
    assert_true(eco_meter_boundary_parse("gpu:GPU-12", &options.config.boundary));
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    assert_false(eco_meter_choose(&options, &status));
    assert_non_null(strstr(status.reason, "does not see work on boundary cpu-package"));
    options.work = (eco_boundary){.kind = ECO_BOUNDARY_GPU, .uuid = "GPU-13"};
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_BOUNDARY_MISMATCH);
    options.name = NULL;
    options.work = (eco_boundary){.kind = ECO_BOUNDARY_CPU_PACKAGE};
    options.config.boundary.kind = ECO_BOUNDARY_HOST;
    options.config.system_root = folder; /* no RAPL there */
    assert_int_equal(eco_meter_open(&options, &meter, &error), ECO_E_UNSUPPORTED);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/started", folder);
    assert_int_equal(access(path, F_OK), -1);
    eco_boundary boundary;
    assert_true(eco_meter_boundary_parse("gpu:0000:65:00.0", &boundary));
    assert_string_equal(boundary.pci_bus_id, "0000:65:00.0");
    static const char *const wrong[] = {"", "gpu", "gpu:", "gpu:0", "CPU", "host ", "cpu-package"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(eco_meter_boundary_parse(wrong[i], &boundary));
    }
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_power_and_energy),
        cmocka_unit_test(test_energy_only), cmocka_unit_test(test_stale_and_back),
        cmocka_unit_test(test_bad_line),    cmocka_unit_test(test_end_is_told),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_close_kills_the_group),
        cmocka_unit_test(test_boundary),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
