/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cmocka tests share: cmocka's own includes in their order, and comparisons of doubles
 * that print both values. cmocka's assert_float_equal compares as float, too coarse here. Header
 * only; every function is static inline.
 */
#ifndef ECO_TEST_HELPERS_H
#define ECO_TEST_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

static inline void eco_check_near(double got, double want, double tolerance, const char *what,
                                  const char *file, int line) {
    const double off = fabs(got - want);
    /* Written so that a NaN anywhere fails. */
    if (!(off <= tolerance) && !(isinf(got) && isinf(want) && (got > 0) == (want > 0))) {
        print_error("%s: got %.17g, want %.17g, off by %.3g, allowed %.3g\n", what, got, want, off,
                    tolerance);
        _fail(file, line);
    }
}

/* |got - want| <= tolerance. */
#define ASSERT_NEAR(got, want, tolerance) \
    eco_check_near((got), (want), (tolerance), #got, __FILE__, __LINE__)
/* |got - want| <= relative * |want|. */
#define ASSERT_NEAR_REL(got, want, relative) \
    eco_check_near((got), (want), (relative)*fabs(want), #got, __FILE__, __LINE__)

/* The expression must be ECO_OK; prints the error's message otherwise. */
#define ASSERT_OK(expr, err)                                                            \
    do {                                                                                \
        const int eco_test_status = (int)(expr);                                        \
        if (eco_test_status != 0) {                                                     \
            print_error("%s: status %d: %s\n", #expr, eco_test_status, (err)->message); \
            _fail(__FILE__, __LINE__);                                                  \
        }                                                                               \
    } while (0)

#endif
