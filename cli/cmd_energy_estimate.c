/* SPDX-License-Identifier: Apache-2.0
 *
 * ecocompute energy_estimate: the published task. It measures by the published protocol where a GPU and its meter are
 * there; everywhere else, and where that fails, the published dataset answers and the report says so. A run that writes a
 * report ends with 0, as published; --require_measured makes the dataset's a 3.
 */
#include "dataset_answer.h"
#include "energy_estimate.h"
#include "measure_options.h"

#include "ecocompute/prefetch.h"
#include "ecocompute/share.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "[ecocompute-mlcube] "
enum { LINE_MAX_BYTES = 16384, WHY_MAX_BYTES = 512, SAMPLED_HZ = 20, FINDINGS_SHOWN = 4 };

/* What is known before anything runs. */
typedef struct energy_run {
    const energy_input *input;
    eco_output output;
    measure_machine found;
    eco_meter_info card;          /* name "" = none was seen */
    const char *arch;             /* as resolved */
    const eco_model_shape *shape; /* NULL: the engine does not know the model */
    double params_b;              /* 0 = not known */
} energy_run;

void energy_say(const energy_input *input, const char *format, ...) {
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (input->common.json) {
        cli_err(PREFIX "%s\n", line);
    } else {
        cli_out(PREFIX "%s\n", line);
    }
}

void energy_warn(const char *format, ...) {
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    cli_err(PREFIX "%s\n", line);
}

static void progress(void *user, const char *line) {
    (void)user;
    energy_warn("%s", line);
}

/* ---- Before the run --------------------------------------------------------------------------- */

static void resolve_arch(energy_run *run) {
    const char *given = run->input->task.gpu_arch;
    const eco_device_record *card = &run->card.device;
    const bool seen = card->name[0] != '\0';
    run->arch = dataset_arch(given, &run->card);
    const char *curves = dataset_curve_class(run->arch);
    energy_say(run->input, "gpu_arch %s -> %s (%s; %s%s)", given, run->arch,
               seen ? card->name : "no NVML here",
               curves != NULL ? "published curves of " : "no published curves",
               curves != NULL ? curves : "");
}

static void resolve_size(energy_run *run) {
    const eco_task *task = &run->input->task;
    const eco_reading named = eco_model_size_in_name(task->model_name);
    run->shape = eco_model_find(task->model_name);
    run->params_b = eco_reading_present(task->params_b) ? task->params_b.value
                    : run->shape != NULL                ? run->shape->params_b
                    : eco_reading_present(named)        ? named.value
                                                        : 0.0;
    if (!(run->params_b > 0.0)) {
        energy_warn("params_b: the name '%s' does not tell the model's size; none is guessed, give "
                    "--params_b",
                    task->model_name);
    }
}

static void prefetch(const energy_run *run) {
    if (!run->input->prefetch) {
        return;
    }
    if (!(run->params_b > 0.0)) {
        energy_warn("prefetch: not asked: the model's size is not known");
        return;
    }
    const char *curves = dataset_curve_class(run->arch);
    const eco_prefetch_query query = {.base = run->input->api_base,
                                      .params_b = run->params_b,
                                      .arch = curves != NULL                      ? curves
                                              : strcmp(run->arch, "unknown") == 0 ? ""
                                                                                  : run->arch,
                                      .precision = run->input->task.precision,
                                      .batch = run->input->task.batch_size,
                                      .timeout_ms = ECO_PREFETCH_TIMEOUT_MS};
    eco_prefetch_answer answer;
    eco_error error = {0};
    if (eco_prefetch_ask(&query, &answer, &error) != ECO_OK) {
        energy_warn("prefetch: no answer: %s", error.message);
        return;
    }
    energy_say(run->input, "prefetch: the published estimator says %+.1f %% against FP16 (%s)",
               answer.delta_pct, answer.basis[0] != '\0' ? answer.basis : "no basis given");
}

/* ---- The run ---------------------------------------------------------------------------------- */

typedef enum energy_outcome { ENERGY_MEASURED = 0, ENERGY_ABSENT, ENERGY_STOPPED } energy_outcome;

static energy_outcome absent(char *why, size_t size, const char *text) {
    snprintf(why, size, "%s", text);
    return ENERGY_ABSENT;
}

/* Why nothing can be measured here; false if something can. `failed`: although there is a GPU and its meter. */
static bool cannot_measure(energy_run *run, bool *failed, char *why, size_t size) {
    static const cli_meter any = {.name = NULL};
    *failed = false;
    if (run->input->dry_run) {
        snprintf(why, size, "dry run: nothing was to be measured");
        return true;
    }
    if (!run->found.cuda) {
        snprintf(why, size, "no GPU: %s", run->found.cuda_reason);
        return true;
    }
    measure_look_for_meter(&run->found, &any, true);
    if (!run->found.metered) {
        snprintf(why, size, "no power meter for the GPU: %s", run->found.meter.reason);
        return true;
    }
    if (run->shape == NULL) {
        *failed = true;
        snprintf(why, size,
                 "engine native has no shape named '%.80s' (`ecocompute models` lists them; "
                 "engine transformers is not in this version)",
                 run->input->task.model_name);
        return true;
    }
    return false;
}

static void tell_differences(const energy_run *run) {
    const eco_task *task = &run->input->task;
    energy_say(run->input,
               "context_length %u is a label of the published reports; this run's context is the "
               "prompt and %u tokens, and the report says so",
               task->context_length, task->tokens);
    if (task->sample_rate_hz > SAMPLED_HZ) {
        energy_warn("sample_rate_hz %u: power is sampled at %d Hz, energy comes from the counter",
                    task->sample_rate_hz, SAMPLED_HZ);
    }
}

static energy_outcome measure(const energy_run *run, eco_measure_result *result, eco_error *error,
                              char *why, size_t size) {
    const eco_task *task = &run->input->task;
    measure_input given = measure_defaults();
    eco_plan plan;
    given.published = true;
    given.model = run->shape->name;
    given.precision = task->precision;
    given.device = "cuda";
    given.batch = task->batch_size;
    given.n_tokens = task->tokens;
    given.n_iterations = task->iterations;
    given.n_warmup = task->warmup;
    given.steady = task->steady;
    given.force =
        true; /* who else uses the card is flagged in the report, as published runs go on */
    measure_plan_of(&given, true, true, &plan);
    plan.published_names = task->power_trace;
    plan.command = run->input->command;
    plan.output_dir = run->output.folder;
    plan.run_id = run->output.run_id;
    tell_differences(run);
    const eco_measure_hooks hooks = {.progress = run->input->common.quiet ? NULL : progress};
    if (eco_measure(&plan, &hooks, result, error) != ECO_OK) {
        return error->code == ECO_E_INTERRUPTED ? ENERGY_STOPPED
                                                : absent(why, size, error->message);
    }
    const char *note = NULL;
    if (result->fault.code == ECO_E_INTERRUPTED) {
        *error = result->fault;
        return ENERGY_STOPPED;
    }
    if (result->energy_measured &&
        !result->partial) { /* a part of the one block is no comparison */
        return ENERGY_MEASURED;
    }
    (void)eco_report_string(result->reports[0], ECO_FIELD_RE_NOTE, ECO_TOP, &note);
    return absent(why, size,
                  result->fault.message[0] != '\0' ? result->fault.message
                  : note != NULL                   ? note
                                                   : "no energy could be read");
}

/* What the user said of the card and the model goes into a measured report where it does not contradict what ran. */
static void lay_over(const energy_run *run, eco_report *report) {
    const eco_task *task = &run->input->task;
    const char *curves = dataset_curve_class(run->arch);
    if (strcmp(task->gpu_arch, "auto") != 0) {
        eco_report_set_string(report, ECO_FIELD_SUT_GPU_ARCH, ECO_TOP,
                              curves != NULL ? curves : run->arch);
    }
    if (!eco_reading_present(task->params_b)) {
        return;
    }
    if (fabs(task->params_b.value / run->shape->params_b - 1.0) <= 0.1) {
        eco_report_set_number(report, ECO_FIELD_WL_PARAMS_B, ECO_TOP, task->params_b.value);
    } else {
        energy_warn("params_b %g is not the size of %s; the report says %g", task->params_b.value,
                    run->shape->name, run->shape->params_b);
    }
}

/* ---- After the run ---------------------------------------------------------------------------- */

/* The link, in the report and apart; *url is "" when there is nothing to share. */
static void share(const energy_run *run, eco_report *report, eco_text *url) {
    eco_share_point point;
    eco_error error = {0};
    if (!run->input->share) {
        return;
    }
    if (eco_share_point_of(report, &point, &error) != ECO_OK ||
        eco_share_url(&point, run->input->site, url, &error) != ECO_OK) {
        energy_warn("share: no link: %s", error.message);
        return;
    }
    eco_report_set_string(report, ECO_FIELD_SHARE_URL, ECO_TOP, url->data);
}

static void say_lines(const energy_input *input, const eco_text *text) {
    for (const char *line = text->data; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        energy_say(input, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void say_result(const energy_run *run, const eco_report *report, bool measured) {
    double mj = 0.0;
    double fp16_mj = 0.0;
    double pct = 0.0;
    const char *basis = "";
    eco_text text = {0};
    if (measured) {
        eco_report_summarise(report, &text);
        say_lines(run->input, &text);
        eco_text_free(&text);
        return;
    }
    (void)eco_report_string(report, ECO_FIELD_RE_BASIS, ECO_TOP, &basis);
    if (eco_report_number(report, ECO_FIELD_RE_MJ, ECO_TOP, &mj) &&
        eco_report_number(report, ECO_FIELD_RE_FP16_MJ, ECO_TOP, &fp16_mj) &&
        eco_report_number(report, ECO_FIELD_RE_DELTA, ECO_TOP, &pct)) {
        energy_say(run->input,
                   "%s %s %g B: %.2f mJ/token, FP16 %.2f, change %+.1f %% (%s; not measured)",
                   dataset_curve_class(run->arch), run->input->task.precision, run->params_b, mj,
                   fp16_mj, pct, basis);
    } else {
        energy_say(run->input, "no energy: %s", basis);
    }
}

static void say_quality(const energy_run *run, bool measured) {
    static const char none[] = "quality: no perplexity: the probe needs real weights (engine "
                               "transformers), which is not in this version";
    if (run->input->quality_asked) {
        energy_warn("%s", none);
    } else if (measured && run->input->task.quality_probe) {
        energy_say(run->input, "%s", none);
    }
}

/* Never changes the exit status, as published. */
static void self_check(const energy_run *run, const eco_report *report) {
    eco_findings findings = {0};
    eco_report_check_schema(report, &findings);
    if (findings.n == 0) {
        energy_say(run->input, "schema: valid (checked by the built-in validator)");
    } else {
        const char *line = findings.lines.data;
        energy_warn("schema: INVALID, %u findings", findings.n);
        for (uint32_t i = 0; i < FINDINGS_SHOWN && line != NULL && *line != '\0'; i++) {
            const size_t length = strcspn(line, "\n");
            energy_warn("  %.*s", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    eco_findings_free(&findings);
}

static eco_status write_share_file(const energy_run *run, eco_text *url, eco_error *error) {
    if (url->data != NULL) {
        char line[ECO_SHARE_URL_MAX];
        snprintf(line, sizeof line, "%s\n", url->data);
        const eco_text text = {.data = line, .length = strlen(line)};
        ECO_TRY(eco_output_put(&run->output, "share_url.txt", &text, error));
        energy_say(run->input, "share: %s", url->data);
        return ECO_OK;
    }
    char path[ECO_FOLDER_MAX + 16]; /* the link of an older report beside this one would mislead */
    snprintf(path, sizeof path, "%s/share_url.txt", run->output.folder);
    (void)remove(path);
    return ECO_OK;
}

static int finish(const energy_run *run, eco_report *report, bool measured) {
    eco_error error = {0};
    eco_text url = {0};
    eco_text text = {0};
    const char *source = "";
    share(run, report, &url);
    eco_status status = eco_report_write(report, &text, &error);
    if (status == ECO_OK) {
        status = eco_output_put(&run->output, "energy.json", &text, &error);
    }
    if (status == ECO_OK) {
        (void)eco_report_string(report, ECO_FIELD_SOURCE, ECO_TOP, &source);
        energy_say(run->input, "wrote %s/energy.json (source=%s)", run->output.folder, source);
        say_result(run, report, measured);
        say_quality(run, measured);
        self_check(run, report);
        status = write_share_file(run, &url, &error);
    }
    if (status == ECO_OK && run->input->common.json) {
        cli_print(&text);
    }
    eco_text_free(&text);
    eco_text_free(&url);
    if (status != ECO_OK) {
        return cli_fail(&error);
    }
    return measured || !run->input->require_measured ? EXIT_DONE : EXIT_UNMEASURED;
}

static int answer_from_dataset(const energy_run *run, const char *why, bool failed) {
    const energy_dataset dataset = {.arch = run->arch,
                                    .params_b = run->params_b,
                                    .why = why,
                                    .failed = failed,
                                    .run_id = run->output.run_id};
    energy_warn("%s; the published dataset answers", why);
    if (run->input->task.power_trace) {
        energy_warn("power_trace: nothing was measured, so there is no trace");
    }
    eco_report *report = energy_dataset_report(run->input, &dataset);
    if (report == NULL) {
        cli_err("ecocompute: energy.json: out of memory\n");
        return EXIT_FAILED;
    }
    const int status = finish(run, report, false);
    eco_report_free(report);
    return status;
}

static int run_task(energy_run *run) {
    char why[WHY_MAX_BYTES] = "";
    bool failed = false;
    if (cannot_measure(run, &failed, why, sizeof why)) {
        return answer_from_dataset(run, why, failed);
    }
    eco_measure_result result = {0};
    eco_error error = {0};
    int status = EXIT_FAILED;
    switch (measure(run, &result, &error, why, sizeof why)) {
    case ENERGY_MEASURED:
        lay_over(run, result.reports[0]);
        status = finish(run, result.reports[0], true);
        break;
    case ENERGY_ABSENT:
        status = answer_from_dataset(run, why, true);
        break;
    case ENERGY_STOPPED:
        status = cli_fail(&error);
        break;
    }
    eco_measure_result_free(&result);
    return status;
}

int cmd_energy_estimate(int argc, char **argv) {
    energy_input input;
    int status = EXIT_DONE;
    if (!energy_parse(argc, argv, &input, &status)) {
        return status;
    }
    energy_run run = {.input = &input};
    eco_error error = {0};
    if (eco_output_choose(input.output_dir, true, &run.output, &error) != ECO_OK ||
        eco_output_prepare(&run.output, &error) != ECO_OK) {
        return cli_fail(&error);
    }
    if (!input.dry_run) {
        run.found = measure_look();
    }
    run.card = dataset_card();
    resolve_arch(&run);
    resolve_size(&run);
    prefetch(&run);
    return run_task(&run);
}
