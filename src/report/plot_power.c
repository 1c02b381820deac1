/* SPDX-License-Identifier: Apache-2.0
 *
 * Power over time: a line an arm, broken where the other arms had the device, and a strip an arm at the bottom that says
 * which phase it was in.
 */
#include "report/plot_script.h"

#include "core/str.h"

#include <stdio.h>
#include <string.h>

enum { STRIPS_MAX = 4096 };
static const int64_t GAP_NS = 1000000000;
static const double STRIP_HEIGHT = 0.03; /* of the graph */

static const char *phase_color(eco_phase phase) {
    switch (phase) {
    case ECO_PHASE_DECODE:
        return "#0072B2";
    case ECO_PHASE_GENERATION:
        return "#009E73";
    case ECO_PHASE_PREFILL:
        return "#CC79A7";
    case ECO_PHASE_RAMP:
        return "#E69F00";
    case ECO_PHASE_BURN_IN:
        return "#D55E00";
    case ECO_PHASE_COOLDOWN:
        return "#bbbbbb";
    case ECO_PHASE_IDLE_BARE:
    case ECO_PHASE_IDLE_CONTEXT:
    case ECO_PHASE_IDLE_LOADED:
        return "#dddddd";
    case ECO_PHASE_LOAD:
    case ECO_PHASE_PROBE:
    case ECO_PHASE_COUNT:
        break;
    }
    return "#56B4E9";
}

static const char *arm_color(size_t arm) {
    return ecoi_plot_color(arm == 0 ? 6 : (uint32_t)arm);
}

static void add_seconds(eco_text *out, int64_t t_ns) {
    ecoi_text_add_fixed(out, (double)t_ns * 1e-9, 4);
}

/* Rows with power; an empty line breaks the drawn line. */
static size_t add_data(const eco_plot_trace *trace, size_t index, eco_text *out) {
    size_t n = 0;
    int64_t last_ns = 0;
    ecoi_text_addf(out, "$arm%zu << EOD\n", index);
    for (size_t i = 0; i < trace->n; i++) {
        const eco_sample *row = &trace->rows[i];
        if (!eco_reading_present(row->power_w)) {
            continue;
        }
        if (n > 0 && row->t_ns - last_ns > GAP_NS) {
            ecoi_text_add_char(out, '\n');
        }
        add_seconds(out, row->t_ns);
        ecoi_text_add_char(out, ' ');
        ecoi_text_add_fixed(out, row->power_w.value, 3);
        ecoi_text_add_char(out, '\n');
        last_ns = row->t_ns;
        n++;
    }
    ecoi_text_add_z(out, "EOD\n");
    return n;
}

static void add_strip(eco_text *out, size_t arm, int64_t from_ns, int64_t to_ns, eco_phase phase) {
    ecoi_text_add_z(out, "set object rect from first ");
    add_seconds(out, from_ns);
    ecoi_text_add_z(out, ", graph ");
    ecoi_text_add_fixed(out, (double)arm * STRIP_HEIGHT, 3);
    ecoi_text_add_z(out, " to first ");
    add_seconds(out, to_ns);
    ecoi_text_add_z(out, ", graph ");
    ecoi_text_add_fixed(out, ((double)arm + 0.8) * STRIP_HEIGHT, 3);
    ecoi_text_addf(out, " fc rgb '%s' fs solid noborder behind\n", phase_color(phase));
}

/* Runs of one phase become a rectangle each; which phases were seen goes into *seen. */
static void add_strips(const eco_plot_trace *trace, size_t arm, bool seen[ECO_PHASE_COUNT],
                       eco_text *out) {
    size_t n = 0;
    ecoi_text_add_z(out, "set label ");
    ecoi_plot_quote(out, trace->precision);
    ecoi_text_add_z(out, " at graph 1.005,");
    ecoi_text_add_fixed(out, ((double)arm + 0.4) * STRIP_HEIGHT, 3);
    ecoi_text_addf(out, " left noenhanced font ',9' textcolor rgb '%s'\n", arm_color(arm));
    for (size_t i = 0; i < trace->n && n < STRIPS_MAX;) {
        size_t end = i + 1;
        while (end < trace->n && trace->rows[end].phase == trace->rows[i].phase &&
               trace->rows[end].t_ns - trace->rows[end - 1].t_ns <= GAP_NS) {
            end++;
        }
        const bool follows =
            end < trace->n && trace->rows[end].t_ns - trace->rows[end - 1].t_ns <= GAP_NS;
        seen[trace->rows[i].phase] = true;
        add_strip(out, arm, trace->rows[i].t_ns, trace->rows[follows ? end : end - 1].t_ns,
                  trace->rows[i].phase);
        n++;
        i = end;
    }
}

static void add_curves(const eco_report *report, const eco_plot_trace *traces, size_t n_traces,
                       const bool *seen, eco_text *out) {
    double idle_w = 0.0;
    ecoi_text_add_z(out, "plot ");
    for (size_t i = 0; i < n_traces; i++) {
        ecoi_text_addf(out, "%s$arm%zu using 1:2 with lines lw 1.5 lc rgb '%s' title ",
                       i > 0 ? ", \\\n  " : "", i, arm_color(i));
        ecoi_plot_quote(out, traces[i].precision);
    }
    if (eco_report_number(report, ECO_FIELD_EN_IDLE_LOADED, ECO_TOP, &idle_w) && idle_w > 0.0 &&
        idle_w < 1e9) {
        ecoi_text_add_z(out, ", \\\n  ");
        ecoi_text_add_fixed(out, idle_w, 3);
        ecoi_text_add_z(out, " with lines lw 1 dt 2 lc rgb '#888888' title 'idle, model loaded'");
    }
    for (size_t p = 0; p < ECO_PHASE_COUNT; p++) {
        if (seen[p]) {
            ecoi_text_addf(out, ", \\\n  keyentry with boxes fs solid fc rgb '%s' title '%s'",
                           phase_color((eco_phase)p), eco_phase_name((eco_phase)p));
        }
    }
    ecoi_text_add_char(out, '\n');
}

static void add_subtitle(const eco_report *report, eco_text *out) {
    static const eco_field fields[] = {ECO_FIELD_WL_MODEL, ECO_FIELD_SUT_GPU, ECO_FIELD_WL_ENGINE,
                                       ECO_FIELD_ME_METHOD};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *text = NULL;
        if (eco_report_string(report, fields[i], ECO_TOP, &text)) {
            ecoi_text_addf(out, "%s%s%s", out->length > 0 ? ", " : "", i == 2 ? "engine " : "",
                           text);
        }
    }
    int64_t batch = 0;
    if (eco_report_integer(report, ECO_FIELD_WL_BATCH, ECO_TOP, &batch)) {
        ecoi_text_addf(out, ", batch %lld", (long long)batch);
    }
}

eco_status eco_plot_power(const eco_report *report, const eco_plot_trace *traces, size_t n_traces,
                          const eco_plot_output *output, eco_text *out, eco_error *err) {
    bool seen[ECO_PHASE_COUNT] = {false};
    eco_text subtitle = {0};
    size_t n = 0;
    add_subtitle(report, &subtitle);
    const ecoi_plot_frame frame = {.title = "Power over time",
                                   .subtitle = subtitle.data != NULL ? subtitle.data : "",
                                   .x_label = "time since the run began, s",
                                   .y_label = "power, W",
                                   .width = 1200,
                                   .height = 520};
    ecoi_plot_begin(&frame, output, out);
    for (size_t i = 0; i < n_traces; i++) {
        n += add_data(&traces[i], i, out);
        add_strips(&traces[i], i, seen, out);
    }
    ecoi_text_add_z(out, "set yrange [0:*]\n");
    add_curves(report, traces, n_traces, seen, out);
    out->failed |= subtitle.failed;
    eco_text_free(&subtitle);
    if (n == 0) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "power: the traces hold no power reading to draw");
    }
    return out->failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "power: out of memory") : ECO_OK;
}
