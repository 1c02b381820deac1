/* SPDX-License-Identifier: Apache-2.0
 *
 * The published task: its command line, and the report that stands in where nothing could be measured.
 */
#ifndef ECOCOMPUTE_ENERGY_ESTIMATE_H
#define ECOCOMPUTE_ENERGY_ESTIMATE_H

#include "cli.h"

#include "ecocompute/task.h"

typedef struct energy_input {
    cli_common common;
    eco_task task;
    const char *output_dir, *api_base, *site;
    bool dry_run, prefetch, share, require_measured;
    bool quality_asked; /* a flag that only a quality probe could answer */
    char command[1024]; /* the options given, without what names a person or a machine */
} energy_input;

/* Defaults, then the parameters file, then the flags; wrong use ends the program. False: the file cannot be used, *status
 * is the program's. */
bool energy_parse(int argc, char **argv, energy_input *input, int *status);

/* One line with the published prefix: to standard output (with --json: standard error), or to standard error. */
void energy_say(const energy_input *input, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void energy_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct energy_dataset {
    const char *arch; /* as resolved: a class, a card's name, "unknown" */
    double params_b;  /* 0 = not known */
    const char *why;  /* why nothing was measured */
    bool failed;      /* ... although a GPU was there */
    const char *run_id;
} energy_dataset;

/* The report of the published curves; NULL when out of memory. The caller frees. */
eco_report *energy_dataset_report(const energy_input *input, const energy_dataset *dataset);

#endif
