/* SPDX-License-Identifier: Apache-2.0
 *
 * How the windows of a report were made, by the plan's protocol, and how warm the device was.
 */
#include "protocol/summary_arm.h"

#include <math.h>
#include <stdio.h>

/* What the ends of the published windows can cost. A window opens and closes on a tick, not between two generations; the
 * steps it holds beyond or short of whole generations are counted at the mean mix of prompt and generated tokens, but
 * may have been all the one or all the other. */
static void published_note(const eco_session *session, uint32_t arm, char *out, size_t size) {
    const eco_plan *plan = session->plan;
    const double period = (double)plan->n_prompt + plan->n_tokens;
    const double whole = plan->n_iterations * period;
    const uint32_t arms[2] = {0, arm};
    double off = 0.0;
    uint32_t n = 0;
    for (uint32_t a = 0; a < (arm == 0 ? 1u : 2u); a++) {
        const eco_session_arm *of = &session->arms[arms[a]];
        for (uint32_t i = 0; i < of->n_windows; i++) {
            if (of->windows[i].block > 0) {
                off = fmax(off, fabs(of->windows[i].figures.tokens - whole));
                n++;
            }
        }
    }
    const double larger = fmax(plan->n_prompt, plan->n_tokens);
    const double miscounted = off * larger / period;
    int used = snprintf(out, size,
                        "an iteration is one whole generation, %u prompt and %u generated tokens, "
                        "in one window an arm and block; iterations are not trials: n is the "
                        "number of blocks.",
                        plan->n_prompt, plan->n_tokens);
    if (n > 0 && used > 0 && (size_t)used < size) {
        snprintf(out + used, size - (size_t)used,
                 " A window opens and closes on a tick of the meter, not between generations: of "
                 "%.0f steps the %u window%s here held at most %.1f more or fewer. Tokens are "
                 "counted at the mean mix, so that at most %.1f of %.0f generated tokens (%.3f %%) "
                 "may be miscounted.",
                 whole, n, n == 1 ? "" : "s", off, miscounted,
                 (double)plan->n_iterations * plan->n_tokens,
                 100.0 * miscounted / ((double)plan->n_iterations * plan->n_tokens));
    }
}

void ecoi_report_protocol(const eco_session *session, uint32_t arm, eco_report *r) {
    const eco_plan *plan = session->plan;
    const bool published = plan->protocol == ECO_PROTOCOL_PUBLISHED;
    char note[768] = "an iteration is a block: one decode window of every arm, in shuffled order";
    if (published) {
        published_note(session, arm, note, sizeof note);
    }
    eco_report_set_integer(r, ECO_FIELD_ME_TOKENS, ECO_TOP, plan->n_tokens);
    eco_report_set_integer(r, ECO_FIELD_ME_ITERATIONS, ECO_TOP,
                           published ? plan->n_iterations : session->blocks_finished);
    eco_report_set_integer(r, ECO_FIELD_ME_WARMUP, ECO_TOP, published ? plan->n_warmup : 1);
    eco_report_set_string(r, ECO_FIELD_ME_ITERATIONS_NOTE, ECO_TOP, note);
    eco_report_set_string(r, ECO_FIELD_ME_WINDOW, ECO_TOP,
                          eco_phase_name(ecoi_headline_phase(plan)));
    if (!published) {
        eco_report_set_number(r, ECO_FIELD_ME_WINDOW_S, ECO_TOP, plan->window_s);
    }
    eco_report_set_string(r, ECO_FIELD_ME_PROTOCOL, ECO_TOP, published ? "published" : "paired");
}

typedef struct temperatures {
    eco_reading start_c, end_c, peak_c;
    double cooldown_s, steady_c;
    int64_t start_ns, end_ns;
    uint32_t n, n_steady;
} temperatures;

static void temperatures_of(const eco_session_arm *arm, temperatures *t) {
    for (uint32_t i = 0; i < arm->n_windows; i++) {
        const eco_window *w = &arm->windows[i];
        if (w->block == 0) {
            continue;
        }
        t->cooldown_s += w->cooldown_s;
        t->n++;
        if (w->steady) {
            t->steady_c += w->steady_c.value;
            t->n_steady++;
        }
        if (!eco_reading_present(w->figures.temp_start_c)) {
            continue;
        }
        if (!eco_reading_present(t->start_c) || w->figures.t_open_ns < t->start_ns) {
            t->start_c = w->figures.temp_start_c;
            t->start_ns = w->figures.t_open_ns;
        }
        if (!eco_reading_present(t->end_c) || w->figures.t_close_ns > t->end_ns) {
            t->end_c = w->figures.temp_end_c;
            t->end_ns = w->figures.t_close_ns;
        }
        if (!eco_reading_present(t->peak_c) || w->figures.temp_peak_c.value > t->peak_c.value) {
            t->peak_c = w->figures.temp_peak_c;
        }
    }
}

static void steadiness(const eco_session *session, const temperatures *t, eco_report *r) {
    eco_report_set_reading(r, ECO_FIELD_TH_STEADY_C, ECO_TOP,
                           t->n_steady > 0 ? eco_reading_of(t->steady_c / t->n_steady)
                                           : eco_reading_absent(ECO_ABSENT_NOT_READ),
                           1);
    eco_report_set_bool(r, ECO_FIELD_TH_STEADY, ECO_TOP, t->n > 0 && t->n_steady == t->n);
    eco_report_set_number(r, ECO_FIELD_TH_STEADY_MAX, ECO_TOP, session->plan->steady_max_s);
}

void ecoi_report_thermal(const eco_session *session, uint32_t arm, eco_report *r) {
    const eco_plan *plan = session->plan;
    const bool steady = plan->thermal == ECO_THERMAL_STEADY;
    temperatures t = {0};
    temperatures_of(&session->arms[0], &t);
    if (arm != 0) {
        temperatures_of(&session->arms[arm], &t);
    }
    eco_report_set_string(r, ECO_FIELD_TH_MODE, ECO_TOP, steady ? "steady" : "cold");
    eco_report_set_string(r, ECO_FIELD_TH_BASIS, ECO_TOP,
                          eco_reading_present(t.start_c) ? "measured" : "unavailable");
    eco_report_set_integer(r, ECO_FIELD_TH_WARMUP, ECO_TOP,
                           plan->protocol == ECO_PROTOCOL_PUBLISHED ? plan->n_warmup : 1);
    eco_report_set_reading(r, ECO_FIELD_TH_COOLDOWN, ECO_TOP,
                           t.n > 0 && session->meter != NULL
                               ? eco_reading_of(t.cooldown_s / t.n)
                               : eco_reading_absent(ECO_ABSENT_NOT_READ),
                           3);
    if (!steady) {
        eco_report_set_number(r, ECO_FIELD_TH_COOLDOWN_MAX, ECO_TOP, plan->cooldown_max_s);
    }
    eco_report_set_reading(r, ECO_FIELD_TH_START, ECO_TOP, t.start_c, 1);
    eco_report_set_reading(r, ECO_FIELD_TH_END, ECO_TOP, t.end_c, 1);
    eco_report_set_reading(r, ECO_FIELD_TH_PEAK, ECO_TOP, t.peak_c, 1);
    if (steady) {
        steadiness(session, &t, r);
    } else {
        eco_report_set_bool(r, ECO_FIELD_TH_STEADY, ECO_TOP, false); /* none was looked for */
    }
    eco_report_set_string(r, ECO_FIELD_TH_ORDER, ECO_TOP, plan->shuffle ? "randomized" : "fixed");
    eco_report_set_string(r, ECO_FIELD_TH_NOTE, ECO_TOP,
                          plan->shuffle ? "shuffled in each block from trials.order_seed, each "
                                          "place taken equally often to within one"
                                        : "fixed order, baseline first in each block");
}
