/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute measure: energy per token, A against B. Holds the defaults of a plan; the run itself is in the library.
 */
#include "cli.h"
#include "measure_boards.h"
#include "meter_options.h"

#include "ecocompute/plan.h"

#include <stdio.h>
#include <string.h>

enum {
    KEY_MODEL = CLI_KEY_OWN,
    KEY_PRECISION,
    KEY_BASELINE,
    KEY_ENGINE,
    KEY_DEVICE,
    KEY_WEIGHTS,
    KEY_SEED,
    KEY_BATCH,
    KEY_PROMPT,
    KEY_TOKENS,
    KEY_BLOCKS,
    KEY_WINDOW,
    KEY_QUICK,
    KEY_MARGIN,
    KEY_PROTOCOL,
    KEY_THERMAL,
    KEY_COOLDOWN,
    KEY_ORDER,
    KEY_ORDER_SEED,
    KEY_OUTPUT,
    KEY_FORCE,
    KEY_DRY_RUN,
    KEY_REQUIRE,
    KEY_RESUME,
    KEY_ITERATIONS,
    KEY_WARMUP,
    KEY_STEADY_MAX
};

static const uint64_t NOT_GIVEN = UINT64_MAX;

typedef struct measure_input {
    cli_common common;
    const char *model, *precision, *baseline, *device, *output_dir;
    cli_meter meter;
    double window_s, margin_pct, cooldown_max_s, steady_max_s; /* negative = not given */
    uint64_t seed, order_seed, n_prompt, n_tokens, n_blocks;
    uint64_t n_iterations, n_warmup; /* NOT_GIVEN, like n_prompt, where they were not */
    bool published, steady;
    bool resume, quick, force, dry_run, require_measured, fixed_order, order_seed_given;
} measure_input;

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "NAME", 0,
     "Model shape (default: TinyLlama-1.1B on a GPU, SmolLM2-135M on the CPU)", 1},
    {"precision", KEY_PRECISION, "LIST", 0, "Formats under test, by comma (default: NF4)", 1},
    {"baseline", KEY_BASELINE, "FORMAT", 0, "What they are compared with (default: FP16)", 1},
    {"engine", KEY_ENGINE, "ENGINE", 0, "native", 1},
    {"device", KEY_DEVICE, "DEVICE", 0, "auto, cpu, cuda, cuda:1 or cuda:GPU-… (default: auto)", 1},
    {"weights", KEY_WEIGHTS, "KIND", 0, "synthetic", 1},
    {"seed", KEY_SEED, "N", 0, "Seed of weights and prompt (default: 1)", 1},
    {"batch", KEY_BATCH, "N", 0, "Sequences decoded together (1 in this version)", 1},
    {"prompt-tokens", KEY_PROMPT, "N", 0, "Prompt length (default: 128; published: 12)", 1},
    {"tokens", KEY_TOKENS, "N", 0, "Tokens a generation makes (default: 256)", 1},
    {"blocks", KEY_BLOCKS, "N", 0,
     "Blocks: one window of every arm each (default: 5; published: 1)", 2},
    {"window", KEY_WINDOW, "SECONDS", 0, "Shortest window (default: 5)", 2},
    {"quick", KEY_QUICK, 0, 0, "3 blocks, 2 s windows, cooldown at most 2 s, no extra windows", 2},
    {"margin", KEY_MARGIN, "PERCENT", 0, "Differences inside it are called none (default: 3)", 2},
    {"protocol", KEY_PROTOCOL, "NAME", 0,
     "paired (default), or published: one window of whole generations an arm", 2},
    {"iterations", KEY_ITERATIONS, "N", 0, "published: generations in a window (default: 10)", 2},
    {"warmup", KEY_WARMUP, "N", 0, "published: generations before a window (default: 2)", 2},
    {"thermal-mode", KEY_THERMAL, "MODE", 0,
     "cold (default): rest before an arm; steady: none, work until the temperature stands still",
     2},
    {"steady-max", KEY_STEADY_MAX, "SECONDS", 0,
     "steady: longest work before a window (default: 60)", 2},
    {"cooldown-max", KEY_COOLDOWN, "SECONDS", 0, "Longest rest before an arm (default: 5)", 2},
    {"order", KEY_ORDER, "ORDER", 0, "shuffled or fixed (default: shuffled)", 2},
    {"order-seed", KEY_ORDER_SEED, "N", 0,
     "Seed of the shuffle (default: from the system; recorded)", 2},
    CLI_METER_OPTIONS(2,
                      "Meters in order of preference, parted by commas: the first that can run and "
                      "sees the work (default: found by the work)"),
    {"output-dir", KEY_OUTPUT, "DIR", 0,
     "Where the files go (default: a folder of its own in ecocompute-out)", 3},
    {"force", KEY_FORCE, 0, 0,
     "Measure although others use the device (flagged); write over an old report", 3},
    {"resume", KEY_RESUME, 0, 0,
     "Go on with a run that was stopped, in --output-dir or else the latest; same options", 3},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Print the plan, its time and every check; measure nothing", 3},
    {"require-measured", KEY_REQUIRE, 0, 0,
     "Without a way to read energy, stop at once with status 3", 3},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {"gpu-arch", "quantize-head", "quality",         "no-quality",
                                    "share",    "plan",          "parameters-file", NULL};

/* An option of the contract of which this version has one value only. */
static void only_value(const char *option, const char *given, const char *have,
                       const char *const *later_values) {
    if (strcmp(given, have) == 0) {
        return;
    }
    for (; *later_values != NULL; later_values++) {
        if (strcmp(given, *later_values) == 0) {
            cli_usage_error("%s %s is not in this version", option, given);
        }
    }
    cli_usage_error("%s: '%s' is not known; expected %s", option, given, have);
}

static bool parse_workload(measure_input *input, int key, const char *argument) {
    static const char *const engines_later[] = {"openai", "transformers", "command", NULL};
    static const char *const weights_later[] = {"real", NULL};
    switch (key) {
    case KEY_MODEL:
        input->model = argument;
        return true;
    case KEY_PRECISION:
        input->precision = argument;
        return true;
    case KEY_BASELINE:
        input->baseline = argument;
        return true;
    case KEY_ENGINE:
        only_value("--engine", argument, "native", engines_later);
        return true;
    case KEY_DEVICE:
        input->device = argument;
        return true;
    case KEY_WEIGHTS:
        only_value("--weights", argument, "synthetic", weights_later);
        return true;
    case KEY_SEED:
        input->seed = cli_integer("--seed", argument, INT64_MAX);
        return true;
    case KEY_BATCH:
        if (cli_integer("--batch", argument, 1u << 20) != 1) {
            cli_usage_error("--batch %s is not in this version; expected 1", argument);
        }
        return true;
    case KEY_PROMPT:
        input->n_prompt = cli_integer("--prompt-tokens", argument, 1u << 20);
        return true;
    case KEY_TOKENS:
        input->n_tokens = cli_integer("--tokens", argument, 1u << 20);
        return true;
    default:
        return false;
    }
}

/* One of two words; true for the second. */
static bool second_of(const char *option, const char *given, const char *first,
                      const char *second) {
    if (strcmp(given, first) != 0 && strcmp(given, second) != 0) {
        cli_usage_error("%s: '%s' is not known; expected %s or %s", option, given, first, second);
    }
    return strcmp(given, second) == 0;
}

static bool parse_protocol(measure_input *input, int key, const char *argument) {
    switch (key) {
    case KEY_BLOCKS:
        input->n_blocks = cli_integer("--blocks", argument, ECO_BLOCKS_MAX);
        if (input->n_blocks == 0) {
            cli_usage_error("--blocks: '0' is not usable; expected 1 to %d", ECO_BLOCKS_MAX);
        }
        return true;
    case KEY_WINDOW:
        input->window_s = cli_number("--window", argument, 0.2, 600);
        return true;
    case KEY_QUICK:
        input->quick = true;
        return true;
    case KEY_MARGIN:
        input->margin_pct = cli_number("--margin", argument, 0, 100);
        return true;
    case KEY_PROTOCOL:
        input->published = second_of("--protocol", argument, "paired", "published");
        return true;
    case KEY_ITERATIONS:
        input->n_iterations = cli_integer("--iterations", argument, ECO_ITERATIONS_MAX);
        return true;
    case KEY_WARMUP:
        input->n_warmup = cli_integer("--warmup", argument, ECO_ITERATIONS_MAX);
        return true;
    case KEY_THERMAL:
        input->steady = second_of("--thermal-mode", argument, "cold", "steady");
        return true;
    case KEY_STEADY_MAX:
        input->steady_max_s = cli_number("--steady-max", argument, ECO_STEADY_MIN_S, 600);
        return true;
    case KEY_COOLDOWN:
        input->cooldown_max_s = cli_number("--cooldown-max", argument, 0, 600);
        return true;
    case KEY_ORDER:
        input->fixed_order = second_of("--order", argument, "shuffled", "fixed");
        return true;
    case KEY_ORDER_SEED:
        input->order_seed = cli_integer("--order-seed", argument, UINT64_MAX);
        input->order_seed_given = true;
        return true;
    default:
        return cli_meter_option(&input->meter, key, argument);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    measure_input *input = state->input;
    if (parse_workload(input, key, argument) || parse_protocol(input, key, argument)) {
        return 0;
    }
    switch (key) {
    case KEY_OUTPUT:
        input->output_dir = argument;
        return 0;
    case KEY_FORCE:
        input->force = true;
        return 0;
    case KEY_RESUME:
        input->resume = true;
        return 0;
    case KEY_DRY_RUN:
        input->dry_run = true;
        return 0;
    case KEY_REQUIRE:
        input->require_measured = true;
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("measure: unexpected argument '%s'", argument);
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Measures energy per generated token of a model at one precision against another, in "
           "shuffled blocks on this "
           "machine's own meters, and writes energy.json with its raw traces.\v"
           "Example: ecocompute measure --model Qwen2-7B --precision NF4"};

static eco_format format_named(const char *option, const char *name) {
    eco_format format;
    if (eco_format_find(name, &format)) {
        return format;
    }
    static const char *const known_later[] = {"BF16", "NF4-DQ", "INT8", "W8A16",
                                              "Q4_0", "Q8_0",   "FP8"};
    for (size_t i = 0; i < sizeof known_later / sizeof known_later[0]; i++) {
        if (strcmp(name, known_later[i]) == 0) {
            cli_usage_error("%s %s is not in this version", option, name);
        }
    }
    const char *names[ECO_FORMAT_COUNT];
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        names[i] = eco_format_at(i)->name;
    }
    const char *nearest = eco_nearest_name(name, names, ECO_FORMAT_COUNT);
    cli_usage_error("%s: unknown precision '%s'%s%s%s", option, name,
                    nearest != NULL ? ", did you mean '" : "; expected ",
                    nearest != NULL ? nearest : "FP16 or NF4", nearest != NULL ? "'?" : "");
}

static const eco_model_shape *shape_named(const char *name) {
    const eco_model_shape *shape = eco_model_find(name);
    if (shape != NULL) {
        return shape;
    }
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < eco_model_count() && n < 64; i++) {
        names[n++] = eco_model_at(i)->name;
    }
    const char *nearest = eco_nearest_name(name, names, n);
    cli_usage_error("--model: unknown model '%s'%s%s%s; `ecocompute models` lists them", name,
                    nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "'?" : "");
}

static void plan_arms(const measure_input *input, eco_plan *plan) {
    plan->arms[0] = format_named("--baseline", input->baseline);
    if (plan->arms[0] != ECO_FORMAT_FP16) {
        cli_usage_error("--baseline %s is not in this version; expected FP16", input->baseline);
    }
    plan->n_arms = 1;
    char list[256];
    if ((size_t)snprintf(list, sizeof list, "%s", input->precision) >= sizeof list) {
        cli_usage_error("--precision: the list is too long");
    }
    char *rest = list;
    while (rest != NULL) {
        char *const name = rest;
        rest = strchr(rest, ',');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        const eco_format format = format_named("--precision", name);
        if (format == plan->arms[0] && strchr(input->precision, ',') == NULL) {
            return; /* the baseline alone */
        }
        if (plan->n_arms == ECO_ARMS_MAX) {
            cli_usage_error("--precision: at most %d arms", ECO_ARMS_MAX);
        }
        plan->arms[plan->n_arms++] = format;
    }
}

static double given_or(double given, double otherwise) {
    return given < 0.0 ? otherwise : given;
}

/* Options that mean nothing under the protocol or thermal mode chosen are refused, not ignored. */
static void check_together(const measure_input *input) {
    const struct {
        bool wrong;
        const char *option, *why;
    } rows[] = {
        {!input->published && input->n_iterations != NOT_GIVEN, "--iterations",
         "only with --protocol published"},
        {!input->published && input->n_warmup != NOT_GIVEN, "--warmup",
         "only with --protocol published"},
        {!input->steady && input->steady_max_s >= 0.0, "--steady-max",
         "only with --thermal-mode steady"},
        {input->published && input->window_s >= 0.0, "--window",
         "not with --protocol published, whose window is --iterations generations"},
        {input->published && input->quick, "--quick",
         "not with --protocol published; fewer --iterations or --tokens are quicker"},
        {input->steady && input->cooldown_max_s >= 0.0, "--cooldown-max",
         "not with --thermal-mode steady, which has no cooldown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].wrong) {
            cli_usage_error("%s: %s", rows[i].option, rows[i].why);
        }
    }
}

/* The published procedure: prefill inside the window, a short sentence as prompt. */
static void make_published(const measure_input *input, eco_plan *plan) {
    plan->protocol = ECO_PROTOCOL_PUBLISHED;
    plan->n_iterations = input->n_iterations == NOT_GIVEN ? 10 : (uint32_t)input->n_iterations;
    plan->n_warmup = input->n_warmup == NOT_GIVEN ? 2 : (uint32_t)input->n_warmup;
    plan->n_prompt = input->n_prompt == NOT_GIVEN ? 12 : (uint32_t)input->n_prompt;
    plan->n_blocks = input->n_blocks > 0 ? (uint32_t)input->n_blocks : 1;
    plan->ramp_s = 1.2;
    plan->burn_in_s = 0.0;
    plan->window_ticks_min = 0.0;
    plan->cooldown_max_s = given_or(input->cooldown_max_s, 5.0);
    plan->extra_windows = false;
}

/* Defaults: DESIGN's paired protocol. A machine without a meter gets the quick one: only time is at stake. */
static void plan_of(const measure_input *input, bool on_gpu, bool metered, eco_plan *plan) {
    const bool quick = input->quick || !metered;
    *plan =
        (eco_plan){.shape = shape_named(input->model != NULL ? input->model
                                        : on_gpu             ? "TinyLlama-1.1B"
                                                             : "SmolLM2-135M"),
                   .head = ECO_FORMAT_FP16,
                   .engine = {.name = "native", .device = on_gpu ? input->device : "cpu"},
                   .meter = input->meter.name,
                   .meter_config = input->meter.config,
                   .batch = 1,
                   .n_prompt = input->n_prompt == NOT_GIVEN ? 128 : (uint32_t)input->n_prompt,
                   .n_tokens = (uint32_t)input->n_tokens,
                   .seed = input->seed,
                   .order_seed = input->order_seed_given ? input->order_seed : eco_random_seed(),
                   .shuffle = !input->fixed_order,
                   .n_blocks = input->n_blocks > 0 ? (uint32_t)input->n_blocks
                               : quick             ? 3
                                                   : 5,
                   .window_s = given_or(input->window_s, quick ? 2.0 : 5.0),
                   .window_ticks_min = quick ? 20.0 : 50.0,
                   .ramp_s = quick ? 0.5 : 1.2,
                   .burn_in_s = quick ? 0.5 : 1.5,
                   .cooldown_max_s = given_or(input->cooldown_max_s, quick ? 2.0 : 5.0),
                   .thermal = input->steady ? ECO_THERMAL_STEADY : ECO_THERMAL_COLD,
                   .steady_max_s = given_or(input->steady_max_s, 60.0),
                   .margin_pct = given_or(input->margin_pct, 3.0),
                   .extra_windows = !quick,
                   .force = input->force};
    if (input->published) {
        make_published(input, plan);
    }
    plan_arms(input, plan);
}

static void say(void *user, const char *line) {
    (void)user;
    cli_err("%s\n", line);
}

typedef struct machine {
    bool cuda, gpu_meter;
    char cuda_reason[ECO_ERROR_MESSAGE_MAX], meter_reason[ECO_ERROR_MESSAGE_MAX];
    eco_meter_status meter; /* for the work of this run; name "" = none fits */
    bool metered;           /* it can be read */
    bool replayed;          /* ... but gives old readings only */
    eco_boundary board;     /* the chosen one, with --dry-run only */
} machine;

static machine look_at_machine(void) {
    machine found = {0};
    eco_engine_status engine;
    eco_engine_probe(0, &engine);
    found.cuda = engine.cuda_usable;
    memcpy(found.cuda_reason, engine.cuda_reason, sizeof found.cuda_reason);
    for (size_t i = 0; i < eco_meter_count() && !found.gpu_meter; i++) {
        eco_meter_status meter;
        eco_meter_name(i, &meter);
        if (meter.boundary == ECO_BOUNDARY_GPU) {
            eco_meter_probe(i, &meter);
            found.gpu_meter = meter.usable;
            memcpy(found.meter_reason, meter.reason, sizeof found.meter_reason);
        }
    }
    return found;
}

/* Is there a meter that sees the work? */
static void look_for_meter(machine *found, const cli_meter *meter, bool on_gpu) {
    const eco_meter_options wanted = {
        .name = meter->name,
        .work = {.kind = on_gpu ? ECO_BOUNDARY_GPU : ECO_BOUNDARY_CPU_PACKAGE},
        .config = meter->config};
    found->metered = eco_meter_choose(&wanted, &found->meter);
    found->replayed = found->metered && meter->config.replay_path != NULL;
}

static const char *energy_word(const machine *found) {
    return !found->metered ? "unavailable" : found->replayed ? "replayed" : "measured";
}

static bool asks_for_cuda(const char *device) {
    return strncmp(device, "cuda", 4) == 0;
}

static void check_device(const char *device) {
    const bool fine = strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0 ||
                      strcmp(device, "cuda") == 0 ||
                      (strncmp(device, "cuda:", 5) == 0 && device[5] != '\0');
    if (!fine) {
        static const char *const names[] = {"auto", "cpu", "cuda"};
        const char *nearest = eco_nearest_name(device, names, 3);
        cli_usage_error(
            "--device: unknown device '%s'%s%s%s; expected auto, cpu, cuda, cuda:1 or cuda:GPU-…",
            device, nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
            nearest != NULL ? "'?" : "");
    }
}

static void print_checks(const machine *found, bool on_gpu) {
    cli_out("device: %s\n", on_gpu ? "GPU" : "CPU");
    cli_out("check: CUDA %s%s\n",
            found->cuda ? "usable" : "not usable: ", found->cuda ? "" : found->cuda_reason);
    cli_out("check: NVML %s%s\n", found->gpu_meter ? "usable" : "not usable: ",
            found->gpu_meter ? "" : found->meter_reason);
    if (strcmp(found->meter.name, "nvml") != 0 && found->meter.name[0] != '\0') {
        cli_out("check: meter %s %s: %s\n", found->meter.name,
                found->metered ? "usable" : "not usable", found->meter.reason);
    }
    const bool ready = !on_gpu || !found->gpu_meter || cli_boards_ready(&found->board, true);
    cli_out("energy: %s%s\n", ready ? energy_word(found) : "unavailable",
            ready && found->metered && !found->replayed ? "" : "; only time would be measured");
}

/* The checks and the plan as one document, for --dry-run --json. */
static void print_plan_json(const machine *found, bool on_gpu, const eco_plan *plan) {
    uint32_t order[ECO_BLOCKS_MAX * ECO_ARMS_MAX];
    double shortest_s = 0.0;
    double longest_s = 0.0;
    eco_plan_order(plan, order);
    eco_plan_seconds(plan, &shortest_s, &longest_s);
    cli_out("{\n  ");
    cli_json_field("device", on_gpu ? "GPU" : "CPU", false);
    cli_out("\"cuda_usable\": %s, ", found->cuda ? "true" : "false");
    cli_json_field("cuda_reason", found->cuda_reason, false);
    cli_out("\"nvml_usable\": %s, ", found->gpu_meter ? "true" : "false");
    cli_json_field("nvml_reason", found->gpu_meter ? "" : found->meter_reason, false);
    cli_json_field("meter", found->meter.name, false);
    cli_out("\"meter_usable\": %s, ", found->metered ? "true" : "false");
    cli_json_field("meter_reason", found->meter.reason, false);
    cli_json_field("energy",
                   !on_gpu || !found->gpu_meter || cli_boards_ready(&found->board, false)
                       ? energy_word(found)
                       : "unavailable",
                   false);
    cli_out("\n  ");
    cli_json_field("model", plan->shape->name, false);
    cli_out("\"prompt_tokens\": %u, \"tokens\": %u, \"blocks\": %u, ", plan->n_prompt,
            plan->n_tokens, plan->n_blocks);
    if (plan->protocol == ECO_PROTOCOL_PUBLISHED) {
        cli_out("\"protocol\": \"published\", \"iterations\": %u, \"warmup\": %u, ",
                plan->n_iterations, plan->n_warmup);
    } else {
        cli_out("\"protocol\": \"paired\", \"window_min_s\": %.9g, ", plan->window_s);
    }
    cli_json_field("thermal_mode", plan->thermal == ECO_THERMAL_STEADY ? "steady" : "cold", false);
    cli_out("\"order_seed\": \"%llu\",\n  \"order\": [", (unsigned long long)plan->order_seed);
    for (uint32_t i = 0; i < plan->n_blocks * plan->n_arms; i++) {
        const bool first = i % plan->n_arms == 0;
        cli_out("%s", !first ? ", " : i == 0 ? "[" : "], [");
        cli_json_string(eco_format_at(plan->arms[order[i]])->name);
    }
    cli_out("]],\n  \"shortest_s\": %.9g, \"longest_s\": %.9g, ", shortest_s, longest_s);
    cli_json_field("output_dir", plan->output_dir, true);
    cli_out("\n}\n");
}

static void print_plan(const measure_input *input, const machine *found, bool on_gpu,
                       const eco_plan *plan) {
    if (input->common.json) {
        print_plan_json(found, on_gpu, plan);
        return;
    }
    eco_text text = {0};
    eco_plan_describe(plan, &text);
    print_checks(found, on_gpu);
    cli_print(&text);
    eco_text_free(&text);
}

/* One report as JSON, several as an array of them. */
static int print_reports_json(const eco_measure_result *result) {
    for (uint32_t i = 0; i < result->n_reports; i++) {
        eco_text text = {0};
        eco_error error = {0};
        if (eco_report_write(result->reports[i], &text, &error) != ECO_OK) {
            return cli_fail(&error);
        }
        cli_out("%s", result->n_reports > 1 ? i == 0 ? "[\n" : ",\n" : "");
        cli_print(&text);
        eco_text_free(&text);
    }
    cli_out("%s", result->n_reports > 1 ? "]\n" : "");
    return EXIT_DONE;
}

static void print_files(const char *folder, const eco_measure_result *result) {
    cli_out("files:");
    for (uint32_t i = 0; i < result->n_reports; i++) {
        cli_out(" %s/%s", folder, result->files[i]);
    }
    for (uint32_t i = 0; i < ECO_ARMS_MAX; i++) {
        if (result->traces[i][0] != '\0') {
            cli_out(" %s/%s", folder, result->traces[i]);
        }
    }
    cli_out("\n");
}

static void print_unmetered(const machine *found) {
    cli_out(
        "nothing could be metered here: CUDA %s%s; NVML %s%s",
        found->cuda ? "usable" : "not usable: ", found->cuda ? "" : found->cuda_reason,
        found->gpu_meter ? "usable" : "not usable: ", found->gpu_meter ? "" : found->meter_reason);
    if (!found->metered && strcmp(found->meter.name, "nvml") != 0 && found->meter.name[0] != '\0') {
        cli_out("; meter %s not usable: %s", found->meter.name, found->meter.reason);
    }
    cli_out("\n");
}

static int finish(const measure_input *input, const machine *found, const eco_output *output,
                  const eco_measure_result *result) {
    eco_error error = {0};
    if (eco_output_latest(output, &error) != ECO_OK) {
        cli_err("ecocompute: %s\n", error.message);
    }
    if (input->common.json) {
        const int failed = print_reports_json(result);
        if (failed != EXIT_DONE) {
            return failed;
        }
    } else {
        for (uint32_t i = 0; i < result->n_reports; i++) {
            eco_text text = {0};
            eco_report_summarise(result->reports[i], &text);
            cli_print_summary(&text, input->common.color);
            eco_text_free(&text);
        }
        if (cli_report_replayed(result->reports[0]) && !result->partial) {
            cli_out("energy was replayed from a trace; nothing was measured but time\n");
        } else if (!result->energy_measured && !result->partial) {
            print_unmetered(found);
            cli_out("answer of the published dataset: unavailable (not in this version)\n");
        }
        print_files(output->folder, result);
    }
    if (result->partial) {
        return cli_fail(&result->fault);
    }
    return result->energy_measured ? EXIT_DONE : EXIT_UNMEASURED;
}

static bool is_output_dir(const char *given) {
    const size_t length = strcspn(given, "=");
    return length >= strlen("--ou") && strncmp(given, "--output-dir", length) == 0;
}

/* The options as given, but for what may name a person or a machine: the value of --output-dir (also abbreviated), what
 * meters are told, and a card's UUID. */
static void command_line(int argc, char **argv, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "ecocompute measure");
    for (int i = 1; i < argc && used < size; i++) {
        const char *uuid = strstr(argv[i], "GPU-");
        if (is_output_dir(argv[i]) || cli_meter_private(argv[i])) {
            used += (size_t)snprintf(out + used, size - used, " %.*s=…", (int)strcspn(argv[i], "="),
                                     argv[i]);
            i += strchr(argv[i], '=') == NULL ? 1 : 0;
        } else if (uuid != NULL) {
            used += (size_t)snprintf(out + used, size - used, " %.*sGPU-…", (int)(uuid - argv[i]),
                                     argv[i]);
        } else {
            used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
        }
    }
}

/* On a terminal a busy card is a question; elsewhere it is the end. */
static bool asked_to_go_on(const eco_error *busy) {
    if (!eco_is_tty(0) || !eco_is_tty(2)) {
        return false;
    }
    cli_err("%s\nMeasure anyway? The report will be flagged. [y/N] ", busy->message);
    const int answer = getchar();
    return answer == 'y' || answer == 'Y';
}

/* The folder and, with --resume, what its journal says of the order. False: *status is the program's. */
static bool choose_folder(const measure_input *input, eco_plan *plan, eco_output *output,
                          int *status) {
    eco_error error = {0};
    const eco_status chosen =
        input->resume ? eco_output_resume(input->output_dir, output, &error)
                      : eco_output_choose(input->output_dir, input->force, output, &error);
    plan->output_dir = output->folder;
    plan->run_id = output->run_id;
    plan->resume = input->resume;
    if (chosen != ECO_OK || eco_plan_check(plan, &error) != ECO_OK) {
        *status = cli_fail(&error);
        return false;
    }
    if (!input->resume) {
        return true;
    }
    eco_resume resume;
    if (eco_resume_look(plan, input->order_seed_given, &resume, &error) != ECO_OK) {
        *status = cli_fail(&error);
        return false;
    }
    if (resume.finished) {
        cli_err("ecocompute: %s: this run is finished (%u of %u blocks)\n", output->folder,
                resume.blocks_finished, plan->n_blocks);
        *status = EXIT_DONE;
        return false;
    }
    if (resume.note[0] != '\0') {
        cli_err("ecocompute: %s: %s\n", output->folder, resume.note);
    }
    plan->order_seed = resume.order_seed;
    if (resume.run_id[0] != '\0') {
        snprintf(output->run_id, sizeof output->run_id, "%s", resume.run_id);
    }
    return true;
}

static int run(const measure_input *input, const machine *found, eco_plan *plan,
               eco_output *output) {
    eco_error error = {0};
    int done = EXIT_DONE;
    if (!choose_folder(input, plan, output, &done)) {
        return done;
    }
    const bool on_gpu = strcmp(plan->engine.device, "cpu") != 0;
    if (input->dry_run) {
        if (eco_output_check(output, &error) != ECO_OK) {
            return cli_fail(&error);
        }
        print_plan(input, found, on_gpu, plan);
        return EXIT_DONE;
    }
    if (input->require_measured && (!found->metered || found->replayed)) {
        cli_err("ecocompute: no energy can be read: %s%s%s\n",
                on_gpu || found->cuda ? "" : found->cuda_reason, on_gpu || found->cuda ? "" : "; ",
                found->replayed ? "a replay is no measurement" : found->meter.reason);
        return EXIT_UNMEASURED;
    }
    if (!input->resume && eco_output_prepare(output, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    const eco_measure_hooks hooks = {.progress = input->common.quiet ? NULL : say};
    eco_measure_result result;
    eco_status measured = eco_measure(plan, &hooks, &result, &error);
    if (measured == ECO_E_BUSY && asked_to_go_on(&error)) {
        plan->force = true;
        measured = eco_measure(plan, &hooks, &result, &error);
    }
    if (measured != ECO_OK) {
        if (!input->resume) {
            eco_output_abandon(output);
        }
        return cli_fail(&error);
    }
    const int status = finish(input, found, output, &result);
    eco_measure_result_free(&result);
    return status;
}

int cmd_measure(int argc, char **argv) {
    measure_input input = {.precision = "NF4",
                           .baseline = "FP16",
                           .device = "auto",
                           .window_s = -1.0,
                           .margin_pct = -1.0,
                           .cooldown_max_s = -1.0,
                           .steady_max_s = -1.0,
                           .seed = 1,
                           .n_iterations = NOT_GIVEN,
                           .n_warmup = NOT_GIVEN,
                           .n_prompt = NOT_GIVEN,
                           .n_tokens = 256};
    char command[1024];
    command_line(argc, argv, command, sizeof command);
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, &input);
    check_together(&input);
    check_device(input.device);
    cli_meter_settle(&input.meter);
    machine found = look_at_machine();
    if (asks_for_cuda(input.device) && !found.cuda) {
        cli_err("ecocompute: --device %s: %s\n", input.device, found.cuda_reason);
        return EXIT_UNMEASURED;
    }
    const bool on_gpu =
        asks_for_cuda(input.device) || (strcmp(input.device, "auto") == 0 && found.cuda);
    if (strcmp(input.device, "auto") == 0) {
        input.device = on_gpu ? "cuda" : "cpu";
    }
    eco_error error = {0};
    if (input.dry_run && on_gpu && eco_device_find(input.device, &found.board, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    eco_plan plan;
    look_for_meter(&found, &input.meter, on_gpu);
    plan_of(&input, on_gpu, found.metered, &plan);
    plan.command = command;
    eco_output output;
    return run(&input, &found, &plan, &output);
}
