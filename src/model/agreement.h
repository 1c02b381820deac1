/* SPDX-License-Identifier: Apache-2.0
 *
 * Do the sessions of one case agree? Results of other cases or engines are never given together.
 */
#ifndef ECOI_AGREEMENT_H
#define ECOI_AGREEMENT_H

#include "ecocompute/record.h"

/* From none to most; the first that fits from below is a case's. */
typedef enum ecoi_agreement {
    ECOI_AGREE_SINGLE = 0, /* one session */
    ECOI_AGREE_AGREE,
    ECOI_AGREE_BEYOND, /* two are farther apart than both state, and by less than the next */
    ECOI_AGREE_DIFFER, /* changes farther apart than ECOI_SESSIONS_AGREE_PCT (cell.h), a judgement: most
                          sources state no uncertainty */
    ECOI_AGREE_SIGN /* one saves and another costs */
} ecoi_agreement;
const char *ecoi_agreement_name(ecoi_agreement of); /* "single", "agree", … */

/* One result. Names are the caller's. */
typedef struct ecoi_session_result {
    const char *session;
    const char *stack;          /* "" = not recorded */
    double delta_pct;           /* above -100 */
    eco_reading lo_pct, hi_pct; /* of 95 % by repetition, both or none */
    eco_reading expanded_pct;   /* u_expanded of the energy ratio, relative */
} ecoi_session_result;

typedef struct ecoi_session_spread {
    ecoi_agreement agreement;
    ecoi_agreement same_stack; /* the worst among sessions that name one stack; single: no two do */
    size_t n_sessions, n_stacks;
    double lo_pct, hi_pct; /* smallest and largest change */
    size_t n_stated,
        n_beyond; /* pairs of two sessions' results that state an interval; those of them that are
                                        farther apart than it: root of the sum of squares of both half-widths and both
                                        expanded uncertainties, in logarithms of the energy ratio */
} ecoi_session_spread;

/* `n` is 1 or more. */
ecoi_session_spread ecoi_sessions_compare(const ecoi_session_result *results, size_t n);

#endif
