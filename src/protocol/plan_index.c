/* SPDX-License-Identifier: Apache-2.0
 *
 * plan.json: which experiments of a plan are done, and every attempt at each. The file is the memory of a plan that
 * takes several sittings, so it is rewritten whole before an experiment begins and after it ended.
 */
#include "ecocompute/plan_file.h"

#include "core/alloc.h"
#include "core/json.h"
#include "core/num.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "protocol/journal.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS_MAX = 1000, INDEX_BYTES_MAX = 8 << 20 };
static const char *const SCHEMA = "ecocompute-plan/1";
static const char *const INDEX_NAME = "plan.json";

struct eco_plan_index {
    const eco_plan_file *plan;
    char path[ECO_FOLDER_MAX + 16];
    ecoi_json_doc doc;
    int64_t begun_ns; /* of the running attempt */
    int folder_fd;    /* holds the folder against another process; -1 = it cannot be locked */
};

static const char *const state_names[] = {"pending",    "running", "done",
                                          "unmeasured", "failed",  "interrupted"};
enum { N_STATES = sizeof state_names / sizeof state_names[0] };

const char *eco_experiment_state_name(eco_experiment_state state) {
    return (unsigned)state < N_STATES ? state_names[state] : "unknown";
}

static ecoi_json *member(const ecoi_json *object, const char *key) {
    return ecoi_json_member(object, key, strlen(key));
}

static bool put(eco_plan_index *index, ecoi_json *object, const char *key, ecoi_json *value) {
    return object != NULL && value != NULL && ecoi_json_set(&index->doc, object, key, NULL, value);
}

static bool put_text(eco_plan_index *index, ecoi_json *object, const char *key, const char *text) {
    return put(index, object, key, ecoi_json_new_string(&index->doc, text, strlen(text)));
}

static bool put_integer(eco_plan_index *index, ecoi_json *object, const char *key, int64_t value) {
    return put(index, object, key, ecoi_json_new_integer(&index->doc, value));
}

static eco_status write_index(const eco_plan_index *index, bool made, eco_error *err) {
    eco_text text = {0};
    eco_status status = ECO_OK;
    if (!made || !ecoi_json_write(index->doc.root, &text) || text.failed) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", index->path);
    } else {
        status = ecoi_file_write(index->path, text.data, text.length, err);
    }
    eco_text_free(&text);
    return status;
}

static ecoi_json *experiment_at(const eco_plan_index *index, uint32_t i) {
    return ecoi_json_element(member(index->doc.root, "experiments"), i);
}

static bool add_experiment(eco_plan_index *index, ecoi_json *list, const eco_experiment *e) {
    ecoi_json *object = ecoi_json_new(&index->doc, ECOI_JSON_OBJECT);
    ecoi_json *arms = ecoi_json_new(&index->doc, ECOI_JSON_ARRAY);
    ecoi_json *attempts = ecoi_json_new(&index->doc, ECOI_JSON_ARRAY);
    if (object == NULL || arms == NULL || attempts == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < e->n_precisions + 1; i++) {
        const char *name = eco_format_at(i == 0 ? e->baseline : e->precisions[i - 1])->name;
        ecoi_json *text = ecoi_json_new_string(&index->doc, name, strlen(name));
        if (text == NULL) {
            return false;
        }
        ecoi_json_append(arms, text);
    }
    ecoi_json_append(list, object);
    return put_text(index, object, "name", e->name) &&
           put_text(index, object, "model", e->shape->name) &&
           put_integer(index, object, "batch", e->batch) && put(index, object, "arms", arms) &&
           put_text(index, object, "state", state_names[ECO_EXPERIMENT_PENDING]) &&
           put(index, object, "attempts", attempts);
}

static bool make_index(eco_plan_index *index) {
    ecoi_json *root = ecoi_json_new(&index->doc, ECOI_JSON_OBJECT);
    ecoi_json *list = ecoi_json_new(&index->doc, ECOI_JSON_ARRAY);
    index->doc.root = root;
    if (root == NULL || list == NULL || !put_text(index, root, "schema", SCHEMA) ||
        !put_text(index, root, "plan", index->plan->name) ||
        !put_text(index, root, "plan_sha256", index->plan->sha256) ||
        !put_text(index, root, "tool", "ecocompute " ECO_VERSION) ||
        !put_text(index, root, "commit", ECO_COMMIT)) {
        return false;
    }
    bool made = true;
    for (uint32_t i = 0; made && i < index->plan->n; i++) {
        made = add_experiment(index, list, &index->plan->experiments[i]);
    }
    return made && put(index, root, "experiments", list);
}

static const char *text_of(const ecoi_json *value) {
    return value != NULL && value->type == ECOI_JSON_STRING ? value->text : "";
}

static bool known_state(const ecoi_json *experiment, eco_experiment_state *out) {
    const char *text = text_of(member(experiment, "state"));
    for (size_t i = 0; i < N_STATES; i++) {
        if (strcmp(text, state_names[i]) == 0) {
            *out = (eco_experiment_state)i;
            return true;
        }
    }
    return false;
}

/* An index read back is only trusted to the letter: this plan's experiments, each with a state and its attempts. */
static eco_status check_index(const eco_plan_index *index, eco_error *err) {
    const ecoi_json *root = index->doc.root;
    const ecoi_json *list = member(root, "experiments");
    if (strcmp(text_of(member(root, "schema")), SCHEMA) != 0 || list == NULL ||
        list->type != ECOI_JSON_ARRAY) {
        return eco_error_set(err, ECO_E_INVALID, 0, "%s: is not the index of a plan", index->path);
    }
    if (strcmp(text_of(member(root, "plan_sha256")), index->plan->sha256) != 0) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "--resume: %s belongs to another plan, or the plan file has changed "
                             "since; choose another --output-dir",
                             index->path);
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const ecoi_json *e = ecoi_json_element(list, i);
        const ecoi_json *attempts = member(e, "attempts");
        eco_experiment_state state;
        if (list->n != index->plan->n || !known_state(e, &state) || attempts == NULL ||
            attempts->type != ECOI_JSON_ARRAY || attempts->n > ATTEMPTS_MAX ||
            strcmp(text_of(member(e, "name")), index->plan->experiments[i].name) != 0) {
            return eco_error_set(err, ECO_E_INVALID, 0, "%s: experiment %u is not this plan's",
                                 index->path, i + 1);
        }
    }
    return ECO_OK;
}

static eco_status read_index(eco_plan_index *index, eco_error *err) {
    const eco_file_limits limits = {.size_max = INDEX_BYTES_MAX, .refuse_symlink = true};
    char *text = NULL;
    size_t length = 0;
    ECO_TRY(ecoi_file_read(index->path, &limits, &text, &length, err));
    const eco_status status = ecoi_json_read(text, length, index->path, &index->doc, err);
    ecoi_free(text);
    return status != ECO_OK ? status : check_index(index, err);
}

/* ---- what an attempt's own journal knows better ---- */

typedef struct journal_end {
    bool metered, finished;
} journal_end;

static eco_status note_end(void *user, uint32_t index, const ecoi_json *payload,
                           char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    journal_end *end = user;
    const char *record = text_of(member(payload, "record"));
    const bool plan = strcmp(record, "plan") == 0;
    (void)err;
    if (index == 0 && !plan) {
        (void)snprintf(reason, ECO_JOURNAL_REASON_MAX, "it does not begin with a plan");
        return ECO_E_INVALID;
    }
    if (plan) {
        end->metered = text_of(member(payload, "meter"))[0] != '\0';
    }
    end->finished =
        strcmp(record, "end") == 0 && strcmp(text_of(member(payload, "how")), "finished") == 0;
    return ECO_OK;
}

static void folder_name(const char *experiment, uint32_t attempt,
                        char out[ECO_EXPERIMENT_NAME_MAX + 16]) {
    if (attempt == 1) {
        snprintf(out, ECO_EXPERIMENT_NAME_MAX + 16, "%s", experiment);
    } else {
        snprintf(out, ECO_EXPERIMENT_NAME_MAX + 16, "%s.%u", experiment, attempt);
    }
}

/* The program was killed between an experiment's last record and the index: it is done, and not measured again. */
static eco_status settle(eco_plan_index *index, const char *folder, eco_error *err) {
    bool changed = false;
    bool made = true;
    for (uint32_t i = 0; i < index->plan->n; i++) {
        ecoi_json *object = experiment_at(index, i);
        const ecoi_json *attempts = member(object, "attempts");
        if (eco_plan_index_state(index, i) != ECO_EXPERIMENT_RUNNING || attempts->n == 0) {
            continue;
        }
        char name[ECO_EXPERIMENT_NAME_MAX + 16];
        char path[ECO_FOLDER_MAX + sizeof name];
        folder_name(index->plan->experiments[i].name, attempts->n, name);
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        journal_end end = {0};
        eco_journal_scan scan;
        eco_error unread;
        if (ecoi_journal_look(path, note_end, &end, &scan, &unread) != ECO_OK || !end.finished) {
            continue;
        }
        const char *state =
            state_names[end.metered ? ECO_EXPERIMENT_DONE : ECO_EXPERIMENT_UNMEASURED];
        changed = true;
        made = made &&
               put_text(index, ecoi_json_element(attempts, attempts->n - 1), "state", state) &&
               put_text(index, object, "state", state);
    }
    return changed ? write_index(index, made, err) : ECO_OK;
}

eco_status eco_plan_index_open(const char *folder, const eco_plan_file *plan, bool resume,
                               eco_plan_index **out, eco_error *err) {
    *out = NULL;
    eco_plan_index *index = ecoi_calloc(1, sizeof *index);
    if (index == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "plan: out of memory");
    }
    index->plan = plan;
    index->folder_fd = -1;
    const int length = snprintf(index->path, sizeof index->path, "%s/%s", folder, INDEX_NAME);
    eco_status status = ECO_OK;
    if (length <= 0 || (size_t)length >= sizeof index->path) {
        status = eco_error_set(err, ECO_E_USAGE, 0, "--output-dir: the path is too long");
    } else if (ecoi_lock_folder(folder, &index->folder_fd) == EAGAIN) {
        status = eco_error_set(err, ECO_E_BUSY, 0,
                               "%s: another run is at work in this folder; wait for it or choose "
                               "another --output-dir",
                               folder);
    } else if (resume) {
        status = read_index(index, err);
        if (status == ECO_OK) {
            status = settle(index, folder, err);
        }
    } else if (ecoi_file_exists(index->path)) {
        status = eco_error_set(err, ECO_E_USAGE, 0,
                               "%s: a plan was begun in this folder; go on with --resume or choose "
                               "another --output-dir",
                               index->path);
    } else {
        status = write_index(index, make_index(index), err);
    }
    if (status != ECO_OK) {
        eco_plan_index_free(index);
        return status;
    }
    *out = index;
    return ECO_OK;
}

void eco_plan_index_free(eco_plan_index *index) {
    if (index != NULL) {
        ecoi_json_fini(&index->doc);
        if (index->folder_fd >= 0) {
            (void)close(index->folder_fd);
        }
        ecoi_free(index);
    }
}

eco_experiment_state eco_plan_index_state(const eco_plan_index *index, uint32_t experiment) {
    eco_experiment_state state = ECO_EXPERIMENT_PENDING;
    (void)known_state(experiment_at(index, experiment), &state);
    return state;
}

eco_status eco_plan_index_begin(eco_plan_index *index, uint32_t experiment,
                                char folder[ECO_EXPERIMENT_NAME_MAX + 16], eco_error *err) {
    const char *name = index->plan->experiments[experiment].name;
    ecoi_json *object = experiment_at(index, experiment);
    ecoi_json *attempts = member(object, "attempts");
    if (attempts->n >= ATTEMPTS_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s: %s was tried %d times", index->path, name,
                             ATTEMPTS_MAX);
    }
    folder_name(name, attempts->n + 1, folder);
    char now[ECO_UTC_MAX];
    ecoi_utc_iso(now);
    ecoi_json *attempt = ecoi_json_new(&index->doc, ECOI_JSON_OBJECT);
    bool made = attempt != NULL && put_text(index, attempt, "folder", folder) &&
                put_text(index, attempt, "begun_utc", now) &&
                put_text(index, attempt, "state", state_names[ECO_EXPERIMENT_RUNNING]) &&
                put_text(index, object, "state", state_names[ECO_EXPERIMENT_RUNNING]);
    if (made) {
        ecoi_json_append(attempts, attempt);
    }
    index->begun_ns = ecoi_now_ns();
    return write_index(index, made, err);
}

eco_status eco_plan_index_end(eco_plan_index *index, uint32_t experiment,
                              eco_experiment_state state, int exit_status, const char *reason,
                              eco_error *err) {
    ecoi_json *object = experiment_at(index, experiment);
    ecoi_json *attempts = member(object, "attempts");
    ecoi_json *attempt = ecoi_json_element(attempts, attempts->n - 1);
    const double seconds = ecoi_num_round((double)(ecoi_now_ns() - index->begun_ns) * 1e-9, 3);
    const bool made = put_text(index, attempt, "state", eco_experiment_state_name(state)) &&
                      put_integer(index, attempt, "exit_status", exit_status) &&
                      put(index, attempt, "seconds", ecoi_json_new_number(&index->doc, seconds)) &&
                      (reason == NULL || put_text(index, attempt, "reason", reason)) &&
                      put_text(index, object, "state", eco_experiment_state_name(state));
    return write_index(index, made, err);
}

eco_status eco_plan_index_text(const eco_plan_index *index, eco_text *out, eco_error *err) {
    if (!ecoi_json_write(index->doc.root, out) || out->failed) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", index->path);
    }
    return ECO_OK;
}
