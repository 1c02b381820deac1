/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute export: reports as one table, a row a result.
 */
#include "cli.h"
#include "path_arguments.h"

#include "ecocompute/report_file.h"
#include "ecocompute/study.h"

#include <string.h>

enum { KEY_FORMAT = CLI_KEY_OWN, KEY_NO_REDACT };

typedef struct export_input {
    cli_common common;
    const char *format;
    bool keep_names;
    cli_paths reports;
} export_input;

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "csv (default), jsonl or md", 1},
    {"no-redact", KEY_NO_REDACT, 0, 0,
     "Keep paths, UUIDs, hosts and users that the texts of a report name", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    export_input *input = state->input;
    switch (key) {
    case KEY_FORMAT:
        if (strcmp(argument, "csv") != 0 && strcmp(argument, "jsonl") != 0 &&
            strcmp(argument, "md") != 0) {
            cli_usage_error("--format: '%s' is not known; expected csv, jsonl or md", argument);
        }
        input->format = argument;
        return 0;
    case KEY_NO_REDACT:
        input->keep_names = true;
        return 0;
    case ARGP_KEY_END:
        if (input->common.json) {
            cli_usage_error("--json: not with export; --format jsonl is an object a line");
        }
        break;
    default:
        break;
    }
    return cli_path_argument(&input->reports, key, argument, "export", "a report")
               ? 0
               : cli_common_option(&input->common, key, argument);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT…",
    .doc = "Prints reports as one table, a row a result. The first columns are those of the "
           "published data set; J per 1000 tokens and mJ per token are the same number. What "
           "names a person or a machine is taken out.\v"
           "Example: ecocompute export study/*/energy*.json > study.csv"};

static int print_study(const export_input *input, const eco_study *study) {
    eco_text text = {0};
    eco_error error = {0};
    if (strcmp(input->format, "jsonl") == 0) {
        if (eco_study_write_jsonl(study, &text, &error) != ECO_OK) {
            eco_text_free(&text);
            return cli_fail(&error);
        }
    } else if (strcmp(input->format, "md") == 0) {
        eco_study_write_markdown(study, &text);
    } else {
        eco_study_write_csv(study, &text);
    }
    cli_print(&text);
    eco_text_free(&text);
    return EXIT_DONE;
}

int cmd_export(int argc, char **argv) {
    static export_input input = {.format = "csv"};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    eco_study *study = eco_study_new();
    eco_error error = {0};
    int status = EXIT_DONE;
    for (size_t i = 0; study != NULL && status == EXIT_DONE && i < input.reports.n; i++) {
        eco_report *report = NULL;
        const char *schema = NULL;
        if (eco_report_load(input.reports.at[i], &report, &error) != ECO_OK) {
            status = cli_fail(&error);
        } else if (!eco_report_string(report, ECO_FIELD_SCHEMA_VERSION, ECO_TOP, &schema)) {
            cli_err("ecocompute: %s: not a report: it has no schema_version\n",
                    input.reports.at[i]);
            status = EXIT_FAILED;
        } else if (eco_study_add_report(study, report, input.reports.at[i], !input.keep_names,
                                        &error) != ECO_OK) {
            status = cli_fail(&error);
        }
        eco_report_free(report);
    }
    if (study == NULL) {
        cli_err("ecocompute: export: out of memory\n");
        status = EXIT_FAILED;
    }
    status = status == EXIT_DONE ? print_study(&input, study) : status;
    eco_study_free(study);
    return status;
}
