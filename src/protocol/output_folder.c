/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a run: chosen, shown to be writable before anything is measured, linked as the latest.
 */
#include "ecocompute/plan.h"

#include "protocol/build_facts.h"
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

eco_status eco_output_choose(const char *wanted, bool force, eco_output *out, eco_error *err) {
    *out = (eco_output){.own = wanted == NULL};
    char now[ECO_UTC_MAX];
    ecoi_utc_compact(now);
    snprintf(out->run_id, sizeof out->run_id, "%.20s-%06x", now,
             (unsigned)(ecoi_random_u64() & 0xffffff));
    const int length = wanted == NULL
                           ? snprintf(out->folder, sizeof out->folder, "%s/%s", ROOT, out->run_id)
                           : snprintf(out->folder, sizeof out->folder, "%s", wanted);
    if (length <= 0 || length >= (int)sizeof out->folder) {
        return eco_error_set(err, ECO_E_USAGE, 0, "--output-dir: the path is empty or too long");
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

eco_status eco_output_prepare(const eco_output *output, eco_error *err) {
    ECO_TRY(ecoi_folder_make(output->folder, err));
    const eco_status status = ecoi_folder_prove(output->folder, SPACE_BYTES, err);
    if (status != ECO_OK) {
        eco_output_abandon(output);
    }
    return status;
}

eco_status eco_output_latest(const eco_output *output, eco_error *err) {
    if (!output->own) {
        return ECO_OK;
    }
    char link[64];
    snprintf(link, sizeof link, "%s/latest", ROOT);
    return ecoi_link_replace(link, output->run_id, err);
}

void eco_output_abandon(const eco_output *output) {
    if (output->own) {
        (void)rmdir(output->folder);
        (void)rmdir(ROOT); /* only if it is empty */
    }
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
