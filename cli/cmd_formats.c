/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute formats: the weight formats built in, and which device has kernels for each.
 */
#include "cli.h"

#include "ecocompute/engine.h"

#include <stdio.h>

static const struct argp_option options[] = {CLI_COMMON_OPTIONS, {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    return cli_common_option(state->input, key, argument);
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc =
        "Lists the weight formats of the linear layers, their bits a weight, and the devices that "
        "have kernels for them.\v"
        "Example: ecocompute formats"};

static const char *yes_no(bool yes) {
    return yes ? "yes" : "no";
}

static const char *true_false(bool yes) {
    return yes ? "true" : "false";
}

int cmd_formats(int argc, char **argv) {
    cli_common common = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &common);
    eco_engine_status native;
    eco_engine_name(0, &native);
    if (common.json) {
        cli_out("[");
        for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
            const eco_format_info *info = eco_format_at(i);
            cli_out("%s\n  {", i == 0 ? "" : ",");
            cli_json_field("name", info->name, false);
            cli_json_field("summary", info->summary, false);
            cli_out("\"bits_per_weight\": %.9g, \"quantizes_activations\": %s, \"cpu\": %s, "
                    "\"cuda\": %s}",
                    info->bits_per_weight, true_false(info->quantizes_activations),
                    true_false(native.cpu_formats[i]), true_false(native.cuda_formats[i]));
        }
        cli_out("\n]\n");
        return EXIT_DONE;
    }
    cli_out("%-8s %12s  %-4s %-4s  %s\n", "format", "bits/weight", "cpu", "cuda", "what it is");
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        const eco_format_info *info = eco_format_at(i);
        cli_out("%-8s %12.4g  %-4s %-4s  %s\n", info->name, info->bits_per_weight,
                yes_no(native.cpu_formats[i]), yes_no(native.cuda_formats[i]), info->summary);
    }
    return EXIT_DONE;
}
