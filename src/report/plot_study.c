/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of a study: points with their intervals, a line through the means of each series; and bars for the distance
 * from the memory roofline.
 */
#include "report/plot_script.h"

#include "core/alloc.h"
#include "core/str.h"
#include "ecocompute/arch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 5000, POINTS_MAX = 8192, SERIES_MAX = 24, SERIES_NAME_MAX = 96, BARS_MAX = 80 };

static const double ENERGY_LEAST_MJ = 1e-6; /* less is no energy of a token */

typedef struct point {
    double x, y, lo, hi;
    uint32_t series;
} point;

typedef struct chart {
    const eco_study *study;
    char series[SERIES_MAX][SERIES_NAME_MAX];
    uint32_t n_series;
    point *points; /* [POINTS_MAX] */
    size_t n;
    size_t n_left_out; /* beyond the caps */
} chart;

static uint32_t series_named(chart *c, const char *name) {
    for (uint32_t i = 0; i < c->n_series; i++) {
        if (strcmp(c->series[i], name) == 0) {
            return i;
        }
    }
    if (c->n_series == SERIES_MAX) {
        return SERIES_MAX;
    }
    (void)ecoi_str_copy(c->series[c->n_series], SERIES_NAME_MAX, name);
    return c->n_series++;
}

static bool same(double a, double b) {
    return !(a < b) && !(a > b);
}

/* Reports of one run repeat its baseline: the same point is drawn once. */
static void add_point(chart *c, const char *name, point p) {
    p.series = series_named(c, name);
    for (size_t i = 0; i < c->n; i++) {
        const point *q = &c->points[i];
        if (q->series == p.series && same(q->x, p.x) && same(q->y, p.y) && same(q->lo, p.lo) &&
            same(q->hi, p.hi)) {
            return;
        }
    }
    if (p.series == SERIES_MAX || c->n == POINTS_MAX) {
        c->n_left_out++;
        return;
    }
    c->points[c->n++] = p;
}

/* y with its interval; where there is none, y itself. */
static bool take(const eco_study *study, uint32_t row, const eco_study_column columns[3],
                 point *out) {
    if (!eco_study_number(study, row, columns[0], &out->y) || !(fabs(out->y) < 1e15)) {
        return false;
    }
    const bool interval = eco_study_number(study, row, columns[1], &out->lo) &&
                          eco_study_number(study, row, columns[2], &out->hi) && out->lo <= out->y &&
                          out->hi >= out->y && fabs(out->lo) < 1e15 && fabs(out->hi) < 1e15;
    if (!interval) {
        out->lo = out->y;
        out->hi = out->y;
    }
    return true;
}

static const eco_study_column of_base[3] = {ECO_STUDY_BASE_MJ, ECO_STUDY_BASE_MJ_LO,
                                            ECO_STUDY_BASE_MJ_HI};
static const eco_study_column of_arm[3] = {ECO_STUDY_MJ, ECO_STUDY_MJ_LO, ECO_STUDY_MJ_HI};
static const eco_study_column of_delta[3] = {ECO_STUDY_DELTA, ECO_STUDY_LO, ECO_STUDY_HI};

/* Tables of the published kind have no batch and no change: 1, and from the energies. */
static double batch_of(const eco_study *study, uint32_t row) {
    double batch = 0.0;
    return eco_study_number(study, row, ECO_STUDY_BATCH, &batch) && batch >= 1.0 && batch < 1e6
               ? batch
               : 1.0;
}

static double smallest_batch(const eco_study *study) {
    double least = HUGE_VAL;
    for (uint32_t row = 0; row < eco_study_size(study); row++) {
        least = fmin(least, batch_of(study, row));
    }
    return least;
}

/* "RTX 4090D, engine native: " where a study holds several, else "". */
static void add_origin(const eco_study *study, uint32_t row, eco_text *out) {
    static const eco_study_column columns[] = {ECO_STUDY_GPU, ECO_STUDY_ENGINE};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        bool several = false;
        for (uint32_t i = 1; i < eco_study_size(study) && !several; i++) {
            several = strcmp(eco_study_text(study, i, columns[c]),
                             eco_study_text(study, 0, columns[c])) != 0;
        }
        const char *text = eco_study_text(study, row, columns[c]);
        if (several && text[0] != '\0') {
            ecoi_text_addf(out, "%s ", text);
        }
    }
}

static void add_named(chart *c, uint32_t row, const char *model, const char *precision, point p) {
    eco_text name = {0};
    add_origin(c->study, row, &name);
    ecoi_text_addf(&name, "%s%s%s", model, model[0] != '\0' ? " " : "", precision);
    add_point(c, name.data != NULL ? name.data : "", p);
    eco_text_free(&name);
}

static void collect_energy(chart *c, bool by_batch) {
    const eco_study *s = c->study;
    const double batch = smallest_batch(s);
    for (uint32_t row = 0; row < eco_study_size(s); row++) {
        double params = 0.0;
        point p = {0};
        const bool sized =
            eco_study_number(s, row, ECO_STUDY_PARAMS, &params) && params > 0.0 && params < 1e6;
        if (!by_batch && (!sized || !same(batch_of(s, row), batch))) {
            continue;
        }
        const char *model = by_batch ? eco_study_text(s, row, ECO_STUDY_MODEL) : "";
        p.x = by_batch ? batch_of(s, row) : params;
        if (take(s, row, of_base, &p) && p.lo > ENERGY_LEAST_MJ) {
            add_named(c, row, model, "FP16", p);
        }
        if (take(s, row, of_arm, &p) && p.lo > ENERGY_LEAST_MJ) {
            add_named(c, row, model, eco_study_text(s, row, ECO_STUDY_PRECISION), p);
        }
    }
}

static void collect_change(chart *c) {
    const eco_study *s = c->study;
    const double batch = smallest_batch(s);
    for (uint32_t row = 0; row < eco_study_size(s); row++) {
        point p = {0};
        double base = 0.0;
        double arm = 0.0;
        if (!eco_study_number(s, row, ECO_STUDY_PARAMS, &p.x) || !(p.x > 0.0 && p.x < 1e6) ||
            !same(batch_of(s, row), batch)) {
            continue;
        }
        if (!take(s, row, of_delta, &p)) {
            if (!eco_study_number(s, row, ECO_STUDY_BASE_MJ, &base) ||
                !eco_study_number(s, row, ECO_STUDY_MJ, &arm) || !(base > 0.0) || !(arm > 0.0)) {
                continue;
            }
            p.y = 100.0 * (arm / base - 1.0);
            p.lo = p.y;
            p.hi = p.y;
        }
        add_named(c, row, "", eco_study_text(s, row, ECO_STUDY_PRECISION), p);
    }
}

/* ---- Script ---- */

static int compare_points(const void *a, const void *b) {
    const point *p = a;
    const point *q = b;
    if (p->series != q->series) {
        return p->series < q->series ? -1 : 1;
    }
    return (p->x > q->x) - (p->x < q->x);
}

static void add_number(eco_text *out, double value) {
    ecoi_text_add_number(out, value);
    ecoi_text_add_char(out, ' ');
}

/* $pI: the points of a series; $mI: their means, one an x. */
static void add_series(const chart *c, uint32_t series, eco_text *out) {
    ecoi_text_addf(out, "$p%u << EOD\n", series);
    for (size_t i = 0; i < c->n; i++) {
        const point *p = &c->points[i];
        if (p->series == series) {
            add_number(out, p->x);
            add_number(out, p->y);
            add_number(out, p->lo);
            add_number(out, p->hi);
            ecoi_text_add_char(out, '\n');
        }
    }
    ecoi_text_addf(out, "EOD\n$m%u << EOD\n", series);
    for (size_t i = 0; i < c->n;) {
        double sum = 0.0;
        size_t end = i;
        while (end < c->n && c->points[end].series == c->points[i].series &&
               same(c->points[end].x, c->points[i].x)) {
            sum += c->points[end++].y;
        }
        if (c->points[i].series == series) {
            add_number(out, c->points[i].x);
            add_number(out, sum / (double)(end - i));
            ecoi_text_add_char(out, '\n');
        }
        i = end;
    }
    ecoi_text_add_z(out, "EOD\n");
}

/* Tics at the values that occur, and a margin of 15 % around them on the logarithmic axis. */
static void add_x_axis(const chart *c, eco_text *out) {
    double lo = HUGE_VAL;
    double hi = 0.0;
    ecoi_text_add_z(out, "set logscale x\nset xtics (");
    for (size_t i = 0, n = 0; i < c->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = same(c->points[k].x, c->points[i].x);
        }
        lo = fmin(lo, c->points[i].x);
        hi = fmax(hi, c->points[i].x);
        if (!seen && n < 64) {
            ecoi_text_add_z(out, n++ > 0 ? ", '" : "'");
            ecoi_text_add_number(out, c->points[i].x);
            ecoi_text_add_z(out, "' ");
            ecoi_text_add_number(out, c->points[i].x);
        }
    }
    ecoi_text_add_z(out, ")\nset xrange [");
    ecoi_text_add_number(out, lo / 1.15);
    ecoi_text_add_char(out, ':');
    ecoi_text_add_number(out, hi * 1.15);
    ecoi_text_add_z(out, "]\n");
}

/* Logarithmic, with tics at 1, 2 and 5 times the powers of ten, around what is drawn. */
static void add_energy_axis(const chart *c, eco_text *out) {
    static const double steps[] = {1.0, 2.0, 5.0};
    double lo = HUGE_VAL;
    double hi = 0.0;
    for (size_t i = 0; i < c->n; i++) {
        lo = fmin(lo, c->points[i].lo);
        hi = fmax(hi, c->points[i].hi);
    }
    lo /= 1.3;
    hi *= 1.3;
    ecoi_text_add_z(out, "set logscale y\nset ytics (");
    size_t n = 0;
    const int last = (int)floor(log10(hi)); /* points lie between 1e-6 and 1e15 */
    for (int decade = (int)floor(log10(lo)); decade <= last; decade++) {
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
            ecoi_text_add_z(out, n++ > 0 ? ", " : "");
            ecoi_text_add_number(out, pow(10.0, decade) * steps[i]);
        }
    }
    ecoi_text_add_z(out, ")\nset yrange [");
    ecoi_text_add_number(out, lo);
    ecoi_text_add_char(out, ':');
    ecoi_text_add_number(out, hi);
    ecoi_text_add_z(out, "]\n");
}

/* A format has one colour in all pictures. */
static const char *series_color(const chart *c, uint32_t i) {
    eco_format format;
    return ecoi_plot_color(eco_format_find(c->series[i], &format) ? (uint32_t)format : i);
}

static void add_curves(const chart *c, bool zero_line, eco_text *out) {
    ecoi_text_add_z(out, "set bars 1.5\nplot ");
    if (zero_line) {
        ecoi_text_add_z(out, "0 with lines lw 1.5 lc rgb '#888888' notitle, \\\n  ");
    }
    for (uint32_t i = 0; i < c->n_series; i++) {
        ecoi_text_addf(
            out, "%s$p%u using 1:2:3:4 with yerrorbars pt %u ps 0.9 lw 1.5 lc rgb '%s' title ",
            i > 0 ? ", \\\n  " : "", i, 4 + i % 10, series_color(c, i));
        ecoi_plot_quote(out, c->series[i]);
        ecoi_text_addf(out, ", \\\n  $m%u using 1:2 with lines lw 1 lc rgb '%s' notitle", i,
                       series_color(c, i));
    }
    ecoi_text_add_char(out, '\n');
}

/* What all rows share, named; what differs is in the key or counted. */
static void add_subtitle(const chart *c, eco_plot_kind kind, eco_text *out) {
    static const struct {
        eco_study_column column;
        const char *before, *plural;
    } rows[] = {{ECO_STUDY_GPU, "", "kinds of device"},
                {ECO_STUDY_CARD, NULL, "cards"},
                {ECO_STUDY_ENGINE, "engine ", "engines"},
                {ECO_STUDY_WEIGHTS, "weights ", "kinds of weights"},
                {ECO_STUDY_PROTOCOL, "protocol ", "protocols"}};
    const eco_study *s = c->study;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        uint32_t distinct = 0;
        for (uint32_t i = 0; i < eco_study_size(s); i++) {
            bool seen = false;
            for (uint32_t k = 0; k < i && !seen; k++) {
                seen = strcmp(eco_study_text(s, k, rows[r].column),
                              eco_study_text(s, i, rows[r].column)) == 0;
            }
            distinct += !seen;
        }
        const char *text = eco_study_text(s, 0, rows[r].column);
        const char *comma = out->length > 0 ? ", " : "";
        if (distinct > 1) {
            ecoi_text_addf(out, "%s%u %s", comma, distinct, rows[r].plural);
        } else if (text[0] != '\0' && rows[r].before != NULL) {
            ecoi_text_addf(out, "%s%s%s", comma, rows[r].before, text);
        }
    }
    double ignored = 0.0;
    if (kind != ECO_PLOT_BATCH && kind != ECO_PLOT_ROOFLINE &&
        eco_study_number(s, 0, ECO_STUDY_BATCH, &ignored)) {
        ecoi_text_addf(out, ", batch %.0f", smallest_batch(s));
    }
    size_t n_intervals = 0;
    for (size_t i = 0; i < c->n; i++) {
        n_intervals += c->points[i].hi > c->points[i].lo;
    }
    ecoi_text_addf(out, ", %u result%s", eco_study_size(s), eco_study_size(s) == 1 ? "" : "s");
    if (kind == ECO_PLOT_ROOFLINE) {
        ecoi_text_add_z(out, "; whiskers: smallest and largest of several runs");
    } else if (n_intervals == 0) {
        ecoi_text_add_z(out, "; the data hold no intervals");
    } else {
        ecoi_text_addf(out, "; bars: 95 %% interval of repetition%s",
                       n_intervals < c->n ? ", where there is one" : "");
    }
    if (c->n_left_out > 0) {
        ecoi_text_addf(out, "; %zu points left out", c->n_left_out);
    }
}

static void draw_curves(chart *c, eco_plot_kind kind, const char *subtitle,
                        const eco_plot_output *output, eco_text *out) {
    const bool change = kind == ECO_PLOT_CROSSOVER;
    const ecoi_plot_frame frame = {
        .title = change                   ? "Change of energy per token against FP16"
                 : kind == ECO_PLOT_BATCH ? "Energy per token against batch"
                                          : "Energy per token against model size",
        .subtitle = subtitle,
        .x_label = kind == ECO_PLOT_BATCH ? "sequences decoded together (batch)"
                                          : "parameters, billions (as the model is labelled)",
        .y_label = change ? "change, % (below 0 the format saves)" : "energy per token, mJ",
        .width = 1000,
        .height = 580};
    qsort(c->points, c->n, sizeof *c->points, compare_points);
    ecoi_plot_begin(&frame, output, out);
    for (uint32_t i = 0; i < c->n_series; i++) {
        add_series(c, i, out);
    }
    add_x_axis(c, out);
    if (change) {
        ecoi_text_add_z(out, "set offsets 0,0,graph 0.06,graph 0.06\n");
    } else {
        add_energy_axis(c, out);
    }
    add_curves(c, change, out);
}

/* ---- Bars ---- */

typedef struct bar {
    char label[SERIES_NAME_MAX];
    char precision[32];
    double params, batch, sum, least, most;
    uint32_t n;
} bar;

typedef struct bar_list {
    bar bars[BARS_MAX];
    size_t n, n_left_out;
} bar_list;

static void add_share(bar_list *list, const chart *c, uint32_t row, const char *precision,
                      double share) {
    eco_text label = {0};
    double params = 0.0;
    (void)eco_study_number(c->study, row, ECO_STUDY_PARAMS, &params);
    add_origin(c->study, row, &label);
    ecoi_text_addf(&label, "%s %s, batch %.0f", eco_study_text(c->study, row, ECO_STUDY_MODEL),
                   precision, batch_of(c->study, row));
    char text[SERIES_NAME_MAX];
    (void)ecoi_str_copy(text, sizeof text, label.data);
    eco_text_free(&label);
    bar *b = NULL;
    for (size_t i = 0; i < list->n && b == NULL; i++) {
        b = strcmp(list->bars[i].label, text) == 0 ? &list->bars[i] : NULL;
    }
    if (b == NULL && list->n == BARS_MAX) {
        list->n_left_out++;
        return;
    }
    if (b == NULL) {
        b = &list->bars[list->n++];
        *b = (bar){
            .params = params, .batch = batch_of(c->study, row), .least = share, .most = share};
        (void)ecoi_str_copy(b->label, sizeof b->label, text);
        (void)ecoi_str_copy(b->precision, sizeof b->precision, precision);
    }
    b->sum += share;
    b->least = fmin(b->least, share);
    b->most = fmax(b->most, share);
    b->n++;
}

/* By size, then batch; within these as they came. */
static void sort_bars(bar_list *list) {
    for (size_t i = 1; i < list->n; i++) {
        for (size_t k = i; k > 0; k--) {
            const bar *a = &list->bars[k - 1];
            const bar *b = &list->bars[k];
            const bool after =
                a->params > b->params || (same(a->params, b->params) && a->batch > b->batch);
            if (!after) {
                break;
            }
            const bar swap = list->bars[k];
            list->bars[k] = list->bars[k - 1];
            list->bars[k - 1] = swap;
        }
    }
}

static void collect_shares(chart *c, bar_list *list) {
    for (uint32_t row = 0; row < eco_study_size(c->study); row++) {
        double share = 0.0;
        if (eco_study_number(c->study, row, ECO_STUDY_BASE_SHARE, &share) && share > 0.0 &&
            share < 100.0) {
            add_share(list, c, row, "FP16", share);
        }
        if (eco_study_number(c->study, row, ECO_STUDY_SHARE, &share) && share > 0.0 &&
            share < 100.0) {
            add_share(list, c, row, eco_study_text(c->study, row, ECO_STUDY_PRECISION), share);
        }
    }
    c->n_left_out += list->n_left_out;
    sort_bars(list);
}

static void draw_bars(chart *c, const bar_list *list, const char *subtitle,
                      const eco_plot_output *output, eco_text *out) {
    const int n = (int)list->n;
    const ecoi_plot_frame frame = {.title = "Distance from the memory roofline",
                                   .subtitle = subtitle,
                                   .x_label = "",
                                   .y_label = "share of the probed read bandwidth, %",
                                   .width = 480 + 44 * (n < 12 ? 12 : n),
                                   .height = 640};
    ecoi_plot_begin(&frame, output, out);
    for (size_t i = 0; i < list->n; i++) {
        (void)series_named(c, list->bars[i].precision);
    }
    for (uint32_t s = 0; s < c->n_series; s++) {
        ecoi_text_addf(out, "$p%u << EOD\n", s);
        for (size_t i = 0; i < list->n; i++) {
            const bar *b = &list->bars[i];
            if (strcmp(b->precision, c->series[s]) == 0) {
                add_number(out, (double)i);
                add_number(out, 100.0 * b->sum / b->n);
                add_number(out, 100.0 * b->least);
                add_number(out, 100.0 * b->most);
                ecoi_text_add_char(out, '\n');
            }
        }
        ecoi_text_add_z(out, "EOD\n");
    }
    /* Room for the beginning of the first label. */
    ecoi_text_add_z(out, "set lmargin at screen 0.13\nset xtics rotate by 45 right (");
    for (size_t i = 0; i < list->n; i++) {
        ecoi_text_add_z(out, i > 0 ? ", " : "");
        ecoi_plot_quote(out, list->bars[i].label);
        ecoi_text_addf(out, " %zu", i);
    }
    ecoi_text_addf(out,
                   ") noenhanced\nset xrange [-0.7:%d.7]\nset yrange [0:100]\nset boxwidth 0.75\n"
                   "set style fill solid 0.85 noborder\nset bars 1.5\nplot ",
                   n - 1);
    for (uint32_t s = 0; s < c->n_series; s++) {
        ecoi_text_addf(out, "%s$p%u using 1:2 with boxes fc rgb '%s' title ",
                       s > 0 ? ", \\\n  " : "", s, series_color(c, s));
        ecoi_plot_quote(out, c->series[s]);
        ecoi_text_addf(out,
                       ", \\\n  $p%u using 1:2:3:4 with yerrorbars pt -1 lw 1.2 lc rgb '#222222' "
                       "notitle, \\\n  $p%u using 1:4:(sprintf('%%.0f', $2)) with labels offset "
                       "0,0.6 notitle",
                       s, s);
    }
    ecoi_text_add_char(out, '\n');
}

static bool study_bars(chart *c, const eco_plot_output *output, eco_text *out) {
    bar_list *list = ecoi_calloc(1, sizeof *list);
    eco_text subtitle = {0};
    if (list == NULL) {
        out->failed = true;
        return true;
    }
    collect_shares(c, list);
    add_subtitle(c, ECO_PLOT_ROOFLINE, &subtitle);
    const bool any = list->n > 0;
    if (any && subtitle.data != NULL) {
        draw_bars(c, list, subtitle.data, output, out);
    }
    out->failed |= subtitle.failed;
    eco_text_free(&subtitle);
    ecoi_free(list);
    return any;
}

static bool study_curves(chart *c, eco_plot_kind kind, const eco_plot_output *output,
                         eco_text *out) {
    eco_text subtitle = {0};
    c->points = ecoi_calloc(POINTS_MAX, sizeof *c->points);
    if (c->points == NULL) {
        out->failed = true;
        return true;
    }
    if (kind == ECO_PLOT_CROSSOVER) {
        collect_change(c);
    } else {
        collect_energy(c, kind == ECO_PLOT_BATCH);
    }
    const bool any = c->n > 0;
    if (any) {
        add_subtitle(c, kind, &subtitle);
        draw_curves(c, kind, subtitle.data != NULL ? subtitle.data : "", output, out);
    }
    out->failed |= subtitle.failed;
    eco_text_free(&subtitle);
    ecoi_free(c->points);
    return any;
}

eco_status eco_plot_study(eco_plot_kind kind, const eco_study *study, const eco_plot_output *output,
                          eco_text *out, eco_error *err) {
    if (eco_study_size(study) > ROWS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "plot: %u rows; at most %d are drawn",
                             eco_study_size(study), ROWS_MAX);
    }
    chart *c = ecoi_calloc(1, sizeof *c);
    if (c == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "plot: out of memory");
    }
    c->study = study;
    const bool any =
        kind == ECO_PLOT_ROOFLINE ? study_bars(c, output, out) : study_curves(c, kind, output, out);
    ecoi_free(c);
    if (!any) {
        return eco_error_set(err, ECO_E_INVALID, 0, "%s: no row holds what this picture shows",
                             eco_plot_kind_name(kind));
    }
    return out->failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "plot: out of memory") : ECO_OK;
}
