/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that choose a meter and tell it where to read; shared by the commands that measure.
 */
#ifndef ECOCOMPUTE_CLI_METER_OPTIONS_H
#define ECOCOMPUTE_CLI_METER_OPTIONS_H

#include "cli.h"

#include "ecocompute/meter.h"

typedef struct cli_meter {
    const char *name; /* one, or a list of them parted by commas; NULL = none was named */
    eco_meter_config config;
} cli_meter;

enum {
    CLI_KEY_METER = 0x1800,
    CLI_KEY_METER_EXEC,
    CLI_KEY_METER_REPLAY,
    CLI_KEY_METER_BOUNDARY,
    CLI_KEY_METER_STALE,
    CLI_KEY_METER_ROOT
};

/* Rows of an argp table, in group `group`; `meaning` says what this command does with the list of --meter. */
#define CLI_METER_OPTIONS(group, meaning)                                                     \
    {"meter", CLI_KEY_METER, "LIST", 0, meaning, group},                                      \
        {"meter-exec",                                                                        \
         CLI_KEY_METER_EXEC,                                                                  \
         "'CMD ARG'",                                                                         \
         0,                                                                                   \
         "A program that prints \"power_w 12.3\" or \"energy_j 4567.8\" lines (meter exec); " \
         "split "                                                                             \
         "at blanks, no shell",                                                               \
         group},                                                                              \
        {"meter-replay",                                                                      \
         CLI_KEY_METER_REPLAY,                                                                \
         "FILE",                                                                              \
         0,                                                                                   \
         "An old trace to play again (meter replay); the result is called replayed",          \
         group},                                                                              \
        {"meter-boundary",                                                                    \
         CLI_KEY_METER_BOUNDARY,                                                              \
         "WHAT",                                                                              \
         0,                                                                                   \
         "What exec or replay covers: gpu:GPU-…, cpu or host",                                \
         group},                                                                              \
        {"meter-stale",                                                                       \
         CLI_KEY_METER_STALE,                                                                 \
         "SECONDS",                                                                           \
         0,                                                                                   \
         "Readings of exec older than this count as absent (default: 5)",                     \
         group},                                                                              \
    {                                                                                         \
        "meter-root", CLI_KEY_METER_ROOT, "DIR", 0,                                           \
            "Look for sys/ and proc/ of meter rapl in DIR; marks the run", group              \
    }

/* Takes an option of these; false for any other key. Bad values end the program with a usage error. */
bool cli_meter_option(cli_meter *meter, int key, const char *argument);
/* After all options: the name they imply, contradictions, unknown names. */
void cli_meter_settle(cli_meter *meter);
/* True for an option of these whose value may name a person or a machine; `given` as in argv. */
bool cli_meter_private(const char *given);

#endif
