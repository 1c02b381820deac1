/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute plot: pictures of reports and studies by gnuplot.
 */
#include "cli.h"
#include "path_arguments.h"

#include "ecocompute/plot.h"
#include "ecocompute/report_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_KIND = CLI_KEY_OWN, KEY_FORMAT, KEY_OUTPUT, PLOT_NAME_MAX = 64 };

typedef struct plot_input {
    cli_common common;
    bool kinds[ECO_PLOT_COUNT], any_kind, png;
    const char *output_dir;
    cli_paths files;
} plot_input;

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "LIST", 0,
     "power, size, batch, roofline, crossover, by comma (default: what the files hold)", 1},
    {"format", KEY_FORMAT, "FORMAT", 0, "svg (default) or png", 1},
    {"output-dir", KEY_OUTPUT, "DIR", 0, "Where pictures and scripts go (default: .)", 1},
    CLI_COMMON_OPTIONS,
    {0}};

static const char *const later[] = {"curves", NULL};

static void parse_kinds(plot_input *input, const char *list) {
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        bool known = false;
        for (size_t i = 0; i < ECO_PLOT_COUNT; i++) {
            const char *name = eco_plot_kind_name((eco_plot_kind)i);
            if (strlen(name) == length && strncmp(list, name, length) == 0) {
                input->kinds[i] = true;
                known = true;
            }
        }
        if (!known) {
            cli_usage_error(
                "--kind: '%.*s' is not known; expected power, size, batch, roofline or crossover",
                (int)(length < 40 ? length : 40), list);
        }
        input->any_kind = true;
        list += length + (list[length] == ',');
    }
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    plot_input *input = state->input;
    switch (key) {
    case KEY_KIND:
        parse_kinds(input, argument);
        return 0;
    case KEY_FORMAT:
        if (strcmp(argument, "svg") != 0 && strcmp(argument, "png") != 0) {
            cli_usage_error("--format: '%s' is not known; expected svg or png", argument);
        }
        input->png = strcmp(argument, "png") == 0;
        return 0;
    case KEY_OUTPUT:
        input->output_dir = argument;
        return 0;
    default:
        return cli_path_argument(&input->files, key, argument, "plot", "a report or a study's CSV")
                   ? 0
                   : cli_common_option(&input->common, key, argument);
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "REPORT…|STUDY.csv…",
    .doc = "Draws by gnuplot: power over time with its phases (one picture a report), energy per "
           "token against size and batch, the distance from the memory roofline, and the change "
           "against FP16 over size. The script stays beside each picture.\v"
           "Example: ecocompute plot --kind power,roofline ecocompute-out/latest/energy.json"};

static bool is_csv(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

typedef struct plot_work {
    const plot_input *input;
    eco_study *study;
    uint32_t n_made, n_reports;
    eco_error no_gnuplot; /* code ECO_OK: it is here, or was not needed yet */
} plot_work;

static int make(plot_work *w, const char *name, const eco_text *script) {
    eco_error error = {0};
    if (eco_plot_make(w->input->output_dir, name, w->input->png, script, &error) != ECO_OK) {
        if (error.code != ECO_E_UNSUPPORTED) {
            return cli_fail(&error);
        }
        w->no_gnuplot =
            error; /* the script stands: the others are written too, and then it is told */
    }
    const bool drawn = w->no_gnuplot.code == ECO_OK;
    const char *const comma = w->n_made > 0 ? ",\n  " : "";
    char picture[8192];
    char path[8192];
    snprintf(picture, sizeof picture, "%s/%s.%s", w->input->output_dir, name,
             w->input->png ? "png" : "svg");
    snprintf(path, sizeof path, "%s/%s.gp", w->input->output_dir, name);
    if (w->input->common.json) {
        cli_out("%s{", comma);
        if (drawn) {
            cli_json_field("picture", picture, false);
        } else {
            cli_out("\"picture\": null, ");
        }
        cli_json_field("script", path, true);
        cli_out("}");
    } else {
        cli_out("%s%s%s\n", drawn ? picture : "", drawn ? " " : "", path);
    }
    w->n_made++;
    return EXIT_DONE;
}

/* "power", "power_2", …: one of each report. */
static int plot_power(plot_work *w, const eco_report *report, const char *path) {
    eco_plot_trace traces[ECO_PLOT_TRACES_MAX] = {{0}};
    eco_sample *rows[ECO_PLOT_TRACES_MAX] = {0};
    const uint32_t n_files = eco_report_array_size(report, ECO_FIELD_PF_FILE, ECO_TOP);
    const uint32_t n = n_files < ECO_PLOT_TRACES_MAX ? n_files : ECO_PLOT_TRACES_MAX;
    eco_error error = {0};
    eco_status status = ECO_OK;
    for (uint32_t i = 0; status == ECO_OK && i < n; i++) {
        const uint32_t from = n - 1 - i; /* the baseline stands last in the report */
        if (!eco_report_string(report, ECO_FIELD_PF_PRECISION, ECO_AT1(from),
                               &traces[i].precision)) {
            traces[i].precision = "?";
        }
        status = eco_report_trace_load(report, path, from, &rows[i], &traces[i].n, &error);
        traces[i].rows = rows[i];
    }
    char name[PLOT_NAME_MAX];
    char picture[PLOT_NAME_MAX + 8];
    const char *kind = eco_plot_kind_name(ECO_PLOT_POWER);
    if (w->n_reports == 1) {
        snprintf(name, sizeof name, "%s", kind);
    } else {
        snprintf(name, sizeof name, "%s_%u", kind, w->n_reports);
    }
    snprintf(picture, sizeof picture, "%s.%s", name, w->input->png ? "png" : "svg");
    const eco_plot_output output = {.picture = picture, .png = w->input->png};
    eco_text script = {0};
    if (status == ECO_OK) {
        status = eco_plot_power(report, traces, n, &output, &script, &error);
    }
    const int done = status == ECO_OK ? make(w, name, &script) : cli_fail(&error);
    eco_text_free(&script);
    for (uint32_t i = 0; i < n; i++) {
        free(rows[i]);
    }
    return done;
}

static int take_file(plot_work *w, const char *path) {
    eco_error error = {0};
    if (is_csv(path)) {
        return eco_study_load_csv(w->study, path, &error) == ECO_OK ? EXIT_DONE : cli_fail(&error);
    }
    eco_report *report = NULL;
    if (eco_report_load(path, &report, &error) != ECO_OK ||
        eco_study_add_report(w->study, report, path, false, &error) != ECO_OK) {
        eco_report_free(report);
        return cli_fail(&error);
    }
    w->n_reports++;
    const bool wanted =
        w->input->kinds[ECO_PLOT_POWER] || (!w->input->any_kind && w->input->files.n == 1);
    const int status = wanted ? plot_power(w, report, path) : EXIT_DONE;
    eco_report_free(report);
    return status;
}

/* Is there more than one value of the column, so that it makes an axis? */
static bool varies(const eco_study *study, eco_study_column column) {
    double first = 0.0;
    bool any = false;
    for (uint32_t i = 0; i < eco_study_size(study); i++) {
        double value = 0.0;
        if (!eco_study_number(study, i, column, &value)) {
            continue;
        }
        if (any && (value < first || value > first)) {
            return true;
        }
        first = any ? first : value;
        any = true;
    }
    return false;
}

static int plot_study(plot_work *w, eco_plot_kind kind) {
    char picture[PLOT_NAME_MAX];
    const char *name = eco_plot_kind_name(kind);
    snprintf(picture, sizeof picture, "%s.%s", name, w->input->png ? "png" : "svg");
    const eco_plot_output output = {.picture = picture, .png = w->input->png};
    eco_text script = {0};
    eco_error error = {0};
    const int status = eco_plot_study(kind, w->study, &output, &script, &error) == ECO_OK
                           ? make(w, name, &script)
                           : cli_fail(&error);
    eco_text_free(&script);
    return status;
}

static int plot_all(plot_work *w) {
    const plot_input *input = w->input;
    int status = EXIT_DONE;
    for (size_t i = 0; status == EXIT_DONE && i < input->files.n; i++) {
        status = take_file(w, input->files.at[i]);
    }
    const bool many_sizes = varies(w->study, ECO_STUDY_PARAMS);
    const bool by_default[ECO_PLOT_COUNT] = {
        [ECO_PLOT_SIZE] = many_sizes,
        [ECO_PLOT_BATCH] = varies(w->study, ECO_STUDY_BATCH),
        [ECO_PLOT_ROOFLINE] = w->n_reports > 0 || varies(w->study, ECO_STUDY_SHARE),
        [ECO_PLOT_CROSSOVER] = many_sizes};
    for (size_t kind = ECO_PLOT_SIZE; status == EXIT_DONE && kind < ECO_PLOT_COUNT; kind++) {
        if (input->any_kind ? input->kinds[kind] : by_default[kind]) {
            status = plot_study(w, (eco_plot_kind)kind);
        }
    }
    if (status == EXIT_DONE && w->n_made == 0) {
        cli_err("ecocompute: plot: these files hold nothing to draw\n");
        return EXIT_FAILED;
    }
    return status == EXIT_DONE && w->no_gnuplot.code != ECO_OK ? cli_fail(&w->no_gnuplot) : status;
}

int cmd_plot(int argc, char **argv) {
    static plot_input input = {.output_dir = "."};
    cli_check_options(argc, argv, options, later);
    cli_parse(&argp, argc, argv, &input);
    plot_work work = {.input = &input, .study = eco_study_new()};
    if (work.study == NULL) {
        cli_err("ecocompute: plot: out of memory\n");
        return EXIT_FAILED;
    }
    cli_out("%s", input.common.json ? "[" : "");
    const int status = plot_all(&work);
    cli_out("%s", input.common.json ? "]\n" : "");
    eco_study_free(work.study);
    return status;
}
