/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of ecocompute measure: their table, their parsing, and the plan they make with the program's defaults.
 */
#include "measure_options.h"

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
    KEY_OUTLIERS,
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
    KEY_STEADY_MAX,
    KEY_PLAN,
    KEY_GPU_ARCH
};

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "NAME", 0,
     "Model shape (default: TinyLlama-1.1B on a GPU, SmolLM2-135M on the CPU)", 1},
    {"precision", KEY_PRECISION, "LIST", 0, "Formats under test, by comma (default: NF4)", 1},
    {"baseline", KEY_BASELINE, "FORMAT", 0,
     "What they are compared with: FP16 or BF16 (default: FP16)", 1},
    {"engine", KEY_ENGINE, "ENGINE", 0, "native", 1},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "auto, cpu, cuda, cuda:1, cuda:GPU-… or cuda:MIG-… (default: auto)", 1},
    {"weights", KEY_WEIGHTS, "KIND", 0, "synthetic", 1},
    {"seed", KEY_SEED, "N", 0, "Seed of weights and prompt (default: 1)", 1},
    {"batch", KEY_BATCH, "N", 0, "Sequences decoded together, 1 to 64 (default: 1)", 1},
    {"outliers", KEY_OUTLIERS, "N", 0,
     "INT8: columns of a thousand planted as outliers (default: 1)", 1},
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
    {"gpu-arch", KEY_GPU_ARCH, "ARCH", 0,
     "Class or card whose published data answer where no energy can be read (default: auto, this "
     "machine's card)",
     3},
    {"plan", KEY_PLAN, "FILE", 0,
     "Measure every experiment of a plan (YAML, docs/plan.md), each in a folder of its own", 3},
    {"output-dir", KEY_OUTPUT, "DIR", 0,
     "Where the files go (default: a folder of its own in ecocompute-out)", 3},
    {"force", KEY_FORCE, 0, 0,
     "Measure although others use the device (flagged); write over an old report", 3},
    {"resume", KEY_RESUME, 0, 0,
     "Go on with a run that was stopped, in --output-dir or else the latest; same options; "
     "with --plan at the next unfinished experiment",
     3},
    {"dry-run", KEY_DRY_RUN, 0, 0, "Print the plan, its time and every check; measure nothing", 3},
    {"require-measured", KEY_REQUIRE, 0, 0,
     "Without a way to read energy, stop at once with status 3", 3},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {"quantize-head", "quality",         "no-quality",
                                    "share",         "parameters-file", NULL};

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
        input->seed = cli_integer("--seed", argument, 0, INT64_MAX);
        return true;
    case KEY_BATCH:
        input->batch = cli_integer("--batch", argument, 1, ECO_BATCH_MAX);
        return true;
    case KEY_OUTLIERS:
        input->outliers = cli_integer("--outliers", argument, 0, 1000);
        return true;
    case KEY_PROMPT:
        input->n_prompt = cli_integer("--prompt-tokens", argument, 1, 1u << 20);
        return true;
    case KEY_TOKENS:
        input->n_tokens = cli_integer("--tokens", argument, 1, 1u << 20);
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
        input->n_blocks = cli_integer("--blocks", argument, 1, ECO_BLOCKS_MAX);
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
        input->n_iterations = cli_integer("--iterations", argument, 1, ECO_ITERATIONS_MAX);
        return true;
    case KEY_WARMUP:
        input->n_warmup = cli_integer("--warmup", argument, 0, ECO_ITERATIONS_MAX);
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
        input->order_seed = cli_integer("--order-seed", argument, 0, UINT64_MAX);
        input->order_seed_given = true;
        return true;
    default:
        return cli_meter_option(&input->meter, key, argument);
    }
}

/* Options that a plan file sets for itself: one given beside --plan is refused, not ignored. */
static void note_workload(measure_input *input, int key) {
    const bool of_plan = (key >= KEY_MODEL && key <= KEY_ORDER_SEED && key != KEY_DEVICE) ||
                         (key >= KEY_ITERATIONS && key <= KEY_STEADY_MAX);
    for (const struct argp_option *option = options;
         of_plan && input->workload_option == NULL && option->name != NULL; option++) {
        if (option->key == key) {
            input->workload_option = option->name;
        }
    }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    measure_input *input = state->input;
    note_workload(input, key);
    if (parse_workload(input, key, argument) || parse_protocol(input, key, argument)) {
        return 0;
    }
    switch (key) {
    case KEY_PLAN:
        input->plan_file = argument;
        return 0;
    case KEY_GPU_ARCH:
        input->gpu_arch = argument;
        return 0;
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

static void plan_arms(const measure_input *input, eco_plan *plan) {
    plan->arms[0] = cli_format_named("--baseline", input->baseline);
    if (plan->arms[0] != ECO_FORMAT_FP16 && plan->arms[0] != ECO_FORMAT_BF16) {
        cli_usage_error("--baseline: %s is not a baseline; expected FP16 or BF16",
                        eco_format_at(plan->arms[0])->name);
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
        const eco_format format = cli_format_named("--precision", name);
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
const char *measure_together(const measure_input *input, const char **why) {
    const struct {
        bool wrong;
        const char *option, *why;
    } rows[] = {
        {!input->published && input->n_iterations != MEASURE_NOT_GIVEN, "--iterations",
         "only with --protocol published"},
        {!input->published && input->n_warmup != MEASURE_NOT_GIVEN, "--warmup",
         "only with --protocol published"},
        {!input->steady && input->steady_max_s >= 0.0, "--steady-max",
         "only with --thermal-mode steady"},
        {input->published && input->window_s >= 0.0, "--window",
         "not with --protocol published, whose window is --iterations generations"},
        {input->published && input->quick, "--quick",
         "not with --protocol published; fewer --iterations or --tokens are quicker"},
        {input->plan_file != NULL && strcmp(input->gpu_arch, "auto") != 0, "--gpu-arch",
         "not with --plan, whose experiments get no answer of the dataset"},
        {input->steady && input->cooldown_max_s >= 0.0, "--cooldown-max",
         "not with --thermal-mode steady, which has no cooldown"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].wrong) {
            *why = rows[i].why;
            return rows[i].option;
        }
    }
    return NULL;
}

/* The published procedure: prefill inside the window, a short sentence as prompt. */
static void make_published(const measure_input *input, eco_plan *plan) {
    plan->protocol = ECO_PROTOCOL_PUBLISHED;
    plan->n_iterations =
        input->n_iterations == MEASURE_NOT_GIVEN ? 10 : (uint32_t)input->n_iterations;
    plan->n_warmup = input->n_warmup == MEASURE_NOT_GIVEN ? 2 : (uint32_t)input->n_warmup;
    plan->n_prompt = input->n_prompt == MEASURE_NOT_GIVEN ? 12 : (uint32_t)input->n_prompt;
    plan->n_blocks = input->n_blocks > 0 ? (uint32_t)input->n_blocks : 1;
    plan->ramp_s = 1.2;
    plan->burn_in_s = 0.0;
    plan->window_ticks_min = 0.0;
    plan->cooldown_max_s = given_or(input->cooldown_max_s, 5.0);
    plan->extra_windows = false;
}

void measure_plan_of(const measure_input *input, bool on_gpu, bool metered, eco_plan *plan) {
    const bool quick = input->quick || !metered;
    *plan = (eco_plan){
        .shape = cli_model_named("--model", input->model != NULL ? input->model
                                            : on_gpu             ? "TinyLlama-1.1B"
                                                                 : "SmolLM2-135M"),
        .head = ECO_FORMAT_FP16,
        .engine = {.name = "native", .device = on_gpu ? input->device : "cpu"},
        .meter = input->meter.name,
        .meter_config = input->meter.config,
        .batch = (uint32_t)input->batch,
        .outlier_permille = (uint32_t)input->outliers,
        .n_prompt = input->n_prompt == MEASURE_NOT_GIVEN ? 128 : (uint32_t)input->n_prompt,
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

measure_input measure_defaults(void) {
    return (measure_input){.precision = "NF4",
                           .baseline = "FP16",
                           .device = "auto",
                           .gpu_arch = "auto",
                           .window_s = -1.0,
                           .margin_pct = -1.0,
                           .cooldown_max_s = -1.0,
                           .steady_max_s = -1.0,
                           .seed = 1,
                           .batch = 1,
                           .outliers = 1, /* LLM.int8: "more than 99.9 % of values are multiplied
                                             in 8-bit" (arXiv:2208.07339, abstract) */
                           .n_iterations = MEASURE_NOT_GIVEN,
                           .n_warmup = MEASURE_NOT_GIVEN,
                           .n_prompt = MEASURE_NOT_GIVEN,
                           .n_tokens = 256};
}

void measure_parse(int argc, char **argv, measure_input *input) {
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, input);
    if (input->plan_file != NULL && input->workload_option != NULL) {
        cli_usage_error("--%s: not with --plan, whose file says it for each experiment",
                        input->workload_option);
    }
    const char *why = NULL;
    const char *option = measure_together(input, &why);
    if (option != NULL) {
        cli_usage_error("%s: %s", option, why);
    }
}
