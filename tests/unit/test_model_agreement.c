/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether sessions of one case agree: by sign, by points, by what they state; and the same within one stack.
 */
#include "model/agreement.h"
#include "test_helpers.h"

#include <math.h>

#define NOTHING eco_reading_absent(ECO_ABSENT_UNSUPPORTED)

static ecoi_session_result bare(const char *session, const char *stack, double delta_pct) {
    return (ecoi_session_result){.session = session,
                                 .stack = stack,
                                 .delta_pct = delta_pct,
                                 .lo_pct = NOTHING,
                                 .hi_pct = NOTHING,
                                 .expanded_pct = NOTHING};
}

/* `log_half`: half-width of the interval in ln(ratio). */
static ecoi_session_result stated(const char *session, double log_ratio, double log_half) {
    ecoi_session_result r = bare(session, "s", 100 * expm1(log_ratio));
    r.lo_pct = eco_reading_of(100 * expm1(log_ratio - log_half));
    r.hi_pct = eco_reading_of(100 * expm1(log_ratio + log_half));
    return r;
}

static ecoi_agreement of_two(double a_pct, double b_pct) {
    const ecoi_session_result two[] = {bare("1", "", a_pct), bare("2", "", b_pct)};
    return ecoi_sessions_compare(two, 2).agreement;
}

static void points_and_signs(void **state) {
    (void)state;
    assert_int_equal(of_two(-30, -21), ECOI_AGREE_AGREE);
    assert_int_equal(of_two(-30, -20), ECOI_AGREE_AGREE);
    assert_int_equal(of_two(-30, -19.9), ECOI_AGREE_DIFFER);
    assert_int_equal(of_two(-2, 2), ECOI_AGREE_SIGN);
    assert_int_equal(of_two(-0.9, 2), ECOI_AGREE_AGREE); /* under 1 % there is no sign */
    assert_int_equal(of_two(-2, 0.9), ECOI_AGREE_AGREE);
    assert_int_equal(of_two(-40, 40), ECOI_AGREE_SIGN);
}

static void one_session_is_single(void **state) {
    (void)state;
    const ecoi_session_result same[] = {stated("1", -0.3, 0.001), stated("1", 0.3, 0.001)};
    const ecoi_session_spread s = ecoi_sessions_compare(same, 2);
    assert_int_equal(s.agreement, ECOI_AGREE_SINGLE);
    assert_int_equal(s.n_sessions, 1);
    assert_int_equal(s.n_stated, 0); /* both share the session's faults */
    assert_true(fabs(s.hi_pct - 100 * expm1(0.3)) < 1e-9);
    assert_int_equal(ecoi_sessions_compare(same, 1).agreement, ECOI_AGREE_SINGLE);
}

/* Roots of sums of squares: 3 and 4 make 5, and what differs by less than the root of the sum of squares agrees. */
static void stated_intervals_count(void **state) {
    (void)state;
    ecoi_session_result two[] = {stated("1", -0.40, 0.003), stated("2", -0.4049, 0.004)};
    ecoi_session_spread s = ecoi_sessions_compare(two, 2);
    assert_int_equal(s.agreement, ECOI_AGREE_AGREE);
    assert_int_equal(s.n_stated, 1);
    assert_int_equal(s.n_beyond, 0);
    two[1] = stated("2", -0.4051, 0.004);
    s = ecoi_sessions_compare(two, 2);
    assert_int_equal(s.agreement, ECOI_AGREE_BEYOND);
    assert_int_equal(s.n_beyond, 1);
    two[0].expanded_pct = eco_reading_of(0.2); /* 2, 3 and 4 make 5.4 */
    assert_int_equal(ecoi_sessions_compare(two, 2).agreement, ECOI_AGREE_AGREE);
    two[0].lo_pct = NOTHING; /* states none */
    s = ecoi_sessions_compare(two, 2);
    assert_int_equal(s.agreement, ECOI_AGREE_AGREE);
    assert_int_equal(s.n_stated, 0);
}

/* Three sessions of two stacks: only x was measured twice, and there they agree. */
static void within_one_stack(void **state) {
    (void)state;
    ecoi_session_result of[] = {bare("1", "x", -15), bare("2", "y", 3), bare("3", "x", -12),
                                bare("4", "", 2), bare("5", "", -9)};
    ecoi_session_spread s = ecoi_sessions_compare(of, 5);
    assert_int_equal(s.agreement, ECOI_AGREE_SIGN);
    assert_int_equal(s.same_stack, ECOI_AGREE_AGREE);
    assert_int_equal(s.n_sessions, 5);
    assert_int_equal(s.n_stacks, 2);
    assert_true(s.lo_pct <= -15 && s.lo_pct >= -15);
    assert_true(s.hi_pct <= 3 && s.hi_pct >= 3);
    of[2].delta_pct = -30;
    assert_int_equal(ecoi_sessions_compare(of, 5).same_stack, ECOI_AGREE_DIFFER);
    of[2].stack = "z"; /* no stack twice; what is not recorded is no stack */
    s = ecoi_sessions_compare(of, 5);
    assert_int_equal(s.same_stack, ECOI_AGREE_SINGLE);
    assert_int_equal(s.n_stacks, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_and_signs),
        cmocka_unit_test(one_session_is_single),
        cmocka_unit_test(stated_intervals_count),
        cmocka_unit_test(within_one_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
