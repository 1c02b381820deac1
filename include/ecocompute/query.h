/* SPDX-License-Identifier: Apache-2.0
 *
 * A question in plain English, "13B on A100 int8 batch 32 ctx 8k", to its fields. No dictionary but the cards and models
 * built in; a word with a number that is not understood is named (current rules), other words are passed over. Pure, linear in the length; the text is untrusted.
 */
#ifndef ECOCOMPUTE_QUERY_H
#define ECOCOMPUTE_QUERY_H

#include "ecocompute/record.h"
#include "ecocompute/rules.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ECO_QUERY_LENGTH_MAX = 1000 }; /* what is longer is not read */

/* Texts are static or ""; readings are absent where the question does not say. */
typedef struct eco_query {
    eco_reading params_b, batch, context;
    const char *arch; /* a class: "ada"; NULL = not said */
    const char
        *precision;    /* "NF4", "INT8", under current rules any format's name; NULL = not said */
    const char *model; /* of the table of models (current rules), or NULL */
    char card[ECO_NAME_MAX]; /* the card that told the class (current rules), or "" */
    const char *engine; /* "native", "llama.cpp", "transformers" (current rules); NULL = not said */
    char stack[ECO_NAME_MAX];  /* "bitsandbytes 0.43.3" (current rules), or "" */
    char unread[ECO_NAME_MAX]; /* the first word that would change the answer and was not
                                   understood (current rules), or "" */
} eco_query;

eco_query eco_query_parse(eco_rules rules, const char *text, size_t length);

#ifdef __cplusplus
}
#endif
#endif
