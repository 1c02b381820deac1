/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands: options by argp, with the nearest name for a wrong one; errors in one line.
 */
#include "cli.h"

#include "ecocompute/arch.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64 };

error_t cli_common_option(cli_common *common, int key, const char *argument) {
    switch (key) {
    case CLI_KEY_JSON:
        common->json = true;
        return 0;
    case CLI_KEY_QUIET:
        common->quiet = true;
        return 0;
    case CLI_KEY_COLOR:
        if (!eco_color_parse(argument, &common->color)) {
            cli_usage_error("--color: '%s' is not known; expected auto, always or never", argument);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void cli_usage_error(const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "ecocompute: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(EXIT_USAGE);
}

static bool option_matches(const char *given, size_t length, const struct argp_option *options) {
    static const char *const always[] = {"help", "usage", "version"};
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (strncmp(given, always[i], length) == 0) {
            return true;
        }
    }
    for (const struct argp_option *option = options;
         option->name != NULL || option->key != 0 || option->doc != NULL; option++) {
        if (option->name != NULL && strncmp(given, option->name, length) == 0) {
            return true; /* whole, or an abbreviation: argp refuses an ambiguous one */
        }
    }
    return false;
}

static void refuse_option(const char *given, size_t length, const struct argp_option *options) {
    const char *names[OPTIONS_MAX];
    size_t n = 0;
    for (const struct argp_option *option = options; option->name != NULL && n < OPTIONS_MAX;
         option++) {
        names[n++] = option->name;
    }
    char wrong[64];
    snprintf(wrong, sizeof wrong, "%.*s", (int)(length < sizeof wrong ? length : sizeof wrong - 1),
             given);
    const char *nearest = eco_nearest_name(wrong, names, n);
    cli_usage_error("unknown option '--%s'%s%s%s", wrong,
                    nearest != NULL ? ", did you mean '--" : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "'?" : "");
}

void cli_check_options(int argc, char **argv, const struct argp_option *options,
                       const char *const *later) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            continue;
        }
        const char *given = argv[i] + 2;
        const size_t length = strcspn(given, "=");
        for (const char *const *name = later; name != NULL && *name != NULL; name++) {
            if (strlen(*name) == length && strncmp(given, *name, length) == 0) {
                cli_usage_error("--%s is not in this version", *name);
            }
        }
        if (!option_matches(given, length, options)) {
            refuse_option(given, length, options);
        }
    }
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *input) {
    argp_err_exit_status = EXIT_USAGE;
    char name[64];
    snprintf(name, sizeof name, "ecocompute %s", argv[0]);
    argv[0] = name;
    const error_t failed = argp_parse(argp, argc, argv, 0, NULL, input);
    if (failed != 0) {
        cli_usage_error("%s", strerror(failed));
    }
}

int cli_fail(const eco_error *error) {
    fprintf(stderr, "ecocompute: %s\n",
            error->message[0] != '\0' ? error->message : eco_status_text(error->code));
    if (error->code == ECO_E_USAGE) {
        return EXIT_USAGE;
    }
    return error->code == ECO_E_INTERRUPTED ? 128 + *eco_interrupted() : EXIT_FAILED;
}

double cli_number(const char *option, const char *text, double lo, double hi) {
    char *end = NULL;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < lo || value > hi) {
        cli_usage_error("%s: '%s' is not usable; expected a number from %g to %g", option, text, lo,
                        hi);
    }
    return value;
}

uint64_t cli_integer(const char *option, const char *text, uint64_t hi) {
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] < '0' || text[0] > '9' || errno != 0 || value > hi) {
        cli_usage_error("%s: '%s' is not usable; expected a whole number from 0 to %llu", option,
                        text, (unsigned long long)hi);
    }
    return value;
}

void cli_print(const eco_text *text) {
    if (text->failed) {
        fprintf(stderr, "ecocompute: out of memory\n");
        exit(EXIT_FAILED);
    }
    if (text->data != NULL) {
        fwrite(text->data, 1, text->length, stdout);
    }
}

void cli_print_summary(const eco_text *text, eco_color_choice color) {
    if (text->failed || text->data == NULL || !eco_color_wanted(color, 1)) {
        cli_print(text);
        return;
    }
    for (const char *line = text->data; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        const bool warning = strncmp(line, "warning [", 9) == 0;
        const char *verdict = strstr(line, "Verdict: ");
        const bool headline = verdict != NULL && verdict < line + length;
        printf("%s%.*s%s\n",
               warning    ? "\033[33m"
               : headline ? "\033[1m"
                          : "",
               (int)length, line, warning || headline ? "\033[0m" : "");
        line += length + (line[length] == '\n');
    }
}

void cli_json_string(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

void cli_json_field(const char *key, const char *text, bool last) {
    printf("\"%s\": ", key);
    cli_json_string(text);
    printf("%s", last ? "" : ", ");
}

void cli_json_reading(const char *key, eco_reading reading, bool last) {
    if (eco_reading_present(reading)) {
        printf("\"%s\": %.9g%s", key, reading.value, last ? "" : ", ");
    } else {
        printf("\"%s\": null%s", key, last ? "" : ", ");
    }
}
