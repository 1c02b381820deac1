/* SPDX-License-Identifier: Apache-2.0
 *
 * See agreement.h.
 */
#include "model/agreement.h"

#include "model/cell.h"

#include <math.h>
#include <string.h>

/* Changes this near to zero have no sign: the published verdict is neutral there. */
static const double NO_SIGN_PCT = 1;

const char *ecoi_agreement_name(ecoi_agreement of) {
    static const char *const names[] = {[ECOI_AGREE_SINGLE] = "single",
                                        [ECOI_AGREE_AGREE] = "agree",
                                        [ECOI_AGREE_BEYOND] = "beyond",
                                        [ECOI_AGREE_DIFFER] = "differ",
                                        [ECOI_AGREE_SIGN] = "sign"};
    return names[of];
}

static double log_ratio(double delta_pct) {
    return log1p(delta_pct / 100);
}

static bool states_interval(const ecoi_session_result *r) {
    return eco_reading_present(r->lo_pct) && eco_reading_present(r->hi_pct);
}

/* Of the logarithm of the energy ratio. */
static double uncertainty(const ecoi_session_result *r) {
    const double repeat = (log_ratio(r->hi_pct.value) - log_ratio(r->lo_pct.value)) / 2;
    return hypot(repeat, eco_reading_present(r->expanded_pct) ? r->expanded_pct.value / 100 : 0);
}

static bool is_beyond(const ecoi_session_result *a, const ecoi_session_result *b) {
    return fabs(log_ratio(a->delta_pct) - log_ratio(b->delta_pct)) >
           hypot(uncertainty(a), uncertainty(b));
}

/* Of the results that name `stack`; NULL: of all. */
static ecoi_session_spread spread_of(const ecoi_session_result *results, size_t n,
                                     const char *stack) {
    ecoi_session_spread out = {.lo_pct = (double)INFINITY, .hi_pct = -(double)INFINITY};
    for (size_t i = 0; i < n; i++) {
        const ecoi_session_result *const one = &results[i];
        if (stack != NULL && strcmp(one->stack, stack) != 0) {
            continue;
        }
        bool new_session = true;
        bool new_stack = one->stack[0] != '\0';
        for (size_t j = 0; j < i; j++) {
            const ecoi_session_result *const before = &results[j];
            if (stack != NULL && strcmp(before->stack, stack) != 0) {
                continue;
            }
            new_stack = new_stack && strcmp(one->stack, before->stack) != 0;
            if (strcmp(one->session, before->session) == 0) {
                new_session = false;
            } else if (states_interval(one) && states_interval(before)) {
                out.n_stated++;
                out.n_beyond += is_beyond(one, before);
            }
        }
        out.n_sessions += new_session;
        out.n_stacks += new_stack;
        out.lo_pct = fmin(out.lo_pct, one->delta_pct);
        out.hi_pct = fmax(out.hi_pct, one->delta_pct);
    }
    return out;
}

static ecoi_agreement judged(const ecoi_session_spread *s) {
    if (s->n_sessions < 2) {
        return ECOI_AGREE_SINGLE;
    }
    if (s->lo_pct < -NO_SIGN_PCT && s->hi_pct > NO_SIGN_PCT) {
        return ECOI_AGREE_SIGN;
    }
    if (s->hi_pct - s->lo_pct > ECOI_SESSIONS_AGREE_PCT) {
        return ECOI_AGREE_DIFFER;
    }
    return s->n_beyond > 0 ? ECOI_AGREE_BEYOND : ECOI_AGREE_AGREE;
}

static bool is_first_of_stack(const ecoi_session_result *results, size_t at) {
    for (size_t i = 0; i < at; i++) {
        if (strcmp(results[i].stack, results[at].stack) == 0) {
            return false;
        }
    }
    return results[at].stack[0] != '\0';
}

ecoi_session_spread ecoi_sessions_compare(const ecoi_session_result *results, size_t n) {
    ecoi_session_spread out = spread_of(results, n, NULL);
    out.agreement = judged(&out);
    for (size_t i = 0; i < n; i++) {
        if (is_first_of_stack(results, i)) {
            const ecoi_session_spread one = spread_of(results, n, results[i].stack);
            const ecoi_agreement same = judged(&one);
            out.same_stack = same > out.same_stack ? same : out.same_stack;
        }
    }
    return out;
}
