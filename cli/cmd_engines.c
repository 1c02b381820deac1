/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute engines: every engine and what it can do here; with --start, one of them as far as its first token.
 */
#include "cli.h"

#include "ecocompute/engine.h"

#include <stdio.h>
#include <string.h>

enum { KEY_START = CLI_KEY_OWN, KEY_PRECISION, KEY_DEVICE };

typedef struct engines_input {
    cli_common common;
    const char *start, *precision, *device; /* start NULL: the list */
    const char *needs_start;                /* an option that goes with --start only */
} engines_input;

static const struct argp_option options[] = {
    {"start", KEY_START, "MODEL", 0,
     "Start the native engine with this model shape and decode one token: what each part takes", 1},
    {"precision", KEY_PRECISION, "FORMAT", 0, "With --start (default: FP16)", 1},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "With --start: auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-… (default: auto)", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    engines_input *input = state->input;
    switch (key) {
    case KEY_START:
        input->start = argument;
        return 0;
    case KEY_PRECISION:
        input->precision = argument;
        input->needs_start = "--precision";
        return 0;
    case KEY_DEVICE:
        cli_check_device(argument);
        input->device = argument;
        input->needs_start = "--device";
        return 0;
    case ARGP_KEY_END:
        if (input->needs_start != NULL && input->start == NULL) {
            cli_usage_error("%s: only with --start MODEL", input->needs_start);
        }
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Lists the engines, and whether each can use the CPU and CUDA here. With --start: loads "
           "a model of synthetic weights, takes a prompt of 128 tokens and decodes one, and says "
           "how long the engine, the model and the token took, and all of it from the start of the "
           "process. Nothing is metered.\v"
           "Example: ecocompute engines --start TinyLlama-1.1B --precision NF4"};

static void print_start_json(const eco_workload *workload, const eco_engine_started *s) {
    cli_out("{");
    cli_json_field("engine", s->engine.name, false);
    cli_json_field("device", s->engine.device_name, false);
    cli_json_field("detail", s->engine.detail, false);
    cli_json_field("model", workload->shape->name, false);
    cli_json_field("precision", eco_format_at(workload->linear)->name, false);
    cli_out("\"prompt_tokens\": %u,\n \"open_s\": %.6f, \"context_s\": %.6f, \"compile_s\": %.6f, "
            "\"load_s\": %.6f, \"token_s\": %.6f,\n",
            workload->n_prompt, s->open_s, s->engine.open_s, s->engine.compile_s, s->load_s,
            s->token_s);
    cli_out(" \"begun_monotonic_s\": %.6f, \"first_token_monotonic_s\": %.6f, \"process_s\": ",
            (double)s->begun_ns * 1e-9, (double)s->first_token_ns * 1e-9);
    if (eco_reading_present(s->process_s)) {
        cli_out("%.3f, \"process_resolution_s\": 0.01}\n", s->process_s.value);
    } else {
        cli_out("null}\n");
    }
}

static int start(const engines_input *input) {
    const eco_workload workload = {.shape = cli_model_named("--start", input->start),
                                   .linear = cli_format_named("--precision", input->precision),
                                   .head = ECO_FORMAT_FP16,
                                   .batch = 1,
                                   .n_prompt = 128,
                                   .n_tokens = 256,
                                   .seed = 1,
                                   .outlier_permille = 1};
    const eco_engine_options engine = {.name = "native", .device = input->device};
    eco_engine_started started;
    eco_error error = {0};
    if (eco_engine_start(&engine, &workload, &started, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    if (input->common.json) {
        print_start_json(&workload, &started);
        return EXIT_DONE;
    }
    cli_out("%s at %s on %s (%s)\n", workload.shape->name, eco_format_at(workload.linear)->name,
            started.engine.device_name, started.engine.detail);
    cli_out("engine %.3f s, model %.3f s, prompt of %u and the first token %.3f s\n",
            started.open_s, started.load_s, workload.n_prompt, started.token_s);
    if (eco_reading_present(started.process_s)) {
        cli_out("from the start of the process to the first token: %.2f s\n",
                started.process_s.value);
    }
    return EXIT_DONE;
}

int cmd_engines(int argc, char **argv) {
    engines_input input = {.precision = "FP16", .device = "auto"};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    if (input.start != NULL) {
        return start(&input);
    }
    const cli_common common = input.common;
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
