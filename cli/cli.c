/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands: options by argp, with the nearest name for a wrong one; errors in one line; the one way to
 * standard output and standard error.
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

/* Without memory for the escaped text: what is not plain ASCII becomes '?'. No command ends here, for it may hold a meter
 * open that wants to be closed. */
static void put_plain(FILE *stream, const char *text, size_t length, const char *newline) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n') {
            fputs(newline, stream);
        } else {
            fputc(text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?', stream);
        }
    }
}

static void put_visible(FILE *stream, const char *text, size_t length) {
    eco_text out = {0};
    eco_text_add_visible_lines(&out, text, length);
    if (out.failed) {
        put_plain(stream, text, length, "\n");
    } else if (out.data != NULL) {
        fwrite(out.data, 1, out.length, stream);
    }
    eco_text_free(&out);
}

static void put(FILE *stream, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void put(FILE *stream, const char *format, va_list arguments) {
    char line[512];
    va_list again;
    va_copy(again, arguments);
    const int n = vsnprintf(line, sizeof line, format, arguments);
    const size_t length = n > 0 ? (size_t)n : 0;
    if (length < sizeof line) {
        put_visible(stream, line, length);
    } else {
        char *longer = malloc(length + 1);
        if (longer != NULL) {
            (void)vsnprintf(longer, length + 1, format, again);
            put_visible(stream, longer, length);
        } else {
            put_plain(stream, line, sizeof line - 1, "\n");
        }
        free(longer);
    }
    va_end(again);
}

void cli_out(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put(stdout, format, arguments);
    va_end(arguments);
}

void cli_err(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put(stderr, format, arguments);
    va_end(arguments);
}

static bool errors_are_json;

void cli_json_errors(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        errors_are_json = errors_are_json || strcmp(argv[i], "--json") == 0;
    }
}

void cli_usage_error(const char *format, ...) {
    va_list arguments;
    if (errors_are_json) {
        char message[512];
        va_start(arguments, format);
        (void)vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        cli_out("{");
        cli_json_field("error", message, true);
        cli_out("}\n");
    }
    cli_err("ecocompute: ");
    va_start(arguments, format);
    put(stderr, format, arguments);
    va_end(arguments);
    cli_err("\n");
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

static bool driver_stuck;

bool cli_driver_stuck(void) {
    return driver_stuck;
}

int cli_fail(const eco_error *error) {
    driver_stuck |= error->code == ECO_E_STUCK;
    cli_err("ecocompute: %s\n",
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

uint64_t cli_integer(const char *option, const char *text, uint64_t lo, uint64_t hi) {
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] < '0' || text[0] > '9' || errno != 0 || value < lo ||
        value > hi) {
        cli_usage_error("%s: '%s' is not usable; expected a whole number from %llu to %llu", option,
                        text, (unsigned long long)lo, (unsigned long long)hi);
    }
    return value;
}

void cli_check_device(const char *device) {
    const bool fine = strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0 ||
                      strcmp(device, "cuda") == 0 ||
                      (strncmp(device, "cuda:", 5) == 0 && device[5] != '\0');
    if (!fine) {
        static const char *const names[] = {"auto", "cpu", "cuda"};
        const char *nearest = eco_nearest_name(device, names, 3);
        cli_usage_error("--device: unknown device '%s'%s%s%s; expected auto, cpu, cuda, cuda:1, "
                        "cuda:GPU-… or cuda:MIG-…",
                        device, nearest != NULL ? ", did you mean '" : "",
                        nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
}

eco_format cli_format_named(const char *option, const char *name) {
    eco_format format;
    if (eco_format_find(name, &format)) {
        return format;
    }
    const char *names[ECO_FORMAT_COUNT];
    for (eco_format i = 0; i < ECO_FORMAT_COUNT; i++) {
        names[i] = eco_format_at(i)->name;
    }
    const char *nearest = eco_nearest_name(name, names, ECO_FORMAT_COUNT);
    cli_usage_error("%s: unknown precision '%s'%s%s%s; `ecocompute formats` lists them", option,
                    name, nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "'?" : "");
}

const eco_model_shape *cli_model_named(const char *option, const char *name) {
    const eco_model_shape *shape = eco_model_find(name);
    if (shape != NULL) {
        return shape;
    }
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < eco_model_count() && n < 64; i++) {
        names[n++] = eco_model_at(i)->name;
    }
    const char *nearest = eco_nearest_name(name, names, n);
    cli_usage_error("%s: unknown model '%s'%s%s%s; `ecocompute models` lists them", option, name,
                    nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                    nearest != NULL ? "'?" : "");
}

void cli_print(const eco_text *text) {
    if (text->failed) {
        cli_err("ecocompute: out of memory\n");
        exit(EXIT_FAILED);
    }
    if (text->data != NULL) {
        put_visible(stdout, text->data, text->length);
    }
}

/* `text` holds neither quotes nor backslashes; a byte that is no UTF-8 becomes U+FFFD. */
static void json_piece(const char *text, size_t length) {
    eco_text out = {0};
    eco_text_add_visible(&out, text, length);
    if (out.failed) {
        put_plain(stdout, text, length, "\\n");
    }
    for (const char *c = !out.failed && out.data != NULL ? out.data : ""; *c != '\0'; c++) {
        if (c[0] == '\\' && c[1] == 'x') {
            fputs("\\ufffd", stdout);
            c += 3;
        } else {
            putchar(*c);
        }
    }
    eco_text_free(&out);
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
    while (*text != '\0') {
        const size_t length = strcspn(text, "\"\\");
        json_piece(text, length);
        text += length;
        if (*text != '\0') {
            putchar('\\');
            putchar(*text++);
        }
    }
    putchar('"');
}

void cli_json_field(const char *key, const char *text, bool last) {
    cli_out("\"%s\": ", key);
    cli_json_string(text);
    cli_out("%s", last ? "" : ", ");
}

void cli_json_reading(const char *key, eco_reading reading, bool last) {
    if (eco_reading_present(reading)) {
        cli_out("\"%s\": %.9g%s", key, reading.value, last ? "" : ", ");
    } else {
        cli_out("\"%s\": null%s", key, last ? "" : ", ");
    }
}

bool cli_report_replayed(const eco_report *report) {
    const char *basis = NULL;
    return report != NULL && eco_report_string(report, ECO_FIELD_RE_BASIS, ECO_TOP, &basis) &&
           strcmp(basis, eco_basis_name(ECO_BASIS_REPLAYED)) == 0;
}
