/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute formats: the weight formats built in.
 */
#include "cli.h"

#include "ecocompute/arch.h"

#include <stdio.h>

static const struct argp_option options[] = {CLI_COMMON_OPTIONS, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    return cli_common_option(state->input, key, argument);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Lists the weight formats of the linear layers and their bits a weight.\v"
           "Example: ecocompute formats"};

int cmd_formats(int argc, char **argv) {
    cli_common common = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &common);
    if (common.json) {
        cli_out("[");
        for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
            const eco_format_info *info = eco_format_at(i);
            cli_out("%s\n  {", i == 0 ? "" : ",");
            cli_json_field("name", info->name, false);
            cli_json_field("summary", info->summary, false);
            cli_out("\"bits_per_weight\": %.9g}", info->bits_per_weight);
        }
        cli_out("\n]\n");
        return EXIT_DONE;
    }
    cli_out("%-8s %12s  %s\n", "format", "bits/weight", "what it is");
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        const eco_format_info *info = eco_format_at(i);
        cli_out("%-8s %12.4g  %s\n", info->name, info->bits_per_weight, info->summary);
    }
    return EXIT_DONE;
}
