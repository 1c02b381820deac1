/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute run -- CMD: the energy of any command, repeated, alone or against a second one. The command owns standard
 * output, so the summary goes to standard error; the exit status is the command's own.
 */
#include "cli.h"
#include "meter_options.h"

#include "ecocompute/plan.h"
#include "ecocompute/run_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_VS = CLI_KEY_OWN, KEY_DEVICE, KEY_OUTPUT_DIR, KEY_SEED, KEY_MARGIN, KEY_ALLOW };
enum { REPEATS = 1, REPEATS_PAIRED = 5 };

typedef struct run_input {
    cli_common common;
    cli_meter meter;
    const char *vs, *device, *output_dir;
    uint64_t n_repeats, seed;
    bool has_seed, allow_commands;
    double margin_pct;
    char **command;
} run_input;

static const struct argp_option options[] = {
    {"repeat", 'r', "N", 0, "Run the command N times (1; with --vs 5 pairs)", 0},
    {"vs", KEY_VS, "CMD B", 0,
     "Pair it with a second command: one text, split at blanks and quotes, never given to a shell",
     0},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "The device whose meter comes first: auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-…", 0},
    {"margin", KEY_MARGIN, "PERCENT", 0, "Of the verdict 'no difference' (3)", 0},
    {"order-seed", KEY_SEED, "N", 0, "Of the order of the pairs (from the system)", 0},
    {"output-dir", KEY_OUTPUT_DIR, "DIR", 0, "Write run.json and the power traces there", 0},
    {"allow-commands", KEY_ALLOW, 0, 0, "Let --meter-exec start its program", 0},
    CLI_METER_OPTIONS(1,
                      "Only these meters, parted by commas, each with its own boundary (default: "
                      "every usable sensor)"),
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    run_input *input = state->input;
    switch (key) {
    case 'r':
        input->n_repeats = cli_integer("-r", argument, 1, ECO_RUN_REPEATS_MAX);
        return 0;
    case KEY_VS:
        input->vs = argument;
        return 0;
    case KEY_ALLOW:
        input->allow_commands = true;
        return 0;
    case KEY_DEVICE:
        input->device = argument;
        return 0;
    case KEY_MARGIN:
        input->margin_pct = cli_number("--margin", argument, 0, 100);
        return 0;
    case KEY_SEED:
        input->seed = cli_integer("--order-seed", argument, 0, UINT64_MAX);
        input->has_seed = true;
        return 0;
    case KEY_OUTPUT_DIR:
        input->output_dir = argument;
        return 0;
    case ARGP_KEY_ARGS:
        input->command = state->argv + state->next;
        state->next = state->argc;
        return 0;
    default:
        return cli_meter_option(&input->meter, key, argument)
                   ? 0
                   : cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "-- CMD [ARGUMENT…]",
    .doc = "Runs a command and gives its energy on every meter of this machine, each with its own "
           "boundary. The summary goes to standard error; the command's output is left alone "
           "(with --json it goes to standard error, and the document to standard output).\v"
           "The command may write lines `ecocompute:begin NAME`, `ecocompute:end NAME` and "
           "`ecocompute:tokens N` to the descriptor whose number is in ECOCOMPUTE_MARKER_FD.\n"
           "Exit status: the command's own, 128 + signal when it was killed; 125 ecocompute "
           "failed, 126 the command cannot be executed, 127 it was not found.\n"
           "Example: ecocompute run -r 5 -- python3 generate.py"};

static void say(void *user, const char *line) {
    (void)user;
    cli_err("%s\n", line);
}

/* argc without the command itself, so that its options are not taken for ours. */
static int own_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return i;
        }
    }
    return argc;
}

static eco_status print_answer(const run_input *input, const eco_run_plan *plan,
                               const eco_run_result *result, eco_error *err) {
    eco_text text = {0};
    eco_status status = ECO_OK;
    if (input->common.json) {
        status = eco_run_result_json(plan, result, &text, err);
        if (status == ECO_OK) {
            cli_print(&text);
        }
    } else {
        eco_run_result_text(plan, result, &text);
        if (text.failed) {
            status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "run: out of memory for the summary");
        } else {
            cli_err("%s", text.data);
        }
    }
    eco_text_free(&text);
    return status;
}

static eco_status prepare_folder(const char *folder, eco_output *output, eco_error *err) {
    char path[ECO_FOLDER_MAX + 16];
    ECO_TRY(eco_output_choose(folder, false, output, err));
    snprintf(path, sizeof path, "%s/run.json", folder);
    if (access(path, F_OK) == 0) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "--output-dir %s: holds a run.json already; choose another folder",
                             folder);
    }
    return eco_output_prepare(output, err);
}

/* Writes before it prints, so that what is printed knows a failure; the first fault is the one that is told. */
static int conclude(const run_input *input, const eco_run_plan *plan, eco_run_result *result) {
    eco_error error = {0};
    if (plan->output_dir != NULL && eco_run_result_write(plan, result, &error) != ECO_OK) {
        result->exit_status = EXIT_OWN;
        result->fault = result->fault.code != ECO_OK ? result->fault : error;
    }
    const bool printed = print_answer(input, plan, result, &error) == ECO_OK;
    if (result->fault.code != ECO_OK || !printed) {
        (void)cli_fail(result->fault.code != ECO_OK ? &result->fault : &error);
    }
    return printed ? result->exit_status : EXIT_OWN;
}

static int run_plan(const run_input *input, const eco_run_plan *plan) {
    eco_run_result result;
    eco_error error = {0};
    eco_status status = eco_run_command(plan, &result, &error);
    int exit_status = result.exit_status;
    if (status != ECO_OK) {
        (void)cli_fail(&error);
        exit_status = status == ECO_E_USAGE ? EXIT_USAGE : exit_status;
    } else {
        exit_status = conclude(input, plan, &result);
    }
    eco_run_result_free(&result);
    return exit_status;
}

int cmd_run(int argc, char **argv) {
    run_input input = {.margin_pct = 3.0};
    const int n_own = own_arguments(argc, argv);
    cli_check_options(n_own, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    if (input.command == NULL) {
        cli_usage_error("run: a command is expected, such as ecocompute run -- sleep 3");
    }
    cli_meter_settle(&input.meter);
    if (input.meter.config.exec_command != NULL && !input.allow_commands) {
        cli_usage_error("--meter-exec: would start '%s'; allow it with --allow-commands",
                        input.meter.config.exec_command);
    }
    eco_error error = {0};
    eco_output output = {.folder = ""};
    char **second = NULL;
    if (input.vs != NULL && eco_words_split(input.vs, &second, &error) != ECO_OK) {
        if (error.code == ECO_E_NO_MEMORY) {
            (void)cli_fail(&error);
            return EXIT_OWN;
        }
        cli_usage_error("--vs: %s", error.message);
    }
    if (input.output_dir != NULL && prepare_folder(input.output_dir, &output, &error) != ECO_OK) {
        free(second);
        return cli_fail(&error) == EXIT_USAGE ? EXIT_USAGE : EXIT_OWN;
    }
    if (input.n_repeats == 0) {
        input.n_repeats = second != NULL ? REPEATS_PAIRED : REPEATS;
    }
    const eco_run_plan plan = {
        .commands = {input.command, second},
        .n_repeats = (uint32_t)input.n_repeats,
        .meters = input.meter.name,
        .meter_config = input.meter.config,
        .device = input.device,
        .order_seed = input.has_seed ? input.seed : eco_random_seed(),
        .margin_pct = input.margin_pct,
        .seconds_min = 2.0,
        .ticks_min = 20.0,
        .rate_hz = 20.0,
        .stdout_to_stderr = input.common.json,
        .output_dir = input.output_dir != NULL ? output.folder : NULL,
        .progress =
            !input.common.quiet && eco_is_tty(STDERR_FILENO) && input.n_repeats > 1 ? say : NULL};
    const int status = run_plan(&input, &plan);
    free(second);
    return status;
}
