/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute engines: every engine and what it can do here.
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
    .doc = "Lists the engines, and whether each can use the CPU and CUDA here.\v"
           "Example: ecocompute engines"};

int cmd_engines(int argc, char **argv) {
    cli_common common = {0};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &common);
    cli_out("%s", common.json ? "[" : "");
    for (size_t i = 0; i < eco_engine_count(); i++) {
        eco_engine_status status;
        eco_engine_probe(i, &status);
        if (common.json) {
            cli_out("%s\n  {", i == 0 ? "" : ",");
            cli_json_field("name", status.name, false);
            cli_json_field("summary", status.summary, false);
            cli_out("\"cpu\": %s, \"cuda\": %s, ", status.cpu_usable ? "true" : "false",
                    status.cuda_usable ? "true" : "false");
            cli_json_field("cuda_reason", status.cuda_reason, true);
            cli_out("}");
        } else {
            cli_out("%s: %s\n  cpu:  %s\n  cuda: %s%s%s\n", status.name, status.summary,
                    status.cpu_usable ? "usable" : "not usable",
                    status.cuda_usable ? "usable" : "not usable",
                    status.cuda_reason[0] != '\0' ? ": " : "", status.cuda_reason);
        }
    }
    cli_out("%s", common.json ? "\n]\n" : "");
    return EXIT_DONE;
}
