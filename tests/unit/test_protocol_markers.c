/* SPDX-License-Identifier: Apache-2.0
 *
 * Marker lines: times, nesting, repetition, tokens, lines cut anywhere; wrong lines change nothing and are counted.
 */
#include "test_helpers.h"

#include "protocol/markers.h"

#include <stdio.h>
#include <string.h>

static void feed(eco_markers *markers, const char *text, int64_t t_ns) {
    ecoi_markers_feed(markers, text, strlen(text), t_ns);
}

static void phases_and_tokens(void **state) {
    (void)state;
    eco_markers m = {0};
    feed(&m, "ecocompute:begin all\n", 100);
    feed(&m, "ecocompute:begin prefill\n", 110);
    feed(&m, "ecocompute:end prefill\necocompute:begin decode\n", 150);
    feed(&m, "ecocompute:tokens 30\n", 160);
    feed(&m, "ecocompute:end decode\r\n", 200);
    feed(&m, "ecocompute:begin decode\necocompute:tokens 12\n", 210);
    ecoi_markers_end(&m, 260);
    assert_int_equal(m.n_ignored, 0);
    assert_int_equal(m.n_phases, 3);
    assert_string_equal(m.phases[0].name, "all");
    assert_string_equal(m.phases[1].name, "prefill");
    assert_string_equal(m.phases[2].name, "decode");
    assert_true(m.has_tokens);
    assert_int_equal(m.tokens, 42);
    assert_int_equal(m.phases[0].tokens, 42);
    assert_false(m.phases[1].has_tokens);
    assert_int_equal(m.phases[2].tokens, 42);
    static const eco_marker_interval wanted[] = {
        {1, 110, 150}, {2, 150, 200}, {0, 100, 260}, {2, 210, 260}};
    assert_int_equal(m.n_intervals, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(m.intervals[i].phase, wanted[i].phase);
        assert_int_equal(m.intervals[i].begin_ns, wanted[i].begin_ns);
        assert_int_equal(m.intervals[i].end_ns, wanted[i].end_ns);
    }
    ecoi_markers_fini(&m);
}

static void cut_anywhere(void **state) {
    (void)state;
    static const char text[] = "ecocompute:begin a\necocompute:tokens 7\necocompute:end a\n";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        eco_markers m = {0};
        ecoi_markers_feed(&m, text, cut, 1);
        ecoi_markers_feed(&m, text + cut,
                          sizeof text - 1 - (cut < sizeof text - 1 ? cut : sizeof text - 1), 2);
        ecoi_markers_end(&m, 3);
        assert_int_equal(m.n_ignored, 0);
        assert_int_equal(m.n_intervals, 1);
        assert_int_equal(m.tokens, 7);
        ecoi_markers_fini(&m);
    }
}

static void wrong_lines(void **state) {
    (void)state;
    static const char *const lines[] = {
        "hello\n",
        "\n",
        "ecocompute:begin \n",
        "ecocompute:begin\n",
        "ecocompute:end never\n",
        "ecocompute:begin two words\n",
        "ecocompute:begin tab\there\n",
        "ecocompute:tokens \n",
        "ecocompute:tokens -1\n",
        "ecocompute:tokens 1.5\n",
        "ecocompute:tokens 0x10\n",
        "ecocompute:tokens 9999999999999\n",
        " ecocompute:tokens 1\n",
        "ecocompute:stop a\n",
        ("ecocompute:begin "
         "0123456789012345678901234567890123456789012345678901234567890123\n"),
        "ecocompute:begin \xff\n",
        "ecocompute:tokens 1 2\n"};
    eco_markers m = {0};
    const uint32_t n = sizeof lines / sizeof lines[0];
    for (uint32_t i = 0; i < n; i++) {
        feed(&m, lines[i], 1);
        assert_int_equal(m.n_ignored, i + 1);
    }
    assert_int_equal(m.n_phases, 0);
    assert_false(m.has_tokens);
    /* Longer than any line, then a good one. */
    for (int i = 0; i < 100; i++) {
        feed(&m, "0123456789", 1);
    }
    feed(&m, "\necocompute:tokens 5\n", 1);
    assert_int_equal(m.n_ignored, n + 1);
    assert_int_equal(m.tokens, 5);
    ecoi_markers_feed(&m, "ecocompute:tokens 1\0\n", 21, 1);
    assert_int_equal(m.n_ignored, n + 2);
    /* Begun twice without an end; and half a line at the end. */
    feed(&m, "ecocompute:begin a\necocompute:begin a\n", 10);
    assert_int_equal(m.n_ignored, n + 3);
    feed(&m, "ecocompute:end a", 20);
    ecoi_markers_end(&m, 30);
    assert_int_equal(m.n_ignored, n + 4);
    assert_int_equal(m.n_intervals, 1);
    assert_int_equal(m.intervals[0].end_ns, 30);
    ecoi_markers_fini(&m);
}

static void caps(void **state) {
    (void)state;
    eco_markers m = {0};
    for (int i = 0; i < ECO_RUN_PHASES_MAX + 3; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "ecocompute:begin p%d\necocompute:end p%d\n", i, i);
        feed(&m, line, i);
    }
    assert_int_equal(m.n_phases, ECO_RUN_PHASES_MAX);
    assert_int_equal(m.n_ignored, 6);
    for (int i = 0; i < ECO_MARKER_INTERVALS_MAX; i++) {
        feed(&m, "ecocompute:begin p1\necocompute:end p1\n", 1000 + i);
    }
    assert_int_equal(m.n_intervals, ECO_MARKER_INTERVALS_MAX);
    assert_int_equal(m.n_ignored, 6 + ECO_RUN_PHASES_MAX);
    for (int i = 0; i < 2000; i++) {
        feed(&m, "ecocompute:tokens 999999999999\n", 1);
    }
    assert_true(m.tokens <= UINT64_C(1) << 50);
    assert_true(m.n_ignored > 6 + ECO_RUN_PHASES_MAX);
    ecoi_markers_fini(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(phases_and_tokens),
                                       cmocka_unit_test(cut_anywhere),
                                       cmocka_unit_test(wrong_lines), cmocka_unit_test(caps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
