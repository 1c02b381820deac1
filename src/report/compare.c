/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a comparison of two reports sound? A table of what must agree, every field of the workload, the power limit, and what
 * bars a report by itself. Fields are looked up by their path, because old and foreign reports have some that the field
 * table lacks.
 */
#include "report/compare_doc.h"

#include "core/str.h"
#include "report/report_doc.h"

#include <math.h>
#include <string.h>

typedef enum compare_weight {
    STACK, /* a note where the asker compares across stacks */
    RULE,
    RULE_NOTED, /* and what neither records is noted */
    NOTE
} compare_weight;

typedef struct compare_row {
    const char *aspect, *path;
    compare_weight weight;
    const char *otherwise; /* what a report means that does not say; NULL: not known */
} compare_row;

/* Published reports name no engine; theirs is transformers. Until schema 1.3 they named no window: whole generations. */
static const compare_row rows[] = {
    {"stack", "workload.engine", STACK, "transformers"},
    {"stack", "software.tool", STACK, NULL},
    {"stack", "software.commit", STACK, NULL},
    {"stack", "software.build_type", STACK, NULL},
    {"stack", "software.python", STACK, NULL},
    {"stack", "software.packages.torch", STACK, NULL},
    {"stack", "software.packages.transformers", STACK, NULL},
    {"stack", "software.packages.bitsandbytes", STACK, NULL},
    {"stack", "software.packages.accelerate", STACK, NULL},
    {"stack", "software.torch_cuda", STACK, NULL},
    {"stack", "software.nvidia_driver", STACK, NULL},
    {"window", "measurement.window", RULE_NOTED, "generation"},
    {"window", "measurement.tokens_per_run", RULE, NULL},
    {"window", "measurement.protocol", RULE, "published"},
    {"window", "measurement.boundary", RULE, "gpu"},
    {"thermal", "thermal.mode", RULE_NOTED, NULL},
    {"locks", "environment.clock_lock_applied", RULE, NULL},
    {"locks", "environment.power_lock_applied", RULE, NULL},
    {"basis", "results.basis", RULE, "unavailable"},
    {"card", "system_under_test.gpu", NOTE, NULL},
    {"meter", "measurement_source", NOTE, NULL},
    {"meter", "measurement.energy_source", NOTE, NULL},
    {"order", "thermal.arm_order", NOTE, NULL},
};

const ecoi_json *ecoi_compare_find(const eco_report *report, const char *path) {
    const ecoi_json *at = report->doc.root;
    while (at != NULL && *path != '\0') {
        const size_t n = strcspn(path, ".");
        at = ecoi_json_member(at, path, n);
        path += n + (path[n] == '.');
    }
    return at != NULL && at->type != ECOI_JSON_NULL ? at : NULL;
}

bool ecoi_compare_cell(const ecoi_json *value, char out[ECOI_COMPARE_CELL]) {
    static const char more[] = "…";
    if (value == NULL || value->type == ECOI_JSON_NULL || value->type == ECOI_JSON_BOOL) {
        (void)ecoi_str_copy(out, ECOI_COMPARE_CELL,
                            value == NULL || value->type == ECOI_JSON_NULL ? "-"
                            : value->boolean                               ? "true"
                                                                           : "false");
        return true;
    }
    const bool scalar = value->type == ECOI_JSON_STRING || value->type == ECOI_JSON_NUMBER;
    eco_text shown = {0};
    if (scalar) {
        eco_text_add_visible(&shown, value->text, value->text_length);
    } else {
        ecoi_text_add_z(&shown, "{…}");
    }
    const bool made = !shown.failed;
    const char *const text = made && shown.data != NULL ? shown.data : "";
    size_t n = 0;
    while (text[n] != '\0') {
        const size_t size = ecoi_utf8_scan(text + n, strlen(text + n)); /* it is UTF-8: above 0 */
        if (size == 0 || n + size + sizeof more > ECOI_COMPARE_CELL) {
            break;
        }
        n += size;
    }
    memcpy(out, text, n);
    (void)ecoi_str_copy(out + n, ECOI_COMPARE_CELL - n, text[n] != '\0' ? more : "");
    eco_text_free(&shown);
    return made;
}

static bool equal_scalars(const ecoi_json *a, const ecoi_json *b) {
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case ECOI_JSON_NULL:
        return true;
    case ECOI_JSON_BOOL:
        return a->boolean == b->boolean;
    case ECOI_JSON_NUMBER:
        return a->number == b->number;
    case ECOI_JSON_STRING:
        return a->text_length == b->text_length && memcmp(a->text, b->text, a->text_length) == 0;
    case ECOI_JSON_ARRAY:
    case ECOI_JSON_OBJECT:
        return false;
    }
    return false;
}

/* The same document as written: containers are compared by their text. */
static bool equal(const ecoi_json *a, const ecoi_json *b, bool *failed) {
    if (a->n == 0 || a->type != b->type || a->type < ECOI_JSON_ARRAY) {
        return equal_scalars(a, b) ||
               (a->type >= ECOI_JSON_ARRAY && a->type == b->type && a->n == 0 && b->n == 0);
    }
    eco_text text_a = {0};
    eco_text text_b = {0};
    *failed |= !ecoi_json_write(a, &text_a) || !ecoi_json_write(b, &text_b);
    const bool same = !*failed && text_a.length == text_b.length &&
                      memcmp(text_a.data, text_b.data, text_a.length) == 0;
    eco_text_free(&text_a);
    eco_text_free(&text_b);
    return same;
}

static bool text_is(const ecoi_json *value, const char *text) {
    return value != NULL && value->type == ECOI_JSON_STRING && strcmp(value->text, text) == 0 &&
           value->text_length == strlen(text);
}

/* ---- One comparison ---- */

typedef struct judge {
    const eco_report *a, *b;
    const eco_compare_options *options;
    eco_comparison *out;
    bool same_run, failed;
} judge;

static bool same_text(const judge *j, const char *path) {
    const ecoi_json *const a = ecoi_compare_find(j->a, path);
    const ecoi_json *const b = ecoi_compare_find(j->b, path);
    return a != NULL && b != NULL && a->type == ECOI_JSON_STRING && a->text_length > 0 &&
           equal_scalars(a, b);
}

static void add_difference(judge *j, compare_weight weight, const char *aspect, const char *path,
                           const ecoi_json *a, const ecoi_json *b, const char *otherwise) {
    char cell_a[ECOI_COMPARE_CELL];
    char cell_b[ECOI_COMPARE_CELL];
    const bool made = ecoi_compare_cell(a, cell_a);
    j->failed |= !ecoi_compare_cell(b, cell_b) || !made;
    const bool note = weight == NOTE || (weight == STACK && j->options->across_stacks);
    eco_findings *const list = note ? &j->out->notes : &j->out->reasons;
    if (a != NULL && b != NULL) {
        eco_findings_add(list, "%s: %s: %s against %s", aspect, path, cell_a, cell_b);
    } else {
        eco_findings_add(list, "%s: %s: %s in one, not recorded in the other%s%s", aspect, path,
                         a != NULL ? cell_a : cell_b, otherwise != NULL ? ", which means " : "",
                         otherwise != NULL ? otherwise : "");
    }
}

static void compare_row_of(judge *j, const compare_row *row) {
    const ecoi_json *const a = ecoi_compare_find(j->a, row->path);
    const ecoi_json *const b = ecoi_compare_find(j->b, row->path);
    if (a == NULL && b == NULL) {
        if (row->weight == RULE_NOTED) {
            eco_findings_add(&j->out->notes, "%s: %s: neither records it", row->aspect, row->path);
        }
        return;
    }
    if (a != NULL && b != NULL
            ? equal(a, b, &j->failed)
            : row->otherwise != NULL && text_is(a != NULL ? a : b, row->otherwise)) {
        return;
    }
    add_difference(j, row->weight, row->aspect, row->path, a, b, row->otherwise);
}

/* A note in words is not part of the work, and the engine is the stack's. The arms of one run differ in precision on
 * purpose, and with it in the outliers that INT8 needs. */
static bool is_workload(const judge *j, const ecoi_json *member) {
    const size_t n = member->key_length;
    if (n >= 5 && memcmp(member->key + n - 5, "_note", 5) == 0) {
        return false;
    }
    const bool arm =
        strcmp(member->key, "precision") == 0 || strcmp(member->key, "outlier_permille") == 0;
    return strcmp(member->key, "engine") != 0 && !(j->same_run && arm);
}

static void compare_workload(judge *j) {
    const ecoi_json *const a = ecoi_compare_find(j->a, "workload");
    const ecoi_json *const b = ecoi_compare_find(j->b, "workload");
    const ecoi_json *const sides[2] = {a, b};
    for (int side = 0; side < 2; side++) {
        const ecoi_json *const other = sides[1 - side];
        const ecoi_json *member = sides[side] != NULL ? sides[side]->first : NULL;
        for (; member != NULL; member = member->next) {
            const ecoi_json *match =
                other != NULL ? ecoi_json_member(other, member->key, member->key_length) : NULL;
            match = match != NULL && match->type != ECOI_JSON_NULL ? match : NULL;
            /* From the second side only what the first lacks. */
            if (member->type == ECOI_JSON_NULL || !is_workload(j, member) ||
                (match != NULL && (side == 1 || equal(member, match, &j->failed)))) {
                continue;
            }
            char path[96];
            (void)ecoi_str_copy(path, sizeof path, "workload.");
            (void)ecoi_str_copy(path + strlen(path), sizeof path - strlen(path), member->key);
            add_difference(j, RULE, "workload", path, side == 0 ? member : match,
                           side == 0 ? match : member, NULL);
        }
    }
}

/* One card's limits are equal; another card's are both at its default, or not. */
static void compare_power_limit(judge *j) {
    static const char path[] = "environment.power_limit_w";
    static const char path_default[] = "environment.power_limit_default_w";
    const ecoi_json *const a = ecoi_compare_find(j->a, path);
    const ecoi_json *const b = ecoi_compare_find(j->b, path);
    if (a == NULL && b == NULL) {
        eco_findings_add(&j->out->notes, "locks: %s: neither records it", path);
        return;
    }
    if (a == NULL || b == NULL || same_text(j, "system_under_test.gpu")) {
        if (a == NULL || b == NULL || !equal_scalars(a, b)) {
            add_difference(j, RULE, "locks", path, a, b, NULL);
        }
        return;
    }
    const ecoi_json *const default_a = ecoi_compare_find(j->a, path_default);
    const ecoi_json *const default_b = ecoi_compare_find(j->b, path_default);
    if (default_a == NULL || default_b == NULL) {
        eco_findings_add(&j->out->notes,
                         "locks: %s: not recorded, so that a lowered limit would not show",
                         path_default);
    } else if (equal_scalars(a, default_a) != equal_scalars(b, default_b)) {
        eco_findings_add(&j->out->reasons,
                         "locks: %s: at the card's default in one, moved in the other", path);
    }
}

static void look_at_one(judge *j, const eco_report *report, const char *which) {
    for (eco_warning w = 0; w < ECO_WARNING_COUNT; w++) {
        const eco_warning_info *const info = eco_warning_at(w);
        if (info->invalidates && eco_report_has_warning(report, w)) {
            eco_findings_add(&j->out->reasons, "validity: %s has the warning %s, which bars it",
                             which, info->code);
        }
    }
}

static eco_reading number_of(const eco_report *report, eco_field field) {
    double value = 0.0;
    return eco_report_number(report, field, ECO_TOP, &value)
               ? eco_reading_of(value)
               : eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static eco_reading half_width(const eco_report *report) {
    const eco_reading lo = number_of(report, ECO_FIELD_UN_LO);
    const eco_reading hi = number_of(report, ECO_FIELD_UN_HI);
    return eco_reading_present(lo) && eco_reading_present(hi) && hi.value >= lo.value
               ? eco_reading_of((hi.value - lo.value) / 2.0)
               : eco_reading_absent(ECO_ABSENT_NOT_READ);
}

static void take_difference(judge *j) {
    const eco_reading a = number_of(j->a, ECO_FIELD_RE_DELTA);
    const eco_reading b = number_of(j->b, ECO_FIELD_RE_DELTA);
    if (!eco_reading_present(a) || !eco_reading_present(b)) {
        return;
    }
    j->out->difference_pct = eco_reading_of(b.value - a.value);
    const eco_reading half_a = half_width(j->a);
    const eco_reading half_b = half_width(j->b);
    if (!j->same_run && eco_reading_present(half_a) && eco_reading_present(half_b)) {
        j->out->half_width_pct = eco_reading_of(hypot(half_a.value, half_b.value));
    }
}

static void judge_energies(judge *j) {
    const bool same_session = j->same_run || same_text(j, "session");
    const bool same_card = same_text(j, "environment.gpu_uuid_hash");
    j->out->energies = j->out->result == ECO_COMPARE_SOUND && same_session && same_card;
    if (j->out->result == ECO_COMPARE_SOUND && !j->out->energies) {
        eco_findings_add(&j->out->notes,
                         "energies: mJ/token is not compared: %s, and joules drift from day to day",
                         !same_session ? "another session" : "not shown to be the same card");
    }
}

eco_status eco_compare_pair(const eco_report *a, const eco_report *b,
                            const eco_compare_options *options, eco_comparison *out,
                            eco_error *err) {
    *out = (eco_comparison){.difference_pct = eco_reading_absent(ECO_ABSENT_NOT_READ),
                            .half_width_pct = eco_reading_absent(ECO_ABSENT_NOT_READ)};
    judge j = {.a = a, .b = b, .options = options, .out = out};
    j.same_run = same_text(&j, "run_id");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        compare_row_of(&j, &rows[i]);
    }
    compare_workload(&j);
    compare_power_limit(&j);
    look_at_one(&j, a, "the first");
    look_at_one(&j, b, "the second");
    take_difference(&j);
    if (out->reasons.n > 0) {
        out->result = ECO_COMPARE_NOT_SOUND;
    } else if (!eco_reading_present(out->difference_pct)) {
        out->result = ECO_COMPARE_NOTHING;
    }
    judge_energies(&j);
    if (j.failed || out->reasons.lines.failed || out->notes.lines.failed) {
        eco_comparison_free(out);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "compare: out of memory");
    }
    return ECO_OK;
}

void eco_comparison_free(eco_comparison *comparison) {
    if (comparison != NULL) {
        eco_findings_free(&comparison->reasons);
        eco_findings_free(&comparison->notes);
    }
}

const char *eco_compare_result_name(eco_compare_result result) {
    switch (result) {
    case ECO_COMPARE_SOUND:
        return "sound";
    case ECO_COMPARE_NOTHING:
        return "nothing";
    case ECO_COMPARE_NOT_SOUND:
        return "not_sound";
    }
    return "nothing";
}
