/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute doctor: what could spoil a measurement here, row by row, with what was seen and the remedy.
 */
#include "cli.h"

#include "ecocompute/doctor.h"

#include <stdio.h>
#include <unistd.h>

enum { KEY_DEVICE = CLI_KEY_OWN, KEY_OUTPUT_DIR };

typedef struct doctor_input {
    cli_common common;
    eco_doctor_options options;
} doctor_input;

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", 0, "auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…", 0},
    {"output-dir", KEY_OUTPUT_DIR, "DIR", 0, "The folder whose space is looked at (.)", 0},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    doctor_input *input = state->input;
    switch (key) {
    case KEY_DEVICE:
        input->options.device = argument;
        return 0;
    case KEY_OUTPUT_DIR:
        input->options.output_dir = argument;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("doctor: unexpected argument '%s'", argument);
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Looks for everything that could spoil a measurement on this machine and names the "
           "remedy. Changes nothing; takes about three seconds.\v"
           "Exit status: 0 clean, 4 something would spoil a measurement, 3 nothing can be measured "
           "at all.\n"
           "Example: ecocompute doctor --device cuda:0"};

static const char *verdict(const eco_doctor_report *report) {
    return !report->measurable ? "nothing" : report->spoiled ? "spoiled" : "clean";
}

static void print_rows(const eco_doctor_report *report, bool color) {
    static const char *const colors[] = {"\033[32m", "\033[35m", "\033[33m", "\033[31m"};
    for (uint32_t i = 0; i < report->n_findings; i++) {
        const eco_finding *finding = &report->findings[i];
        const char *state = eco_finding_state_name(finding->state);
        cli_out("%s%-7s%s %-20s %s\n", color ? colors[finding->state] : "", state,
                color ? "\033[0m" : "", finding->code, finding->seen);
        if (finding->remedy[0] != '\0') {
            cli_out("        %-20s -> %s\n", "", finding->remedy);
        }
    }
    cli_out("%s\n", !report->measurable ? "nothing can be measured on this machine"
                    : report->spoiled   ? "something would spoil a measurement (bad, above)"
                                        : "clean");
}

static void print_json(const eco_doctor_report *report) {
    cli_out("{");
    cli_json_field("verdict", verdict(report), false);
    cli_out("\"findings\": [");
    for (uint32_t i = 0; i < report->n_findings; i++) {
        const eco_finding *finding = &report->findings[i];
        cli_out("%s\n  {", i == 0 ? "" : ",");
        cli_json_field("code", finding->code, false);
        cli_json_field("state", eco_finding_state_name(finding->state), false);
        cli_json_field("seen", finding->seen, false);
        cli_out("\"remedy\": ");
        if (finding->remedy[0] != '\0') {
            cli_json_string(finding->remedy);
        } else {
            cli_out("null");
        }
        cli_out("}");
    }
    cli_out("\n]}\n");
}

int cmd_doctor(int argc, char **argv) {
    doctor_input input = {.options = {.device = "auto", .output_dir = "."}};
    eco_doctor_report report;
    eco_error error = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    if (eco_doctor(&input.options, &report, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    if (input.common.json) {
        print_json(&report);
    } else {
        print_rows(&report, eco_color_wanted(input.common.color, STDOUT_FILENO));
    }
    return !report.measurable ? EXIT_UNMEASURED : report.spoiled ? EXIT_REFUSED : EXIT_DONE;
}
