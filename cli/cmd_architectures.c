/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute architectures: the classes of cards that the curves know.
 */
#include "cli.h"

#include "ecocompute/curve.h"

#include <stdio.h>

static const struct argp_option options[] = {CLI_COMMON_OPTIONS, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    return cli_common_option(state->input, key, argument);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Lists the classes of cards that the published curves know: measured sizes and the "
           "crossover of each precision, or the class that is borrowed from.\v"
           "Example: ecocompute architectures"};

static int print_json(const eco_curve_set *set) {
    eco_text text = {0};
    eco_error error = {0};
    const eco_status status = eco_curves_write_architectures(set, &text, &error);
    if (status == ECO_OK) {
        cli_print(&text);
    }
    eco_text_free(&text);
    return status == ECO_OK ? EXIT_DONE : cli_fail(&error);
}

int cmd_architectures(int argc, char **argv) {
    cli_common common = {0};
    const eco_curve_set *set = eco_curves_published();
    cli_json_errors(argc, argv);
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &common);
    if (common.json) {
        return print_json(set);
    }
    cli_out("%-10s %-9s %-14s %-12s %s\n", "class", "precision", "measured, B", "crossover, B",
            "cards");
    for (size_t i = 0; i < set->n_curves; i++) {
        const eco_curve *curve = &set->curves[i];
        const char *label = eco_curve_label(set, curve->arch);
        char range[32];
        char crossover[32] = "none";
        (void)snprintf(range, sizeof range, "%.4g to %.4g", curve->n_min_b, curve->n_max_b);
        if (eco_reading_present(curve->crossover_b)) {
            (void)snprintf(crossover, sizeof crossover, "%.3f", curve->crossover_b.value);
        }
        cli_out("%-10s %-9s %-14s %-12s %s\n", curve->arch, curve->precision, range, crossover,
                label != NULL ? label : "");
    }
    for (size_t i = 0; i < set->n_borrows; i++) {
        const char *label = eco_curve_label(set, set->borrows[i].arch);
        cli_out("%-10s borrows from %s; nothing of its own was published  %s\n",
                set->borrows[i].arch, set->borrows[i].value, label != NULL ? label : "");
    }
    return EXIT_DONE;
}
