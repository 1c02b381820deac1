/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands share: exit statuses, option checking, printing. Commands include public headers only.
 */
#ifndef ECOCOMPUTE_CLI_H
#define ECOCOMPUTE_CLI_H

#include "ecocompute/arch.h"
#include "ecocompute/host.h"
#include "ecocompute/report.h"
#include "ecocompute/status.h"
#include "ecocompute/trace.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_UNMEASURED = 3,
    EXIT_REFUSED = 4,
    EXIT_OWN = 125 /* of run: this program failed, and not the command */
};

/* Options every command has. */
typedef struct cli_common {
    bool json, quiet;
    eco_color_choice color;
} cli_common;

enum { CLI_KEY_JSON = 0x1000, CLI_KEY_QUIET, CLI_KEY_COLOR, CLI_KEY_OWN = 0x2000 };
#define CLI_COMMON_OPTIONS                                                                \
    {"json", CLI_KEY_JSON, 0, 0, "Answer with one JSON document on standard output", 90}, \
        {"quiet", CLI_KEY_QUIET, 0, 0, "No progress on standard error", 90}, {            \
        "color", CLI_KEY_COLOR, "WHEN", 0, "auto, always or never", 90                    \
    }

/* Handles a common option; ARGP_ERR_UNKNOWN for any other key. A bad value ends the program with a usage error. */
error_t cli_common_option(cli_common *common, int key, const char *argument);

/* Long options in argv that the command does not have: one line with the nearest name, exit 2. `later`: names of the
 * contract that this version lacks, NULL at the end; may be NULL. */
void cli_check_options(int argc, char **argv, const struct argp_option *options,
                       const char *const *later);
/* Runs argp with the program's conventions (exit 2 on a usage error). */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Before cli_check_options: with --json among the arguments a usage error is {"error": "…"} on standard output as well. */
void cli_json_errors(int argc, char **argv);
void cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* cli_fail told of a driver call that does not return. Nothing more can be done with that driver, and its library's own end
 * may hang in the same way: the program leaves by _Exit. */
bool cli_driver_stuck(void);
/* "ecocompute: message" on standard error, and the exit status that belongs to the error. */
int cli_fail(const eco_error *error);
double cli_number(const char *option, const char *text, double lo, double hi);
uint64_t cli_integer(const char *option, const char *text, uint64_t lo, uint64_t hi);
/* A format, a model shape by its name; an unknown one is wrong use, with the nearest name. */
eco_format cli_format_named(const char *option, const char *name);
const eco_model_shape *cli_model_named(const char *option, const char *name);
void cli_check_device(
    const char *device); /* --device: a word that is none of its forms ends the program */

/* All that commands print goes through these: device names, paths, messages and text of reports come from outside, and
 * what could drive a terminal is escaped on its way (eco_text_add_visible_lines). Standard output and standard error. */
void cli_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_err(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_print(const eco_text *text); /* the same, of a whole text, to standard output */
/* The same; where colour is wanted, the verdict stands out and warnings are marked. */
void cli_print_summary(const eco_text *text, eco_color_choice color);
/* Pieces of a JSON document on standard output; `key` needs no escaping. */
void cli_json_string(const char *text);
void cli_json_field(const char *key, const char *text, bool last);
void cli_json_reading(const char *key, eco_reading reading, bool last); /* null when absent */
bool cli_report_replayed(const eco_report *report); /* its energies are; false for NULL */

#define ECO_COMMAND(name, summary) int cmd_##name(int argc, char **argv);
#include "commands.def"
#undef ECO_COMMAND

#endif
