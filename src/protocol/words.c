/* SPDX-License-Identifier: Apache-2.0
 *
 * A text into an argument array, by blanks and quotes alone: no shell sees it, and nothing in it is expanded.
 */
#include "ecocompute/run_command.h"

#include "core/alloc.h"

#include <string.h>

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

typedef struct word_reader {
    const char *at;
    char *to;
    const char *fault; /* what is wrong with the text, NULL = nothing */
} word_reader;

/* After the opening quote; leaves `at` behind the closing one. */
static void read_quoted(word_reader *reader, char quote) {
    while (*reader->at != '\0' && *reader->at != quote) {
        if (quote == '"' && reader->at[0] == '\\' &&
            (reader->at[1] == '"' || reader->at[1] == '\\')) {
            reader->at++;
        }
        *reader->to++ = *reader->at++;
    }
    if (*reader->at == '\0') {
        reader->fault = quote == '"' ? "a \" does not end" : "a ' does not end";
        return;
    }
    reader->at++;
}

static void read_word(word_reader *reader) {
    while (*reader->at != '\0' && !blank(*reader->at) && reader->fault == NULL) {
        const char c = *reader->at++;
        if (c == '\'' || c == '"') {
            read_quoted(reader, c);
        } else if (c == '\\' && *reader->at == '\0') {
            reader->fault = "it ends in a backslash";
        } else {
            *reader->to++ = c == '\\' ? *reader->at++ : c;
        }
    }
    *reader->to++ = '\0';
}

eco_status eco_words_split(const char *text, char ***words, eco_error *err) {
    *words = NULL;
    /* A word takes at most its own length and an end; words are parted by at least one blank. */
    const size_t n_text = strlen(text);
    const size_t n_words_max = n_text / 2 + 2;
    char **array = ecoi_malloc(n_words_max * sizeof *array + n_text + 2);
    if (array == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "out of memory for a command");
    }
    word_reader reader = {.at = text, .to = (char *)(array + n_words_max)};
    size_t n = 0;
    while (reader.fault == NULL) {
        while (blank(*reader.at)) {
            reader.at++;
        }
        if (*reader.at == '\0') {
            break;
        }
        array[n++] = reader.to;
        read_word(&reader);
    }
    if (reader.fault == NULL && n == 0) {
        reader.fault = "there is no word in it";
    }
    if (reader.fault != NULL) {
        ecoi_free(array);
        return eco_error_set(err, ECO_E_USAGE, 0, "'%.120s' is not a command: %s", text,
                             reader.fault);
    }
    array[n] = NULL;
    *words = array;
    return ECO_OK;
}
