/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute optimize: the best precision, batch and context under limits.
 */
#include "knowing.h"

#include "ecocompute/optimize.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_SIZE = CLI_KEY_OWN,
    KEY_ARCH,
    KEY_MODEL,
    KEY_OBJECTIVE,
    KEY_LATENCY,
    KEY_VRAM,
    KEY_THROUGHPUT,
    KEY_PRECISIONS,
    KEY_BATCHES,
    KEY_CONTEXTS,
    KEY_RULES,
    LIST_MAX = 4096
};

typedef struct optimize_input {
    cli_common common;
    eco_rules rules;
    const char *params_b, *arch, *model, *objective, *latency, *vram, *throughput;
    char *precisions, *batches, *contexts; /* comma lists */
    const char *precision_names[LIST_MAX];
    double batch_values[LIST_MAX], context_values[LIST_MAX];
} optimize_input;

static const struct argp_option options[] = {
    {"params-b", KEY_SIZE, "B", 0, "Size in billions of parameters", 1},
    {"model", KEY_MODEL, "NAME", 0, "A model built in, for its size, weights and heads", 1},
    {"arch", KEY_ARCH, "NAME", 0, "Class of cards (ada, ampere, …) or a card (RTX 4090, L4, B200)",
     1},
    {"objective", KEY_OBJECTIVE, "WHAT", 0,
     "min_energy (default), min_latency, max_throughput or min_vram", 1},
    {"max-latency-ms", KEY_LATENCY, "MS", 0, "Longest time of a token", 2},
    {"max-vram-gb", KEY_VRAM, "GB", 0, "Most memory", 2},
    {"min-throughput", KEY_THROUGHPUT, "TOK/S", 0, "Fewest tokens a second, all sequences", 2},
    {"precisions", KEY_PRECISIONS, "LIST", 0, "Comma list (default FP16,NF4,INT8)", 3},
    {"batches", KEY_BATCHES, "LIST", 0, "Comma list (default 1,2,4,8,16,32)", 3},
    {"contexts", KEY_CONTEXTS, "LIST", 0, "Comma list (default 512,1024,2048,4096,8192)", 3},
    {"rules", KEY_RULES, "RULES", 0, "current (default), or published-1.1 to the digit", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    optimize_input *input = state->input;
    switch (key) {
    case KEY_SIZE:
        input->params_b = argument;
        return 0;
    case KEY_ARCH:
        input->arch = argument;
        return 0;
    case KEY_MODEL:
        input->model = argument;
        return 0;
    case KEY_OBJECTIVE:
        input->objective = argument;
        return 0;
    case KEY_LATENCY:
        input->latency = argument;
        return 0;
    case KEY_VRAM:
        input->vram = argument;
        return 0;
    case KEY_THROUGHPUT:
        input->throughput = argument;
        return 0;
    case KEY_PRECISIONS:
        input->precisions = argument;
        return 0;
    case KEY_BATCHES:
        input->batches = argument;
        return 0;
    case KEY_CONTEXTS:
        input->contexts = argument;
        return 0;
    case KEY_RULES:
        knowing_rules(argument, &input->rules);
        return 0;
    case ARGP_KEY_ARG:
        cli_usage_error("optimize: takes options only, '%s' is none", argument);
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Finds the configuration of a grid of precisions, batches and contexts that is best "
           "under limits of time, memory and throughput; with alternatives and the front of energy "
           "against latency. Energy is anchored in published measurements; the basis of each "
           "figure is named.\v"
           "Example: ecocompute optimize --params-b 7 --arch ada --max-vram-gb 16"};

/* Cuts the comma list in place. */
static eco_status split(const char *option, char *list, const char **out, size_t *n,
                        eco_error *err) {
    *n = 0;
    for (char *item = list; item != NULL;) {
        char *comma = strchr(item, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (item[0] == '\0' || *n == LIST_MAX) {
            return eco_error_set(
                err, ECO_E_USAGE, 0,
                item[0] == '\0' ? "%s: an entry is empty" : "%s: more than 4096 entries", option);
        }
        out[(*n)++] = item;
        item = comma != NULL ? comma + 1 : NULL;
    }
    return ECO_OK;
}

static eco_status split_numbers(const char *option, char *list, double *out, size_t *n,
                                eco_error *err) {
    const char **items = calloc(LIST_MAX, sizeof *items);
    if (items == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "optimize: out of memory");
    }
    eco_status status = split(option, list, items, n, err);
    for (size_t i = 0; i < *n && status == ECO_OK; i++) {
        status = knowing_number(option, items[i], &out[i], err);
    }
    free(items);
    return status;
}

static eco_status take(optimize_input *input, eco_optimize_query *q, eco_error *err) {
    *q = (eco_optimize_query){.rules = input->rules,
                              .arch = input->arch,
                              .model = input->model,
                              .objective = input->objective,
                              .precisions = input->precision_names,
                              .batches = input->batch_values,
                              .contexts = input->context_values};
    const eco_model_shape *shape = input->model != NULL ? eco_model_find(input->model) : NULL;
    q->params_b = shape != NULL ? shape->params_b : 0;
    if (input->model != NULL && input->params_b != NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "--params-b: --model names the size; give one of them");
    }
    ECO_TRY(knowing_number("--params-b", input->params_b, &q->params_b, err));
    if (input->params_b == NULL && shape == NULL && input->model == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "params_b: a size is expected, such as --params-b 7");
    }
    ECO_TRY(knowing_limit("--max-latency-ms", input->latency, &q->latency_max_ms, err));
    ECO_TRY(knowing_limit("--max-vram-gb", input->vram, &q->vram_max_gb, err));
    ECO_TRY(knowing_limit("--min-throughput", input->throughput, &q->throughput_min_tok_s, err));
    ECO_TRY(
        split("--precisions", input->precisions, input->precision_names, &q->n_precisions, err));
    ECO_TRY(split_numbers("--batches", input->batches, input->batch_values, &q->n_batches, err));
    return split_numbers("--contexts", input->contexts, input->context_values, &q->n_contexts, err);
}

static int print(const optimize_input *input, const eco_optimum *optimum) {
    eco_text text = {0};
    eco_error error = {0};
    eco_status status = ECO_OK;
    if (input->common.json) {
        status = eco_optimize_json(optimum, &text, &error);
    } else {
        eco_optimize_text(optimum, &text);
    }
    return knowing_print(&input->common, status, &text, &error);
}

int cmd_optimize(int argc, char **argv) {
    static optimize_input input;
    eco_optimize_query q;
    eco_optimum optimum;
    eco_error error = {0};
    cli_json_errors(argc, argv);
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    eco_status status = take(&input, &q, &error);
    if (status == ECO_OK) {
        status = eco_optimize_make(&q, &optimum, &error);
    }
    if (status != ECO_OK) {
        return knowing_fail(&input.common, &error);
    }
    const int printed = print(&input, &optimum);
    eco_optimum_free(&optimum);
    return printed;
}
