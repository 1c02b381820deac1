/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions in plain English, by both rules: what comes out is a number or not there, a word of the tables or not there, a
 * card's name that ends; and the answer does not depend on what lies behind the text. The estimator then takes whatever was
 * understood and answers or refuses with a message.
 */
#include "fuzz_check.h"

#include "ecocompute/arch.h"
#include "ecocompute/estimate.h"
#include "ecocompute/query.h"

#include <math.h>

static void check_reading(eco_reading reading) {
    FUZZ_DEMAND(!eco_reading_present(reading) || (isfinite(reading.value) && reading.value >= 0));
}

static void check_query(eco_rules rules, const char *text, size_t size) {
    const eco_query q = eco_query_parse(rules, text, size);
    check_reading(q.params_b);
    check_reading(q.batch);
    check_reading(q.context);
    FUZZ_DEMAND(memchr(q.card, '\0', sizeof q.card) != NULL);
    FUZZ_DEMAND(q.card[0] == '\0' || q.arch != NULL);
    FUZZ_DEMAND(q.model == NULL || eco_model_find(q.model) != NULL);
    eco_format format = ECO_FORMAT_COUNT;
    FUZZ_DEMAND(q.precision == NULL || eco_format_find(q.precision, &format));
    const char *const family = q.card[0] != '\0' ? eco_card_family_by_name(rules, q.card) : q.arch;
    FUZZ_DEMAND(family == q.arch || (family != NULL && strcmp(family, q.arch) == 0));

    const eco_estimate_query asked = {
        .rules = rules,
        .params_b = eco_reading_present(q.params_b) ? q.params_b.value : 0,
        .arch = q.card[0] != '\0' ? q.card : q.arch,
        .precision = q.precision != NULL ? q.precision : "NF4",
        .model = q.model,
        .engine = q.engine,
        .stack = q.stack[0] != '\0' ? q.stack : NULL,
        .batch = eco_reading_present(q.batch) ? q.batch.value : 1,
        .context = eco_reading_present(q.context) ? q.context.value : ECO_CONTEXT_PUBLISHED};
    eco_estimate e;
    eco_error err = {0};
    if (eco_estimate_make(&asked, &e, &err) != ECO_OK) {
        FUZZ_DEMAND(err.message[0] != '\0');
        return;
    }
    FUZZ_DEMAND(isfinite(e.delta_pct) && e.lo_pct <= e.delta_pct && e.delta_pct <= e.hi_pct);
    eco_text json = {0};
    FUZZ_DEMAND(eco_estimate_json(&e, &json, &err) == ECO_OK && json.length > 0);
    eco_text_free(&json);
    eco_estimate_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    check_query(ECO_RULES_CURRENT, text, size);
    check_query(ECO_RULES_PUBLISHED_1_1, text, size);
    free(text);
    return 0;
}
