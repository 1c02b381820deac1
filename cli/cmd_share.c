/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute share: a report's result as a link, and a link back as text.
 */
#include "knowing.h"

#include "ecocompute/report_file.h"
#include "ecocompute/share.h"

#include <string.h>

enum { KEY_DECODE = CLI_KEY_OWN, KEY_SITE };

typedef struct share_input {
    cli_common common;
    const char *report, *link, *site;
} share_input;

static const struct argp_option options[] = {
    {"decode", KEY_DECODE, "URL", 0, "Tell what a link says; no report is read", 1},
    {"site", KEY_SITE, "URL", 0, "Page that the link opens (default " ECO_SHARE_SITE ")", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    share_input *input = state->input;
    switch (key) {
    case KEY_DECODE:
        input->link = argument;
        return 0;
    case KEY_SITE:
        input->site = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (input->report != NULL) {
            cli_usage_error("share: one report is expected, '%s' is a second", argument);
        }
        input->report = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->report == NULL && input->link == NULL) {
            cli_usage_error(
                "share: a report is expected, such as ecocompute-out/latest/energy.json");
        }
        if (input->report != NULL && input->link != NULL) {
            cli_usage_error("share: a report or --decode, not both");
        }
        if (input->site != NULL && input->link != NULL) {
            cli_usage_error("--site: not with --decode");
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
    .doc = "Prints a link that shows the change of energy of a report over the published curves. "
           "It holds model, size, card, precision, change, basis, engine and weights, and "
           "nothing that names the machine or its user. Status 3: the report has no change "
           "to show.\v"
           "Example: ecocompute share ecocompute-out/latest/energy.json"};

static int decode(const share_input *input) {
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    size_t n = 0;
    eco_text text = {0};
    eco_error error = {0};
    eco_status status = eco_share_decode(input->link, strlen(input->link), points, &n, &error);
    if (status == ECO_OK && input->common.json) {
        status = eco_share_json(points, n, &text, &error);
    } else if (status == ECO_OK) {
        eco_share_text(points, n, &text);
    }
    int code = EXIT_DONE;
    if (status == ECO_OK) {
        cli_print(&text);
    } else {
        (void)knowing_fail(&input->common, &error);
        code = EXIT_FAILED; /* the link is outside data, whatever is wrong with it */
    }
    eco_text_free(&text);
    return code;
}

static void print_link(const share_input *input, const char *url, const char *reason) {
    if (!input->common.json) {
        cli_out("%s\n", url);
        return;
    }
    cli_out("{\"share_url\": ");
    if (url != NULL) {
        cli_json_string(url);
    } else {
        cli_out("null");
    }
    cli_out(", \"reason\": ");
    if (reason != NULL) {
        cli_json_string(reason);
    } else {
        cli_out("null");
    }
    cli_out("}\n");
}

static int encode(const share_input *input) {
    eco_report *report = NULL;
    eco_error error = {0};
    eco_share_point point;
    eco_text url = {0};
    if (eco_report_load(input->report, &report, &error) != ECO_OK) {
        (void)knowing_fail(&input->common, &error);
        return EXIT_FAILED;
    }
    eco_status status = eco_share_point_of(report, &point, &error);
    eco_report_free(report);
    if (status == ECO_OK) {
        status = eco_share_url(&point, input->site, &url, &error);
    }
    int code = EXIT_DONE;
    if (status == ECO_OK) {
        print_link(input, url.data, NULL);
    } else if (status == ECO_E_NOT_FOUND) {
        if (input->common.json) {
            print_link(input, NULL, error.message);
        }
        cli_err("ecocompute: %s: %s\n", input->report, error.message);
        code = EXIT_UNMEASURED;
    } else {
        (void)knowing_fail(&input->common, &error);
        code = status == ECO_E_USAGE ? EXIT_USAGE : EXIT_FAILED;
    }
    eco_text_free(&url);
    return code;
}

int cmd_share(int argc, char **argv) {
    share_input input = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    return input.link != NULL ? decode(&input) : encode(&input);
}
