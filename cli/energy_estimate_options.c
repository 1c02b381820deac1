/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of energy_estimate: published flags with underscores. A flag that is also a key of the parameters file
 * is read by the same table as the file (ecocompute/task.h).
 */
#include "energy_estimate.h"

#include "ecocompute/plan.h"
#include "ecocompute/prefetch.h"
#include "ecocompute/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_PARAMETERS = CLI_KEY_OWN,
    KEY_OUTPUT,
    KEY_MODEL,
    KEY_NO_QUALITY,
    KEY_POWER_TRACE,
    KEY_DRY_RUN,
    KEY_PREFETCH,
    KEY_SHARE,
    KEY_API,
    KEY_SITE,
    KEY_REQUIRE,
    KEY_TASK /* and up: keys of the task, by their names in the table below */
};

static const struct argp_option options[] = {
    {"parameters_file", KEY_PARAMETERS, "FILE", 0, "YAML with any of the inputs below", 1},
    {"output_dir", KEY_OUTPUT, "DIR", 0, "Where the files go (default: workspace/outputs)", 1},
    {"model_name", KEY_TASK, "NAME", 0,
     "Hugging Face id (default: TinyLlama/TinyLlama-1.1B-Chat-v1.0)", 2},
    {"model", KEY_MODEL, "NAME", 0, "The same; --model_name wins", 2},
    {"precision", KEY_TASK + 1, "FORMAT", 0, "FP16, NF4 or INT8 (default: NF4)", 2},
    {"gpu_arch", KEY_TASK + 2, "ARCH", 0, "A class, a card's name, or auto (default: auto)", 2},
    {"batch_size", KEY_TASK + 3, "N", 0, "Sequences together (default: 1)", 2},
    {"params_b", KEY_TASK + 4, "B", 0, "Billions of parameters (default: by the model)", 2},
    {"tokens", KEY_TASK + 5, "N", 0, "New tokens a generation (default: 256)", 3},
    {"iterations", KEY_TASK + 6, "N", 0, "Generations in the window (default: 10)", 3},
    {"warmup", KEY_TASK + 7, "N", 0, "Generations before it (default: 2)", 3},
    {"sample_rate_hz", KEY_TASK + 8, "HZ", 0, "Recorded; power is sampled at 20 Hz", 3},
    {"context_length", KEY_TASK + 9, "N", 0, "Recorded only, as published (default: 2048)", 3},
    {"thermal_mode", KEY_TASK + 10, "MODE", 0, "cold (default) or steady", 3},
    {"power_trace", KEY_POWER_TRACE, 0, 0,
     "Name the traces as published: power_trace.csv and power_trace_fp16.csv", 3},
    {"no_quality_probe", KEY_NO_QUALITY, 0, 0, "No perplexity (this version has none)", 4},
    {"quality_text", KEY_TASK + 11, "FILE", 0, "Taken, but there is no probe in this version", 4},
    {"quality_seq_len", KEY_TASK + 12, "N", 0, "Likewise", 4},
    {"dry_run", KEY_DRY_RUN, 0, 0, "Measure nothing: the published dataset answers", 5},
    {"require_measured", KEY_REQUIRE, 0, 0, "Exit with 3 when the dataset had to answer", 5},
    {"prefetch", KEY_PREFETCH, 0, 0, "Ask the published estimator first (6 s at most)", 5},
    {"api_base", KEY_API, "URL", 0, "Its address", 5},
    {"share", KEY_SHARE, 0, 0, "Make the link that overlays the result, and share_url.txt", 5},
    {"site", KEY_SITE, "URL", 0, "The page of that link (default: " ECO_SHARE_SITE ")", 5},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const task_flags[] = {
    "model_name",   "precision",    "gpu_arch",       "batch_size",     "params_b",
    "tokens",       "iterations",   "warmup",         "sample_rate_hz", "context_length",
    "thermal_mode", "quality_text", "quality_seq_len"};
enum { N_TASK_FLAGS = sizeof task_flags / sizeof task_flags[0] };

typedef struct given_flags {
    energy_input *input;
    const char *parameters_file, *model;
    const char *task[N_TASK_FLAGS]; /* NULL = not given */
    bool no_quality, power_trace;
} given_flags;

static error_t parse(int key, char *argument, struct argp_state *state) {
    given_flags *given = state->input;
    energy_input *input = given->input;
    if (key >= KEY_TASK && key < KEY_TASK + N_TASK_FLAGS) {
        given->task[key - KEY_TASK] = argument;
        return 0;
    }
    switch (key) {
    case KEY_PARAMETERS:
        given->parameters_file = argument;
        return 0;
    case KEY_OUTPUT:
        if (argument[0] == '\0' || strlen(argument) >= ECO_FOLDER_MAX) {
            cli_usage_error("--output_dir: the path is empty or too long");
        }
        input->output_dir = argument;
        return 0;
    case KEY_MODEL:
        given->model = argument;
        return 0;
    case KEY_NO_QUALITY:
        given->no_quality = true;
        return 0;
    case KEY_POWER_TRACE:
        given->power_trace = true;
        return 0;
    case KEY_DRY_RUN:
        input->dry_run = true;
        return 0;
    case KEY_PREFETCH:
        input->prefetch = true;
        return 0;
    case KEY_SHARE:
        input->share = true;
        return 0;
    case KEY_API:
        input->api_base = argument;
        return 0;
    case KEY_SITE:
        input->site = argument;
        return 0;
    case KEY_REQUIRE:
        input->require_measured = true;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("energy_estimate: unexpected argument '%s'", argument);
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "The published task: energy per token of one model at one precision against FP16, by "
           "the published protocol, into energy.json. Where nothing can be measured the published "
           "dataset answers, and the report says so.\v"
           "Example: ecocompute energy_estimate --dry_run --gpu_arch ada --precision NF4"};

/* Does `given` ("--output_dir=x") name, or abbreviate, an option whose value may name a person or a machine? */
static bool is_private(const char *given, const char *value) {
    static const char *const names[] = {"--parameters_file", "--output_dir", "--quality_text",
                                        "--api_base", "--site"};
    const size_t length = strcspn(given, "=");
    for (size_t i = 0; length > 2 && i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(given, names[i], length) == 0) {
            return true;
        }
    }
    return strncmp(given, "--model", length < 7 ? length : 7) == 0 && value != NULL &&
           strchr("/.~", value[0]) != NULL;
}

static void note_command(int argc, char **argv, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "ecocompute energy_estimate");
    for (int i = 1; i < argc && used < size; i++) {
        const char *equals = strchr(argv[i], '=');
        const char *value = equals != NULL ? equals + 1 : argv[i + 1];
        if (strncmp(argv[i], "--", 2) == 0 && is_private(argv[i], value)) {
            used += (size_t)snprintf(out + used, size - used, " %.*s=…", (int)strcspn(argv[i], "="),
                                     argv[i]);
            i += equals == NULL ? 1 : 0;
        } else {
            used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
        }
    }
}

static bool load_parameters(energy_input *input, const char *path, int *status) {
    eco_text notes = {0};
    eco_error error = {0};
    const eco_status loaded = eco_task_load(&input->task, path, &notes, &error);
    for (const char *line = notes.data; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        energy_warn("%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    eco_text_free(&notes);
    if (loaded == ECO_E_NOT_FOUND) {
        energy_warn("parameters_file %s: no such file; going on without it", path);
        return true;
    }
    if (loaded != ECO_OK) {
        *status = cli_fail(&error);
    }
    return loaded == ECO_OK;
}

static void set_flag(energy_input *input, const char *flag, const char *key, const char *text) {
    eco_error error = {0};
    if (text != NULL && eco_task_set(&input->task, key, text, &error) != ECO_OK) {
        cli_usage_error("--%s: %s", flag, error.message);
    }
}

static eco_task defaults(void) {
    return (eco_task){.model_name = "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
                      .precision = "NF4",
                      .gpu_arch = "auto",
                      .params_b = eco_reading_absent(ECO_ABSENT_NOT_READ),
                      .batch_size = 1,
                      .tokens = 256,
                      .iterations = 10,
                      .warmup = 2,
                      .sample_rate_hz = 10,
                      .context_length = 2048,
                      .quality_seq_len = 1024,
                      .quality_probe = true};
}

static void check_address(const char *flag, const char *address) {
    if (strncmp(address, "http://", 7) != 0 && strncmp(address, "https://", 8) != 0) {
        cli_usage_error("%s: '%s' is not usable; expected an http:// or https:// address", flag,
                        address);
    }
}

bool energy_parse(int argc, char **argv, energy_input *input, int *status) {
    *input = (energy_input){.task = defaults(),
                            .output_dir = "workspace/outputs",
                            .api_base = ECO_PREFETCH_BASE,
                            .site = ECO_SHARE_SITE};
    note_command(argc, argv, input->command, sizeof input->command);
    given_flags given = {.input = input};
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &given);
    check_address("--api_base", input->api_base);
    check_address("--site", input->site);
    if (given.parameters_file != NULL && !load_parameters(input, given.parameters_file, status)) {
        return false;
    }
    set_flag(input, "model", "model_name", given.model);
    for (size_t i = 0; i < N_TASK_FLAGS; i++) {
        set_flag(input, task_flags[i], task_flags[i], given.task[i]);
    }
    if (given.no_quality) {
        input->task.quality_probe = false;
    }
    input->task.power_trace |= given.power_trace;
    input->quality_asked = given.task[N_TASK_FLAGS - 1] != NULL ||
                           given.task[N_TASK_FLAGS - 2] != NULL ||
                           input->task.quality_text[0] != '\0';
    return true;
}
