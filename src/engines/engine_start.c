/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine from nothing to its first token, with a stamp behind each part.
 */
#include "ecocompute/engine.h"

#include "sys/clock.h"
#include "sys/process_age.h"

static double since(int64_t begun_ns, int64_t now_ns) {
    return (double)(now_ns - begun_ns) * 1e-9;
}

eco_status eco_engine_start(const eco_engine_options *options, const eco_workload *workload,
                            eco_engine_started *out, eco_error *err) {
    *out = (eco_engine_started){0};
    eco_engine *engine = NULL;
    eco_arm *arm = NULL;
    out->begun_ns = ecoi_now_ns();
    eco_status status = eco_engine_open(options, &engine, err);
    if (status != ECO_OK) {
        return status;
    }
    const int64_t opened_ns = ecoi_now_ns();
    eco_engine_describe(engine, &out->engine);
    status = eco_arm_open(engine, workload, &arm, err);
    const int64_t loaded_ns = ecoi_now_ns();
    if (status == ECO_OK) {
        eco_arm_describe(arm, &out->arm);
        out->arm.progress = NULL; /* the arm's, and it is closed */
        const eco_work first = {.kind = ECO_WORK_DECODE, .n_units_max = 1};
        eco_work_result result;
        status = eco_arm_work(arm, &first, &result, err);
    }
    out->first_token_ns = ecoi_now_ns();
    double age_s = 0.0;
    if (ecoi_process_age(&age_s)) {
        out->process_s = eco_reading_of(age_s - since(out->first_token_ns, ecoi_now_ns()));
    } else {
        out->process_s = eco_reading_absent(ECO_ABSENT_UNSUPPORTED);
    }
    out->open_s = since(out->begun_ns, opened_ns);
    out->load_s = since(opened_ns, loaded_ns);
    out->token_s = since(loaded_ns, out->first_token_ns);
    eco_arm_close(arm);
    eco_engine_close(engine);
    return status;
}
