/* SPDX-License-Identifier: Apache-2.0
 *
 * See json_maker.h.
 */
#include "model/json_maker.h"

#include "model/published_round.h"

#include <math.h>
#include <string.h>

static ecoi_json *made(ecoi_maker *m, ecoi_json *value) {
    m->failed = m->failed || value == NULL;
    return value;
}

ecoi_json *ecoi_make_object(ecoi_maker *m) {
    return made(m, ecoi_json_new(&m->doc, ECOI_JSON_OBJECT));
}

ecoi_json *ecoi_make_array(ecoi_maker *m) {
    return made(m, ecoi_json_new(&m->doc, ECOI_JSON_ARRAY));
}

void ecoi_put(ecoi_maker *m, ecoi_json *object, const char *key, ecoi_json *value) {
    m->failed = m->failed || object == NULL || value == NULL ||
                !ecoi_json_set(&m->doc, object, key, NULL, value);
}

void ecoi_put_text(ecoi_maker *m, ecoi_json *object, const char *key, const char *text) {
    ecoi_put(m, object, key,
             text != NULL ? ecoi_json_new_string(&m->doc, text, strlen(text))
                          : ecoi_json_new(&m->doc, ECOI_JSON_NULL));
}

void ecoi_put_bool(ecoi_maker *m, ecoi_json *object, const char *key, bool value) {
    ecoi_put(m, object, key, ecoi_json_new_bool(&m->doc, value));
}

void ecoi_put_count(ecoi_maker *m, ecoi_json *object, const char *key, size_t value) {
    ecoi_put(m, object, key, ecoi_json_new_integer(&m->doc, (int64_t)value));
}

static ecoi_json *number(ecoi_maker *m, double value) {
    return made(m, isfinite(value) ? ecoi_json_new_number(&m->doc, value)
                                   : ecoi_json_new(&m->doc, ECOI_JSON_NULL));
}

void ecoi_put_number(ecoi_maker *m, ecoi_json *object, const char *key, double value) {
    ecoi_put(m, object, key, number(m, value));
}

void ecoi_put_reading(ecoi_maker *m, ecoi_json *object, const char *key, eco_reading value) {
    ecoi_put_number(m, object, key, eco_reading_present(value) ? value.value : (double)NAN);
}

ecoi_json *ecoi_make_rounded(ecoi_maker *m, double value, int decimals) {
    return number(m, ecoi_published_round(value, decimals));
}

void ecoi_put_rounded(ecoi_maker *m, ecoi_json *object, const char *key, double value,
                      int decimals) {
    ecoi_put(m, object, key, ecoi_make_rounded(m, value, decimals));
}

void ecoi_append(ecoi_maker *m, ecoi_json *array, ecoi_json *value) {
    m->failed = m->failed || array == NULL || value == NULL;
    if (!m->failed) {
        ecoi_json_append(array, value);
    }
}

void ecoi_put_lines(ecoi_maker *m, ecoi_json *object, const char *key, const eco_text *lines) {
    ecoi_json *array = ecoi_make_array(m);
    for (const char *line = lines->data != NULL ? lines->data : ""; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        ecoi_append(m, array, ecoi_json_new_string(&m->doc, line, length));
        line += length + (line[length] == '\n');
    }
    ecoi_put(m, object, key, array);
}

eco_status ecoi_make_end(ecoi_maker *m, const ecoi_json *root, const char *what, eco_text *out,
                         eco_error *err) {
    const bool failed = m->failed || !ecoi_json_write(root, out) || out->failed;
    ecoi_json_fini(&m->doc);
    return failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", what) : ECO_OK;
}
