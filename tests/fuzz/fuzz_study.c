/* SPDX-License-Identifier: Apache-2.0
 *
 * A study's CSV from outside. What was read is written and read again to the same bytes; no written cell begins a formula;
 * the scripts drawn from it have balanced quotes and no backquote.
 */
#include "fuzz_check.h"

#include "ecocompute/plot.h"

/* The first character of each cell, an opening quote passed over, begins no formula; a minus is a number's. */
static void check_formulas(const char *csv) {
    bool quoted = false;
    bool begins = true;
    for (const char *c = csv; *c != '\0'; c++) {
        if (begins && *c == '"') {
            quoted = true;
            FUZZ_DEMAND(strchr("=+-@", c[1]) == NULL);
        } else if (begins) {
            FUZZ_DEMAND(strchr("=+@", *c) == NULL);
            FUZZ_DEMAND(*c != '-' || (c[1] >= '0' && c[1] <= '9'));
        } else if (*c == '"') {
            quoted = !quoted; /* two in a row leave and enter again */
        }
        begins = !quoted && (*c == ',' || *c == '\n');
    }
    FUZZ_DEMAND(!quoted);
}

static void check_cells(const eco_study *study) {
    eco_text csv = {0};
    eco_study_write_csv(study, &csv);
    FUZZ_DEMAND(csv.data != NULL && !csv.failed);
    check_formulas(csv.data);
    eco_study *back = eco_study_new();
    eco_text again = {0};
    eco_error err = {0};
    FUZZ_DEMAND(back != NULL);
    const eco_status status = eco_study_add_csv(back, csv.data, csv.length, "written", &err);
    /* Escaped control characters are longer: a cell near the cap may not come back. */
    FUZZ_DEMAND(status == ECO_OK || status == ECO_E_RANGE);
    if (status == ECO_OK) {
        eco_study_write_csv(back, &again);
        FUZZ_DEMAND(again.length == csv.length && memcmp(again.data, csv.data, csv.length) == 0);
    }
    eco_text_free(&again);
    eco_study_free(back);
    eco_text_free(&csv);
}

static void check_script(const eco_text *script) {
    bool inside = false;
    for (size_t i = 0; i < script->length; i++) {
        FUZZ_DEMAND(script->data[i] != '`');
        if (script->data[i] == '\'') {
            inside = !inside;
        }
        FUZZ_DEMAND(!inside || script->data[i] != '\n');
    }
    FUZZ_DEMAND(!inside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    const eco_plot_output output = {.picture = "p.svg"};
    eco_error err = {0};
    eco_study *const study = eco_study_new();
    FUZZ_DEMAND(study != NULL);
    if (eco_study_add_csv(study, text, size, "input", &err) != ECO_OK) {
        FUZZ_DEMAND(err.message[0] != '\0');
    }
    check_cells(study);
    for (int kind = ECO_PLOT_SIZE; kind < ECO_PLOT_COUNT; kind++) {
        eco_text script = {0};
        if (eco_plot_study((eco_plot_kind)kind, study, &output, &script, &err) == ECO_OK) {
            check_script(&script);
        }
        eco_text_free(&script);
    }
    eco_text jsonl = {0};
    FUZZ_DEMAND(eco_study_write_jsonl(study, &jsonl, &err) == ECO_OK);
    eco_text_free(&jsonl);
    eco_study_free(study);
    free(text);
    return 0;
}
