/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles: what a report must say, beyond its schema, to count as measured in one of these ways. Each is a table of rules
 * over paths of the document, so that foreign reports are judged by what they hold; rules that no row can tell are
 * functions in the same table. Pure.
 */
#include "report/report_doc.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 128, BLOCKS_MIN = 5, SHA256_HEX = 64 };
static const double WINDOW_MIN_S = 5.0;
static const double WINDOW_SLACK_S = 1e-6; /* the last printed decimal */

typedef enum rule_kind {
    RULE_PRESENT = 0, /* there and not null */
    RULE_TEXT,        /* a string, equal to `text` */
    RULE_NUMBER,      /* equal to `number` */
    RULE_AT_LEAST,    /* at least `number` */
    RULE_CHECK        /* `check` finds out by itself */
} rule_kind;

typedef struct judge judge;
typedef struct rule {
    const char *name;
    rule_kind kind;
    const char *path, *text;
    double number;
    void (*check)(const judge *j);
    bool (*applies)(const judge *j); /* NULL = always */
} rule;

struct judge {
    const eco_report *report;
    const char *profile;
    const rule *rule;
    eco_findings *out;
};

/* ---- Looking things up ------------------------------------------------------------------------ */

/* "a.b.c" from the root; NULL when missing or null. */
static const ecoi_json *find(const judge *j, const char *path) {
    const ecoi_json *value = j->report->doc.root;
    while (value != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        value = ecoi_json_member(value, path, length);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return value == NULL || value->type == ECOI_JSON_NULL ? NULL : value;
}

static const ecoi_json *member(const ecoi_json *object, const char *key) {
    const ecoi_json *value = ecoi_json_member(object, key, strlen(key));
    return value == NULL || value->type == ECOI_JSON_NULL ? NULL : value;
}

static bool is_text(const ecoi_json *value, const char *text) {
    return value != NULL && value->type == ECOI_JSON_STRING && strcmp(value->text, text) == 0;
}

static bool is_filled(const ecoi_json *value) {
    return value != NULL && (value->type != ECOI_JSON_STRING || value->text_length > 0);
}

static bool contains_nvml(const ecoi_json *value) {
    if (value == NULL || value->type != ECOI_JSON_STRING) {
        return false;
    }
    for (const char *p = value->text; *p != '\0'; p++) {
        static const char nvml[] = "nvml";
        size_t n = 0;
        while (nvml[n] != '\0' && tolower((unsigned char)p[n]) == nvml[n]) {
            n++;
        }
        if (nvml[n] == '\0') {
            return true;
        }
    }
    return false;
}

/* One line: profile, rule, field, what is wrong. */
static void violated(const judge *j, const char *path, const char *what) {
    eco_findings_add(j->out, "%s %s: %s: %s", j->profile, j->rule->name, path, what);
}

static void shown(const ecoi_json *value, char *out, size_t size) {
    if (value == NULL) {
        snprintf(out, size, "nothing");
    } else if (value->type == ECOI_JSON_STRING) {
        snprintf(out, size, "\"%.40s\"", value->text);
    } else if (value->type == ECOI_JSON_NUMBER) {
        snprintf(out, size, "%.40s", value->text);
    } else {
        snprintf(out, size, "%s", ecoi_json_type_name(value->type));
    }
}

/* ---- Conditions ------------------------------------------------------------------------------- */

static bool is_measured(const judge *j) {
    return is_text(find(j, "results.basis"), "measured");
}

static bool is_compared(const judge *j) {
    return is_measured(j) && !is_text(find(j, "workload.precision"), "FP16");
}

static bool is_thermal_measured(const judge *j) {
    return is_text(find(j, "thermal.basis"), "measured");
}

static bool is_on_gpu(const judge *j) {
    return is_text(find(j, "measurement.boundary"), "gpu");
}

/* ---- Rules of their own ----------------------------------------------------------------------- */

static void check_version(const judge *j) {
    if (is_text(find(j, "schema_version"), "ecocompute-energy/1.0")) {
        violated(j, "schema_version", "1.0 lacks the fields of this profile");
    }
}

static void check_method(const judge *j) {
    if (!contains_nvml(find(j, "measurement.method"))) {
        violated(j, "measurement.method", "does not name NVML");
    }
}

static void check_pins(const judge *j) {
    const ecoi_json *differs = find(j, "software.differs_from_reference_pins");
    const ecoi_json *matches = find(j, "software.matches_reference_pins");
    const bool honest = matches != NULL && matches->type == ECOI_JSON_BOOL && !matches->boolean;
    if (differs != NULL && differs->n > 0 && !honest) {
        violated(j, "software.matches_reference_pins",
                 "is not false, although software.differs_from_reference_pins names packages");
    }
}

/* The published Python stack, as the published reports name it. */
static void check_packages(const judge *j) {
    static const char *const names[] = {"torch", "transformers", "bitsandbytes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "software.packages.%s", names[i]);
        if (!is_filled(find(j, path))) {
            violated(j, path, "is missing");
        }
    }
}

static void check_thermal_words(const judge *j) {
    const ecoi_json *mode = find(j, "thermal.mode");
    const ecoi_json *basis = find(j, "thermal.basis");
    if (find(j, "thermal") == NULL) {
        return; /* another rule says so */
    }
    if (!is_text(mode, "cold") && !is_text(mode, "steady")) {
        violated(j, "thermal.mode", "is neither cold nor steady");
    }
    if (!is_text(basis, "measured") && !is_text(basis, "unavailable")) {
        violated(j, "thermal.basis", "is neither measured nor unavailable");
    }
}

static void check_steady(const judge *j) {
    const ecoi_json *reached = find(j, "thermal.steady_state_reached");
    const bool excused = reached != NULL && reached->type == ECOI_JSON_BOOL && !reached->boolean;
    /* In mode cold too: the published rule knows no mode. */
    if (find(j, "thermal.temperature_steady_c") == NULL && !excused) {
        violated(j, "thermal.temperature_steady_c",
                 "is missing, and thermal.steady_state_reached is not false");
    }
}

static void check_order(const judge *j) {
    const ecoi_json *order = find(j, "thermal.arm_order");
    if (find(j, "thermal") == NULL) {
        return; /* another rule says so */
    }
    if (order == NULL || order->type != ECOI_JSON_STRING) {
        violated(j, "thermal.arm_order", "is missing");
    } else if (strncmp(order->text, "fixed", 5) == 0) {
        if (!is_filled(find(j, "thermal.note"))) {
            violated(j, "thermal.note", "does not disclose the fixed order");
        }
    } else if (!is_text(order, "randomized") && !is_text(order, "counterbalanced")) {
        violated(j, "thermal.arm_order", "is neither randomized, counterbalanced nor fixed");
    }
}

static void check_random_order(const judge *j) {
    const ecoi_json *order = find(j, "thermal.arm_order");
    if (!is_text(order, "randomized") && !is_text(order, "counterbalanced")) {
        violated(j, "thermal.arm_order", "is not randomized");
    }
}

/* A decode window of each arm in each finished block, none shorter than WINDOW_MIN_S. */
static void check_windows(const judge *j) {
    const ecoi_json *arms = find(j, "trials.arms");
    const ecoi_json *blocks = find(j, "trials.blocks_finished");
    uint32_t i = 0;
    if (arms == NULL || arms->n == 0) {
        violated(j, "trials.arms", "is missing");
        return;
    }
    for (const ecoi_json *arm = arms->first; arm != NULL; arm = arm->next, i++) {
        const ecoi_json *windows = member(arm, "windows");
        char path[PATH_BYTES];
        double n = 0.0;
        uint32_t place = 0;
        for (const ecoi_json *w = windows != NULL ? windows->first : NULL; w != NULL;
             w = w->next, place++) {
            const ecoi_json *open = member(w, "t_open_s");
            const ecoi_json *close = member(w, "t_close_s");
            if (!is_text(member(w, "kind"), "decode")) {
                continue;
            }
            n += 1.0;
            const double seconds = open != NULL && close != NULL ? close->number - open->number : 0;
            if (!(seconds >= WINDOW_MIN_S - WINDOW_SLACK_S)) {
                char what[64];
                snprintf(path, sizeof path, "trials.arms[%u].windows[%u]", i, place);
                snprintf(what, sizeof what, "%.3f s; at least 5 s are expected", seconds);
                violated(j, path, what);
            }
        }
        if (blocks != NULL && n < blocks->number) {
            snprintf(path, sizeof path, "trials.arms[%u].windows", i);
            violated(j, path, "has fewer decode windows than finished blocks");
        }
    }
}

static void check_files(const judge *j) {
    const ecoi_json *trace = find(j, "power_trace");
    const ecoi_json *files = find(j, "power_trace.files");
    if (trace != NULL && (files == NULL || files->type != ECOI_JSON_ARRAY || files->n == 0)) {
        violated(j, "power_trace.files", "names no trace");
    }
}

static void check_hashes(const judge *j) {
    const ecoi_json *files = find(j, "power_trace.files");
    const ecoi_json *arms = find(j, "trials.arms");
    if (files == NULL || files->n == 0 || (arms != NULL && files->n < arms->n)) {
        violated(j, "power_trace.files", "does not name a trace for each arm");
        return;
    }
    uint32_t i = 0;
    for (const ecoi_json *file = files->first; file != NULL; file = file->next, i++) {
        const ecoi_json *sha256 = member(file, "sha256");
        if (sha256 == NULL || sha256->type != ECOI_JSON_STRING ||
            sha256->text_length != SHA256_HEX ||
            strspn(sha256->text, "0123456789abcdef") != SHA256_HEX) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "power_trace.files[%u].sha256", i);
            violated(j, path, "is no SHA-256");
        }
    }
}

/* A warning invalidates when the report says so, or when this program's table does: a flag that somebody cleared still
 * counts. */
static bool invalidates(const ecoi_json *warning) {
    const ecoi_json *own = member(warning, "invalidates");
    if (own == NULL || own->type != ECOI_JSON_BOOL || own->boolean) {
        return true;
    }
    for (eco_warning i = 0; i < ECO_WARNING_COUNT; i++) {
        if (is_text(member(warning, "code"), eco_warning_at(i)->code)) {
            return eco_warning_at(i)->invalidates;
        }
    }
    return false;
}

static void check_flags(const judge *j) {
    const ecoi_json *warnings = find(j, "warnings");
    uint32_t i = 0;
    for (const ecoi_json *w = warnings != NULL ? warnings->first : NULL; w != NULL;
         w = w->next, i++) {
        if (invalidates(w)) {
            char path[PATH_BYTES];
            char what[PATH_BYTES];
            char code[64];
            shown(member(w, "code"), code, sizeof code);
            snprintf(path, sizeof path, "warnings[%u]", i);
            snprintf(what, sizeof what, "%s invalidates the report", code);
            violated(j, path, what);
        }
    }
}

/* ---- The tables ------------------------------------------------------------------------------- */

#define PRESENT(name_, path_, applies_) \
    { .name = (name_), .kind = RULE_PRESENT, .path = (path_), .applies = (applies_) }
#define TEXT(name_, path_, text_, applies_) \
    { .name = (name_), .kind = RULE_TEXT, .path = (path_), .text = (text_), .applies = (applies_) }
#define NUMBER(name_, path_, number_) \
    { .name = (name_), .kind = RULE_NUMBER, .path = (path_), .number = (number_) }
#define AT_LEAST(name_, path_, number_) \
    { .name = (name_), .kind = RULE_AT_LEAST, .path = (path_), .number = (number_) }
#define CHECK(name_, check_, applies_) \
    { .name = (name_), .kind = RULE_CHECK, .check = (check_), .applies = (applies_) }

static const rule rules_v1_1_core[] = {
    CHECK("schema-version", check_version, NULL),
    TEXT("source", "measurement_source", "direct-nvml", is_measured),
    CHECK("method", check_method, NULL),
    AT_LEAST("sample-rate", "measurement.sample_rate_hz", 10),
    PRESENT("baseline", "results.fp16_energy_per_token_mj", is_compared),
    PRESENT("baseline", "results.vs_fp16_energy_pct", is_compared),
    NUMBER("batch", "workload.batch_size", 1),
    NUMBER("tokens", "measurement.tokens_per_run", 256),
    NUMBER("iterations", "measurement.iterations", 10),
    TEXT("decoding", "workload.decoding", "greedy", NULL),
    AT_LEAST("warm-up", "measurement.warmup", 1),
    PRESENT("context", "workload.context_length", NULL),
    TEXT("window", "measurement.window", "generation", NULL),
    PRESENT("software", "software", NULL),
    PRESENT("software", "software.python", NULL),
    CHECK("software", check_packages, NULL),
    PRESENT("software", "software.nvidia_driver", NULL),
    CHECK("pins", check_pins, NULL),
    PRESENT("thermal", "thermal", NULL),
    CHECK("thermal", check_thermal_words, NULL),
    PRESENT("thermal", "thermal.warmup_runs", is_thermal_measured),
    PRESENT("thermal", "thermal.cooldown_s", is_thermal_measured),
    PRESENT("thermal", "thermal.temperature_start_c", is_thermal_measured),
    PRESENT("thermal", "thermal.temperature_end_c", is_thermal_measured),
    PRESENT("thermal", "thermal.temperature_peak_c", is_thermal_measured),
    CHECK("thermal", check_steady, is_thermal_measured),
    CHECK("arm-order", check_order, NULL),
};

static const rule rules_paired_1[] = {
    TEXT("basis", "results.basis", "measured", NULL),
    TEXT("window", "measurement.window", "decode", NULL),
    AT_LEAST("blocks", "trials.blocks_finished", BLOCKS_MIN),
    CHECK("window", check_windows, NULL),
    CHECK("order", check_random_order, NULL),
    PRESENT("order", "trials.order_seed", NULL),
    PRESENT("counter-to-integral", "meters.counter_to_integral", NULL),
    CHECK("traces", check_hashes, NULL),
    PRESENT("uncertainty", "uncertainty.ci95_repeat.lo_pct", is_compared),
    PRESENT("uncertainty", "uncertainty.ci95_repeat.hi_pct", is_compared),
    PRESENT("uncertainty", "uncertainty.u_expanded.ratio_pct", is_compared),
    PRESENT("uncertainty", "uncertainty.u_expanded.absolute_pct", NULL),
    PRESENT("identity", "run_id", NULL),
    PRESENT("identity", "system_under_test.gpu", NULL),
    PRESENT("identity", "system_under_test.host", NULL),
    PRESENT("identity", "system_under_test.cpu", NULL),
    PRESENT("identity", "software.tool", NULL),
    PRESENT("identity", "software.commit", NULL),
    PRESENT("identity", "software.build_type", NULL),
    PRESENT("identity", "software.nvidia_driver", is_on_gpu),
    PRESENT("identity", "environment.gpu_uuid_hash", is_on_gpu),
    PRESENT("identity", "environment.power_limit_w", is_on_gpu),
    PRESENT("identity", "environment.vbios", is_on_gpu),
    PRESENT("identity", "environment.compute_capability", is_on_gpu),
    PRESENT("identity", "environment.memory_bytes", is_on_gpu),
    PRESENT("identity", "environment.sm_clock_max_mhz", is_on_gpu),
    PRESENT("identity", "environment.persistence_enabled", is_on_gpu),
    CHECK("flags", check_flags, NULL),
};

/* Beyond the rules of v1.1-core. */
static const rule rules_dataset[] = {
    TEXT("basis", "results.basis", "measured", NULL),
    PRESENT("trace", "power_trace", NULL),
    CHECK("trace", check_files, NULL),
    PRESENT("trace", "power_trace.sample_rate_hz", NULL),
};

enum {
    N_V1_1_CORE = sizeof rules_v1_1_core / sizeof rules_v1_1_core[0],
    N_PAIRED_1 = sizeof rules_paired_1 / sizeof rules_paired_1[0],
    N_DATASET = sizeof rules_dataset / sizeof rules_dataset[0]
};

typedef struct profile {
    const char *name, *verdict, *note;
    struct {
        const rule *rules;
        size_t n;
    } parts[2];
} profile;

static const profile profiles[] = {
    {.name = "v1.1-core", .parts = {{rules_v1_1_core, N_V1_1_CORE}}},
    {.name = "paired-1", .parts = {{rules_paired_1, N_PAIRED_1}}},
    {.name = "dataset-eligible",
     .verdict = "dataset-eligible",
     .note =
         "how many sessions and cards repeat this result is a matter of the dataset, not of one "
         "report, and was not looked at",
     .parts = {{rules_v1_1_core, N_V1_1_CORE}, {rules_dataset, N_DATASET}}},
};

static const profile *find_profile(const char *name) {
    for (size_t i = 0; name != NULL && i < sizeof profiles / sizeof profiles[0]; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

static void judge_rule(const judge *j) {
    const rule *own = j->rule;
    if (own->kind == RULE_CHECK) {
        own->check(j);
        return;
    }
    const ecoi_json *value = find(j, own->path);
    char found[64];
    char what[160];
    shown(value, found, sizeof found);
    const bool number = value != NULL && value->type == ECOI_JSON_NUMBER;
    if (!is_filled(value)) {
        violated(j, own->path, "is missing");
    } else if (own->kind == RULE_TEXT && !is_text(value, own->text)) {
        snprintf(what, sizeof what, "is %s, expected \"%s\"", found, own->text);
        violated(j, own->path, what);
    } else if (own->kind == RULE_NUMBER &&
               !(number && value->number >= own->number && value->number <= own->number)) {
        snprintf(what, sizeof what, "is %s, expected %.0f", found, own->number);
        violated(j, own->path, what);
    } else if (own->kind == RULE_AT_LEAST && !(number && value->number >= own->number)) {
        snprintf(what, sizeof what, "is %s, expected at least %.0f", found, own->number);
        violated(j, own->path, what);
    }
}

const char *eco_profile_name(size_t index) {
    return index < sizeof profiles / sizeof profiles[0] ? profiles[index].name : NULL;
}

const char *eco_profile_note(const char *name) {
    const profile *const found = find_profile(name);
    return found != NULL ? found->note : NULL;
}

const char *eco_profile_verdict(const char *name, uint32_t n_schema, uint32_t n) {
    const profile *const found = find_profile(name);
    if (n_schema > 0 || n > 0) {
        return n_schema > 0 ? "schema-invalid" : "schema-valid";
    }
    return found != NULL && found->verdict != NULL ? found->verdict : "protocol-conformant";
}

bool eco_report_check_profile(const eco_report *report, const char *name, eco_findings *out) {
    assert(report != NULL && name != NULL && out != NULL);
    const profile *const found = find_profile(name);
    if (found == NULL) {
        return false;
    }
    for (size_t part = 0; part < sizeof found->parts / sizeof found->parts[0]; part++) {
        for (size_t i = 0; i < found->parts[part].n; i++) {
            const judge j = {.report = report,
                             .profile = found->name,
                             .rule = &found->parts[part].rules[i],
                             .out = out};
            if (j.rule->applies == NULL || j.rule->applies(&j)) {
                judge_rule(&j);
            }
        }
    }
    return true;
}
