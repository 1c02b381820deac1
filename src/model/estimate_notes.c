/* SPDX-License-Identifier: Apache-2.0
 *
 * An answer in words: the verdict, and the conditions it stands on, one note a line, in the order of the published
 * JavaScript. (The published Python has the last two the other way round and other punctuation.)
 */
#include "model/estimator.h"

#include "core/str.h"
#include "model/cell.h"
#include "model/published_round.h"

#include <math.h>
#include <string.h>

const char *eco_confidence_name(eco_confidence confidence) {
    switch (confidence) {
    case ECO_CONFIDENCE_HIGH:
        return "high";
    case ECO_CONFIDENCE_MEDIUM:
        return "medium";
    case ECO_CONFIDENCE_LOW:
        break;
    }
    return "low";
}

const char *eco_recommendation_name(eco_recommendation recommendation) {
    switch (recommendation) {
    case ECO_RECOMMEND_QUANTIZE:
        return "quantize";
    case ECO_RECOMMEND_KEEP_FP16:
        return "do_not_quantize";
    case ECO_RECOMMEND_DEPENDS:
        break;
    }
    return "depends";
}

static void add_points(eco_text *out, double pct) {
    const double rounded = ecoi_published_round(pct, 1);
    if (rounded > 0) {
        ecoi_text_add_char(out, '+');
    }
    ecoi_text_add_number(out, rounded);
}

static void write_verdict(eco_estimate *e) {
    eco_text *out = &e->verdict;
    ecoi_text_addf(out, "%s changes energy per token by ", e->precision);
    add_points(out, e->delta_pct);
    ecoi_text_addf(out, "%% against FP16 on %s", e->card[0] != '\0' ? e->card : e->arch);
    ecoi_text_addf(out, "%s%s: ", ecoi_other_engine(e) ? " under engine " : "",
                   ecoi_other_engine(e) ? e->engine : "");
    switch (e->recommendation) {
    case ECO_RECOMMEND_QUANTIZE:
        ecoi_text_add_z(out, "quantize, it saves energy.");
        break;
    case ECO_RECOMMEND_KEEP_FP16:
        ecoi_text_add_z(out, "do not quantize for energy, it costs more.");
        break;
    case ECO_RECOMMEND_DEPENDS:
        ecoi_text_add_z(out, "the interval holds zero, so measure before deciding on energy.");
        break;
    }
}

/* Cards of the exact anchors that were tried once, each card once. */
static void note_single_trials(eco_estimate *e) {
    bool any = false;
    for (size_t i = 0; i < e->curve->n_anchors && e->n_exact > 0; i++) {
        const eco_curve_anchor *a = &e->curve->anchors[i];
        if (!ecoi_estimate_exact(e, a) || a->n_trials != 1) {
            continue;
        }
        bool told = false;
        for (size_t j = 0; j < i; j++) {
            const eco_curve_anchor *b = &e->curve->anchors[j];
            told = told || (ecoi_estimate_exact(e, b) && b->n_trials == 1 &&
                            ecoi_str_equal_nocase(a->gpu, b->gpu));
        }
        if (!told) {
            ecoi_text_addf(&e->notes, "%s%s", any ? ", " : "Single trial (n = 1) on ", a->gpu);
            any = true;
        }
    }
    if (any) {
        ecoi_text_add_z(&e->notes, ": a trial repeated in another session may differ.\n");
    }
}

static void note_spread(eco_estimate *e) {
    if (e->n_exact < 2) {
        return;
    }
    ecoi_text_addf(&e->notes, "Mean of %zu measurements, ", e->n_exact);
    ecoi_text_add_number(&e->notes, ecoi_published_round(e->spread_pct, 1));
    ecoi_text_add_z(&e->notes, " points apart:");
    size_t n = 0;
    for (size_t i = 0; i < e->curve->n_anchors; i++) {
        const eco_curve_anchor *a = &e->curve->anchors[i];
        if (ecoi_estimate_exact(e, a)) {
            ecoi_text_addf(&e->notes, "%s %s ", n++ > 0 ? "," : "", a->gpu);
            add_points(&e->notes, a->delta_pct);
            ecoi_text_add_char(&e->notes, '%');
        }
    }
    ecoi_text_add_z(&e->notes, ".\n");
}

/* Current: every row that carries the answer, with its session. */
static void note_sessions(eco_estimate *e) {
    enum { LISTED = 8 };
    const eco_anchor_table *table = eco_anchors_builtin();
    const ecoi_cell_query q = ecoi_estimate_case(e);
    ecoi_text_add_z(&e->notes, "Measured ");
    if (e->rows_batch > 1) {
        ecoi_text_addf(&e->notes, "at batch %.0f ", e->rows_batch);
    }
    ecoi_text_addf(&e->notes, "in %zu session%s", e->n_sessions, e->n_sessions == 1 ? "" : "s");
    if (e->n_stacks > 0) {
        ecoi_text_addf(&e->notes, ", under %zu named stack%s", e->n_stacks,
                       e->n_stacks == 1 ? "" : "s");
    }
    if (e->n_unnamed > 0) {
        ecoi_text_addf(&e->notes, ", %zu without a named stack", e->n_unnamed);
    }
    size_t n = 0;
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        double delta_pct = 0;
        if (ecoi_cell_has(&q, row) && eco_anchor_delta_pct(row, &delta_pct) && n++ < LISTED) {
            ecoi_text_addf(&e->notes, "%s %s %s ", n > 1 ? "," : ":", row->gpu, row->session);
            add_points(&e->notes, delta_pct);
            ecoi_text_add_char(&e->notes, '%');
        }
    }
    ecoi_text_add_z(&e->notes, n > LISTED ? " and more.\n" : ".\n");
    if (e->n_sessions == 1 && e->single_trials) {
        ecoi_text_add_z(&e->notes, "A single trial (n = 1): a trial repeated in another session "
                                   "may differ.\n");
    }
}

static void note_range(eco_estimate *e) {
    ecoi_text_add_z(&e->notes, "Outside the measured sizes, ");
    ecoi_text_add_number(&e->notes, e->curve->n_min_b);
    ecoi_text_add_z(&e->notes, " to ");
    ecoi_text_add_number(&e->notes, e->curve->n_max_b);
    ecoi_text_add_z(&e->notes, " B.\n");
}

static void note_modelled(eco_estimate *e) {
    ecoi_text_add_z(&e->notes, "Batch ");
    ecoi_text_add_number(&e->notes, e->batch);
    ecoi_text_add_z(&e->notes, " and context ");
    ecoi_text_add_number(&e->notes, e->context);
    const size_t n = e->rules == ECO_RULES_CURRENT
                         ? ecoi_count_rows(ecoi_estimate_engine(e), e->arch, e->precision, true)
                         : 0;
    if (n == 0) {
        ecoi_text_add_z(&e->notes, " are modelled: all measurements are at batch 1.\n");
    } else {
        ecoi_text_addf(&e->notes,
                       " are modelled from batch 1; the table has %zu row%s of larger batches of "
                       "this class and format, which the energy model was fitted to.\n",
                       n, n == 1 ? "" : "s");
    }
}

/* What only the current rules say: the card that was named is not the card that was measured. */
static void note_card(eco_estimate *e) {
    if (ecoi_card_measured(e->curve, e->card) || e->borrowed) {
        return;
    }
    ecoi_text_addf(&e->notes, "Of the class %s, measured on", e->curve->arch);
    size_t n = 0;
    for (size_t i = 0; i < e->curve->n_anchors; i++) {
        bool told = false;
        for (size_t j = 0; j < i; j++) {
            told =
                told || ecoi_str_equal_nocase(e->curve->anchors[i].gpu, e->curve->anchors[j].gpu);
        }
        if (!told) {
            ecoi_text_addf(&e->notes, "%s %s", n++ > 0 ? "," : "", e->curve->anchors[i].gpu);
        }
    }
    ecoi_text_addf(&e->notes, "; you asked for %s.\n", e->card);
}

static void note_model(eco_estimate *e) {
    if (e->source == ECO_ESTIMATE_ENERGY_MODEL) {
        ecoi_text_add_z(&e->notes, "The energy model answers, fitted to every measured card: bytes "
                                   "read, launches and data-sheet figures.\n");
        if (e->stack_unseen && !ecoi_other_engine(e)) {
            ecoi_text_addf(&e->notes, "%s: the interval holds the spread between stacks.\n",
                           e->stack[0] != '\0' ? "That software stack was not measured"
                                               : "No software stack was named");
        }
    }
}

/* What was measured of an engine and precision. Texts are of the first such row; the windows of an engine are all alike. */
typedef struct engine_rows {
    size_t n, n_sessions, n_here; /* n_here: of the card or class asked */
    double min_b, max_b;
    const eco_anchor *first;
} engine_rows;

static bool is_of(const eco_estimate *e, const eco_anchor *row) {
    return strcmp(row->engine, e->engine) == 0 && strcmp(row->precision, e->precision) == 0;
}

static engine_rows rows_of_engine(const eco_estimate *e) {
    const eco_anchor_table *table = eco_anchors_builtin();
    engine_rows out = {.min_b = (double)INFINITY};
    for (size_t i = 0; i < table->n; i++) {
        const eco_anchor *row = &table->rows[i];
        bool told = false;
        if (!is_of(e, row)) {
            continue;
        }
        for (size_t j = 0; j < i && !told; j++) {
            told = is_of(e, &table->rows[j]) && strcmp(table->rows[j].session, row->session) == 0;
        }
        out.first = out.n == 0 ? row : out.first;
        out.n++;
        out.n_sessions += !told;
        out.n_here += strcmp(row->arch, e->arch) == 0 &&
                      (e->card[0] == '\0' || eco_card_find(row->gpu) == eco_card_find(e->card));
        out.min_b = fmin(out.min_b, row->params_b);
        out.max_b = fmax(out.max_b, row->params_b);
    }
    return out;
}

static void add_cards(eco_estimate *e) {
    const eco_anchor_table *table = eco_anchors_builtin();
    const char *between = "";
    for (size_t i = 0; i < table->n; i++) {
        bool told = !is_of(e, &table->rows[i]);
        for (size_t j = 0; j < i && !told; j++) {
            told = is_of(e, &table->rows[j]) && strcmp(table->rows[j].gpu, table->rows[i].gpu) == 0;
        }
        if (!told) {
            ecoi_text_addf(&e->notes, "%s%s", between, table->rows[i].gpu);
            between = ", ";
        }
    }
}

/* Another engine than the curves': how little there is of it, and what these rows are. */
static void note_engine(eco_estimate *e) {
    const engine_rows rows = rows_of_engine(e);
    if (rows.n == 0) {
        return; /* the energy model answers for nothing that has no row */
    }
    ecoi_text_addf(&e->notes, "Engine %s only: %s was measured on ", e->engine, e->precision);
    add_cards(e);
    ecoi_text_add_z(&e->notes, " at ");
    ecoi_text_add_number(&e->notes, rows.min_b);
    if (rows.max_b > rows.min_b) {
        ecoi_text_add_z(&e->notes, " to ");
        ecoi_text_add_number(&e->notes, rows.max_b);
    }
    ecoi_text_addf(&e->notes, " B, %zu row%s of %zu session%s, window %s", rows.n,
                   rows.n == 1 ? "" : "s", rows.n_sessions, rows.n_sessions == 1 ? "" : "s",
                   rows.first->window);
    if (strstr(rows.first->note, "synthetic weights") != NULL) {
        ecoi_text_add_z(&e->notes, ", synthetic weights");
    }
    if (rows.first->stack[0] != '\0') {
        ecoi_text_addf(&e->notes, " (%s)", rows.first->stack);
    }
    if (rows.n_here == 0) {
        ecoi_text_addf(&e->notes, "; not on %s", e->card[0] != '\0' ? e->card : e->arch);
    }
    ecoi_text_add_z(&e->notes,
                    ". Another version of it can differ by more than the interval says.\n");
}

static void note_source(eco_estimate *e) {
    if (ecoi_other_engine(e)) {
        note_engine(e);
        note_model(e);
        return;
    }
    const bool outside = e->params_b < e->curve->n_min_b || e->params_b > e->curve->n_max_b;
    if (e->borrowed && e->source == ECO_ESTIMATE_CURVE) {
        ecoi_text_addf(&e->notes,
                       "No measurement on %s: the curve of %s is borrowed, 10 points are added to "
                       "sigma.\n",
                       e->arch, e->curve->arch);
    } else if (e->borrowed) {
        ecoi_text_addf(&e->notes, "No measurement on %s under engine transformers.\n", e->arch);
    } else if (e->curve->n_anchors == 0) {
        if (e->n_exact == 0) {
            ecoi_text_addf(&e->notes, "No curve of %s in %s; rows of the table at other sizes.\n",
                           e->arch, e->precision);
        }
    } else if (outside && e->n_exact == 0) {
        note_range(e);
    }
    if (e->n_sessions == 0 && e->curve->n_anchors > 0) {
        note_card(e);
    }
    note_model(e);
}

void ecoi_estimate_write_texts(eco_estimate *e) {
    write_verdict(e);
    if (e->n_sessions > 0) {
        note_sessions(e);
    } else {
        note_single_trials(e);
        note_spread(e);
    }
    note_source(e);
    if (e->modelled) {
        note_modelled(e);
    }
    if (!eco_reading_present(e->curve->crossover_b) && e->n_exact == 0 &&
        e->source == ECO_ESTIMATE_CURVE) {
        ecoi_text_add_z(
            &e->notes, "No crossover within the measured sizes: the sign does not change there.\n");
    }
    if (e->rules == ECO_RULES_CURRENT && e->modelled && !e->borrowed &&
        eco_reading_present(e->curve->crossover_b)) {
        ecoi_text_add_z(&e->notes, "The crossover of ");
        ecoi_text_add_number(&e->notes, e->curve->crossover_b.value);
        ecoi_text_add_z(&e->notes, " B is that of batch 1 and says nothing here.\n");
    }
}
