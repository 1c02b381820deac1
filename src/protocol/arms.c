/* SPDX-License-Identifier: Apache-2.0
 *
 * The arms' models on the device: all at once where they fit, else one at a time.
 */
#include "protocol/session.h"

#include <stdio.h>

static eco_status open_arm(eco_session *session, uint32_t index, eco_error *err) {
    eco_session_arm *arm = &session->arms[index];
    ecoi_session_say(session, "loading %s at %s (synthetic weights)", session->plan->shape->name,
                     eco_format_at(arm->format)->name);
    ECO_TRY(eco_arm_open(session->engine, &arm->workload, &arm->arm, err));
    eco_arm_describe(arm->arm, &arm->info);
    return ECO_OK;
}

static void close_arm(eco_session_arm *arm) {
    eco_arm_close(arm->arm);
    arm->arm = NULL;
    arm->info.progress = NULL;
}

/* What the arms want and what is free, before anything is loaded. */
static eco_status check_memory(eco_session *session, const uint64_t *bytes, eco_error *err) {
    const uint64_t free_bytes = session->engine_info.memory_free_bytes;
    uint64_t needed_bytes = 0;
    char list[ECO_ARMS_MAX * 24] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        const char *name = eco_format_at(session->plan->arms[i])->name;
        if (free_bytes != 0 && bytes[i] > free_bytes) {
            return eco_error_set(err, ECO_E_DEVICE_MEMORY, 0,
                                 "%s at %s, batch %u, wants %.3f GB; %.3f GB are free on %s",
                                 session->plan->shape->name, name, session->plan->batch,
                                 (double)bytes[i] * 1e-9, (double)free_bytes * 1e-9,
                                 session->engine_info.device_name);
        }
        needed_bytes += bytes[i];
        if (used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %.3f",
                                     i > 0 ? ", " : "", name, (double)bytes[i] * 1e-9);
        }
    }
    session->all_resident = free_bytes == 0 || needed_bytes < free_bytes - free_bytes / 8;
    if (free_bytes != 0 && needed_bytes != 0) {
        ecoi_session_say(session, "memory: %s GB wanted, %.3f GB free: loaded %s", list,
                         (double)free_bytes * 1e-9,
                         session->all_resident ? "together" : "one at a time");
    }
    return ECO_OK;
}

eco_status ecoi_arms_open(eco_session *session, eco_error *err) {
    const eco_plan *plan = session->plan;
    uint64_t bytes[ECO_ARMS_MAX] = {0};
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        eco_session_arm *arm = &session->arms[i];
        arm->format = plan->arms[i];
        arm->workload = (eco_workload){.shape = plan->shape,
                                       .linear = plan->arms[i],
                                       .head = plan->head,
                                       .batch = plan->batch,
                                       .n_prompt = plan->n_prompt,
                                       .n_tokens = plan->n_tokens,
                                       .seed = plan->seed,
                                       .outlier_permille = plan->outlier_permille};
        ECO_TRY(eco_arm_check(session->engine, &arm->workload, err));
        bytes[i] = eco_arm_bytes(session->engine, &arm->workload);
    }
    ECO_TRY(check_memory(session, bytes, err));
    for (uint32_t i = 0; i < (session->all_resident ? plan->n_arms : 1); i++) {
        ECO_TRY(open_arm(session, i, err));
    }
    return ECO_OK;
}

eco_status ecoi_arm_ready(eco_session *session, uint32_t index, eco_error *err) {
    if (session->arms[index].arm != NULL) {
        return ECO_OK;
    }
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        close_arm(&session->arms[i]);
    }
    return open_arm(session, index, err);
}
