/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute check: a report's change of energy against the published curve.
 */
#include "knowing.h"

#include "ecocompute/check.h"
#include "ecocompute/model_file.h"
#include "ecocompute/report_file.h"

enum { KEY_K = CLI_KEY_OWN, KEY_CURVES, KEY_ACROSS, KEY_RULES };

typedef struct check_input {
    cli_common common;
    const char *report, *k, *curves;
    eco_check_options options;
} check_input;

static const struct argp_option options[] = {
    {"k", KEY_K, "K", 0, "Half-width of the band in sigmas of the curve (default 2)", 1},
    {"curves", KEY_CURVES, "FILE", 0, "A curves.json in place of the published curves", 1},
    {"across-stacks", KEY_ACROSS, 0, 0,
     "Grade a report of another engine or window than the data's, and say so", 1},
    {"rules", KEY_RULES, "RULES", 0, "current (default) or published-1.1", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    check_input *input = state->input;
    switch (key) {
    case KEY_K:
        input->k = argument;
        return 0;
    case KEY_CURVES:
        input->curves = argument;
        return 0;
    case KEY_ACROSS:
        input->options.across_stacks = true;
        return 0;
    case KEY_RULES:
        knowing_rules(argument, &input->options.rules);
        return 0;
    case ARGP_KEY_ARG:
        if (input->report != NULL) {
            cli_usage_error("check: one report is expected, '%s' is a second", argument);
        }
        input->report = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->report == NULL) {
            cli_usage_error(
                "check: a report is expected, such as ecocompute-out/latest/energy.json");
        }
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT",
    .doc = "Grades the change of energy that a report measured against the anchors of its size, or "
           "the curve, of its class and precision. Status 0 within the band, 4 outside, 3 not "
           "gradable, with the reason.\v"
           "Example: ecocompute check ecocompute-out/latest/energy.json"};

static eco_status take_k(check_input *input, eco_error *err) {
    input->options.k = 2;
    ECO_TRY(knowing_number("--k", input->k, &input->options.k, err));
    if (!(input->options.k > 0 && input->options.k <= 1e6)) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--k: a number above 0 is expected");
    }
    return ECO_OK;
}

static int print(const check_input *input, const eco_check *check) {
    eco_text text = {0};
    eco_error error = {0};
    if (!input->common.json) {
        cli_out("%s: ", input->report);
        eco_check_text(check, &text);
    } else if (eco_check_json(check, &text, &error) != ECO_OK) {
        eco_text_free(&text);
        return knowing_fail(&input->common, &error);
    }
    cli_print(&text);
    eco_text_free(&text);
    return check->result == ECO_CHECK_WITHIN    ? EXIT_DONE
           : check->result == ECO_CHECK_OUTSIDE ? EXIT_REFUSED
                                                : EXIT_UNMEASURED;
}

int cmd_check(int argc, char **argv) {
    check_input input = {0};
    eco_error error = {0};
    eco_report *report = NULL;
    eco_curve_file *curves = NULL;
    cli_json_errors(argc, argv);
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    eco_status status = take_k(&input, &error);
    if (status == ECO_OK) {
        status = eco_report_load(input.report, &report, &error);
    }
    if (status == ECO_OK && input.curves != NULL) {
        status = eco_curves_load(input.curves, &curves, &error);
        input.options.curves = status == ECO_OK ? eco_curve_file_set(curves) : NULL;
    }
    int code = EXIT_FAILED;
    if (status == ECO_OK) {
        const eco_check_subject subject = eco_check_subject_of(report);
        const eco_check check = eco_check_make(&subject, &input.options);
        code = print(&input, &check);
    } else {
        code = knowing_fail(&input.common, &error);
        code = error.code == ECO_E_RANGE ? EXIT_FAILED : code; /* of a file, not of the question */
    }
    eco_curve_file_free(curves);
    eco_report_free(report);
    return code;
}
