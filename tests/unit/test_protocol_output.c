/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a run: named without touching anything, shown to be writable, linked as the latest, removed when nothing
 * came of the run; a folder that holds a report is refused.
 */
#include "protocol_fixture.h"
#include "test_helpers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

static void touch(const char *path) {
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void own_folder(void **state) {
    (void)state;
    eco_output output;
    eco_output other;
    eco_error err = {0};
    ASSERT_OK(eco_output_choose(NULL, false, &output, &err), &err);
    ASSERT_OK(eco_output_choose(NULL, false, &other, &err), &err);
    assert_true(output.own);
    assert_string_not_equal(output.folder, other.folder); /* same second, other name */
    assert_memory_equal(output.folder, "ecocompute-out/2", 16);
    assert_string_equal(output.folder + strlen("ecocompute-out/"), output.run_id);
    assert_false(exists("ecocompute-out"));
    ASSERT_OK(eco_output_prepare(&output, &err), &err);
    ASSERT_OK(eco_output_prepare(&other, &err), &err);
    assert_true(exists(output.folder));
    assert_int_equal(rmdir(other.folder), 0); /* the proof left nothing behind */
    ASSERT_OK(eco_output_latest(&output, &err), &err);
    char link[128] = {0};
    assert_true(readlink("ecocompute-out/latest", link, sizeof link - 1) > 0);
    assert_string_equal(link, output.run_id);
}

static void abandoned(void **state) {
    (void)state;
    eco_output output;
    eco_error err = {0};
    ASSERT_OK(eco_output_choose(NULL, false, &output, &err), &err);
    ASSERT_OK(eco_output_prepare(&output, &err), &err);
    eco_output_abandon(&output);
    assert_false(exists("ecocompute-out"));
    /* Not when something is in it, and never a folder that the user named. */
    char file[ECO_FOLDER_MAX + 16];
    ASSERT_OK(eco_output_prepare(&output, &err), &err);
    (void)snprintf(file, sizeof file, "%s/energy.json", output.folder);
    touch(file);
    eco_output_abandon(&output);
    assert_true(exists(file));
    ASSERT_OK(eco_output_choose("mine", false, &output, &err), &err);
    ASSERT_OK(eco_output_prepare(&output, &err), &err);
    eco_output_abandon(&output);
    assert_true(exists("mine"));
}

static void refused_when_used(void **state) {
    (void)state;
    static const char *const reports[] = {"energy.json", "energy.nf4.json"};
    static const char *const others[] = {"energy.json.bak", "energies.json", "energy.csv",
                                         "power_trace_fp16.csv"};
    eco_output output;
    eco_error err = {0};
    assert_int_equal(mkdir("used", 0700), 0);
    assert_int_equal(chdir("used"), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        touch(others[i]);
    }
    ASSERT_OK(eco_output_choose(".", false, &output, &err), &err);
    assert_false(output.own);
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        touch(reports[i]);
        assert_int_equal(eco_output_choose(".", false, &output, &err), ECO_E_USAGE);
        assert_non_null(strstr(err.message, "holds a report already"));
        ASSERT_OK(eco_output_choose(".", true, &output, &err), &err);
        assert_int_equal(unlink(reports[i]), 0);
    }
}

static void unusable(void **state) {
    (void)state;
    eco_output output;
    eco_error err = {0};
    char path[ECO_FOLDER_MAX + 8];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(eco_output_choose(path, false, &output, &err), ECO_E_USAGE);
    assert_int_equal(eco_output_choose("", false, &output, &err), ECO_E_USAGE);
    touch("file");
    ASSERT_OK(eco_output_choose("file/below", false, &output, &err), &err);
    assert_int_not_equal(eco_output_prepare(&output, &err), ECO_OK);
    assert_non_null(strstr(err.message, "file"));
    assert_int_not_equal(eco_output_prepare(&output, NULL), ECO_OK);
}

static void expect_latest(const char *name) {
    char link[128] = {0};
    const ssize_t length = readlink("ecocompute-out/latest", link, sizeof link - 1);
    assert_string_equal(length > 0 ? link : "", name);
}

/* The link is there from the beginning, so that a killed run is found; one that came to nothing gives it back. */
static void found_again(void **state) {
    (void)state;
    eco_output killed;
    eco_output nothing;
    eco_output found;
    eco_error err = {0};
    assert_int_equal(eco_output_resume(NULL, &found, &err), ECO_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "ecocompute-out/latest"));
    ASSERT_OK(eco_output_choose(NULL, false, &killed, &err), &err);
    ASSERT_OK(eco_output_prepare(&killed, &err), &err);
    expect_latest(killed.run_id);
    assert_int_equal(eco_output_resume(NULL, &found, &err), ECO_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "holds no journal"));
    char file[ECO_FOLDER_MAX + 16];
    (void)snprintf(file, sizeof file, "%s/journal", killed.folder);
    touch(file);
    ASSERT_OK(eco_output_choose(NULL, false, &nothing, &err), &err);
    ASSERT_OK(eco_output_prepare(&nothing, &err), &err);
    expect_latest(nothing.run_id);
    eco_output_abandon(&nothing);
    expect_latest(killed.run_id);
    ASSERT_OK(eco_output_resume(NULL, &found, &err), &err);
    assert_string_equal(found.folder, killed.folder);
    assert_string_equal(found.run_id, killed.run_id);
    /* By name; the run had none of its own yet, so it gets one. */
    ASSERT_OK(eco_output_resume(killed.folder, &found, &err), &err);
    assert_false(found.own);
    assert_true(strlen(found.run_id) > 10);
    assert_int_equal(eco_output_choose(killed.folder, false, &found, &err), ECO_E_USAGE);
    assert_non_null(strstr(err.message, "--resume"));
    ASSERT_OK(eco_output_choose(killed.folder, true, &found, &err), &err);
    eco_output_abandon(&killed); /* not empty: it stays, and so does the link */
    expect_latest(killed.run_id);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_folder, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(abandoned, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(refused_when_used, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(found_again, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(unusable, fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
