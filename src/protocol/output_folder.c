/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a run: chosen, shown to be writable before anything is measured, linked as the latest.
 */
#include "ecocompute/plan.h"

#include "protocol/build_facts.h"
#include "protocol/session.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/entropy.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const ROOT = "ecocompute-out";
static const char *const LATEST = "ecocompute-out/latest";
static const uint64_t SPACE_BYTES = 8u << 20; /* more than any run of the default size writes */

/* A report is energy.json or energy.<precision>.json. */
static bool holds_report(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return false;
    }
    bool found = false;
    for (const struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        const size_t length = strlen(entry->d_name);
        found = strncmp(entry->d_name, "energy.", 7) == 0 && length >= 11 &&
                strcmp(entry->d_name + length - 5, ".json") == 0;
    }
    closedir(dir);
    return found;
}

static bool holds_journal(const char *folder) {
    char path[ECO_FOLDER_MAX + 16];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, ECO_JOURNAL_NAME);
    return length > 0 && (size_t)length < sizeof path && ecoi_file_exists(path);
}

/* The name that ecocompute-out/latest points at; "" when it names no folder beside it. */
static void latest_name(char *out, size_t size) {
    const ssize_t length = readlink(LATEST, out, size - 1);
    out[length > 0 ? length : 0] = '\0';
    if (length == (ssize_t)size - 1 || strchr(out, '/') != NULL || out[0] == '.') {
        out[0] = '\0';
    }
}

static void new_run_id(char out[ECO_RUN_ID_MAX]) {
    char now[ECO_UTC_MAX];
    ecoi_utc_compact(now);
    snprintf(out, ECO_RUN_ID_MAX, "%.20s-%06x", now, (unsigned)(ecoi_random_u64() & 0xffffff));
}

eco_status eco_output_choose(const char *wanted, bool force, eco_output *out, eco_error *err) {
    *out = (eco_output){.own = wanted == NULL};
    new_run_id(out->run_id);
    const int length = wanted == NULL
                           ? snprintf(out->folder, sizeof out->folder, "%s/%s", ROOT, out->run_id)
                           : snprintf(out->folder, sizeof out->folder, "%s", wanted);
    if (length <= 0 || length >= (int)sizeof out->folder) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--output-dir: the path is empty or too long");
    }
    if (wanted != NULL && ecoi_journal_is_held(wanted)) {
        return eco_error_set(err, ECO_E_BUSY, 0,
                             "%s: another run is at work in this folder; wait for it or choose "
                             "another",
                             wanted);
    }
    if (wanted != NULL && !force && !holds_report(wanted) && holds_journal(wanted)) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "--output-dir %s: holds the journal of a run that was stopped; go on "
                             "with --resume, choose another folder, or begin anew with --force",
                             wanted);
    }
    if (wanted != NULL && !force && holds_report(wanted)) {
        return eco_error_set(
            err, ECO_E_USAGE, 0,
            "--output-dir %s: holds a report already; choose another folder or give --force",
            wanted);
    }
    return ECO_OK;
}

eco_status eco_output_check(const eco_output *output, eco_error *err) {
    char path[ECO_FOLDER_MAX];
    snprintf(path, sizeof path, "%s", output->folder);
    struct stat there;
    while (stat(path, &there) != 0) { /* up to the nearest that exists */
        if (errno != ENOENT) {
            return eco_error_set(err, ECO_E_IO, errno, "%s: %s", path, strerror(errno));
        }
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            snprintf(path, sizeof path, ".");
        } else if (slash == path) {
            path[1] = '\0';
        } else {
            *slash = '\0';
        }
    }
    if (!S_ISDIR(there.st_mode)) {
        return eco_error_set(err, ECO_E_IO, ENOTDIR, "%s: is not a folder", path);
    }
    if (access(path, W_OK | X_OK) != 0) {
        return eco_error_set(err, ECO_E_PERMISSION, errno, "%s: %s", path, strerror(errno));
    }
    return ECO_OK;
}

eco_status eco_output_prepare(eco_output *output, eco_error *err) {
    output->previous[0] = '\0';
    ECO_TRY(ecoi_folder_make(output->folder, err));
    const eco_status status = ecoi_folder_prove(output->folder, SPACE_BYTES, err);
    if (status == ECO_OK && output->own) {
        latest_name(output->previous, sizeof output->previous);
        eco_error ignored; /* a link that cannot be made is told when the run is done */
        (void)!eco_output_latest(output, &ignored);
    }
    if (status != ECO_OK) {
        eco_output_abandon(output);
    }
    return status;
}

eco_status eco_output_latest(const eco_output *output, eco_error *err) {
    if (!output->own) {
        return ECO_OK;
    }
    return ecoi_link_replace(LATEST, output->run_id, err);
}

eco_status eco_output_put(const eco_output *output, const char *name, const eco_text *text,
                          eco_error *err) {
    char path[ECO_FOLDER_MAX + 64];
    const int length = snprintf(path, sizeof path, "%s/%s", output->folder, name);
    if (length <= 0 || (size_t)length >= sizeof path) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%.150s: the path is too long", output->folder);
    }
    if (text->failed || text->data == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", name);
    }
    return ecoi_file_write(path, text->data, text->length, err);
}

void eco_output_abandon(const eco_output *output) {
    if (!output->own || (rmdir(output->folder) != 0 && errno != ENOENT)) {
        return;
    }
    char latest[ECO_RUN_ID_MAX];
    latest_name(latest, sizeof latest);
    if (strcmp(latest, output->run_id) == 0) {
        eco_error ignored;
        if (output->previous[0] == '\0' ||
            ecoi_link_replace(LATEST, output->previous, &ignored) != ECO_OK) {
            (void)unlink(LATEST);
        }
    }
    (void)rmdir(ROOT); /* only if it is empty */
}

eco_status eco_output_resume(const char *wanted, eco_output *out, eco_error *err) {
    *out = (eco_output){.own = wanted == NULL};
    new_run_id(out->run_id); /* for a run that was killed before it had written its own */
    if (wanted == NULL) {
        latest_name(out->run_id, sizeof out->run_id);
        if (out->run_id[0] == '\0') {
            return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                                 "--resume: there is no %s here; name the folder with --output-dir",
                                 LATEST);
        }
    }
    const int length = wanted == NULL
                           ? snprintf(out->folder, sizeof out->folder, "%s/%s", ROOT, out->run_id)
                           : snprintf(out->folder, sizeof out->folder, "%s", wanted);
    if (length <= 0 || length >= (int)sizeof out->folder) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--output-dir: the path is empty or too long");
    }
    if (!holds_journal(out->folder)) {
        return eco_error_set(err, ECO_E_NOT_FOUND, 0,
                             "--resume: %.150s holds no journal, so there is nothing to go on "
                             "with; run without --resume",
                             out->folder);
    }
    return ECO_OK;
}

/* "energy.json.tmp-…" and its like: what a writer makes before it gives the file its name. */
static bool is_leftover(const char *name) {
    static const char *const begins[] = {"energy.", "power_trace", "probe."};
    const char *mark = strstr(name, ".tmp-");
    for (size_t i = 0; mark != NULL && i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return false;
}

void ecoi_output_sweep(const char *folder) {
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (is_leftover(entry->d_name)) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    closedir(dir);
}

uint64_t eco_random_seed(void) {
    return ecoi_random_u64();
}

const char *eco_version(void) {
    return ECO_VERSION;
}

const char *eco_build_description(void) {
    return "commit " ECO_COMMIT ", " ECO_BUILD_TYPE " build, " ECO_COMPILER;
}
