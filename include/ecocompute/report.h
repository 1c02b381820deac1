/* SPDX-License-Identifier: Apache-2.0
 *
 * energy.json: written, read and validated through one field table (src/record/fields.def), schema
 * ecocompute-energy/1.3 and its additions. A report is a JSON document with typed access by field.
 * A report read from outside is untrusted; unknown keys, key order and number text of foreign reports are kept.
 */
#ifndef ECOCOMPUTE_REPORT_H
#define ECOCOMPUTE_REPORT_H

#include "ecocompute/record.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ECO_FIELD(id, path, type, unit, since, required, meaning); "[]" in a path is an array of objects. */
typedef enum eco_field {
#define ECO_FIELD(id, path, type, unit, since, required, meaning) ECO_FIELD_##id,
#include "ecocompute/fields.def"
#undef ECO_FIELD
    ECO_FIELD_COUNT
} eco_field;

typedef enum eco_field_type {
    ECO_TYPE_STRING = 0,
    ECO_TYPE_NUMBER,
    ECO_TYPE_INTEGER,
    ECO_TYPE_BOOLEAN,
    ECO_TYPE_STRINGS,   /* array of strings */
    ECO_TYPE_STRING_MAP /* object whose every member is a string; read, never set */
} eco_field_type;

typedef struct eco_field_info {
    const char *id, *path, *unit, *since, *meaning;
    eco_field_type type;
    bool required; /* the key must be there (null allowed where nothing could be read) */
} eco_field_info;

const eco_field_info *eco_field_at(eco_field field);

typedef struct eco_report eco_report;

eco_report *eco_report_new(void); /* NULL when out of memory */
void eco_report_free(eco_report *report);

/* Array positions for the "[]" of a path, outermost first; use ECO_AT(), ECO_AT(i), ECO_AT(i, j). */
typedef struct eco_at {
    uint32_t i, j;
} eco_at;
#define ECO_TOP ((eco_at){0, 0})
#define ECO_AT1(i_) ((eco_at){(i_), 0})
#define ECO_AT2(i_, j_) ((eco_at){(i_), (j_)})

/* Setters create what is missing on the path. Failures (memory, wrong type for the field) are sticky and reported by
 * eco_report_write. A non-finite number becomes null. set_reading and set_quantity write null for the absent. */
void eco_report_set_number(eco_report *report, eco_field field, eco_at at, double value);
void eco_report_set_rounded(eco_report *report, eco_field field, eco_at at, double value,
                            int decimals);
void eco_report_set_integer(eco_report *report, eco_field field, eco_at at, int64_t value);
void eco_report_set_string(eco_report *report, eco_field field, eco_at at,
                           const char *value); /* NULL = null */
void eco_report_set_bool(eco_report *report, eco_field field, eco_at at, bool value);
void eco_report_set_null(eco_report *report, eco_field field, eco_at at);
void eco_report_add_string(eco_report *report, eco_field field, eco_at at,
                           const char *value); /* ECO_TYPE_STRINGS */
void eco_report_set_reading(eco_report *report, eco_field field, eco_at at, eco_reading value,
                            int decimals);

/* Getters: false when the key is missing, null or of another type. Strings live as long as the report, unmodified. */
bool eco_report_number(const eco_report *report, eco_field field, eco_at at, double *out);
bool eco_report_integer(const eco_report *report, eco_field field, eco_at at, int64_t *out);
bool eco_report_string(const eco_report *report, eco_field field, eco_at at, const char **out);
/* Does a field of ECO_TYPE_STRINGS hold this text? */
bool eco_report_strings_hold(const eco_report *report, eco_field field, eco_at at,
                             const char *text);
bool eco_report_bool(const eco_report *report, eco_field field, eco_at at, bool *out);
/* Elements of the array that holds `field` (its innermost "[]"); `at` gives the outer positions. */
uint32_t eco_report_array_size(const eco_report *report, eco_field field, eco_at at);

/* Coded warnings (src/record/warnings.def): a code once, with its text, advice and an optional detail. */
typedef enum eco_warning {
#define ECO_WARNING(id, code, invalidates, text, advice) ECO_WARNING_##id,
#include "ecocompute/warnings.def"
#undef ECO_WARNING
    ECO_WARNING_COUNT
} eco_warning;
typedef struct eco_warning_info {
    const char *code, *text, *advice;
    bool invalidates; /* profile paired-1 refuses a report that carries it */
} eco_warning_info;
const eco_warning_info *eco_warning_at(eco_warning warning);
void eco_report_warn(eco_report *report, eco_warning warning,
                     const char *detail); /* detail NULL = none; once a code */
bool eco_report_has_warning(const eco_report *report, eco_warning warning);

/* Indent 2, keys in table order, shortest numbers that read back, "\n" at the end. */
ECO_NODISCARD eco_status eco_report_write(const eco_report *report, eco_text *out, eco_error *err);
ECO_NODISCARD eco_status eco_report_read(const char *text, size_t length, const char *name,
                                         eco_report **out, eco_error *err);

/* Findings of a check, one line each: "results.basis: …". */
typedef struct eco_findings {
    uint32_t n;
    eco_text lines; /* one finding a line */
} eco_findings;
void eco_findings_free(eco_findings *findings);
void eco_findings_add(eco_findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Schema: required keys, types, units' ranges. */
void eco_report_check_schema(const eco_report *report, eco_findings *out);

/* Rules of a profile ("v1.1-core", "paired-1", "dataset-eligible"): one finding a violation, "profile rule: field: what". The schema is not
 * looked at. False: no such profile. */
bool eco_report_check_profile(const eco_report *report, const char *profile, eco_findings *out);
const char *eco_profile_name(size_t index); /* NULL behind the last */
/* What the profile cannot tell from one report; NULL: nothing, or no such profile. Static. */
const char *eco_profile_note(const char *profile);
/* "schema-invalid", "schema-valid", "protocol-conformant" or "dataset-eligible": of n findings, n_schema are the
 * schema's. Static. */
const char *eco_profile_verdict(const char *profile, uint32_t n_schema, uint32_t n);

/* Re-derives every headline number of the report from its traces (text of the files named in it, already read and
 * matched by sha256 by the caller) and compares with what the report prints. */
typedef struct eco_trace_text {
    const char *file, *text;
    size_t length;
} eco_trace_text;
/* Is `text` what the report hashed as its trace `index` (power_trace.files)? A trace only grows, and a process that is
 * killed between writing it and its report leaves it longer than the report says: then *length becomes that of the rows
 * that were hashed. False with a finding. */
bool eco_report_trace_matches(const eco_report *report, uint32_t index, const char *text,
                              size_t *length, eco_findings *out);
void eco_report_recompute(const eco_report *report, const eco_trace_text *traces, size_t n_traces,
                          eco_findings *out);

/* The closing lines a person sees: the table of arms, the sentence with the change and its interval, the why, the
 * warnings. Made from the report alone. */
void eco_report_summarise(const eco_report *report, eco_text *out);

/* There is a change, and the verdict is neither saves nor costs: its sign is not to be told as a fact. */
bool eco_report_unsettled(const eco_report *report);

/* What bounds an arm (pure; all inputs from the same run). Zero = unknown. */
typedef struct eco_bound_input {
    double bytes_per_token, token_s, mj_per_token;
    double read_bytes_per_s, read_j_per_byte; /* probed ceiling */
    double launch_s, launches_per_token;
    bool power_capped, throttled;
    double flops_per_token, matrix_flops_per_s; /* of the products this arm makes */
} eco_bound_input;
typedef struct eco_bound {
    const char *
        name; /* "launch-bound", "bandwidth-bound", "compute-bound", "kernel-bound" (neither bytes, operations nor launches explain the time), "power-capped", "throttled", "unknown"; static */
    double roofline_s, roofline_j, bandwidth_share, launch_share, energy_factor; /* 0 = unknown */
    bool below_floor;                /* energy below what the bytes alone need */
    double compute_s, compute_share; /* time the operations alone need; 0 = unknown */
} eco_bound;
eco_bound eco_explain_bound(const eco_bound_input *input);
/* One sentence each; `out` is appended to. delta_pct is the change of energy per token of arm against baseline. */
void eco_explain_why(const eco_bound *baseline, const eco_bound *arm, const char *baseline_name,
                     const char *arm_name, double delta_pct, double bytes_ratio, double time_ratio,
                     double power_ratio, eco_text *out);
void eco_explain_advice(const eco_bound *arm, const char *arm_name, eco_text *out);

#ifdef __cplusplus
}
#endif
#endif
