/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures by gnuplot: a script that holds its own data, kept beside the picture that gnuplot makes of it.
 */
#ifndef ECOCOMPUTE_PLOT_H
#define ECOCOMPUTE_PLOT_H

#include "ecocompute/report.h"
#include "ecocompute/study.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eco_plot_kind {
    ECO_PLOT_POWER = 0, /* power over time with phases, of one report */
    ECO_PLOT_SIZE,      /* energy per token against model size */
    ECO_PLOT_BATCH,     /* energy per token against batch */
    ECO_PLOT_ROOFLINE,  /* share of the probed bandwidth, an arm a bar */
    ECO_PLOT_CROSSOVER, /* change of energy against model size */
    ECO_PLOT_COUNT
} eco_plot_kind;
const char *eco_plot_kind_name(eco_plot_kind kind); /* "power", … */

typedef struct eco_plot_output {
    const char *picture; /* file name, in the script's own folder */
    bool png;            /* else svg */
} eco_plot_output;

/* One arm's trace for ECO_PLOT_POWER. */
typedef struct eco_plot_trace {
    const char *precision;
    const eco_sample *rows; /* in order of time */
    size_t n;
} eco_plot_trace;
enum { ECO_PLOT_TRACES_MAX = 8 };

/* The scripts. ECO_E_INVALID: the data hold nothing that this picture could show. Texts of reports are quoted so that
 * gnuplot neither expands nor runs anything in them. */
ECO_NODISCARD eco_status eco_plot_power(const eco_report *report, const eco_plot_trace *traces,
                                        size_t n_traces, const eco_plot_output *output,
                                        eco_text *out, eco_error *err);
ECO_NODISCARD eco_status eco_plot_study(eco_plot_kind kind, const eco_study *study,
                                        const eco_plot_output *output, eco_text *out,
                                        eco_error *err);

/* Writes `script` as FOLDER/NAME.gp and runs gnuplot on it, which writes FOLDER/NAME.svg or .png. ECO_E_UNSUPPORTED: there
 * is no gnuplot; ECO_E_FAILED: it made no picture. The script stays in both cases. */
ECO_NODISCARD eco_status eco_plot_make(const char *folder, const char *name, bool png,
                                       const eco_text *script, eco_error *err);

#ifdef __cplusplus
}
#endif
#endif
