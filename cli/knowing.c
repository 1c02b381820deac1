/* SPDX-License-Identifier: Apache-2.0
 *
 * See knowing.h.
 */
#include "knowing.h"

#include "ecocompute/arch.h"

#include <stdlib.h>
#include <string.h>

eco_status knowing_number(const char *option, const char *text, double *out, eco_error *err) {
    if (text == NULL) {
        return ECO_OK;
    }
    const bool word = strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0 ||
                      strcmp(text, "-inf") == 0 || strcmp(text, "infinity") == 0;
    char *end = NULL;
    const double value = strtod(text, &end); /* the program never leaves the C locale */
    if (end == text || *end != '\0' ||
        (!word && text[strspn(text, "0123456789.eE+-")] != '\0')) { /* no hexadecimal, no blank */
        return eco_error_set(err, ECO_E_USAGE, 0, "%s: '%.60s' is no number", option, text);
    }
    *out = value;
    return ECO_OK;
}

eco_status knowing_limit(const char *option, const char *text, eco_reading *out, eco_error *err) {
    double value = 0;
    *out = eco_reading_absent(ECO_ABSENT_NOT_READ);
    ECO_TRY(knowing_number(option, text, &value, err));
    if (text != NULL) {
        *out = (eco_reading){value, ECO_PRESENT};
    }
    return ECO_OK;
}

void knowing_rules(const char *text, eco_rules *out) {
    if (!eco_rules_parse(text, out)) {
        static const char *const names[] = {"published-1.1", "current"};
        const char *nearest = eco_nearest_name(text, names, 2);
        cli_usage_error("--rules: '%s' is not known%s%s%s; expected published-1.1 or current", text,
                        nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "");
    }
}

int knowing_fail(const cli_common *common, const eco_error *error) {
    if (common->json) {
        cli_out("{");
        cli_json_field("error", error->message, true);
        cli_out("}\n");
    }
    const int status = cli_fail(error);
    return error->code == ECO_E_RANGE ? EXIT_USAGE : status;
}

int knowing_print(const cli_common *common, eco_status status, eco_text *text,
                  const eco_error *error) {
    if (status == ECO_OK) {
        cli_print(text);
    }
    eco_text_free(text);
    return status == ECO_OK ? EXIT_DONE : knowing_fail(common, error);
}
