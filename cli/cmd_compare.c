/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute compare: reports side by side, and whether each may be compared with the first.
 */
#include "knowing.h"

#include "ecocompute/compare.h"
#include "ecocompute/report_file.h"

enum { KEY_ACROSS = CLI_KEY_OWN };

typedef struct compare_input {
    cli_common common;
    eco_compare_options options;
    const char *reports[ECO_COMPARE_MAX];
    size_t n;
} compare_input;

static const struct argp_option options[] = {
    {"across-stacks", KEY_ACROSS, 0, 0, "Compare reports of another engine or software, and say so",
     1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    compare_input *input = state->input;
    switch (key) {
    case KEY_ACROSS:
        input->options.across_stacks = true;
        return 0;
    case ARGP_KEY_ARG:
        if (input->n == ECO_COMPARE_MAX) {
            cli_usage_error("compare: at most %d reports", ECO_COMPARE_MAX);
        }
        input->reports[input->n++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->n < 2) {
            cli_usage_error("compare: two reports or more are expected");
        }
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT REPORT…",
    .doc = "Shows reports side by side and says of each whether its change of energy may be "
           "compared with the first one's: software, window, thermal mode, locked clocks and "
           "power and the whole workload must agree. Status 0 all sound, 4 one is not, with the "
           "reasons, 3 there is no change to compare.\v"
           "Example: ecocompute compare monday/energy.json friday/energy.json"};

static int print(const compare_input *input, const eco_compared *reports) {
    eco_text text = {0};
    eco_error error = {0};
    eco_compare_result worst = ECO_COMPARE_SOUND;
    const eco_status status =
        input->common.json
            ? eco_compare_json(reports, input->n, &input->options, &text, &worst, &error)
            : eco_compare_text(reports, input->n, &input->options, &text, &worst, &error);
    if (status != ECO_OK) {
        eco_text_free(&text);
        return knowing_fail(&input->common, &error);
    }
    cli_print(&text);
    eco_text_free(&text);
    return worst == ECO_COMPARE_SOUND     ? EXIT_DONE
           : worst == ECO_COMPARE_NOTHING ? EXIT_UNMEASURED
                                          : EXIT_REFUSED;
}

int cmd_compare(int argc, char **argv) {
    compare_input input = {0};
    eco_report *reports[ECO_COMPARE_MAX] = {NULL};
    eco_compared compared[ECO_COMPARE_MAX];
    eco_error error = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    int code = EXIT_DONE;
    for (size_t i = 0; i < input.n && code == EXIT_DONE; i++) {
        const char *schema = NULL;
        if (eco_report_load(input.reports[i], &reports[i], &error) != ECO_OK) {
            code = EXIT_FAILED;
        } else if (!eco_report_string(reports[i], ECO_FIELD_SCHEMA_VERSION, ECO_TOP, &schema)) {
            (void)eco_error_set(&error, ECO_E_INVALID, 0,
                                "%s: not a report: it has no schema_version", input.reports[i]);
            code = EXIT_FAILED;
        }
        compared[i] = (eco_compared){.report = reports[i], .name = input.reports[i]};
    }
    if (code == EXIT_DONE) {
        code = print(&input, compared);
    } else {
        (void)knowing_fail(&input.common, &error);
    }
    for (size_t i = 0; i < input.n; i++) {
        eco_report_free(reports[i]);
    }
    return code;
}
