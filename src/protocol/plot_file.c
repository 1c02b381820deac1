/* SPDX-License-Identifier: Apache-2.0
 *
 * A script onto the disk and gnuplot run on it: an argument array, no shell, no init file of the user's (-d). gnuplot
 * goes into the folder first, so that the script names its picture alone and can be run again anywhere.
 */
#include "ecocompute/plot.h"

#include "core/str.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLOT_PATH_MAX = 4096 };

/* cd 'FOLDER', as gnuplot reads it. */
static eco_status change_folder(const char *folder, char *out, size_t size, eco_error *err) {
    size_t used = (size_t)snprintf(out, size, "cd '");
    for (const char *c = folder; *c != '\0' && used + 4 < size; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return eco_error_set(err, ECO_E_USAGE, 0,
                                 "--output-dir: the name of the folder holds a control character");
        }
        out[used++] = *c;
        if (*c == '\'') {
            out[used++] = '\'';
        }
    }
    if (used + 4 >= size) {
        return eco_error_set(err, ECO_E_RANGE, 0, "--output-dir: the path is too long");
    }
    out[used++] = '\'';
    out[used] = '\0';
    return ECO_OK;
}

static eco_status run_gnuplot(char *const *argv, eco_error *err) {
    eco_proc_watch *watch = NULL;
    eco_proc_end end = {0};
    int64_t started_ns = 0;
    ECO_TRY(ecoi_proc_watch_open(&watch, err));
    const eco_proc_options options = {.argv = argv, .stdout_to_stderr = true};
    eco_status status = ecoi_proc_start(watch, &options, &started_ns, err);
    if (status == ECO_E_NOT_FOUND) {
        status = eco_error_set(err, ECO_E_UNSUPPORTED, ENOENT,
                               "gnuplot is not here, so no picture was made (Debian: "
                               "gnuplot-nox); scripts were written");
    }
    while (status == ECO_OK && (ecoi_proc_wait(watch, INT64_MAX, &end) & ECO_PROC_ENDED) == 0) {
    }
    const int stopped = ecoi_proc_interrupted(watch);
    ecoi_proc_watch_close(watch);
    if (status == ECO_OK && stopped != 0) {
        return eco_error_set(err, ECO_E_INTERRUPTED, 0, "interrupted");
    }
    if (status == ECO_OK && (end.exit_status != 0 || end.signal != 0)) {
        return eco_error_set(err, ECO_E_FAILED, 0, "gnuplot ended with %s %d",
                             end.signal != 0 ? "signal" : "status",
                             end.signal != 0 ? end.signal : end.exit_status);
    }
    return status;
}

eco_status eco_plot_make(const char *folder, const char *name, bool png, const eco_text *script,
                         eco_error *err) {
    char script_path[PLOT_PATH_MAX];
    char picture[PLOT_PATH_MAX];
    char enter[2 * PLOT_PATH_MAX];
    char script_name[256];
    const int a = snprintf(script_path, sizeof script_path, "%s/%s.gp", folder, name);
    const int b = snprintf(picture, sizeof picture, "%s/%s.%s", folder, name, png ? "png" : "svg");
    const int c = snprintf(script_name, sizeof script_name, "%s.gp", name);
    if (a >= (int)sizeof script_path || b >= (int)sizeof picture || c >= (int)sizeof script_name) {
        return eco_error_set(err, ECO_E_RANGE, 0, "--output-dir: the path is too long");
    }
    ECO_TRY(change_folder(folder, enter, sizeof enter, err));
    ECO_TRY(ecoi_folder_make(folder, err));
    ECO_TRY(ecoi_file_write(script_path, script->data, script->length, err));
    (void)unlink(picture); /* an old one must not pass for this one */
    char program[] = "gnuplot";
    char plain[] = "-d";
    char execute[] = "-e";
    char *const argv[] = {program, plain, execute, enter, script_name, NULL};
    const eco_status status = run_gnuplot(argv, err);
    if (status == ECO_OK && !ecoi_file_exists(picture)) {
        return eco_error_set(err, ECO_E_FAILED, 0, "gnuplot made no %s", picture);
    }
    if (status != ECO_OK) {
        (void)unlink(picture);
    }
    return status;
}
