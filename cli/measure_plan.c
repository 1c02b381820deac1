/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute measure --plan: every experiment of a plan file, one after the other, each a measurement with a folder of
 * its own. Before anything is loaded the plan says how long each takes and whether its arms fit.
 */
#include "measure_options.h"

#include "ecocompute/plan_file.h"

#include <stdio.h>
#include <string.h>

static const double EXPERIMENT_MAX_S = 360.0;

typedef struct experiment_row {
    eco_plan plan;
    double shortest_s, longest_s;
    uint64_t largest_bytes, all_bytes; /* of one arm, and of all; 0 = not known */
    bool too_long, too_large;
    eco_error refusal; /* ECO_OK, or why the device does not take an arm */
} experiment_row;

typedef struct whole_plan {
    const measure_input *input;
    measure_machine *found;
    bool on_gpu;
    const char *command;
    eco_plan_file file;
    experiment_row *rows;
    uint64_t free_bytes; /* of the device, 0 = not known */
    double shortest_s, longest_s;
} whole_plan;

static double given(const eco_experiment *e, eco_plan_number number, double otherwise) {
    return e->numbers[number] >= 0.0 ? e->numbers[number] : otherwise;
}

static uint64_t given_count(const eco_experiment *e, eco_plan_number number, uint64_t otherwise) {
    return e->numbers[number] >= 0.0 ? (uint64_t)e->numbers[number] : otherwise;
}

/* The options that this experiment would be on a command line; `list` keeps the precisions. */
static measure_input input_of(const measure_input *given_input, const eco_experiment *e, char *list,
                              size_t size) {
    measure_input input = *given_input;
    size_t used = 0;
    list[0] = '\0';
    for (uint32_t i = 0; i < e->n_precisions && used < size; i++) {
        used += (size_t)snprintf(list + used, size - used, "%s%s", i > 0 ? "," : "",
                                 eco_format_at(e->precisions[i])->name);
    }
    input.model = e->shape->name;
    input.baseline = eco_format_at(e->baseline)->name;
    input.precision = e->n_precisions > 0 ? list : input.baseline;
    input.batch = e->batch;
    input.n_prompt = given_count(e, ECO_PLAN_PROMPT, MEASURE_NOT_GIVEN);
    input.n_tokens = given_count(e, ECO_PLAN_TOKENS, 256);
    input.n_blocks = given_count(e, ECO_PLAN_BLOCKS, 0);
    input.window_s = given(e, ECO_PLAN_WINDOW, -1.0);
    input.margin_pct = given(e, ECO_PLAN_MARGIN, -1.0);
    input.cooldown_max_s = given(e, ECO_PLAN_COOLDOWN, -1.0);
    input.n_iterations = given_count(e, ECO_PLAN_ITERATIONS, MEASURE_NOT_GIVEN);
    input.n_warmup = given_count(e, ECO_PLAN_WARMUP, MEASURE_NOT_GIVEN);
    input.steady_max_s = given(e, ECO_PLAN_STEADY_MAX, -1.0);
    input.seed = given_count(e, ECO_PLAN_SEED, 1);
    input.outliers = given_count(e, ECO_PLAN_OUTLIERS, given_input->outliers);
    input.order_seed_given = e->numbers[ECO_PLAN_ORDER_SEED] >= 0.0;
    input.order_seed = given_count(e, ECO_PLAN_ORDER_SEED, 0);
    input.quick = e->quick;
    input.published = e->published;
    input.steady = e->steady;
    input.fixed_order = e->fixed_order;
    return input;
}

/* Options that do not go together, and numbers out of range, with the line of the entry. */
static bool check_rows(whole_plan *w) {
    for (uint32_t i = 0; i < w->file.n; i++) {
        const eco_experiment *e = &w->file.experiments[i];
        experiment_row *row = &w->rows[i];
        char list[256];
        const measure_input input = input_of(w->input, e, list, sizeof list);
        const char *why = NULL;
        const char *option = measure_together(&input, &why);
        if (option != NULL) {
            cli_err("ecocompute: %s:%u: %s: %s\n", w->input->plan_file, e->line, option, why);
            return false;
        }
        measure_plan_of(&input, w->on_gpu, w->found->metered, &row->plan);
        row->plan.command = w->command;
        eco_error error = {0};
        if (eco_plan_check(&row->plan, &error) != ECO_OK) {
            cli_err("ecocompute: %s:%u: %s\n", w->input->plan_file, e->line, error.message);
            return false;
        }
        eco_plan_seconds(&row->plan, &row->shortest_s, &row->longest_s);
        row->too_long = row->longest_s > EXPERIMENT_MAX_S;
        w->shortest_s += row->shortest_s;
        w->longest_s += row->longest_s;
    }
    return true;
}

/* Bytes wanted and free, from the engine, without loading anything. */
static void look_at_memory(whole_plan *w) {
    eco_engine *engine = NULL;
    eco_engine_info info;
    eco_error ignored;
    const eco_engine_options options = {.name = "native",
                                        .device = w->on_gpu ? w->input->device : "cpu"};
    if (eco_engine_open(&options, &engine, &ignored) != ECO_OK) {
        return; /* the first experiment says why */
    }
    eco_engine_describe(engine, &info);
    w->free_bytes = info.memory_free_bytes;
    for (uint32_t i = 0; i < w->file.n; i++) {
        experiment_row *row = &w->rows[i];
        for (uint32_t a = 0; a < row->plan.n_arms; a++) {
            const eco_plan *p = &row->plan;
            const eco_workload workload = {.shape = p->shape,
                                           .linear = p->arms[a],
                                           .head = p->head,
                                           .batch = p->batch,
                                           .n_prompt = p->n_prompt,
                                           .n_tokens = p->n_tokens,
                                           .seed = p->seed,
                                           .outlier_permille = p->outlier_permille};
            eco_error reason;
            if (eco_arm_check(engine, &workload, &reason) != ECO_OK &&
                row->refusal.code == ECO_OK) {
                row->refusal = reason;
            }
            const uint64_t bytes = eco_arm_bytes(engine, &workload);
            row->all_bytes += bytes;
            row->largest_bytes = bytes > row->largest_bytes ? bytes : row->largest_bytes;
        }
        row->too_large = w->free_bytes != 0 && row->largest_bytes > w->free_bytes;
    }
    eco_engine_close(engine);
}

static const char *fit_word(const whole_plan *w, const experiment_row *row) {
    if (row->refusal.code != ECO_OK) {
        return "not supported";
    }
    if (w->free_bytes == 0 || row->all_bytes == 0) {
        return "not known";
    }
    return row->too_large                                       ? "does not fit"
           : row->all_bytes < w->free_bytes - w->free_bytes / 8 ? "together"
                                                                : "one at a time";
}

static void print_table(const whole_plan *w, const eco_plan_index *index) {
    cli_out("plan: %s%s%u experiment%s, %.0f to %.0f s, and loading\n", w->file.name,
            w->file.name[0] != '\0' ? ": " : "", w->file.n, w->file.n == 1 ? "" : "s",
            w->shortest_s, w->longest_s);
    cli_out("memory: %.3f GB free on the device\n", (double)w->free_bytes * 1e-9);
    cli_out("  %-28s  %5s  %6s  %11s  %9s  %9s  %-13s  %-11s  %s\n", "experiment", "batch",
            "blocks", "seconds", "GB an arm", "GB in all", "in memory", "state", "arms");
    for (uint32_t i = 0; i < w->file.n; i++) {
        const experiment_row *row = &w->rows[i];
        char seconds[32];
        char arms[256] = "";
        size_t used = 0;
        snprintf(seconds, sizeof seconds, "%.0f to %.0f", row->shortest_s, row->longest_s);
        for (uint32_t a = 0; a < row->plan.n_arms && used < sizeof arms; a++) {
            used += (size_t)snprintf(arms + used, sizeof arms - used, "%s%s", a > 0 ? " " : "",
                                     eco_format_at(row->plan.arms[a])->name);
        }
        cli_out("  %-28s  %5u  %6u  %11s  %9.3f  %9.3f  %-13s  %-11s  %s%s%s%s\n",
                w->file.experiments[i].name, row->plan.batch, row->plan.n_blocks, seconds,
                (double)row->largest_bytes * 1e-9, (double)row->all_bytes * 1e-9, fit_word(w, row),
                eco_experiment_state_name(index != NULL ? eco_plan_index_state(index, i)
                                                        : ECO_EXPERIMENT_PENDING),
                arms, row->too_long ? "  (too long)" : "", row->refusal.code != ECO_OK ? "  " : "",
                row->refusal.message);
    }
}

static void print_table_json(const whole_plan *w) {
    cli_out("{\n  ");
    cli_json_field("plan", w->file.name, false);
    cli_json_field("plan_sha256", w->file.sha256, false);
    cli_out("\"shortest_s\": %.9g, \"longest_s\": %.9g, \"memory_free_bytes\": %llu,\n"
            "  \"experiments\": [",
            w->shortest_s, w->longest_s, (unsigned long long)w->free_bytes);
    for (uint32_t i = 0; i < w->file.n; i++) {
        const experiment_row *row = &w->rows[i];
        cli_out("%s\n    {", i > 0 ? "," : "");
        cli_json_field("name", w->file.experiments[i].name, false);
        cli_json_field("model", row->plan.shape->name, false);
        cli_out("\"batch\": %u, \"arms\": [", row->plan.batch);
        for (uint32_t a = 0; a < row->plan.n_arms; a++) {
            cli_out("%s", a > 0 ? ", " : "");
            cli_json_string(eco_format_at(row->plan.arms[a])->name);
        }
        cli_out("], \"shortest_s\": %.9g, \"longest_s\": %.9g, \"largest_arm_bytes\": %llu, "
                "\"all_bytes\": %llu, ",
                row->shortest_s, row->longest_s, (unsigned long long)row->largest_bytes,
                (unsigned long long)row->all_bytes);
        cli_json_field("in_memory", fit_word(w, row), false);
        cli_json_field("refusal", row->refusal.message, false);
        cli_out("\"too_long\": %s}", row->too_long ? "true" : "false");
    }
    cli_out("\n  ]\n}\n");
}

/* An experiment that is too long would be split by a short sitting: refused with its numbers. */
static bool short_enough(const whole_plan *w) {
    bool fine = true;
    for (uint32_t i = 0; i < w->file.n; i++) {
        const experiment_row *row = &w->rows[i];
        if (row->too_long && !w->input->force) {
            cli_err("ecocompute: %s:%u: %s may take %.0f s, more than the %.0f s of an experiment "
                    "that is never split; fewer blocks (%u), arms (%u) or a shorter window (%g s) "
                    "help, or --force\n",
                    w->input->plan_file, w->file.experiments[i].line, w->file.experiments[i].name,
                    row->longest_s, EXPERIMENT_MAX_S, row->plan.n_blocks, row->plan.n_arms,
                    row->plan.window_s);
            fine = false;
        }
    }
    return fine;
}

static eco_experiment_state state_of(int status) {
    switch (status) {
    case EXIT_DONE:
        return ECO_EXPERIMENT_DONE;
    case EXIT_UNMEASURED:
        return ECO_EXPERIMENT_UNMEASURED;
    case 128 + 2:
    case 128 + 15:
        return ECO_EXPERIMENT_INTERRUPTED;
    default:
        return ECO_EXPERIMENT_FAILED;
    }
}

/* Its folder, its measurement. */
static int run_in_folder(const whole_plan *w, uint32_t i, const char *folder, eco_error *error) {
    experiment_row *row = &w->rows[i];
    char list[256];
    measure_input input = input_of(w->input, &w->file.experiments[i], list, sizeof list);
    eco_output output;
    if (row->too_large) {
        (void)eco_error_set(error, ECO_E_DEVICE_MEMORY, 0,
                            "%s: the largest arm wants %.3f GB, %.3f GB are free",
                            w->file.experiments[i].name, (double)row->largest_bytes * 1e-9,
                            (double)w->free_bytes * 1e-9);
        return cli_fail(error);
    }
    if (eco_output_choose(folder, false, &output, error) != ECO_OK ||
        eco_output_prepare(&output, error) != ECO_OK) {
        return cli_fail(error);
    }
    row->plan.output_dir = output.folder;
    row->plan.run_id = output.run_id;
    return measure_one(&input, w->found, &row->plan, &output, !w->input->common.json, error);
}

static int run_experiment(const whole_plan *w, eco_plan_index *index, const char *root,
                          uint32_t i) {
    char name[ECO_EXPERIMENT_NAME_MAX + 16];
    char folder[ECO_FOLDER_MAX];
    eco_error error = {0};
    if (eco_plan_index_begin(index, i, name, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    cli_err("experiment %u of %u: %s\n", i + 1, w->file.n, name);
    int status = EXIT_FAILED;
    if (snprintf(folder, sizeof folder, "%s/%s", root, name) >= (int)sizeof folder) {
        (void)eco_error_set(&error, ECO_E_RANGE, 0, "--output-dir: the path is too long");
        status = cli_fail(&error);
    } else {
        status = run_in_folder(w, i, folder, &error);
    }
    eco_error noted = {0};
    if (eco_plan_index_end(index, i, state_of(status), status,
                           error.code != ECO_OK ? error.message : NULL, &noted) != ECO_OK) {
        return cli_fail(&noted);
    }
    return status;
}

/* The program's status: a stop, else a failure, else nothing measured, else done. */
static int worse(int a, int b) {
    static const int order[] = {EXIT_DONE, EXIT_UNMEASURED, EXIT_REFUSED, EXIT_USAGE, EXIT_FAILED};
    size_t place[2] = {99, 99};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        place[0] = order[i] == a ? i : place[0];
        place[1] = order[i] == b ? i : place[1];
    }
    return place[0] > place[1] ? a : b;
}

static int run_all(const whole_plan *w, eco_plan_index *index, const char *root) {
    int status = EXIT_DONE;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < w->file.n; i++) {
        const eco_experiment_state state = eco_plan_index_state(index, i);
        if (state == ECO_EXPERIMENT_DONE || state == ECO_EXPERIMENT_UNMEASURED) {
            status = worse(status, state == ECO_EXPERIMENT_DONE ? EXIT_DONE : EXIT_UNMEASURED);
            continue;
        }
        n_left++;
        status = worse(status, run_experiment(w, index, root, i));
        if (*eco_interrupted() != 0) {
            status = 128 + *eco_interrupted();
            break;
        }
        if (cli_driver_stuck()) {
            break;
        }
    }
    if (n_left == 0) {
        cli_err("ecocompute: %s: every experiment of this plan is finished\n", root);
    }
    eco_text text = {0};
    eco_error error = {0};
    if (w->input->common.json && eco_plan_index_text(index, &text, &error) == ECO_OK) {
        cli_print(&text);
    } else if (!w->input->common.json) {
        print_table(w, index);
    }
    eco_text_free(&text);
    return status;
}

/* The folder and its index stand; then the experiments. */
static int begin(whole_plan *w) {
    eco_output output;
    eco_error error = {0};
    eco_status status = eco_output_choose(w->input->output_dir, true, &output, &error);
    if (status == ECO_OK && w->input->resume && w->input->output_dir == NULL) {
        status = eco_error_set(&error, ECO_E_USAGE, 0,
                               "--resume: with --plan the folder is named by --output-dir");
    }
    if (status == ECO_OK && !w->input->resume) {
        status = eco_output_prepare(&output, &error);
    }
    eco_plan_index *index = NULL;
    if (status == ECO_OK) {
        status = eco_plan_index_open(output.folder, &w->file, w->input->resume, &index, &error);
    }
    if (status != ECO_OK) {
        return cli_fail(&error);
    }
    for (uint32_t i = 0; i < w->file.n; i++) {
        w->rows[i].plan.session = output.run_id; /* one sitting */
    }
    const int done = run_all(w, index, output.folder);
    eco_plan_index_free(index);
    return done;
}

int measure_whole_plan(const measure_input *input, measure_machine *found, bool on_gpu,
                       const char *command) {
    static experiment_row rows[ECO_EXPERIMENTS_MAX];
    whole_plan w = {
        .input = input, .found = found, .on_gpu = on_gpu, .command = command, .rows = rows};
    eco_error error = {0};
    if (eco_plan_file_load(input->plan_file, &w.file, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    int status = EXIT_USAGE;
    if (check_rows(&w)) {
        look_at_memory(&w);
        if (input->dry_run && input->common.json) {
            print_table_json(&w);
            status = EXIT_DONE;
        } else if (input->dry_run) {
            print_table(&w, NULL);
            status = EXIT_DONE;
        } else if (short_enough(&w)) {
            status = begin(&w);
        }
    }
    eco_plan_file_free(&w.file);
    return status;
}
