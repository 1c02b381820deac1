/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a command is given, of which it wants one at least.
 */
#ifndef ECOCOMPUTE_PATH_ARGUMENTS_H
#define ECOCOMPUTE_PATH_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_PATHS_MAX = 4096 };

typedef struct cli_paths {
    const char *at[CLI_PATHS_MAX];
    size_t n;
} cli_paths;

/* Takes the keys of arguments and of their end; false: `key` is another. Too many, or none, is wrong use: "COMMAND: WHAT is
 * expected, such as …". */
bool cli_path_argument(cli_paths *paths, int key, const char *argument, const char *command,
                       const char *what);

#endif
