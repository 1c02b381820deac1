/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute estimate: what the published measurements say about a model, a card and a precision.
 */
#include "knowing.h"

#include "ecocompute/estimate.h"
#include "ecocompute/query.h"

#include <string.h>

enum {
    KEY_SIZE = CLI_KEY_OWN,
    KEY_ARCH,
    KEY_PRECISION,
    KEY_BATCH,
    KEY_CONTEXT,
    KEY_MODEL,
    KEY_ENGINE,
    KEY_STACK,
    KEY_RULES
};

typedef struct estimate_input {
    cli_common common;
    eco_rules rules;
    const char *params_b, *arch, *precision, *batch, *context, *model, *engine, *stack;
    char question[ECO_QUERY_LENGTH_MAX + 1];
    size_t n_question;
} estimate_input;

static const struct argp_option options[] = {
    {"params-b", KEY_SIZE, "B", 0, "Size in billions of parameters", 1},
    {"model", KEY_MODEL, "NAME", 0, "A model built in, for its size, weights and heads", 1},
    {"arch", KEY_ARCH, "NAME", 0, "Class of cards (ada, ampere, …) or a card (RTX 4090, L4, B200)",
     1},
    {"precision", KEY_PRECISION, "FORMAT", 0,
     "NF4 (default) or INT8; of another engine what it measured, as Q4_0", 1},
    {"batch", KEY_BATCH, "N", 0, "Sequences decoded together (default 1)", 1},
    {"ctx", KEY_CONTEXT, "TOKENS", 0, "Context (default 2048, which is what the data are labelled)",
     1},
    {"engine", KEY_ENGINE, "NAME", 0,
     "Whose measurements answer: transformers (default), llama.cpp or native", 1},
    {"stack", KEY_STACK, "NAME", 0,
     "Software of the measurement to be: the version of bitsandbytes, as \"bitsandbytes 0.45.5\"",
     1},
    {"rules", KEY_RULES, "RULES", 0, "current (default), or published-1.1 to the digit", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static void add_words(estimate_input *input, const char *words) {
    const size_t length = strlen(words);
    const size_t gap = input->n_question > 0;
    if (length + gap > ECO_QUERY_LENGTH_MAX - input->n_question) {
        cli_usage_error("estimate: a question of at most %d characters is expected",
                        ECO_QUERY_LENGTH_MAX);
    }
    input->question[input->n_question] = ' ';
    memcpy(input->question + input->n_question + gap, words, length);
    input->n_question += gap + length;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    estimate_input *input = state->input;
    switch (key) {
    case KEY_SIZE:
        input->params_b = argument;
        return 0;
    case KEY_ARCH:
        input->arch = argument;
        return 0;
    case KEY_PRECISION:
        input->precision = argument;
        return 0;
    case KEY_BATCH:
        input->batch = argument;
        return 0;
    case KEY_CONTEXT:
        input->context = argument;
        return 0;
    case KEY_MODEL:
        input->model = argument;
        return 0;
    case KEY_ENGINE:
        input->engine = argument;
        return 0;
    case KEY_STACK:
        input->stack = argument;
        return 0;
    case KEY_RULES:
        knowing_rules(argument, &input->rules);
        return 0;
    case ARGP_KEY_ARG:
        add_words(input, argument);
        return 0;
    default:
        return cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[QUESTION]",
    .doc = "Says from published measurements whether a weight format saves or costs energy per "
           "token against FP16: change, interval, basis, confidence, advice. A question in plain "
           "English does as well; options go before it.\v"
           "Example: ecocompute estimate \"13B on A100 int8 batch 32\""};

static double said(eco_reading reading, double otherwise) {
    return eco_reading_present(reading) ? reading.value : otherwise;
}

static eco_status take(const estimate_input *input, const eco_query *asked, eco_estimate_query *q,
                       eco_error *err) {
    *q = (eco_estimate_query){.rules = input->rules,
                              .params_b = said(asked->params_b, 0),
                              .arch = asked->card[0] != '\0' ? asked->card : asked->arch,
                              .precision = asked->precision != NULL ? asked->precision : "NF4",
                              .model = asked->model,
                              .engine = input->engine != NULL ? input->engine : asked->engine,
                              .stack = input->stack != NULL      ? input->stack
                                       : asked->stack[0] != '\0' ? asked->stack
                                                                 : NULL,
                              .batch = said(asked->batch, 1),
                              .context = said(asked->context, ECO_CONTEXT_PUBLISHED)};
    if (asked->unread[0] != '\0') {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "question: '%.60s' was not understood; expected such as \"7B on RTX "
                             "4090 int8 batch 8\"",
                             asked->unread);
    }
    if (input->model != NULL && input->params_b != NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "--params-b: --model names the size; give one of them");
    }
    if (input->model != NULL) {
        const eco_model_shape *shape = eco_model_find(input->model);
        q->model = input->model;
        q->params_b = shape != NULL ? shape->params_b : q->params_b;
    }
    q->arch = input->arch != NULL ? input->arch : q->arch;
    q->precision = input->precision != NULL ? input->precision : q->precision;
    ECO_TRY(knowing_number("--params-b", input->params_b, &q->params_b, err));
    ECO_TRY(knowing_number("--batch", input->batch, &q->batch, err));
    ECO_TRY(knowing_number("--ctx", input->context, &q->context, err));
    if (input->params_b == NULL && input->model == NULL && !(q->params_b > 0)) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "params_b: a size is expected, such as --params-b 7 or \"7B on ada\"");
    }
    return ECO_OK;
}

static int print(const estimate_input *input, const eco_estimate *estimate) {
    eco_text text = {0};
    eco_error error = {0};
    eco_status status = ECO_OK;
    if (input->common.json) {
        status = eco_estimate_json(estimate, &text, &error);
    } else {
        eco_estimate_text(estimate, &text);
    }
    return knowing_print(&input->common, status, &text, &error);
}

int cmd_estimate(int argc, char **argv) {
    static estimate_input input;
    eco_estimate_query q;
    eco_estimate estimate;
    eco_error error = {0};
    cli_json_errors(argc, argv);
    cli_check_options(argc, argv, options, NULL);
    cli_parse(&argp, argc, argv, &input);
    const eco_query asked = eco_query_parse(input.rules, input.question, input.n_question);
    eco_status status = take(&input, &asked, &q, &error);
    if (status == ECO_OK) {
        status = eco_estimate_make(&q, &estimate, &error);
    }
    if (status != ECO_OK) {
        return knowing_fail(&input.common, &error);
    }
    const int printed = print(&input, &estimate);
    eco_estimate_free(&estimate);
    return printed;
}
