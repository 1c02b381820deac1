/* SPDX-License-Identifier: Apache-2.0
 *
 * The arms' models on the device: all at once where they fit, else one at a time.
 */
#include "protocol/session.h"

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

eco_status ecoi_arms_open(eco_session *session, eco_error *err) {
    const eco_plan *plan = session->plan;
    uint64_t needed_bytes = 0;
    for (uint32_t i = 0; i < plan->n_arms; i++) {
        eco_session_arm *arm = &session->arms[i];
        arm->format = plan->arms[i];
        arm->workload = (eco_workload){.shape = plan->shape,
                                       .linear = plan->arms[i],
                                       .head = plan->head,
                                       .batch = plan->batch,
                                       .n_prompt = plan->n_prompt,
                                       .n_tokens = plan->n_tokens,
                                       .seed = plan->seed};
        needed_bytes += eco_arm_bytes(session->engine, &arm->workload);
    }
    const uint64_t free_bytes = session->engine_info.memory_free_bytes;
    session->all_resident = free_bytes == 0 || needed_bytes < free_bytes - free_bytes / 8;
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
