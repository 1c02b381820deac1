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

static eco_workload workload_of(const eco_plan *plan, uint32_t arm) {
    return (eco_workload){.shape = plan->shape,
                          .linear = plan->arms[arm],
                          .head = plan->head,
                          .batch = plan->batch,
                          .n_prompt = plan->n_prompt,
                          .n_tokens = plan->n_tokens,
                          .seed = plan->seed,
                          .outlier_permille = plan->outlier_permille};
}

/* The engine takes each arm, and none alone wants more memory than is free. */
static eco_status check_arms(const eco_plan *plan, const eco_engine *engine,
                             const eco_engine_info *info, uint64_t bytes[ECO_ARMS_MAX],
                             eco_error *err) {
    const uint64_t free_bytes = info->memory_free_bytes;
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        const eco_workload workload = workload_of(plan, i);
        ECO_TRY(eco_arm_check(engine, &workload, err));
        bytes[i] = eco_arm_bytes(engine, &workload);
    }
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        if (free_bytes != 0 && bytes[i] > free_bytes) {
            return eco_error_set(err, ECO_E_DEVICE_MEMORY, 0,
                                 "%s at %s, batch %u, wants %.3f GB; %.3f GB are free on %s",
                                 plan->shape->name, eco_format_at(plan->arms[i])->name, plan->batch,
                                 (double)bytes[i] * 1e-9, (double)free_bytes * 1e-9,
                                 info->device_name);
        }
    }
    return ECO_OK;
}

/* All at once, or one at a time? */
static void choose_residence(eco_session *session, const uint64_t *bytes) {
    const uint64_t free_bytes = session->engine_info.memory_free_bytes;
    uint64_t needed_bytes = 0;
    char list[ECO_ARMS_MAX * 24] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < session->plan->n_arms; i++) {
        needed_bytes += bytes[i];
        if (used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %.3f",
                                     i > 0 ? ", " : "", eco_format_at(session->plan->arms[i])->name,
                                     (double)bytes[i] * 1e-9);
        }
    }
    session->all_resident = free_bytes == 0 || needed_bytes < free_bytes - free_bytes / 8;
    if (free_bytes != 0 && needed_bytes != 0) {
        ecoi_session_say(session, "memory: %s GB wanted, %.3f GB free: loaded %s", list,
                         (double)free_bytes * 1e-9,
                         session->all_resident ? "together" : "one at a time");
    }
}

eco_status ecoi_arms_open(eco_session *session, eco_error *err) {
    const eco_plan *plan = session->plan;
    uint64_t bytes[ECO_ARMS_MAX] = {0};
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        session->arms[i].format = plan->arms[i];
        session->arms[i].workload = workload_of(plan, i);
    }
    ECO_TRY(check_arms(plan, session->engine, &session->engine_info, bytes, err));
    choose_residence(session, bytes);
    for (uint32_t i = 0; i < (session->all_resident ? plan->n_arms : 1); i++) {
        ECO_TRY(open_arm(session, i, err));
    }
    return ECO_OK;
}

eco_status eco_measure_check(const eco_plan *plan, uint64_t *bytes, uint64_t *free_bytes,
                             eco_error *err) {
    *bytes = 0;
    *free_bytes = 0;
    eco_engine *engine = NULL;
    eco_engine_info info;
    uint64_t each[ECO_ARMS_MAX] = {0};
    ECO_TRY(eco_engine_open(&plan->engine, &engine, err));
    eco_engine_describe(engine, &info);
    const eco_status status = check_arms(plan, engine, &info, each, err);
    eco_engine_close(engine);
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        *bytes = each[i] > *bytes ? each[i] : *bytes;
    }
    *free_bytes = info.memory_free_bytes;
    return status;
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
