/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces that all gnuplot scripts share.
 */
#ifndef ECOI_PLOT_SCRIPT_H
#define ECOI_PLOT_SCRIPT_H

#include "ecocompute/plot.h"

typedef struct ecoi_plot_frame {
    const char *title;
    const char *subtitle; /* what was measured, on what; from outside */
    const char *x_label, *y_label;
    int width, height;
} ecoi_plot_frame;

/* Terminal, output, titles, axes, grid. */
void ecoi_plot_begin(const ecoi_plot_frame *frame, const eco_plot_output *output, eco_text *out);
/* '…' with what gnuplot would take for its own made harmless; for any text from outside. */
void ecoi_plot_quote(eco_text *out, const char *text);
/* "#0072B2", …; told apart by people who see colours otherwise (Okabe and Ito 2008). */
const char *ecoi_plot_color(uint32_t index);

#endif
