/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions in plain English: what the published reading gets wrong and ours does not, and what neither may make up.
 */
#include "ecocompute/query.h"

#include "test_helpers.h"

#include <string.h>

typedef struct said {
    const char *text;
    double params_b;  /* 0: not said */
    const char *arch; /* NULL: not said */
    const char *precision;
    double batch, context;
    const char *card; /* "" or NULL: none */
} said;

static void check(eco_rules rules, const said *want) {
    const eco_query q = eco_query_parse(rules, want->text, strlen(want->text));
    const double params_b = eco_reading_present(q.params_b) ? q.params_b.value : 0;
    const double batch = eco_reading_present(q.batch) ? q.batch.value : 0;
    const double context = eco_reading_present(q.context) ? q.context.value : 0;
    const char *const arch = q.arch != NULL ? q.arch : "";
    const char *const precision = q.precision != NULL ? q.precision : "";
    const char *const wanted_card = want->card != NULL ? want->card : "";
    if (!(fabs(params_b - want->params_b) < 1e-12 && fabs(batch - want->batch) < 1e-12 &&
          fabs(context - want->context) < 1e-12) ||
        strcmp(arch, want->arch != NULL ? want->arch : "") != 0 ||
        strcmp(precision, want->precision != NULL ? want->precision : "") != 0 ||
        strcmp(q.card, wanted_card) != 0) {
        print_error("'%s': size %g arch '%s' precision '%s' batch %g context %g card '%s'\n",
                    want->text, params_b, arch, precision, batch, context, q.card);
        fail();
    }
}

static void test_published_slips(void **state) {
    (void)state;
    static const said rows[] = {
        {"7b ada 8k context", 7, "ada", NULL, 0, 8, NULL},
        {"7b on B200", 7, NULL, NULL, 200, 0, NULL},
        {"7b on RTX 3090", 7, NULL, NULL, 0, 0, NULL},
        {"7b on L4", 7, NULL, NULL, 0, 0, NULL},
        {"7b RTX 4070 q4", 7, "ada", "NF4", 0, 0, NULL},
        {"3 billion on a t4, seqlen: 4096", 3, "turing", NULL, 0, 4096, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(ECO_RULES_PUBLISHED_1_1, &rows[i]);
    }
}

static void test_current(void **state) {
    (void)state;
    static const said rows[] = {
        {"7b ada 8k context", 7, "ada", NULL, 0, 8192, NULL},
        {"7b on B200", 7, "blackwell", NULL, 0, 0, "B200"},
        {"7b on RTX 3090", 7, "ampere", NULL, 0, 0, "RTX 3090"},
        {"7b on a 3090 batch size 4", 7, "ampere", NULL, 4, 0, "3090"},
        {"7b on L4", 7, "ada", NULL, 0, 0, "L4"},
        {"7b on an RTX A6000", 7, "ampere", NULL, 0, 0, "RTX A6000"},
        {"A6000, 13B, int8, b=4", 13, "ampere", "INT8", 4, 0, "A6000"},
        {"RTX 4090 D 1.5B 4-bit", 1.5, "ada", "NF4", 0, 0, "RTX 4090 D"},
        {"batch of 16, context length 4096, 14 billion, ampere", 14, "ampere", NULL, 16, 4096,
         NULL},
        {"H100 70B 128k nf4 bs8", 70, "hopper", "NF4", 8, 131072, "H100"},
        {"135M on T4", 0.135, "turing", NULL, 0, 0, "T4"},
        {"TinyLlama on T4", 1.1, "turing", NULL, 0, 0, "T4"},
        {"Mistral-7B hopper fp8", 7, "hopper", "FP8", 0, 0, NULL},
        {"32 concurrent users of a 7B on L40S", 7, "ada", NULL, 32, 0, "L40S"},
        {"what is energy", 0, NULL, NULL, 0, 0, NULL},
        {"8x7b on ada", 0, "ada", NULL, 0, 0, NULL},
        {"canada b", 0, NULL, NULL, 0, 0, NULL},
        {"", 0, NULL, NULL, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(ECO_RULES_CURRENT, &rows[i]);
    }
}

static void test_model(void **state) {
    (void)state;
    static const struct {
        const char *text, *model; /* NULL: none */
    } rows[] = {
        {"Qwen2-7B on ada", "Qwen2-7B"},
        {"tinyllama 1.1b t4", "TinyLlama-1.1B"},
        {"mistral on hopper", "Mistral-7B"},
        {"tinyllama 7b t4", NULL}, /* no such size */
        {"7b ada", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_query q = eco_query_parse(ECO_RULES_CURRENT, rows[i].text, strlen(rows[i].text));
        assert_int_equal(q.model != NULL, rows[i].model != NULL);
        if (q.model != NULL) {
            assert_string_equal(q.model, rows[i].model);
        }
    }
}

static void test_engine(void **state) {
    (void)state;
    static const struct {
        const char *text, *engine, *precision; /* NULL: none */
    } rows[] = {
        {"Qwen2-7B on H200 native W8A16", "native", "W8A16"},
        {"8B on RTX 4090 q4_0 llama.cpp", "llama.cpp", "Q4_0"},
        {"LLAMA.CPP: 8B on ada", "llama.cpp", NULL},
        {"7B nf4 under transformers on ada", "transformers", "NF4"},
        {"7B on ada, alternatives", NULL, NULL},
        {"Llama-3.1-8B on ada", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_query q = eco_query_parse(ECO_RULES_CURRENT, rows[i].text, strlen(rows[i].text));
        const char *engine = q.engine != NULL ? q.engine : "none";
        const char *precision = q.precision != NULL ? q.precision : "none";
        assert_string_equal(engine, rows[i].engine != NULL ? rows[i].engine : "none");
        assert_string_equal(precision, rows[i].precision != NULL ? rows[i].precision : "none");
        assert_string_equal(q.unread, "");
        assert_null(
            eco_query_parse(ECO_RULES_PUBLISHED_1_1, rows[i].text, strlen(rows[i].text)).engine);
    }
}

/* The first word that would change the answer and was not read is named; a model's name, a memory size and talk are not. */
static void test_unread(void **state) {
    (void)state;
    static const struct {
        const char *text, *unread;
    } rows[] = {
        {"7,5B on ada", "7,5B"},
        {"7B vs 13B on ada", "13B"},
        {"7B on ada and ampere", "ampere"},
        {"7B on 2x RTX 4090", "2x"},
        {"7B ada, awq.", "awq"},
        {"7B on RTX 4090 batch -1", "-1"},
        {"gemma-2-9b on A100", ""},
        {"what does a 7B on an RTX 4090 24GB, 8k context cost?", ""},
        {"Qwen2-7B on RTX 4090 int8 bitsandbytes 0.43.3", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_query q = eco_query_parse(ECO_RULES_CURRENT, rows[i].text, strlen(rows[i].text));
        assert_string_equal(q.unread, rows[i].unread);
        assert_string_equal(q.stack, i == 8 ? "bitsandbytes 0.43.3" : "");
    }
}

/* What is longer than the cap is not read; NULs and odd bytes are blanks or nothing. */
static void test_hostile(void **state) {
    (void)state;
    static char text[4000];
    memset(text, '9', sizeof text);
    memcpy(text + sizeof text - 8, " 7b ada ", 8);
    for (int rules = ECO_RULES_CURRENT; rules <= ECO_RULES_PUBLISHED_1_1; rules++) {
        eco_query q = eco_query_parse((eco_rules)rules, text, sizeof text);
        assert_null(q.arch);
        q = eco_query_parse((eco_rules)rules, "7b\0ada\xff", 7);
        ASSERT_NEAR(q.params_b.value, 7, 0.0);
        assert_string_equal(q.arch, "ada");
        q = eco_query_parse((eco_rules)rules, NULL, 0);
        assert_null(q.arch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_slips), cmocka_unit_test(test_current),
        cmocka_unit_test(test_model),           cmocka_unit_test(test_engine),
        cmocka_unit_test(test_unread),          cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests_name("model_query", tests, NULL, NULL);
}
