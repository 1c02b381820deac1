/* SPDX-License-Identifier: Apache-2.0
 *
 * What every report of this program begins with, whether anything was measured for it or not.
 */
#include "ecocompute/task.h"

#include "protocol/build_facts.h"
#include "sys/clock.h"
#include "sys/cpu.h"
#include "sys/platform.h"

void eco_report_begin(eco_report *report, uint32_t batch, const char *run_id, const char *command) {
    char now[ECO_UTC_MAX];
    char text[256];
    const bool single = batch == 1;
    ecoi_utc_iso(now);
    eco_report_set_string(report, ECO_FIELD_SCHEMA_VERSION, ECO_TOP, "ecocompute-energy/1.3");
    eco_report_set_string(report, ECO_FIELD_BENCHMARK, ECO_TOP, "ecocompute-energy-methodology");
    eco_report_set_bool(report, ECO_FIELD_FOLLOWS_CONVENTIONS, ECO_TOP, true);
    eco_report_set_bool(report, ECO_FIELD_CERTIFIED, ECO_TOP, false);
    eco_report_set_string(report, ECO_FIELD_SCENARIO, ECO_TOP, single ? "SingleStream" : "Offline");
    eco_report_set_string(report, ECO_FIELD_SCENARIO_NOTE, ECO_TOP,
                          single ? "a label for batch 1; no LoadGen issued the queries"
                                 : "a label for batches above 1; no LoadGen issued the queries");
    eco_report_set_string(report, ECO_FIELD_TIMESTAMP_UTC, ECO_TOP, now);
    eco_report_set_string(report, ECO_FIELD_RUN_ID, ECO_TOP, run_id);
    eco_report_set_integer(report, ECO_FIELD_SUT_COUNT, ECO_TOP, 1);
    ecoi_platform_name(text, sizeof text);
    eco_report_set_string(report, ECO_FIELD_SUT_HOST, ECO_TOP, text);
    ecoi_cpu_model_name(text, sizeof text);
    eco_report_set_string(report, ECO_FIELD_SUT_CPU, ECO_TOP, text);
    eco_report_set_integer(report, ECO_FIELD_SUT_CPU_THREADS, ECO_TOP, ecoi_cpu_allowed());
    eco_report_set_string(report, ECO_FIELD_SW_TOOL, ECO_TOP, "ecocompute " ECO_VERSION);
    eco_report_set_string(report, ECO_FIELD_SW_COMMIT, ECO_TOP, ECO_COMMIT);
    eco_report_set_string(report, ECO_FIELD_SW_BUILD, ECO_TOP, ECO_BUILD_TYPE ", " ECO_COMPILER);
    eco_report_set_string(report, ECO_FIELD_SW_COMMAND, ECO_TOP, command);
    eco_report_set_string(report, ECO_FIELD_PR_TOOL, ECO_TOP, "ecocompute");
    eco_report_set_string(
        report, ECO_FIELD_NOTICE, ECO_TOP,
        "Not a certified benchmark result. Product names are trademarks of their owners.");
}
