/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute validate: schema, and with --recompute every headline number re-derived from the traces.
 */
#include "cli.h"

#include "ecocompute/report_file.h"

#include <stdio.h>

enum { KEY_RECOMPUTE = CLI_KEY_OWN, REPORTS_MAX = 4096 };

typedef struct validate_input {
    cli_common common;
    bool recompute;
    const char *reports[REPORTS_MAX];
    size_t n_reports;
} validate_input;

static const struct argp_option options[] = {
    {"recompute", KEY_RECOMPUTE, 0, 0,
     "Re-derive every headline number from the traces beside the report", 0},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {"profile", NULL};

static error_t parse(int key, char *argument, struct argp_state *state) {
    validate_input *input = state->input;
    switch (key) {
    case KEY_RECOMPUTE:
        input->recompute = true;
        return 0;
    case ARGP_KEY_ARG:
        if (input->n_reports == REPORTS_MAX) {
            cli_usage_error("validate: at most %d reports", REPORTS_MAX);
        }
        input->reports[input->n_reports++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->n_reports == 0) {
            cli_usage_error(
                "validate: a report is expected, such as ecocompute-out/latest/energy.json");
        }
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT…",
    .doc = "Checks reports against the schema. Status 0 all well, 4 a finding, 1 a report that "
           "cannot be read.\v"
           "Example: ecocompute validate --recompute ecocompute-out/latest/energy.json"};

static void print_json(const char *path, const eco_findings *findings, bool first) {
    printf("%s\n  {", first ? "[" : ",");
    cli_json_field("report", path, false);
    printf("\"valid\": %s, ", findings->n == 0 ? "true" : "false");
    cli_json_field("findings", findings->lines.data != NULL ? findings->lines.data : "", true);
    printf("}");
}

static int validate_one(const validate_input *input, size_t i) {
    const char *path = input->reports[i];
    eco_report *report = NULL;
    eco_error error = {0};
    eco_findings findings = {0};
    if (eco_report_load(path, &report, &error) != ECO_OK) {
        eco_findings_add(&findings, "%s", error.message);
        if (input->common.json) {
            print_json(path, &findings, i == 0);
        }
        eco_findings_free(&findings);
        return cli_fail(&error);
    }
    eco_report_check_schema(report, &findings);
    int status = EXIT_DONE;
    if (input->recompute && eco_report_recompute_file(report, path, &findings, &error) != ECO_OK) {
        status = cli_fail(&error);
    }
    eco_report_free(report);
    if (input->common.json) {
        print_json(path, &findings, i == 0);
    } else if (findings.n == 0) {
        printf("%s: valid%s\n", path,
               input->recompute ? ", every headline number follows from the traces" : "");
    } else {
        printf("%s: %u finding%s\n", path, findings.n, findings.n == 1 ? "" : "s");
        cli_print(&findings.lines);
    }
    status = status == EXIT_DONE && findings.n > 0 ? EXIT_REFUSED : status;
    eco_findings_free(&findings);
    return status;
}

int cmd_validate(int argc, char **argv) {
    static validate_input input;
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, &input);
    int status = EXIT_DONE;
    for (size_t i = 0; i < input.n_reports; i++) {
        const int one = validate_one(&input, i);
        if (one == EXIT_FAILED || status == EXIT_DONE) {
            status = one;
        }
    }
    if (input.common.json) {
        printf("\n]\n");
    }
    return status;
}
