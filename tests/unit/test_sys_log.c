/* SPDX-License-Identifier: Apache-2.0
 *
 * The log: no sink by default, levels, held lines in order, overflow said, control characters
 * tamed, threads.
 */
#include "sys/log.h"
#include "test_helpers.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CAUGHT_MAX = 512 };

typedef struct catcher {
    size_t n;
    char lines[CAUGHT_MAX][ECO_LOG_LINE_MAX];
    eco_log_level levels[CAUGHT_MAX];
} catcher;

static catcher caught;

static void catch_line(void *user, eco_log_level level, const char *line) {
    catcher *to = user;
    assert_true(to->n < CAUGHT_MAX);
    to->levels[to->n] = level;
    (void)snprintf(to->lines[to->n], ECO_LOG_LINE_MAX, "%s", line);
    to->n++;
}

static int fresh(void **state) {
    (void)state;
    memset(&caught, 0, sizeof caught);
    eco_log_set(catch_line, &caught, ECO_LOG_INFO);
    return 0;
}

static void no_sink_no_line(void **state) {
    (void)state;
    eco_log_set(NULL, NULL, ECO_LOG_DEBUG);
    ecoi_log(ECO_LOG_WARN, "lost");
    eco_log_set(catch_line, &caught, ECO_LOG_INFO);
    assert_int_equal(caught.n, 0);
}

static void levels_filter(void **state) {
    (void)state;
    ecoi_log(ECO_LOG_WARN, "warn %d", 1);
    ecoi_log(ECO_LOG_INFO, "info %d", 2);
    ecoi_log(ECO_LOG_DEBUG, "debug %d", 3);
    ecoi_log(ECO_LOG_NONE, "none");
    assert_int_equal(caught.n, 2);
    assert_string_equal(caught.lines[0], "warn 1");
    assert_int_equal(caught.levels[1], ECO_LOG_INFO);
    assert_string_equal(caught.lines[1], "info 2");
}

static void held_lines_come_in_order(void **state) {
    (void)state;
    ecoi_log_hold();
    ecoi_log_hold();
    ecoi_log(ECO_LOG_WARN, "first");
    ecoi_log(ECO_LOG_INFO, "second");
    ecoi_log_release();
    assert_int_equal(caught.n, 0);
    ecoi_log_release();
    assert_int_equal(caught.n, 2);
    assert_string_equal(caught.lines[0], "first");
    assert_string_equal(caught.lines[1], "second");
    ecoi_log_release(); /* one too many does no harm */
    ecoi_log(ECO_LOG_WARN, "third");
    assert_int_equal(caught.n, 3);
}

static void overflow_is_said(void **state) {
    (void)state;
    ecoi_log_hold();
    for (int i = 0; i < ECO_LOG_HELD_MAX + 5; i++) {
        ecoi_log(ECO_LOG_INFO, "line %d", i);
    }
    ecoi_log_release();
    assert_int_equal(caught.n, ECO_LOG_HELD_MAX + 1);
    assert_string_equal(caught.lines[ECO_LOG_HELD_MAX - 1], "line 63");
    assert_string_equal(caught.lines[ECO_LOG_HELD_MAX],
                        "5 more log lines were dropped while measuring");
}

static void lines_are_tame(void **state) {
    (void)state;
    ecoi_log(ECO_LOG_WARN, "a\nb\x1b[31mc\x7f");
    assert_string_equal(caught.lines[0], "a?b?[31mc?");
    char text[ECO_LOG_LINE_MAX * 2];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ecoi_log(ECO_LOG_WARN, "%s", text);
    assert_int_equal(strlen(caught.lines[1]), ECO_LOG_LINE_MAX - 1);
}

static void *log_many(void *name) {
    for (int i = 0; i < 100; i++) {
        ecoi_log(ECO_LOG_INFO, "%s%s%s%s", (const char *)name, (const char *)name,
                 (const char *)name, (const char *)name);
    }
    return NULL;
}

static void threads_do_not_mix_lines(void **state) {
    (void)state;
    char a[] = "aaaa";
    char b[] = "bbbb";
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, log_many, a), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, log_many, b), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_int_equal(caught.n, 200);
    size_t n_a = 0;
    for (size_t i = 0; i < caught.n; i++) {
        if (strcmp(caught.lines[i], "aaaaaaaaaaaaaaaa") == 0) {
            n_a++;
        } else {
            assert_string_equal(caught.lines[i], "bbbbbbbbbbbbbbbb");
        }
    }
    assert_int_equal(n_a, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_sink_no_line, fresh),
        cmocka_unit_test_setup(levels_filter, fresh),
        cmocka_unit_test_setup(held_lines_come_in_order, fresh),
        cmocka_unit_test_setup(overflow_is_said, fresh),
        cmocka_unit_test_setup(lines_are_tame, fresh),
        cmocka_unit_test_setup(threads_do_not_mix_lines, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
