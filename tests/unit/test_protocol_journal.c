/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of the journal: what was appended is read back; a file cut at any byte or with any byte changed gives whole
 * records only, in order, and never one that was not written; the lock belongs to a living process.
 */
#include "core/alloc.h"
#include "protocol/journal.h"
#include "protocol_fixture.h"
#include "sys/file.h"
#include "test_helpers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* {"record": "x", "value": n, "text": …} */
static eco_status append(eco_journal *journal, int64_t value, const char *text, eco_error *err) {
    ecoi_json_doc doc = {0};
    doc.root = ecoi_json_new(&doc, ECOI_JSON_OBJECT);
    assert_non_null(doc.root);
    assert_true(ecoi_json_set(&doc, doc.root, "record", NULL, ecoi_json_new_string(&doc, "x", 1)));
    assert_true(ecoi_json_set(&doc, doc.root, "value", NULL, ecoi_json_new_integer(&doc, value)));
    assert_true(ecoi_json_set(&doc, doc.root, "text", NULL,
                              ecoi_json_new_string(&doc, text, strlen(text))));
    const eco_status status = ecoi_journal_append(journal, doc.root, err);
    ecoi_json_fini(&doc);
    return status;
}

typedef struct seen {
    int64_t values[16];
    char texts[16][32];
    uint32_t n, refuse_at; /* 0 = none */
} seen;

static eco_status visit(void *user, uint32_t index, const ecoi_json *payload,
                        char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    (void)err;
    seen *s = user;
    if (s->refuse_at != 0 && index == s->refuse_at) {
        (void)snprintf(reason, ECO_JOURNAL_REASON_MAX, "was refused");
        return ECO_E_INVALID;
    }
    assert_int_equal(index, s->n);
    assert_true(s->n < 16);
    assert_true(ecoi_json_integer(ecoi_json_member(payload, "value", 5), &s->values[s->n]));
    const ecoi_json *text = ecoi_json_member(payload, "text", 4);
    assert_non_null(text);
    (void)snprintf(s->texts[s->n], sizeof s->texts[0], "%s", text->text);
    s->n++;
    return ECO_OK;
}

static const char *const texts[] = {"plain", "two\nlines, \"quoted\"\n", "   blanks\n   after"};
enum { N_TEXTS = 3 };

/* A journal of three records in `folder`; its bytes are the caller's. */
static char *written(const char *folder, int64_t base, size_t *size) {
    eco_error err = {0};
    eco_journal *journal = NULL;
    ASSERT_OK(ecoi_folder_make(folder, &err), &err);
    ASSERT_OK(ecoi_journal_open(folder, &journal, &err), &err);
    for (int64_t i = 0; i < N_TEXTS; i++) {
        ASSERT_OK(append(journal, base + i, texts[i], &err), &err);
    }
    assert_int_equal(ecoi_journal_count(journal), N_TEXTS);
    ecoi_journal_close(journal, false);
    char path[128];
    char *data = NULL;
    const eco_file_limits limits = {.size_max = 1 << 20};
    (void)snprintf(path, sizeof path, "%s/journal", folder);
    ASSERT_OK(ecoi_file_read(path, &limits, &data, size, &err), &err);
    return data;
}

static void put_file(const char *folder, const char *data, size_t size) {
    eco_error err = {0};
    char path[128];
    ASSERT_OK(ecoi_folder_make(folder, &err), &err);
    (void)snprintf(path, sizeof path, "%s/journal", folder);
    ASSERT_OK(ecoi_file_write(path, data, size, &err), &err);
}

static size_t lines_in(const char *data, size_t size, size_t *good) {
    size_t n = 0;
    *good = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') {
            n++;
            *good = i + 1;
        }
    }
    return n;
}

static void read_back(void **state) {
    (void)state;
    eco_error err = {0};
    eco_journal_scan scan;
    seen s = {0};
    size_t size = 0;
    size_t good = 0;
    char *data = written("a", 40, &size);
    assert_int_equal(lines_in(data, size, &good), N_TEXTS); /* one record, one line */
    ASSERT_OK(ecoi_journal_look("a", visit, &s, &scan, &err), &err);
    assert_int_equal(s.n, N_TEXTS);
    assert_int_equal(scan.good_bytes, size);
    assert_int_equal(scan.dropped_bytes, 0);
    assert_string_equal(scan.reason, "");
    for (int i = 0; i < N_TEXTS; i++) {
        assert_int_equal(s.values[i], 40 + i);
        assert_string_equal(s.texts[i], texts[i]);
    }
    ecoi_free(data);
    assert_int_equal(ecoi_journal_look("nowhere", visit, &s, &scan, &err), ECO_E_NOT_FOUND);
}

/* What a crash can leave: the file ends anywhere, or its last block was never written and reads as zeros. */
static void cut_at_every_byte(void **state) {
    (void)state;
    eco_error err = {0};
    size_t size = 0;
    char *data = written("a", 0, &size);
    for (size_t length = 0; length <= size; length++) {
        for (int zeros = 0; zeros < 2; zeros++) {
            char *copy = ecoi_calloc(1, size + 1);
            assert_non_null(copy);
            memcpy(copy, data, length);
            const size_t shown = zeros ? size : length;
            size_t good = 0;
            const size_t whole = lines_in(data, length, &good);
            seen s = {0};
            eco_journal_scan scan;
            ASSERT_OK(ecoi_journal_parse(copy, shown, visit, &s, &scan, &err), &err);
            assert_int_equal(scan.n_records, whole);
            assert_int_equal(s.n, whole);
            assert_int_equal(scan.good_bytes, good);
            assert_int_equal(scan.dropped_bytes, shown - good);
            assert_int_equal(scan.reason[0] != '\0', shown > good);
            ecoi_free(copy);
        }
    }
    ecoi_free(data);
}

/* Any changed byte ends the good part before its record; in the first record the file is not taken for a journal that
 * may be cut, unless it still looks like one that was just begun. */
static void every_byte_changed(void **state) {
    (void)state;
    size_t size = 0;
    char *data = written("a", 0, &size);
    size_t n_refused = 0;
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            size_t good = 0;
            const size_t before = lines_in(data, i, &good);
            seen s = {0};
            eco_journal_scan scan;
            eco_error err = {0};
            data[i] = (char)(data[i] ^ (1 << bit));
            const eco_status status = ecoi_journal_parse(data, size, visit, &s, &scan, &err);
            data[i] = (char)(data[i] ^ (1 << bit));
            assert_int_equal(s.n, before);
            assert_int_equal(scan.good_bytes, good);
            assert_int_equal(status, before == 0 ? ECO_E_INVALID : ECO_OK);
            n_refused++;
        }
    }
    assert_int_equal(n_refused, size * 8);
    ecoi_free(data);
}

static void expect_good(const char *text, size_t length, uint32_t n, const char *reason) {
    seen s = {0};
    eco_journal_scan scan;
    eco_error err = {0};
    ASSERT_OK(ecoi_journal_parse(text, length, visit, &s, &scan, &err), &err);
    assert_int_equal(scan.n_records, n);
    if (strstr(scan.reason, reason) == NULL) {
        fail_msg("'%s' is not in '%s'", reason, scan.reason);
    }
}

/* Whole records at the wrong place: taken out, twice, exchanged, of another journal. */
static void chain(void **state) {
    (void)state;
    size_t size = 0;
    size_t other_size = 0;
    char *data = written("a", 0, &size);
    char *other = written("b", 100, &other_size);
    const char *const second = strchr(data, '\n') + 1;
    const char *const third = strchr(second, '\n') + 1;
    const size_t n1 = (size_t)(second - data);
    const size_t n2 = (size_t)(third - second);
    const size_t n3 = size - n1 - n2;
    char *text = ecoi_malloc(2 * size + other_size);
    assert_non_null(text);
    memcpy(text, data, n1); /* 1 3 */
    memcpy(text + n1, third, n3);
    expect_good(text, n1 + n3, 1, "record 1 has the wrong checksum");
    memcpy(text, data, n1 + n2); /* 1 2 2 3 */
    memcpy(text + n1 + n2, second, n2 + n3);
    expect_good(text, size + n2, 2, "record 2 has the wrong checksum");
    memcpy(text + n1, third, n3); /* 1 3 2 */
    memcpy(text + n1 + n3, second, n2);
    expect_good(text, size, 1, "record 1 has the wrong checksum");
    memcpy(text, data, n1 + n2); /* 1 2 and the third of another */
    const char *const other_third = strchr(strchr(other, '\n') + 1, '\n') + 1;
    const size_t m3 = other_size - (size_t)(other_third - other);
    memcpy(text + n1 + n2, other_third, m3);
    expect_good(text, n1 + n2 + m3, 2, "record 2 has the wrong checksum");
    ecoi_free(text);
    ecoi_free(data);
    ecoi_free(other);
}

static void bad_frames(void **state) {
    (void)state;
    size_t size = 0;
    char *data = written("a", 0, &size);
    static const struct {
        const char *tail, *reason;
    } rows[] = {{"99999999999 12345678 {}\n", "is no record"},
                {"999999999 12345678 {}\n", "is no record"},
                {"33554432 12345678 {}\n", "is cut short"},
                {"-2 12345678 {}\n", "is no record"},
                {"02 12345678 {}\n", "is no record"},
                {"2  12345678 {}\n", "is no record"},
                {"2 12345678 {} ", "is no record"},
                {"2 12345678 {}\n", "wrong checksum"},
                {"hello world, this is text\n", "is no record"},
                {"\n", "is cut short"},
                {" ", "is no record"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = ecoi_malloc(size + 64);
        assert_non_null(text);
        memcpy(text, data, size);
        memcpy(text + size, rows[i].tail, strlen(rows[i].tail));
        expect_good(text, size + strlen(rows[i].tail), N_TEXTS, rows[i].reason);
        ecoi_free(text);
    }
    /* The visitor's word ends it, too. */
    seen s = {.refuse_at = 2};
    eco_journal_scan scan;
    eco_error err = {0};
    ASSERT_OK(ecoi_journal_parse(data, size, visit, &s, &scan, &err), &err);
    assert_int_equal(scan.n_records, 2);
    assert_string_equal(scan.reason, "record 2 was refused");
    ecoi_free(data);
}

/* A file that is somebody else's is never taken for the torn beginning of a journal. */
static void not_a_journal(void **state) {
    (void)state;
    static const char *const others[] = {
        "dear diary\n", "dear diary",         "{}",           "\n", "12 notes to keep",
        "12 0123456x",  "12 01234567 {\"rec", "2026-01-01 up"};
    static const bool torn[] = {false, false, false, false, false, false, true, false};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        seen s = {0};
        eco_journal_scan scan;
        eco_error err = {0};
        put_file("a", others[i], strlen(others[i]));
        assert_int_equal(ecoi_journal_look("a", visit, &s, &scan, &err),
                         torn[i] ? ECO_OK : ECO_E_INVALID);
        assert_int_equal(strstr(err.message, "a/journal: not a journal") != NULL, !torn[i]);
        assert_int_equal(s.n, 0);
    }
}

static void goes_on_behind_the_good_part(void **state) {
    (void)state;
    eco_error err = {0};
    eco_journal_scan scan;
    eco_journal *journal = NULL;
    seen s = {0};
    size_t size = 0;
    char *data = written("a", 0, &size);
    put_file("a", data, size - 5);
    ecoi_free(data);
    ASSERT_OK(ecoi_journal_open("a", &journal, &err), &err);
    ASSERT_OK(ecoi_journal_load(journal, visit, &s, &scan, &err), &err);
    assert_int_equal(s.n, 2);
    ASSERT_OK(ecoi_journal_cut(journal, &err), &err);
    ASSERT_OK(append(journal, 77, "later", &err), &err);
    ecoi_journal_close(journal, true); /* not its own alone: stays */
    s = (seen){0};
    ASSERT_OK(ecoi_journal_look("a", visit, &s, &scan, &err), &err);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.values[2], 77);
    assert_int_equal(scan.dropped_bytes, 0);
}

static void one_holder(void **state) {
    (void)state;
    eco_error err = {0};
    eco_journal *first = NULL;
    eco_journal *second = NULL;
    eco_journal_scan scan;
    seen s = {0};
    ASSERT_OK(ecoi_folder_make("a", &err), &err);
    assert_false(ecoi_journal_is_held("a"));
    ASSERT_OK(ecoi_journal_open("a", &first, &err), &err);
    assert_true(ecoi_journal_is_held("a"));
    assert_int_equal(ecoi_journal_open("a", &second, &err), ECO_E_BUSY);
    assert_null(second);
    assert_non_null(strstr(err.message, "another run is at work"));
    /* Reading it, and so closing another descriptor of it, does not lose the hold. */
    ASSERT_OK(ecoi_journal_look("a", visit, &s, &scan, &err), &err);
    assert_true(ecoi_journal_is_held("a"));
    ecoi_journal_close(first, true);
    assert_false(ecoi_file_exists("a/journal"));
    assert_false(ecoi_journal_is_held("a"));

    /* A killed holder leaves no lock behind. */
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool held = ecoi_journal_open("a", &first, NULL) == ECO_OK;
        (void)!write(ready[1], held ? "y" : "n", 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(ecoi_journal_open("a", &second, &err), ECO_E_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    ASSERT_OK(ecoi_journal_open("a", &second, &err), &err);
    ecoi_journal_close(second, false);
    assert_true(ecoi_file_exists("a/journal"));
}

static void taken_away(void **state) {
    (void)state;
    eco_error err = {0};
    eco_journal *journal = NULL;
    ASSERT_OK(ecoi_folder_make("a", &err), &err);
    ASSERT_OK(ecoi_journal_open("a", &journal, &err), &err);
    ASSERT_OK(append(journal, 1, "here", &err), &err);
    assert_int_equal(unlink("a/journal"), 0);
    assert_int_equal(append(journal, 2, "gone", &err), ECO_E_IO);
    assert_non_null(strstr(err.message, "a/journal: was taken away"));
    put_file("a", "another's", 9);
    assert_int_equal(append(journal, 2, "gone", &err), ECO_E_IO);
    ecoi_journal_close(journal, true);
    assert_true(ecoi_file_exists("a/journal")); /* the other's */
    assert_int_equal(symlink("a/journal", "link"), 0);
    ASSERT_OK(ecoi_folder_make("b", &err), &err);
    assert_int_equal(symlink("../a/journal", "b/journal"), 0);
    assert_int_not_equal(ecoi_journal_open("b", &journal, &err), ECO_OK);
    assert_int_not_equal(ecoi_journal_open("nowhere", &journal, &err), ECO_OK);
    ASSERT_OK(ecoi_folder_make("c", &err), &err);
    assert_int_equal(mkfifo("c/journal", 0600), 0);
    assert_int_equal(ecoi_journal_open("c", &journal, &err), ECO_E_INVALID);
    assert_null(journal);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read_back, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(cut_at_every_byte, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(every_byte_changed, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(chain, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(bad_frames, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(not_a_journal, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(goes_on_behind_the_good_part, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(one_holder, fixture_enter, fixture_leave),
        cmocka_unit_test_setup_teardown(taken_away, fixture_enter, fixture_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
