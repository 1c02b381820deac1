/* SPDX-License-Identifier: Apache-2.0
 *
 * Every row of warnings.def: from a session without fault, one thing is made wrong at a time, and the report must carry
 * exactly that warning. A row without a case here fails.
 */
#include "core/alloc.h"
#include "core/str.h"
#include "protocol/build_facts.h"
#include "protocol/summary_arm.h"
#include "test_helpers.h"

#include <stdio.h>
#include <string.h>

enum { N_BLOCKS = 5 };
static const double READ_J_PER_BYTE = 1e-10; /* of the probe */

typedef struct fixture {
    eco_plan plan;
    eco_session session;
} fixture;

/* A handle for "there is a meter" and never more than that: nothing here looks into it. */
static eco_meter *some_meter(fixture *f) {
    return (eco_meter *)(void *)f;
}

static eco_window good_window(uint32_t arm, int32_t block) {
    const double mj = arm == 0 ? 1980.0 : 1144.5;
    return (eco_window){
        .block = block,
        .order = arm + 1,
        .phase = ECO_PHASE_DECODE,
        .cooled = true,
        .steady = true,
        .stats = {.longest_gap_ns = 60000000,
                  .sm_clock_min_mhz = eco_reading_of(1950.0),
                  .sm_clock_max_mhz = eco_reading_of(1980.0)},
        .figures = {.seconds = 5.0,
                    .tokens = 1250.0,
                    .energy_j = mj * 1.25,
                    .mj_per_token = mj,
                    .has_counter = true,
                    .has_integral = true,
                    .counter_to_integral = 1.01,
                    .temp_start_c = eco_reading_of(50.0)},
    };
}

/* A run on a whole, quiet card: five blocks of two arms, nothing to warn of. */
static fixture *good_run(void) {
    fixture *f = ecoi_calloc(1, sizeof *f);
    assert_non_null(f);
    f->plan = (eco_plan){.shape = eco_model_find("TinyLlama-1.1B"),
                         .n_arms = 2,
                         .n_prompt = 128,
                         .n_tokens = 256,
                         .n_blocks = N_BLOCKS,
                         .arms = {ECO_FORMAT_FP16, ECO_FORMAT_NF4}};
    eco_session *s = &f->session;
    s->plan = &f->plan;
    s->meter = some_meter(f);
    s->meter_info = (eco_meter_info){.name = "nvml",
                                     .source = ECO_SOURCE_SENSOR,
                                     .power_field = "power",
                                     .energy_field = "energy",
                                     .device = {.library_known = true,
                                                .library_path = "libnvidia-ml.so.1",
                                                .persistence_enabled = eco_reading_of(1.0),
                                                .mig_enabled = eco_reading_of(0.0)}};
    s->engine_info.library_known = true;
    s->sensor.counter_period_s = eco_reading_of(0.1);
    s->ceilings.read_j_per_byte = READ_J_PER_BYTE;
    s->idle_settled = true;
    s->device = 0;
    s->n_devices = 1;
    s->devices[0].tenants_known = true;
    s->tenants_known = true;
    s->blocks_finished = N_BLOCKS;
    for (uint32_t i = 0; i < f->plan.n_arms; i++) {
        eco_session_arm *arm = &s->arms[i];
        arm->format = f->plan.arms[i];
        arm->workload.head = ECO_FORMAT_FP16;
        for (int32_t block = 1; block <= N_BLOCKS; block++) {
            arm->windows[arm->n_windows++] = good_window(i, block);
        }
    }
    return f;
}

/* ---- what can be wrong ---- */

static eco_window *third(fixture *f) {
    return &f->session.arms[1].windows[2];
}
static void disagree(fixture *f) {
    third(f)->figures.counter_to_integral = 1.051;
}
static void no_counter(fixture *f) {
    f->session.meter_info.energy_field = NULL;
}
static void tenant_before(fixture *f) {
    f->session.devices[0].n_tenants = 1;
}
static void tenant_later(fixture *f) {
    f->session.tenants_most = 1;
}
static void hot(fixture *f) {
    third(f)->stats.throttle_seen = ECO_THROTTLE_THERMAL | ECO_THROTTLE_USER_CLOCKS;
}
static void braked(fixture *f) {
    third(f)->stats.throttle_seen = ECO_THROTTLE_POWER_BRAKE;
}
static void capped(fixture *f) {
    third(f)->stats.throttle_seen = ECO_THROTTLE_POWER_CAP;
}
static void clocks(fixture *f) {
    third(f)->stats.sm_clock_min_mhz = eco_reading_of(1880.0);
}
static void gap(fixture *f) {
    third(f)->stats.longest_gap_ns = 251000000;
}
static void slipped(fixture *f) {
    third(f)->stats.counter_stepped_back = true;
}
static void reset(fixture *f) {
    f->session.fault.code = ECO_E_INVALID;
}
static void frozen(fixture *f) {
    f->session.fault.code = ECO_E_TIMEOUT;
}
static void no_counter_but_power(fixture *f, double rise_s) {
    f->session.meter_info.energy_field = NULL;
    f->session.sensor.seconds = 3.0;
    f->session.sensor.power_rise_s =
        rise_s > 0.0 ? eco_reading_of(rise_s) : eco_reading_absent(ECO_ABSENT_FAILED);
    f->session.sensor.power_period_s = eco_reading_of(0.1);
}
static void never_rose(fixture *f) {
    no_counter_but_power(f, 0.0);
}
static void rose_late(fixture *f) {
    no_counter_but_power(f, 2.41); /* with its period 2.51 of 5 s */
}
static void rose_in_time(fixture *f) {
    no_counter_but_power(f, 2.39);
}
static void stuck(fixture *f) {
    f->session.fault.code = ECO_E_STUCK;
}

static void lost(fixture *f) {
    f->session.fault.code = ECO_E_DEVICE_LOST;
}
static void warm(fixture *f) {
    third(f)->cooled = false;
}
static void unsteady(fixture *f) {
    f->plan.thermal = ECO_THERMAL_STEADY;
    third(f)->steady = false;
}
static void few_tokens(fixture *f) {
    third(f)->figures.tokens = 9.0;
}
static void few_steps(fixture *f) {
    f->plan.batch = 128; /* 1250 tokens are 9.8 steps */
}
static void stopped(fixture *f) {
    f->session.partial = true;
}
static void went_on(fixture *f) {
    f->session.resumption.n = 1;
}
static void four_blocks(fixture *f) {
    f->session.blocks_finished = 4;
}
static void brief(fixture *f) {
    third(f)->figures.seconds = 1.94;
}
static void few_ticks(fixture *f) {
    f->session.sensor.counter_period_s = eco_reading_of(0.26);
}
static void refused(fixture *f) {
    f->session.totals.n_read_errors = 1;
}
static void no_power(fixture *f) {
    f->session.meter_info.power_field = NULL;
}
static void unloads(fixture *f) {
    f->session.meter_info.device.persistence_enabled = eco_reading_of(0.0);
}
static void sliced(fixture *f) {
    f->session.meter_info.device.mig_enabled = eco_reading_of(1.0);
}
static void stand_in_meter(fixture *f) {
    f->session.meter_info.device.library_known = false;
}
static void stand_in_engine(fixture *f) {
    f->session.engine_info.library_known = false;
    (void)ecoi_str_copy(f->session.engine_info.library_path,
                        sizeof f->session.engine_info.library_path, "here/libcuda.so.1");
}
static void other_root(fixture *f) {
    (void)ecoi_str_copy(f->session.meter_info.overridden, sizeof f->session.meter_info.overridden,
                        "root");
}
static void program(fixture *f) {
    f->session.meter_info.source = ECO_SOURCE_EXEC;
}
static void replay(fixture *f) {
    f->session.meter_info.source = ECO_SOURCE_REPLAY;
}
static void elsewhere(fixture *f) {
    f->session.meter = NULL;
    f->session.no_meter_code = ECO_E_BOUNDARY_MISMATCH;
}
static void too_little(fixture *f) {
    f->session.ceilings.read_j_per_byte = 20.0 * READ_J_PER_BYTE;
}
static void restless(fixture *f) {
    f->session.idle_settled = false;
}

static const struct {
    const char *code;
    void (*spoil)(fixture *);
} cases[] = {
    {"counter_integral_disagree", disagree},
    {"no_energy_counter", no_counter},
    {"no_energy_counter", rose_in_time},
    {"power_stale", never_rose},
    {"power_stale", rose_late},
    {"contended", tenant_before},
    {"contended", tenant_later},
    {"throttled", hot},
    {"throttled", braked},
    {"power_capped", capped},
    {"clocks_moved", clocks},
    {"sample_gap", gap},
    {"counter_reset", slipped},
    {"counter_reset", reset},
    {"counter_frozen", frozen},
    {"cooldown_cap", warm},
    {"steady_not_reached", unsteady},
    {"tokens_short", few_tokens},
    {"tokens_short", few_steps},
    {"device_lost", lost},
    {"driver_stuck", stuck},
    {"partial", stopped},
    {"resumed", went_on},
    {"few_blocks", four_blocks},
    {"short_window", brief},
    {"short_window", few_ticks},
    {"read_errors", refused},
    {"no_cross_check", no_power},
    {"persistence_off", unloads},
    {"mig_shared", sliced},
    {"driver_library_path", stand_in_meter},
    {"driver_library_path", stand_in_engine},
    {"source_overridden", other_root},
    {"external_meter", program},
    {"boundary_mismatch", elsewhere},
    {"replayed", replay},
    {"below_physical_floor", too_little},
    {"idle_unsettled", restless},
};

/* What every report of this build carries: its weights are made up, and a build with checks says so. */
static bool always(eco_warning warning) {
    return warning == ECO_WARNING_SYNTHETIC_WEIGHTS ||
           (ECO_CHECKED_BUILD && warning == ECO_WARNING_DEBUG_BUILD);
}

/* `code` NULL: nothing else. Both sides of a difference are printed. */
static void assert_only(const fixture *f, const char *code) {
    eco_report *report = eco_report_new();
    assert_non_null(report);
    ecoi_report_warnings(&f->session, 1, report);
    for (eco_warning w = 0; w < ECO_WARNING_COUNT; w++) {
        const char *own = eco_warning_at(w)->code;
        const bool with_it = w == ECO_WARNING_NO_COUNTER && code != NULL &&
                             strcmp(code, "power_stale") == 0; /* one is not without the other */
        const bool wanted = always(w) || with_it || (code != NULL && strcmp(own, code) == 0);
        if (eco_report_has_warning(report, w) != wanted) {
            print_error("case %s: %s is %s\n", code != NULL ? code : "(good run)", own,
                        wanted ? "missing" : "there without cause");
            fail();
        }
    }
    eco_report_free(report);
}

static void test_good_run_has_none(void **state) {
    (void)state;
    fixture *f = good_run();
    assert_only(f, NULL);
    ecoi_free(f);
}

static void test_each_raises_its_own(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture *f = good_run();
        cases[i].spoil(f);
        assert_only(f, cases[i].code);
        ecoi_free(f);
    }
}

/* The detail names the worst window, not the first. */
static void test_worst_is_told(void **state) {
    (void)state;
    fixture *f = good_run();
    gap(f);
    f->session.arms[1].windows[3].stats.longest_gap_ns = 3480000000;
    disagree(f);
    f->session.arms[0].windows[4].figures.counter_to_integral = 0.559;
    eco_report *report = eco_report_new();
    assert_non_null(report);
    ecoi_report_warnings(&f->session, 1, report);
    uint32_t n_seen = 0;
    for (uint32_t i = 0; i < eco_report_array_size(report, ECO_FIELD_WA_CODE, ECO_TOP); i++) {
        const char *code = NULL;
        const char *detail = NULL;
        assert_true(eco_report_string(report, ECO_FIELD_WA_CODE, ECO_AT1(i), &code));
        (void)eco_report_string(report, ECO_FIELD_WA_DETAIL, ECO_AT1(i), &detail);
        if (strcmp(code, "counter_integral_disagree") == 0) {
            assert_string_equal(detail, "FP16 decode block 5: ratio 0.559");
            n_seen++;
        } else if (strcmp(code, "sample_gap") == 0) {
            assert_string_equal(detail, "NF4 block 4: 3.48 s");
            n_seen++;
        }
    }
    assert_int_equal(n_seen, 2);
    eco_report_free(report);
    ecoi_free(f);
}

static void test_every_row_has_a_case(void **state) {
    (void)state;
    for (eco_warning w = 0; w < ECO_WARNING_COUNT; w++) {
        bool found = w == ECO_WARNING_SYNTHETIC_WEIGHTS || w == ECO_WARNING_DEBUG_BUILD;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            found = found || strcmp(cases[i].code, eco_warning_at(w)->code) == 0;
        }
        if (!found) {
            print_error("no case raises %s\n", eco_warning_at(w)->code);
            fail();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_run_has_none),
        cmocka_unit_test(test_each_raises_its_own),
        cmocka_unit_test(test_worst_is_told),
        cmocka_unit_test(test_every_row_has_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
