/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute validate: schema, with --profile the rules of a protocol, with --recompute every headline number re-derived
 * from the traces.
 */
#include "cli.h"
#include "path_arguments.h"

#include "ecocompute/arch.h"
#include "ecocompute/report_file.h"

#include <stdio.h>
#include <string.h>

enum { KEY_RECOMPUTE = CLI_KEY_OWN, KEY_PROFILE };

typedef struct validate_input {
    cli_common common;
    bool recompute;
    const char *profile; /* NULL = the schema alone */
    cli_paths reports;
} validate_input;

static const struct argp_option options[] = {
    {"recompute", KEY_RECOMPUTE, 0, 0,
     "Re-derive every headline number from the traces beside the report", 0},
    {"profile", KEY_PROFILE, "NAME", 0,
     "Hold the report against the rules of v1.1-core (published protocol), paired-1 or "
     "dataset-eligible",
     0},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {NULL};

static void check_profile(const char *name) {
    const char *names[8];
    size_t n = 0;
    for (; n < 8 && eco_profile_name(n) != NULL; n++) {
        names[n] = eco_profile_name(n);
        if (strcmp(name, names[n]) == 0) {
            return;
        }
    }
    const char *nearest = eco_nearest_name(name, names, n);
    cli_usage_error("--profile: unknown profile '%s'%s%s%s", name,
                    nearest != NULL ? ", did you mean '" : "; expected ",
                    nearest != NULL ? nearest : "v1.1-core, paired-1 or dataset-eligible",
                    nearest != NULL ? "'?" : "");
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    validate_input *input = state->input;
    switch (key) {
    case KEY_RECOMPUTE:
        input->recompute = true;
        return 0;
    case KEY_PROFILE:
        check_profile(argument);
        input->profile = argument;
        return 0;
    default:
        return cli_path_argument(&input->reports, key, argument, "validate", "a report")
                   ? 0
                   : cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT…",
    .doc =
        "Checks reports against the schema, and with --profile against the rules of a protocol: "
        "one "
        "line a violation, naming rule and field. Status 0 all well, 4 a finding, 1 a report that "
        "cannot be read.\v"
        "Example: ecocompute validate --recompute ecocompute-out/latest/energy.json"};

/* What came of one report. */
typedef struct verdict {
    const char *path;
    eco_findings findings;
    uint32_t n_schema; /* of these, from the schema */
} verdict;

static void print_json(const validate_input *input, const verdict *v, bool first) {
    cli_out("%s\n  {", first ? "[" : ",");
    cli_json_field("report", v->path, false);
    if (input->profile != NULL) {
        cli_json_field("profile", input->profile, false);
        cli_json_field("verdict", eco_profile_verdict(input->profile, v->n_schema, v->findings.n),
                       false);
        const char *const note = eco_profile_note(input->profile);
        cli_json_field("notes", note != NULL ? note : "", false);
    }
    cli_out("\"valid\": %s, ", v->findings.n == 0 ? "true" : "false");
    cli_json_field("findings", v->findings.lines.data != NULL ? v->findings.lines.data : "", true);
    cli_out("}");
}

static void print_text(const validate_input *input, const verdict *v) {
    const char *const note = eco_profile_note(input->profile);
    if (v->findings.n > 0) {
        cli_out("%s: %u finding%s\n", v->path, v->findings.n, v->findings.n == 1 ? "" : "s");
        cli_print(&v->findings.lines);
        return;
    }
    cli_out("%s: valid%s%s%s\n", v->path, input->profile != NULL ? ", conforms to " : "",
            input->profile != NULL ? input->profile : "",
            input->recompute ? ", every headline number follows from the traces" : "");
    if (note != NULL) {
        cli_out("note: %s\n", note);
    }
}

static int validate_one(const validate_input *input, size_t i) {
    verdict v = {.path = input->reports.at[i]};
    eco_report *report = NULL;
    eco_error error = {0};
    if (eco_report_load(v.path, &report, &error) != ECO_OK) {
        eco_findings_add(&v.findings, "%s", error.message);
        v.n_schema = v.findings.n;
        if (input->common.json) {
            print_json(input, &v, i == 0);
        }
        eco_findings_free(&v.findings);
        return cli_fail(&error);
    }
    eco_report_check_schema(report, &v.findings);
    v.n_schema = v.findings.n;
    if (input->profile != NULL) {
        (void)eco_report_check_profile(report, input->profile, &v.findings);
    }
    int status = EXIT_DONE;
    if (input->recompute &&
        eco_report_recompute_file(report, v.path, &v.findings, &error) != ECO_OK) {
        status = cli_fail(&error); /* not looked at to the end: there is no verdict */
        eco_findings_add(&v.findings, "%s", error.message);
    }
    eco_report_free(report);
    if (input->common.json) {
        print_json(input, &v, i == 0);
    } else if (status == EXIT_DONE) {
        print_text(input, &v);
    }
    status = status == EXIT_DONE && v.findings.n > 0 ? EXIT_REFUSED : status;
    eco_findings_free(&v.findings);
    return status;
}

int cmd_validate(int argc, char **argv) {
    static validate_input input;
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, &input);
    int status = EXIT_DONE;
    for (size_t i = 0; i < input.reports.n; i++) {
        const int one = validate_one(&input, i);
        if (one == EXIT_FAILED || status == EXIT_DONE) {
            status = one;
        }
    }
    if (input.common.json) {
        cli_out("\n]\n");
    }
    return status;
}
