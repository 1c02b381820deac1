/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe's document: written and read back to the same numbers, every field checked; and its place in the cache,
 * which belongs to one device, driver and program.
 */
#include "test_helpers.h"

#include "protocol/build_facts.h"
#include "protocol/probe_cache.h"
#include "sys/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static eco_probe make_probe(void) {
    eco_probe p = {.device = "NVIDIA H200",
                   .device_hash = "0123456789abcdef",
                   .driver = "580.1",
                   .meter = "nvml",
                   .probed_utc = "2026-11-30T12:00:00.000000Z",
                   .libraries_known = true,
                   .seconds = 12.5};
    snprintf(p.tool, sizeof p.tool, "%s, commit %s, %s", ECO_VERSION, ECO_COMMIT, ECO_BUILD_TYPE);
    for (size_t i = 0; i < ECO_PROBE_COUNT; i++) {
        const double unit = eco_probe_at((eco_probe_item)i)->si;
        p.values[i] = (eco_probe_value){.quantity = {.value = 100.0 * unit,
                                                     .lo = -5.0 * unit,
                                                     .hi = 205.0 * unit,
                                                     .n = 3,
                                                     .basis = ECO_BASIS_COMPUTED},
                                        .method = "made up"};
    }
    p.values[ECO_PROBE_MATRIX_INT8] =
        (eco_probe_value){.quantity = {.basis = ECO_BASIS_UNAVAILABLE}, .why = "no such kernel"};
    p.values[ECO_PROBE_IDLE_BARE].quantity.n = 1;
    return p;
}

static void there_and_back(void **state) {
    (void)state;
    const eco_probe p = make_probe();
    eco_probe q;
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_probe_write(&p, &text, &err), &err);
    ASSERT_OK(eco_probe_read(text.data, text.length, "t", &q, &err), &err);
    assert_string_equal(q.device, p.device);
    assert_string_equal(q.tool, p.tool);
    ASSERT_NEAR_REL(q.values[ECO_PROBE_READ_RATE].quantity.value, 1e11, 1e-12);
    ASSERT_NEAR_REL(q.values[ECO_PROBE_READ_ENERGY].quantity.hi, 205e-12, 1e-12);
    ASSERT_NEAR_REL(q.values[ECO_PROBE_LAUNCH].quantity.lo, -5e-6, 1e-12);
    assert_int_equal(q.values[ECO_PROBE_LAUNCH].quantity.basis, ECO_BASIS_COMPUTED);
    assert_int_equal(q.values[ECO_PROBE_MATRIX_INT8].quantity.n, 0);
    assert_string_equal(q.values[ECO_PROBE_MATRIX_INT8].why, "no such kernel");
    assert_int_equal(q.values[ECO_PROBE_IDLE_BARE].quantity.n, 1);
    ASSERT_NEAR(q.values[ECO_PROBE_IDLE_BARE].quantity.lo, 100.0, 1e-9); /* n = 1: no interval */
    eco_text_free(&text);
}

/* Each edit spoils one field; nothing of a spoilt document is used. */
static void spoilt(void **state) {
    (void)state;
    static const char *const edits[][2] = {{"ecocompute-probe/1", "ecocompute-probe/2"},
                                           {"\"GB/s\"", "\"MB/s\""},
                                           {"\"value\": 100", "\"value\": -100"},
                                           {"\"value\": 100", "\"value\": \"100\""},
                                           {"\"n\": 3", "\"n\": 0"},
                                           {"\"n\": 3", "\"n\": 2.5"},
                                           {"\"computed\"", "\"guessed\""},
                                           {"\"ci95_hi\": 205", "\"ci95_hi\": 99"},
                                           {"\"ci95_lo\": -5", "\"ci95_lo\": 101"},
                                           {"\"ci95_lo\": -5", "\"ci95_lx\": -5"},
                                           {"\"launch\":", "\"lunch\":"},
                                           {"2026-11-30T12:00:00.000000Z", "2026"},
                                           {"\"seconds\": 12.5", "\"seconds\": 0"},
                                           {"\"why_absent\"", "\"why\""},
                                           {"\"libraries_known\": true", "\"libraries_known\": 1"}};
    const eco_probe p = make_probe();
    eco_text text = {0};
    eco_error err = {0};
    ASSERT_OK(eco_probe_write(&p, &text, &err), &err);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char *copy = calloc(1, text.length + 64);
        assert_non_null(copy);
        const char *at = strstr(text.data, edits[i][0]);
        assert_non_null(at);
        sprintf(copy, "%.*s%s%s", (int)(at - text.data), text.data, edits[i][1],
                at + strlen(edits[i][0]));
        eco_probe q;
        assert_int_equal(eco_probe_read(copy, strlen(copy), "t", &q, &err), ECO_E_INVALID);
        assert_int_equal(q.device[0], '\0');
        free(copy);
    }
    eco_probe q;
    assert_int_equal(eco_probe_read("{", 1, "t", &q, &err), ECO_E_PARSE);
    assert_int_equal(eco_probe_read("[]", 2, "t", &q, &err), ECO_E_INVALID);
    eco_text_free(&text);
}

static eco_report *report_of(const char *hash, const char *driver) {
    eco_report *r = eco_report_new();
    eco_report_set_string(r, ECO_FIELD_EN_UUID_HASH, ECO_TOP, hash);
    eco_report_set_string(r, ECO_FIELD_SW_DRIVER, ECO_TOP, driver);
    return r;
}

static void lent_to(const char *hash, const char *driver, bool expected) {
    eco_explain_lent lent;
    eco_report *r = report_of(hash, driver);
    assert_int_equal(eco_probe_lend(r, &lent), expected);
    ASSERT_NEAR(lent.matrix_fp16_ops_per_s, expected ? 100e12 : 0.0, 1.0);
    if (expected) {
        assert_string_equal(lent.from, "probe of 2026-11-30, not of this run");
        ASSERT_NEAR(lent.matrix_int8_ops_per_s, 0.0, 0.0); /* absent there */
    }
    eco_report_free(r);
}

static void cache(void **state) {
    (void)state;
    char root[] = "/tmp/eco_probe_XXXXXX";
    char folder[128];
    char path[512] = "";
    eco_error err = {0};
    assert_non_null(mkdtemp(root));
    assert_int_equal(setenv("XDG_CACHE_HOME", root, 1), 0);
    eco_probe p = make_probe();
    eco_probe q = p;
    assert_false(ecoi_probe_cached(&q));
    ASSERT_OK(ecoi_probe_keep(&p, &err), &err);
    assert_true(ecoi_probe_cached(&q));
    assert_true(q.cached);
    ASSERT_NEAR_REL(q.values[ECO_PROBE_READ_RATE].quantity.value, 1e11, 1e-12);

    lent_to("0123456789abcdef", "580.1", true);
    lent_to("0123456789abcdee", "580.1", false); /* another card */
    lent_to("0123456789abcdef", "580.2", false); /* another driver */
    q = p;
    snprintf(q.tool, sizeof q.tool, "another build");
    assert_false(ecoi_probe_cached(&q));

    /* The right name with another card's probe in it, and half a file. */
    snprintf(folder, sizeof folder, "%s/ecocompute", root);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%.255s", folder, e->d_name);
        }
    }
    closedir(dir);
    eco_probe other = p;
    snprintf(other.device_hash, sizeof other.device_hash, "fedcba9876543210");
    eco_text text = {0};
    ASSERT_OK(eco_probe_write(&other, &text, &err), &err);
    ASSERT_OK(ecoi_file_write(path, text.data, text.length, &err), &err);
    q = p;
    assert_false(ecoi_probe_cached(&q));
    assert_false(q.cached);
    ASSERT_OK(ecoi_file_write(path, text.data, text.length / 2, &err), &err);
    assert_false(ecoi_probe_cached(&q));
    eco_text_free(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(root), 0);
}

/* A relative XDG folder counts as none, and without HOME there is no place. */
static void no_place(void **state) {
    (void)state;
    const eco_probe p = make_probe();
    eco_error err = {0};
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(ecoi_probe_keep(&p, &err), ECO_E_UNSUPPORTED);
    eco_probe q = p;
    assert_false(ecoi_probe_cached(&q));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(spoilt),
                                       cmocka_unit_test(cache), cmocka_unit_test(no_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
