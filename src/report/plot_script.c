/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a gnuplot script, and quoting. Inside '…' gnuplot expands nothing, and '' is one apostrophe (gnuplot 5.4
 * manual, "Quote Marks"); backquotes and line ends are taken out all the same.
 */
#include "report/plot_script.h"

#include "core/str.h"

#include <string.h>

static const char *const kind_names[ECO_PLOT_COUNT] = {"power", "size", "batch", "roofline",
                                                       "crossover"};

const char *eco_plot_kind_name(eco_plot_kind kind) {
    return (unsigned)kind < ECO_PLOT_COUNT ? kind_names[kind] : "unknown";
}

const char *ecoi_plot_color(uint32_t index) {
    static const char *const colors[] = {
        "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
        "#56B4E9", "#333333", "#8C564B", "#6A51A3"}; /* as many as formats */
    return colors[index % (sizeof colors / sizeof colors[0])];
}

void ecoi_plot_quote(eco_text *out, const char *text) {
    eco_text plain = {0};
    eco_text_add_visible(&plain, text, strlen(text));
    ecoi_text_add_char(out, '\'');
    for (const char *c = plain.data != NULL ? plain.data : ""; *c != '\0'; c++) {
        if (*c == '\'') {
            ecoi_text_add_z(out, "''");
        } else {
            ecoi_text_add_char(out, *c == '`' ? '?' : *c);
        }
    }
    ecoi_text_add_char(out, '\'');
    out->failed |= plain.failed;
    eco_text_free(&plain);
}

void ecoi_plot_begin(const ecoi_plot_frame *frame, const eco_plot_output *output, eco_text *out) {
    ecoi_text_add_z(out, "# Made by ecocompute. In this folder, gnuplot -d and this file make the "
                         "picture again.\n");
    ecoi_text_addf(out,
                   "set encoding utf8\nset terminal %s size %d,%d font 'DejaVu Sans,%d' noenhanced "
                   "background rgb 'white'\nset output ",
                   output->png ? "pngcairo" : "svg", frame->width, frame->height,
                   output->png ? 11 : 14);
    ecoi_plot_quote(out, output->picture);
    ecoi_text_add_z(out, "\nset label 1 ");
    ecoi_plot_quote(out, frame->title);
    ecoi_text_addf(out, " at screen 0.5,0.96 center noenhanced font ',%d'\nset label 2 ",
                   output->png ? 13 : 17);
    ecoi_plot_quote(out, frame->subtitle);
    ecoi_text_add_z(out, " at screen 0.5,0.91 center noenhanced textcolor rgb '#444444'\n"
                         "set tmargin at screen 0.87\nset xlabel ");
    ecoi_plot_quote(out, frame->x_label);
    ecoi_text_add_z(out, " noenhanced\nset ylabel ");
    ecoi_plot_quote(out, frame->y_label);
    ecoi_text_add_z(out, " noenhanced\nset grid ytics lt 1 lc rgb '#dddddd' lw 1\nset border 3\n"
                         "set tics nomirror\nset key outside right top noenhanced\n");
}
