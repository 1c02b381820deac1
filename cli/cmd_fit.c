/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute fit: curves from a table of energies, how well they hold for rows they have not seen, and their bands.
 */
#include "cli.h"

#include "fit_validate.h"
#include "knowing.h"

#include "ecocompute/fit.h"
#include "ecocompute/model_file.h"

#include <stdio.h>
#include <string.h>

enum {
    KEY_OUTPUT = 'o',
    KEY_VALIDATE = CLI_KEY_OWN,
    KEY_RULES,
    KEY_ENGINE,
    KEY_ROWS,
    KEY_SEED,
    KEY_BOOTSTRAPS,
    BOOTSTRAPS_MAX = 100000
};

typedef struct fit_input {
    cli_common common;
    const char *table, *output;
    bool validate;
    eco_fit_options options;
} fit_input;

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0,
     "Write the curves there as JSON, in the shape of the published curves.json", 1},
    {"validate", KEY_VALIDATE, 0, 0,
     "Leave out each session, then each card, and say row by row by how much the answer misses", 1},
    {"rules", KEY_RULES, "RULES", 0,
     "published-1.1 (default): stops where the published program stops; current: the exact minimum",
     1},
    {"engine", KEY_ENGINE, "NAME", 0,
     "Only rows of this engine (default: transformers, the published stack); engines are never "
     "pooled",
     1},
    {"rows", KEY_ROWS, "WHICH", 0,
     "published (default): only rows behind the published curves, where the table says which; all",
     1},
    {"bootstraps", KEY_BOOTSTRAPS, "N", 0, "Refits behind a band (default 2000; 0: no bands)", 1},
    {"seed", KEY_SEED, "N", 0, "Seed of the bands (default 1)", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static void parse_rows(fit_input *input, const char *argument) {
    if (strcmp(argument, "published") != 0 && strcmp(argument, "all") != 0) {
        cli_usage_error("--rows: '%s' is not known; expected published or all", argument);
    }
    input->options.published_rows = strcmp(argument, "published") == 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    fit_input *input = state->input;
    switch (key) {
    case KEY_OUTPUT:
        input->output = argument;
        return 0;
    case KEY_VALIDATE:
        input->validate = true;
        return 0;
    case KEY_RULES:
        if (!eco_rules_parse(argument, &input->options.rules)) {
            cli_usage_error("--rules: '%s' is not known; expected published-1.1 or current",
                            argument);
        }
        return 0;
    case KEY_ENGINE:
        input->options.engine = argument;
        return 0;
    case KEY_ROWS:
        parse_rows(input, argument);
        return 0;
    case KEY_SEED:
        input->options.seed = cli_integer("--seed", argument, 0, UINT64_MAX);
        return 0;
    case KEY_BOOTSTRAPS:
        input->options.n_bootstraps =
            (uint32_t)cli_integer("--bootstraps", argument, 0, BOOTSTRAPS_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (input->table != NULL) {
            cli_usage_error("fit: one table is expected, '%s' is a second", argument);
        }
        input->table = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->table == NULL) {
            cli_usage_error("fit: a CSV of energies is expected, such as data/anchors.csv");
        }
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "MEASURED.csv",
    .doc =
        "Fits the curves of the change of energy by model size, one a class of cards and "
        "precision, and says how far each can be trusted. docs/fit.md describes table and answer.\v"
        "Example: ecocompute fit data/published/measured.csv -o curves.json"};

static void print_curve(const eco_fit *fit, size_t i) {
    const eco_curve *curve = &eco_fit_set(fit)->curves[i];
    char crossover[16] = "none";
    char loo[16] = "-";
    if (eco_reading_present(curve->crossover_b)) {
        (void)snprintf(crossover, sizeof crossover, "%.3f", curve->crossover_b.value);
    }
    if (eco_reading_present(curve->loo_mae_pct)) {
        (void)snprintf(loo, sizeof loo, "%.3f", curve->loo_mae_pct.value);
    }
    cli_out("%-10s %-9s %6zu %8u %10.4f %10.4f %9.4f %8.4f %9s %8s\n", curve->arch,
            curve->precision, curve->n_anchors, eco_fit_band_at(fit, i)->n_sessions, curve->a_pct,
            curve->s_pct, curve->nstar_b, curve->resid_std_pct, crossover, loo);
}

static void print_bands(const eco_fit *fit) {
    const eco_curve_set *set = eco_fit_set(fit);
    for (size_t i = 0; i < set->n_curves; i++) {
        const eco_fit_band *band = eco_fit_band_at(fit, i);
        if (band->n_points == 0) {
            continue;
        }
        cli_out("95 %% band of %s %s over %u sessions drawn %u times:", set->curves[i].arch,
                set->curves[i].precision, band->n_sessions, band->n_bootstraps);
        for (size_t k = 0; k < band->n_points; k++) {
            cli_out("%s %.4g B %+.1f to %+.1f", k > 0 ? "," : "", band->points[k].params_b,
                    band->points[k].lo_pct, band->points[k].hi_pct);
        }
        if (eco_reading_present(band->crossover_lo_b)) {
            cli_out("; crossover %.3f to %.3f B in %.0f %% of them", band->crossover_lo_b.value,
                    band->crossover_hi_b.value, 100.0 * band->crossover_share);
        }
        cli_out("\n");
    }
}

static void print_warnings(const eco_fit *fit) {
    const eco_curve_set *set = eco_fit_set(fit);
    for (size_t i = 0; i < set->n_curves; i++) {
        const eco_fit_result *result = eco_fit_result_at(fit, i);
        for (eco_fit_warning w = 0; w < ECO_FIT_WARNING_COUNT; w++) {
            if (!eco_fit_warned(fit, i, w)) {
                continue;
            }
            cli_out("warning [%s] %s %s: %s", eco_fit_warning_code(w), set->curves[i].arch,
                    set->curves[i].precision, eco_fit_warning_text(w));
            if (w == ECO_FIT_AT_BOUND) {
                cli_out(" (%s%s%s )", result->a_at_bound ? " A" : "",
                        result->s_at_bound ? " S" : "", result->nstar_at_bound ? " N*" : "");
            }
            cli_out("\n");
        }
    }
}

static void print_fit(const eco_fit *fit, const fit_input *input) {
    const eco_fit_summary summary = eco_fit_summary_of(fit);
    cli_out("dE%%(N) = A - S x/(1 + x), x = N/N*; rules %s, %zu rows, %zu left out\n\n",
            eco_rules_name(input->options.rules), summary.n_rows, summary.n_left_out);
    cli_out("%-10s %-9s %6s %8s %10s %10s %9s %8s %9s %8s\n", "class", "precision", "points",
            "sessions", "A, %", "S, %", "N*, B", "resid, %", "cross, B", "LOO, %");
    for (size_t i = 0; i < eco_fit_set(fit)->n_curves; i++) {
        print_curve(fit, i);
    }
    if (summary.n_loo > 0) {
        cli_out("\nleave-one-out error: %.2f points of dE%% in the mean over %zu points\n",
                summary.loo_mae_pct, summary.n_loo);
    }
    print_bands(fit);
    print_warnings(fit);
}

/* Curves to the file and, unless the tables of --validate take its place, to standard output. */
static eco_status deliver(const fit_input *input, const eco_fit *fit, eco_error *error) {
    eco_text json = {0};
    eco_status status = ECO_OK;
    if (input->output != NULL || input->common.json) {
        status = eco_fit_write_json(fit, &json, error);
    }
    if (status == ECO_OK && input->output != NULL) {
        status = eco_curves_save(input->output, &json, error);
    }
    if (status == ECO_OK && input->common.json && !input->validate) {
        cli_print(&json);
    } else if (status == ECO_OK && !input->common.json) {
        print_fit(fit, input);
    }
    eco_text_free(&json);
    return status;
}

int cmd_fit(int argc, char **argv) {
    fit_input input = {.options = {.rules = ECO_RULES_PUBLISHED_1_1,
                                   .published_rows = true,
                                   .seed = 1,
                                   .n_bootstraps = ECO_FIT_BOOTSTRAPS}};
    eco_anchors *anchors = NULL;
    eco_fit *fit = NULL;
    eco_error error = {0};
    cli_json_errors(argc, argv);
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    eco_status status = eco_anchors_load(input.table, &anchors, &error);
    if (status == ECO_OK) {
        status = eco_fit_table(eco_anchors_rows(anchors), &input.options, &fit, &error);
    }
    if (status == ECO_OK) {
        status = deliver(&input, fit, &error);
    }
    if (status == ECO_OK && input.validate) {
        status = fit_validate(eco_anchors_rows(anchors), &input.options, input.common.json, &error);
    }
    if (status == ECO_OK && input.output != NULL && !input.common.json) {
        cli_out("wrote %s\n", input.output);
    }
    eco_fit_free(fit);
    eco_anchors_free(anchors);
    return status == ECO_OK ? EXIT_DONE : knowing_fail(&input.common, &error);
}
