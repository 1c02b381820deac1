/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute measure: energy per token, A against B. Options and defaults are in measure_options.c; the run itself is in
 * the library.
 */
#include "dataset_answer.h"
#include "measure_options.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void say(void *user, const char *line) {
    (void)user;
    cli_err("%s\n", line);
}

static bool asks_for_cuda(const char *device) {
    return strncmp(device, "cuda", 4) == 0;
}

/* One report as JSON, several as an array of them. */
static int print_reports_json(const eco_measure_result *result) {
    for (uint32_t i = 0; i < result->n_reports; i++) {
        eco_text text = {0};
        eco_error error = {0};
        if (eco_report_write(result->reports[i], &text, &error) != ECO_OK) {
            return cli_fail(&error);
        }
        cli_out("%s", result->n_reports > 1 ? i == 0 ? "[\n" : ",\n" : "");
        cli_print(&text);
        eco_text_free(&text);
    }
    cli_out("%s", result->n_reports > 1 ? "]\n" : "");
    return EXIT_DONE;
}

static void print_files(const char *folder, const eco_measure_result *result) {
    cli_out("files:");
    for (uint32_t i = 0; i < result->n_reports; i++) {
        cli_out(" %s/%s", folder, result->files[i]);
    }
    for (uint32_t i = 0; i < ECO_ARMS_MAX; i++) {
        if (result->traces[i][0] != '\0') {
            cli_out(" %s/%s", folder, result->traces[i]);
        }
    }
    cli_out("\n");
}

static void print_unmetered(const measure_machine *found) {
    cli_out(
        "nothing could be metered here: CUDA %s%s; NVML %s%s",
        found->cuda ? "usable" : "not usable: ", found->cuda ? "" : found->cuda_reason,
        found->gpu_meter ? "usable" : "not usable: ", found->gpu_meter ? "" : found->meter_reason);
    if (!found->metered && strcmp(found->meter.name, "nvml") != 0 && found->meter.name[0] != '\0') {
        cli_out("; meter %s not usable: %s", found->meter.name, found->meter.reason);
    }
    cli_out("\n");
}

/* One line of the answer; with --json standard output is the report, which holds none of it. */
static void say_dataset(const measure_input *input, const char *line) {
    if (input->common.json) {
        cli_err("answer of the published dataset: %s\n", line);
    } else {
        cli_out("answer of the published dataset: %s\n", line);
    }
}

/* What the dataset says, where no energy could be read, of the model and the formats that were to be measured. */
static void print_dataset(const measure_input *input, const eco_plan *plan) {
    const eco_meter_info card = dataset_card();
    const char *arch = dataset_arch(input->gpu_arch, &card);
    if (strcmp(arch, "unknown") == 0) {
        say_dataset(input, "unavailable: no card is known here; --gpu-arch names one (`ecocompute "
                           "architectures` lists the classes)");
        return;
    }
    if (plan->arms[0] != ECO_FORMAT_FP16) {
        say_dataset(input, "unavailable: its changes are against FP16");
        return;
    }
    for (uint32_t i = plan->n_arms > 1 ? 1 : 0; i < plan->n_arms; i++) {
        const dataset_question question = {.arch = arch,
                                           .precision = eco_format_at(plan->arms[i])->name,
                                           .params_b = plan->shape->params_b,
                                           .batch = plan->batch};
        const dataset_answer a = dataset_ask(&question);
        char line[1024];
        if (a.basis == ECO_BASIS_UNAVAILABLE) {
            snprintf(line, sizeof line, "unavailable: %s", a.note);
        } else {
            snprintf(line, sizeof line,
                     "%s, not measured: %s %s %g B on %s: %.2f mJ/token, FP16 %.2f, change %+.1f "
                     "%% (%s)",
                     eco_basis_name(a.basis), plan->shape->name, question.precision,
                     question.params_b, dataset_curve_class(arch), a.mj, a.fp16_mj, a.delta_pct,
                     a.note);
        }
        say_dataset(input, line);
    }
}

static int finish(const measure_input *input, const measure_machine *found, const eco_plan *plan,
                  const eco_output *output, const eco_measure_result *result) {
    const bool replayed = cli_report_replayed(result->reports[0]);
    const bool absent = !replayed && !result->energy_measured && !result->partial;
    if (input->common.json) {
        const int failed = print_reports_json(result);
        if (failed != EXIT_DONE) {
            return failed;
        }
        if (absent) {
            print_dataset(input, plan);
        }
    } else {
        for (uint32_t i = 0; i < result->n_reports; i++) {
            eco_text text = {0};
            eco_report_summarise(result->reports[i], &text);
            cli_print_summary(&text, input->common.color);
            eco_text_free(&text);
        }
        if (replayed && !result->partial) {
            cli_out("energy was replayed from a trace; nothing was measured but time\n");
        } else if (absent) {
            print_unmetered(found);
            print_dataset(input, plan);
        }
        print_files(output->folder, result);
    }
    return result->energy_measured ? EXIT_DONE : EXIT_UNMEASURED;
}

static bool is_path(const char *given) {
    const size_t length = strcspn(given, "=");
    return (length >= strlen("--ou") && strncmp(given, "--output-dir", length) == 0) ||
           (length >= strlen("--pl") && strncmp(given, "--plan", length) == 0);
}

/* "GPU-…" or "MIG-…" (of both the first) in either case, as --device takes them; NULL for none. */
static const char *card_uuid(const char *given) {
    for (; *given != '\0'; given++) {
        if (strncasecmp(given, "GPU-", 4) == 0 || strncasecmp(given, "MIG-", 4) == 0) {
            return given;
        }
    }
    return NULL;
}

/* The options as given, but for what may name a person or a machine: the values of --output-dir and --plan (also
 * abbreviated), what meters are told, and a card's UUID. */
static void command_line(int argc, char **argv, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "ecocompute measure");
    for (int i = 1; i < argc && used < size; i++) {
        const char *uuid = card_uuid(argv[i]);
        if (is_path(argv[i]) || cli_meter_private(argv[i])) {
            used += (size_t)snprintf(out + used, size - used, " %.*s=…", (int)strcspn(argv[i], "="),
                                     argv[i]);
            i += strchr(argv[i], '=') == NULL ? 1 : 0;
        } else if (uuid != NULL) {
            used += (size_t)snprintf(out + used, size - used, " %.*s…", (int)(uuid - argv[i]) + 4,
                                     argv[i]);
        } else {
            used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
        }
    }
}

/* On a terminal a busy card is a question; elsewhere it is the end. */
static bool asked_to_go_on(const eco_error *busy) {
    if (!eco_is_tty(0) || !eco_is_tty(2)) {
        return false;
    }
    cli_err("%s\nMeasure anyway? The report will be flagged. [y/N] ", busy->message);
    const int answer = getchar();
    return answer == 'y' || answer == 'Y';
}

/* The folder and, with --resume, what its journal says of the order. False: *status is the program's. */
static bool choose_folder(const measure_input *input, eco_plan *plan, eco_output *output,
                          int *status) {
    eco_error error = {0};
    const eco_status chosen =
        input->resume ? eco_output_resume(input->output_dir, output, &error)
                      : eco_output_choose(input->output_dir, input->force, output, &error);
    plan->output_dir = output->folder;
    plan->run_id = output->run_id;
    plan->resume = input->resume;
    if (chosen != ECO_OK || eco_plan_check(plan, &error) != ECO_OK) {
        *status = cli_fail(&error);
        return false;
    }
    if (!input->resume) {
        return true;
    }
    eco_resume resume;
    if (eco_resume_look(plan, input->order_seed_given, &resume, &error) != ECO_OK) {
        *status = cli_fail(&error);
        return false;
    }
    if (resume.finished) {
        cli_err("ecocompute: %s: this run is finished (%u of %u blocks)\n", output->folder,
                resume.blocks_finished, plan->n_blocks);
        *status = EXIT_DONE;
        return false;
    }
    if (resume.note[0] != '\0') {
        cli_err("ecocompute: %s: %s\n", output->folder, resume.note);
    }
    plan->order_seed = resume.order_seed;
    if (resume.run_id[0] != '\0') {
        snprintf(output->run_id, sizeof output->run_id, "%s", resume.run_id);
    }
    return true;
}

int measure_one(const measure_input *input, const measure_machine *found, eco_plan *plan,
                const eco_output *output, bool print, eco_error *error) {
    const eco_measure_hooks hooks = {.progress = input->common.quiet ? NULL : say};
    eco_measure_result result;
    eco_status measured = eco_measure(plan, &hooks, &result, error);
    if (measured == ECO_E_BUSY && asked_to_go_on(error)) {
        plan->force = true;
        measured = eco_measure(plan, &hooks, &result, error);
    }
    if (measured != ECO_OK) {
        return cli_fail(error);
    }
    eco_error link = {0};
    if (eco_output_latest(output, &link) != ECO_OK) {
        cli_err("ecocompute: %s\n", link.message);
    }
    int status = print                    ? finish(input, found, plan, output, &result)
                 : result.energy_measured ? EXIT_DONE
                                          : EXIT_UNMEASURED;
    if (result.partial) {
        *error = result.fault;
        status = cli_fail(error);
    }
    eco_measure_result_free(&result);
    return status;
}

/* Without a meter --require-measured stops here. */
static bool may_measure(const measure_input *input, const measure_machine *found, bool on_gpu) {
    if (!input->require_measured || (found->metered && !found->replayed)) {
        return true;
    }
    cli_err("ecocompute: no energy can be read: %s%s%s\n",
            on_gpu || found->cuda ? "" : found->cuda_reason, on_gpu || found->cuda ? "" : "; ",
            found->replayed ? "a replay is no measurement" : found->meter.reason);
    return false;
}

/* Everything that the run itself would look at before it loads a model. */
static int dry_run(const measure_input *input, measure_machine *found, bool on_gpu,
                   const eco_plan *plan, const eco_output *output) {
    eco_error error = {0};
    if (eco_output_check(output, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    const eco_status fits =
        eco_measure_check(plan, &found->largest_bytes, &found->free_bytes, &found->refusal);
    measure_print_plan(input->common.json, found, on_gpu, plan);
    return fits == ECO_OK ? EXIT_DONE : cli_fail(&found->refusal);
}

static int run(const measure_input *input, measure_machine *found, eco_plan *plan,
               eco_output *output) {
    eco_error error = {0};
    int done = EXIT_DONE;
    if (!choose_folder(input, plan, output, &done)) {
        return done;
    }
    const bool on_gpu = strcmp(plan->engine.device, "cpu") != 0;
    if (input->dry_run) {
        return dry_run(input, found, on_gpu, plan, output);
    }
    if (!may_measure(input, found, on_gpu)) {
        return EXIT_UNMEASURED;
    }
    if (!input->resume && eco_output_prepare(output, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    const int status = measure_one(input, found, plan, output, true, &error);
    if (!input->resume) {
        eco_output_abandon(output); /* only what is empty: nothing was measured */
    }
    return status;
}

int cmd_measure(int argc, char **argv) {
    measure_input input = measure_defaults();
    char command[1024];
    command_line(argc, argv, command, sizeof command);
    measure_parse(argc, argv, &input);
    cli_check_device(input.device);
    cli_meter_settle(&input.meter);
    measure_machine found = measure_look();
    if (asks_for_cuda(input.device) && !found.cuda) {
        cli_err("ecocompute: --device %s: %s\n", input.device, found.cuda_reason);
        return EXIT_UNMEASURED;
    }
    const bool on_gpu =
        asks_for_cuda(input.device) || (strcmp(input.device, "auto") == 0 && found.cuda);
    if (strcmp(input.device, "auto") == 0) {
        input.device = on_gpu ? "cuda" : "cpu";
    }
    eco_error error = {0};
    if (input.dry_run && on_gpu && eco_device_find(input.device, &found.board, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    measure_look_for_meter(&found, &input.meter, on_gpu);
    if (input.plan_file != NULL) {
        return input.dry_run || may_measure(&input, &found, on_gpu)
                   ? measure_whole_plan(&input, &found, on_gpu, command)
                   : EXIT_UNMEASURED;
    }
    eco_plan plan;
    measure_plan_of(&input, on_gpu, found.metered, &plan);
    plan.command = command;
    eco_output output;
    return run(&input, &found, &plan, &output);
}
