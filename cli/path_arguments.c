/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists of files of explain, export, plot and validate.
 */
#include "path_arguments.h"

#include "cli.h"

bool cli_path_argument(cli_paths *paths, int key, const char *argument, const char *command,
                       const char *what) {
    if (key == ARGP_KEY_ARG) {
        if (paths->n == CLI_PATHS_MAX) {
            cli_usage_error("%s: at most %d files", command, CLI_PATHS_MAX);
        }
        paths->at[paths->n++] = argument;
        return true;
    }
    if (key == ARGP_KEY_END && paths->n == 0) {
        cli_usage_error("%s: %s is expected, such as ecocompute-out/latest/energy.json", command,
                        what);
    }
    return key == ARGP_KEY_END;
}
