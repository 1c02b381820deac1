/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole-or-absent files: what is on disk after a commit, a discard and each failure; readers refuse
 * what is not a regular file; folders and links. Root has every permission, so that case is tried
 * for others only; the full disk is played by RLIMIT_FSIZE.
 */
#include "core/alloc.h"
#include "sys/file.h"
#include "test_helpers.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name) {
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int folder_fresh(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/eco-test-file-XXXXXX");
    return mkdtemp(folder) == NULL;
}

/* Empties the flat folder and removes it; a test that makes sub-folders removes them. */
static int folder_gone(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return 1;
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)remove(in_folder(entry->d_name));
        }
    }
    (void)closedir(dir);
    return rmdir(folder);
}

static size_t n_entries(void) {
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    assert_int_equal(closedir(dir), 0);
    return n - 2;
}

static void assert_holds(const char *path, const char *want) {
    const eco_file_limits limits = {.size_max = 1 << 20, .refuse_symlink = false};
    char *data = NULL;
    size_t size = 0;
    eco_error err = {0};
    ASSERT_OK(ecoi_file_read(path, &limits, &data, &size, &err), &err);
    assert_int_equal(size, strlen(want));
    assert_string_equal(data, want);
    ecoi_free(data);
}

static void write_replaces_in_one_step(void **state) {
    (void)state;
    eco_error err = {0};
    ASSERT_OK(ecoi_file_write(in_folder("a.json"), "old", 3, &err), &err);
    eco_file_writer *writer = NULL;
    ASSERT_OK(ecoi_file_begin(in_folder("a.json"), &writer, &err), &err);
    ASSERT_OK(ecoi_file_append(writer, "new ", 4, &err), &err);
    assert_holds(in_folder("a.json"), "old");
    ASSERT_OK(ecoi_file_append(writer, "text", 4, &err), &err);
    ASSERT_OK(ecoi_file_commit(writer, &err), &err);
    assert_holds(in_folder("a.json"), "new text");
    assert_int_equal(n_entries(), 1);
    struct stat facts;
    assert_int_equal(stat(in_folder("a.json"), &facts), 0);
    const mode_t mask = umask(0);
    (void)umask(mask);
    assert_int_equal(facts.st_mode & 0777, 0666 & ~mask);
}

static void discard_leaves_the_old_file(void **state) {
    (void)state;
    eco_error err = {0};
    ASSERT_OK(ecoi_file_write(in_folder("a"), "old", 3, &err), &err);
    eco_file_writer *writer = NULL;
    ASSERT_OK(ecoi_file_begin(in_folder("a"), &writer, &err), &err);
    ASSERT_OK(ecoi_file_append(writer, "half", 4, &err), &err);
    assert_int_equal(n_entries(), 2);
    ecoi_file_discard(writer);
    ecoi_file_discard(NULL);
    assert_holds(in_folder("a"), "old");
    assert_int_equal(n_entries(), 1);
}

static void two_writers_do_not_meet(void **state) {
    (void)state;
    eco_error err = {0};
    eco_file_writer *one = NULL;
    eco_file_writer *two = NULL;
    ASSERT_OK(ecoi_file_begin(in_folder("a"), &one, &err), &err);
    ASSERT_OK(ecoi_file_begin(in_folder("a"), &two, &err), &err);
    ASSERT_OK(ecoi_file_append(one, "one", 3, &err), &err);
    ASSERT_OK(ecoi_file_append(two, "two", 3, &err), &err);
    ASSERT_OK(ecoi_file_commit(two, &err), &err);
    ASSERT_OK(ecoi_file_commit(one, &err), &err);
    assert_holds(in_folder("a"), "one");
    assert_int_equal(n_entries(), 1);
}

static void failed_write_leaves_nothing(void **state) {
    (void)state;
    eco_error err = {0};
    ASSERT_OK(ecoi_file_write(in_folder("a"), "old", 3, &err), &err);
    /* A file size limit is the full disk every user has. */
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    char block[4096];
    memset(block, 'x', sizeof block);
    const eco_status status = ecoi_file_write(in_folder("a"), block, sizeof block, &err);
    const eco_status proof = ecoi_folder_prove(folder, 1 << 20, NULL);
    const eco_status small_proof = ecoi_folder_prove(folder, 500, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, ECO_E_IO);
    assert_int_equal(err.native, EFBIG);
    assert_non_null(strstr(err.message, "/a: cannot write: "));
    assert_int_equal(proof, ECO_E_IO);
    assert_int_equal(small_proof, ECO_OK);
    assert_holds(in_folder("a"), "old");
    assert_int_equal(n_entries(), 1);
}

static void begin_names_what_is_wrong(void **state) {
    (void)state;
    eco_error err = {0};
    eco_file_writer *writer = NULL;
    assert_int_equal(ecoi_file_begin(in_folder("no/such"), &writer, &err), ECO_E_NOT_FOUND);
    assert_null(writer);
    assert_non_null(strstr(err.message, "no/such"));
    assert_int_equal(mkdir(in_folder("sub"), 0777), 0);
    assert_int_equal(ecoi_file_write(in_folder("sub"), "x", 1, &err), ECO_E_INVALID);
    assert_int_equal(n_entries(), 1);
    assert_int_equal(ecoi_folder_prove(in_folder("none"), 0, &err), ECO_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "none: cannot write into the folder: "));
    if (geteuid() != 0) {
        assert_int_equal(chmod(in_folder("sub"), 0555), 0);
        assert_int_equal(ecoi_folder_prove(in_folder("sub"), 0, &err), ECO_E_PERMISSION);
    }
}

static void read_keeps_every_byte(void **state) {
    (void)state;
    eco_error err = {0};
    static char big[300000];
    for (size_t i = 0; i < sizeof big; i++) {
        big[i] = (char)(i * 7 % 256);
    }
    ASSERT_OK(ecoi_file_write(in_folder("big"), big, sizeof big, &err), &err);
    char *data = NULL;
    size_t size = 0;
    const eco_file_limits exact = {.size_max = sizeof big, .refuse_symlink = true};
    ASSERT_OK(ecoi_file_read(in_folder("big"), &exact, &data, &size, &err), &err);
    assert_int_equal(size, sizeof big);
    assert_memory_equal(data, big, sizeof big);
    assert_int_equal(data[size], 0);
    ecoi_free(data);
    const eco_file_limits less = {.size_max = sizeof big - 1, .refuse_symlink = true};
    assert_int_equal(ecoi_file_read(in_folder("big"), &less, &data, &size, &err), ECO_E_RANGE);
    assert_null(data);
    assert_int_equal(size, 0);

    /* /proc says size 0 and has content; its cap holds too. */
    const eco_file_limits some = {.size_max = 1 << 20, .refuse_symlink = true};
    ASSERT_OK(ecoi_file_read("/proc/self/status", &some, &data, &size, &err), &err);
    assert_true(size > 100);
    assert_int_equal(strncmp(data, "Name:", 5), 0);
    ecoi_free(data);
    const eco_file_limits few = {.size_max = 10, .refuse_symlink = true};
    assert_int_equal(ecoi_file_read("/proc/self/status", &few, &data, &size, &err), ECO_E_RANGE);
}

static void read_refuses_what_is_no_file(void **state) {
    (void)state;
    eco_error err = {0};
    char *data = NULL;
    size_t size = 0;
    const eco_file_limits strict = {.size_max = 1000, .refuse_symlink = true};
    const eco_file_limits follow = {.size_max = 1000, .refuse_symlink = false};
    assert_int_equal(ecoi_file_read(in_folder("no"), &strict, &data, &size, &err), ECO_E_NOT_FOUND);
    assert_int_equal(ecoi_file_read(folder, &strict, &data, &size, &err), ECO_E_INVALID);
    assert_int_equal(ecoi_file_read("/dev/zero", &strict, &data, &size, &err), ECO_E_INVALID);
    assert_int_equal(mkfifo(in_folder("pipe"), 0666), 0);
    assert_int_equal(ecoi_file_read(in_folder("pipe"), &strict, &data, &size, &err), ECO_E_INVALID);
    assert_non_null(strstr(err.message, "pipe: is not a regular file"));

    ASSERT_OK(ecoi_file_write(in_folder("file"), "text", 4, &err), &err);
    assert_int_equal(symlink("file", in_folder("link")), 0);
    assert_int_equal(ecoi_file_read(in_folder("link"), &strict, &data, &size, &err), ECO_E_INVALID);
    assert_non_null(strstr(err.message, "link: is a symbolic link"));
    ASSERT_OK(ecoi_file_read(in_folder("link"), &follow, &data, &size, &err), &err);
    assert_string_equal(data, "text");
    ecoi_free(data);
}

static void folders_are_made_with_parents(void **state) {
    (void)state;
    eco_error err = {0};
    ASSERT_OK(ecoi_folder_make(in_folder("x/y//z/"), &err), &err);
    ASSERT_OK(ecoi_folder_make(in_folder("x/y/z"), &err), &err);
    ASSERT_OK(ecoi_folder_prove(in_folder("x/y/z"), 4096, &err), &err);
    ASSERT_OK(ecoi_folder_sync(in_folder("x/y/z"), &err), &err);
    ASSERT_OK(ecoi_file_write(in_folder("f"), "", 0, &err), &err);
    assert_int_equal(ecoi_folder_make(in_folder("f/g"), &err), ECO_E_INVALID);
    assert_non_null(strstr(err.message, "/f: is there and is not a folder"));
    assert_int_equal(ecoi_folder_make("", &err), ECO_E_INVALID);
    assert_int_equal(rmdir(in_folder("x/y/z")), 0); /* empty: the probe left nothing */
    assert_int_equal(rmdir(in_folder("x/y")), 0);
}

static void links_are_replaced(void **state) {
    (void)state;
    eco_error err = {0};
    ASSERT_OK(ecoi_link_replace(in_folder("latest"), "one", &err), &err);
    ASSERT_OK(ecoi_link_replace(in_folder("latest"), "two", &err), &err);
    char target[16] = "";
    assert_int_equal(readlink(in_folder("latest"), target, sizeof target), 3);
    assert_string_equal(target, "two");
    assert_true(ecoi_file_exists(in_folder("latest"))); /* dangling, and there */
    assert_false(ecoi_file_exists(in_folder("two")));
    ASSERT_OK(ecoi_file_write(in_folder("file"), "x", 1, &err), &err);
    assert_int_equal(ecoi_link_replace(in_folder("file"), "one", &err), ECO_E_INVALID);
    assert_holds(in_folder("file"), "x");
    assert_int_equal(n_entries(), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(write_replaces_in_one_step, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(discard_leaves_the_old_file, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(two_writers_do_not_meet, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(failed_write_leaves_nothing, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(begin_names_what_is_wrong, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(read_keeps_every_byte, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(read_refuses_what_is_no_file, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(folders_are_made_with_parents, folder_fresh, folder_gone),
        cmocka_unit_test_setup_teardown(links_are_replaced, folder_fresh, folder_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
