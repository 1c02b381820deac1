/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of ecocompute measure and the defaults of a plan; a plan file is laid over the same record.
 */
#ifndef ECOCOMPUTE_MEASURE_OPTIONS_H
#define ECOCOMPUTE_MEASURE_OPTIONS_H

#include "cli.h"
#include "meter_options.h"

#include "ecocompute/plan.h"

#define MEASURE_NOT_GIVEN UINT64_MAX

typedef struct measure_input {
    cli_common common;
    const char *model, *precision, *baseline, *device, *output_dir;
    const char *
        gpu_arch; /* whose data answer where nothing can be measured; "auto" = this machine's card */
    const char *plan_file; /* NULL = one experiment, from the options */
    cli_meter meter;
    double window_s, margin_pct, cooldown_max_s, steady_max_s; /* negative = not given */
    uint64_t seed, order_seed, n_prompt, n_tokens, n_blocks, batch, outliers;
    uint64_t n_iterations, n_warmup; /* MEASURE_NOT_GIVEN, like n_prompt, where they were not */
    bool published, steady;
    bool resume, quick, force, dry_run, require_measured, fixed_order, order_seed_given;
    const char *workload_option; /* the first option given that a plan file sets; NULL = none */
} measure_input;

/* Everything not given. */
measure_input measure_defaults(void);
/* Reads the command line; wrong use ends the program. */
void measure_parse(int argc, char **argv, measure_input *input);
/* The option that does not go with the others, and why; NULL when all go together. */
const char *measure_together(const measure_input *input, const char **why);
/* Fills the plan: DESIGN's paired protocol. A machine without a meter gets the quick one: only time is at stake. */
void measure_plan_of(const measure_input *input, bool on_gpu, bool metered, eco_plan *plan);

/* What this machine has, and whether it can be metered. */
typedef struct measure_machine {
    bool cuda, gpu_meter;
    char cuda_reason[ECO_ERROR_MESSAGE_MAX], meter_reason[ECO_ERROR_MESSAGE_MAX];
    eco_meter_status meter; /* for the work of this run; name "" = none fits */
    bool metered;           /* it can be read */
    bool replayed;          /* ... but gives old readings only */
    eco_boundary board;     /* the chosen one, with --dry-run only */
    eco_error
        refusal; /* with --dry-run: why the device does not take the arms; code ECO_OK: it does */
    uint64_t largest_bytes,
        free_bytes; /* then, of the largest arm and on the device; 0 = not known */
} measure_machine;

measure_machine measure_look(void);
/* Is there a meter that sees the work? */
void measure_look_for_meter(measure_machine *found, const cli_meter *meter, bool on_gpu);
/* The checks and the plan, for --dry-run. */
void measure_print_plan(bool json, const measure_machine *found, bool on_gpu, const eco_plan *plan);

/* measure_plan.c: every experiment of input->plan_file, one after the other. */
int measure_whole_plan(const measure_input *input, measure_machine *found, bool on_gpu,
                       const char *command);
/* cmd_measure.c: one experiment into a folder that stands, with its closing lines if `print`; the program's status, and
 * the reason of a failure in *error. */
int measure_one(const measure_input *input, const measure_machine *found, eco_plan *plan,
                const eco_output *output, bool print, eco_error *error);

#endif
