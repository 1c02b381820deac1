/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading by symbol table: the newest name wins, what is optional may be missing, messages name
 * what was tried, a stub and a library that others could have planted are refused. Runs on the C
 * library's own shared objects.
 */
#define _GNU_SOURCE

#include "test_helpers.h"

#include "sys/dl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct table {
    double (*square_root)(double);
    double (*renamed)(double);
    void (*missing)(void);
} table;

static eco_error error;
static char folder[] = "/tmp/eco-dl-XXXXXX";

static const eco_dl_symbol symbols[] = {
    {.names = {"sqrt"}, .offset = offsetof(table, square_root), .required = true},
    {.names = {"eco_no_such_v3", "eco_no_such_v2", "cbrt"},
     .offset = offsetof(table, renamed),
     .required = true},
    {.names = {"eco_no_such_function"}, .offset = offsetof(table, missing)},
};

static eco_dl_library library_of(const char *soname, const char *const *folders) {
    return (eco_dl_library){
        .soname = soname, .folders = folders, .symbols = symbols, .n_symbols = 3};
}

static void copy_file(const char *from, const char *to) {
    char buffer[65536];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n = fread(buffer, 1, sizeof buffer, in); n > 0;
         n = fread(buffer, 1, sizeof buffer, in)) {
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    }
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
}

static void join(char out[512], const char *name) {
    (void)snprintf(out, 512, "%s/%s", folder, name);
}

/* A copy of the maths library in our own folder; returns its folder. */
static void plant(const char *sub, const char *name) {
    char path[512];
    const eco_dl_library library = library_of("libm.so.6", NULL);
    eco_dl *dl = NULL;
    table functions;
    ASSERT_OK(ecoi_dl_open(&library, &functions, &dl, &error), &error);
    join(path, sub);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name);
    copy_file(ecoi_dl_path(dl), path);
    assert_int_equal(chmod(path, 0644), 0);
    ecoi_dl_close(dl);
}

static void assert_says(const char *part) {
    if (strstr(error.message, part) == NULL) {
        print_error("message '%s' does not hold '%s'\n", error.message, part);
        fail();
    }
}

static void test_the_loaders_own_search(void **state) {
    (void)state;
    const eco_dl_library library = library_of("libm.so.6", NULL);
    eco_dl *dl = NULL;
    table functions;
    memset(&functions, 0xff, sizeof functions);
    ASSERT_OK(ecoi_dl_open(&library, &functions, &dl, &error), &error);
    ASSERT_NEAR(functions.square_root(9.0), 3.0, 0.0);
    ASSERT_NEAR(functions.renamed(27.0), 3.0,
                1e-12); /* an older name where the newer ones are missing */
    assert_true(functions.missing == NULL);
    assert_int_equal(ecoi_dl_path(dl)[0], '/');
    assert_int_equal(access(ecoi_dl_path(dl), R_OK), 0);
    assert_true(ecoi_dl_path_known(dl));
    ecoi_dl_close(dl);
    ecoi_dl_close(NULL);
}

static void test_known_folders(void **state) {
    (void)state;
    char drivers[512];
    plant("drivers", "libeco-test.so.1");
    join(drivers, "drivers");
    const char *const folders[] = {"/nonexistent/eco", drivers, NULL};
    const eco_dl_library library = library_of("libeco-test.so.1", folders);
    eco_dl *dl = NULL;
    table functions;
    ASSERT_OK(ecoi_dl_open(&library, &functions, &dl, &error), &error);
    ASSERT_NEAR(functions.square_root(16.0), 4.0, 0.0);
    assert_non_null(strstr(ecoi_dl_path(dl), "/drivers/libeco-test.so.1"));
    assert_true(ecoi_dl_path_known(dl));
    ecoi_dl_close(dl);
}

static void test_not_found_names_what_was_tried(void **state) {
    (void)state;
    const char *const folders[] = {"/nonexistent/eco-a", "/nonexistent/eco-b", NULL};
    const eco_dl_library library = library_of("libeco-absent.so.9", folders);
    eco_dl *dl = NULL;
    table functions;
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_NOT_FOUND);
    assert_null(dl);
    assert_says("libeco-absent.so.9");
    assert_says("loader:/nonexistent/eco-a:/nonexistent/eco-b)");
}

static void test_missing_required_symbol(void **state) {
    (void)state;
    static const eco_dl_symbol needed[] = {
        {.names = {"sqrt"}, .offset = offsetof(table, square_root), .required = true},
        {.names = {"eco_gone_v2", "eco_gone"},
         .offset = offsetof(table, missing),
         .required = true},
    };
    const eco_dl_library library = {.soname = "libm.so.6", .symbols = needed, .n_symbols = 2};
    eco_dl *dl = NULL;
    table functions;
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_UNSUPPORTED);
    assert_says("/libm");
    assert_says("eco_gone_v2 or eco_gone");
    assert_null(dl);
    assert_true(functions.square_root == NULL); /* no pointer into a library that is gone */
}

static void test_stub_is_named_and_passed_over(void **state) {
    (void)state;
    char stubs[512];
    char drivers[512];
    plant("stubs", "libeco-stub.so.1");
    join(stubs, "stubs");
    join(drivers, "drivers");
    const char *const only_stub[] = {stubs, NULL};
    eco_dl_library library = library_of("libeco-stub.so.1", only_stub);
    eco_dl *dl = NULL;
    table functions;
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_UNSUPPORTED);
    assert_says("/stubs/libeco-stub.so.1");
    assert_says("toolkit stub");
    plant("drivers", "libeco-stub.so.1"); /* the real one behind it */
    const char *const both[] = {stubs, drivers, NULL};
    library.folders = both;
    ASSERT_OK(ecoi_dl_open(&library, &functions, &dl, &error), &error);
    assert_non_null(strstr(ecoi_dl_path(dl), "/drivers/libeco-stub.so.1"));
    ecoi_dl_close(dl);
}

static void test_broken_file_is_named(void **state) {
    (void)state;
    char path[512];
    char broken[512];
    join(broken, "broken");
    assert_int_equal(mkdir(broken, 0755), 0);
    join(path, "broken/libeco-broken.so.1");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("no library\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const char *const folders[] = {broken, NULL};
    const eco_dl_library library = library_of("libeco-broken.so.1", folders);
    eco_dl *dl = NULL;
    table functions;
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_UNSUPPORTED);
    assert_says("/broken/libeco-broken.so.1");
}

static void test_planted_library_is_refused_as_root(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    char open_folder[512];
    char *before = getenv("LD_LIBRARY_PATH");
    before = before != NULL ? strdup(before) : NULL;
    plant("open", "libeco-planted.so.1");
    join(open_folder, "open");
    assert_int_equal(chmod(open_folder, 0777), 0);
    const char *const folders[] = {open_folder, NULL};
    const eco_dl_library library = library_of("libeco-planted.so.1", folders);
    eco_dl *dl = NULL;
    table functions;
    assert_int_equal(setenv("LD_LIBRARY_PATH", open_folder, 1), 0);
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_PERMISSION);
    assert_says("/open/libeco-planted.so.1");
    assert_says("other users may write it");
    assert_int_equal(chmod(open_folder, 0755), 0);
    ASSERT_OK(ecoi_dl_open(&library, &functions, &dl, &error), &error);
    ecoi_dl_close(dl);
    /* A relative folder: the current one here. */
    assert_int_equal(chdir(open_folder), 0);
    assert_int_equal(setenv("LD_LIBRARY_PATH", "/nonexistent/eco:.", 1), 0);
    assert_int_equal(ecoi_dl_open(&library, &functions, &dl, &error), ECO_E_PERMISSION);
    assert_says("relative folder");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(
        before != NULL ? setenv("LD_LIBRARY_PATH", before, 1) : unsetenv("LD_LIBRARY_PATH"), 0);
    free(before);
}

static int folder_new(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int folder_remove(void **state) {
    static const char *const names[] = {"drivers/libeco-test.so.1",
                                        "drivers/libeco-stub.so.1",
                                        "stubs/libeco-stub.so.1",
                                        "broken/libeco-broken.so.1",
                                        "open/libeco-planted.so.1",
                                        "drivers",
                                        "stubs",
                                        "broken",
                                        "open",
                                        ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        join(path, names[i]);
        (void)remove(path);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loaders_own_search),
        cmocka_unit_test(test_known_folders),
        cmocka_unit_test(test_not_found_names_what_was_tried),
        cmocka_unit_test(test_missing_required_symbol),
        cmocka_unit_test(test_stub_is_named_and_passed_over),
        cmocka_unit_test(test_broken_file_is_named),
        cmocka_unit_test(test_planted_library_is_refused_as_root),
    };
    return cmocka_run_group_tests_name("sys_dl", tests, folder_new, folder_remove);
}
