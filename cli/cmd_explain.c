/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute explain: what bound each arm of a report, from the report alone.
 */
#include "cli.h"
#include "path_arguments.h"

#include "ecocompute/probe.h"
#include "ecocompute/report_file.h"

typedef struct explain_input {
    cli_common common;
    cli_paths reports;
    size_t n_printed;
} explain_input;

static const struct argp_option options[] = {CLI_COMMON_OPTIONS, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    explain_input *input = state->input;
    return cli_path_argument(&input->reports, key, argument, "explain", "a report")
               ? 0
               : cli_common_option(&input->common, key, argument);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT…",
    .doc =
        "Says what bound each arm of a report: bytes and operations a token, time, energy and "
        "launches against the ceilings of the card that the run probed, power against its limit; "
        "then why the sign came out so. A matrix rate that the report lacks comes from the cache "
        "of `ecocompute probe` for the same card, with its date.\v"
        "Example: ecocompute explain ecocompute-out/latest/energy.json"};

static int print_one(explain_input *input, size_t i, const eco_explanation *e) {
    eco_text text = {0};
    eco_error error = {0};
    if (!input->common.json) {
        cli_out("%s%s: ", i > 0 ? "\n" : "", input->reports.at[i]);
        eco_explanation_text(e, &text);
        cli_print(&text);
        eco_text_free(&text);
        return EXIT_DONE;
    }
    if (eco_explanation_json(e, &text, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    cli_out("%s\n{", input->n_printed++ > 0 ? "," : "");
    cli_json_field("report", input->reports.at[i], false);
    cli_out("\"explanation\": ");
    cli_print(&text);
    cli_out("}");
    eco_text_free(&text);
    return EXIT_DONE;
}

static int explain_one(explain_input *input, size_t i) {
    eco_report *report = NULL;
    eco_error error = {0};
    eco_explain_lent lent;
    eco_explanation explanation;
    if (eco_report_load(input->reports.at[i], &report, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    const bool lends = eco_probe_lend(report, &lent);
    int status = EXIT_FAILED;
    if (eco_report_explain(report, lends ? &lent : NULL, &explanation, &error) == ECO_OK) {
        status = print_one(input, i, &explanation);
        eco_explanation_free(&explanation);
    } else {
        cli_err("ecocompute: %s: %s\n", input->reports.at[i], error.message);
    }
    eco_report_free(report);
    return status;
}

int cmd_explain(int argc, char **argv) {
    static explain_input input;
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    int status = EXIT_DONE;
    if (input.common.json) {
        cli_out("[");
    }
    for (size_t i = 0; i < input.reports.n; i++) {
        const int one = explain_one(&input, i);
        status = one != EXIT_DONE ? one : status;
    }
    if (input.common.json) {
        cli_out("\n]\n");
    }
    return status;
}
