/* SPDX-License-Identifier: Apache-2.0
 *
 * gnuplot scripts: the numbers are in them, and no text from a report can leave its quotes.
 */
#include "test_helpers.h"

#include "ecocompute/plot.h"

#include <stdlib.h>
#include <string.h>

static const eco_plot_output svg = {.picture = "x.svg"};

static eco_study *study_of(const char *csv) {
    eco_error err = {0};
    eco_study *s = eco_study_new();
    ASSERT_OK(eco_study_add_csv(s, csv, strlen(csv), "t", &err), &err);
    return s;
}

static eco_status draw(eco_plot_kind kind, const char *csv, eco_text *out) {
    eco_error err = {0};
    eco_study *s = study_of(csv);
    const eco_status status = eco_plot_study(kind, s, &svg, out, &err);
    eco_study_free(s);
    return status;
}

#define HEAD                                                                                \
    "gpu,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k,engine,batch,delta_pct," \
    "ci95_lo_pct,ci95_hi_pct,bandwidth_share_fp16,bandwidth_share_quant\n"

static void size_points(void **state) {
    (void)state;
    eco_text out = {0};
    /* Two reports of one run repeat the baseline: its point is there once. The batch of 4 is another picture. */
    assert_int_equal(draw(ECO_PLOT_SIZE,
                          HEAD "g,m,7,NF4,1000,400,native,1,-60,-61,-59,0.8,0.4\n"
                               "g,m,7,INT8,1000,600,native,1,-40,-41,-39,0.8,0.6\n"
                               "g,n,1.1,NF4,200,150,native,1,-25,-26,-24,0.5,0.2\n"
                               "g,m,7,NF4,300,200,native,4,-33,-34,-32,0.8,0.4\n",
                          &out),
                     ECO_OK);
    assert_non_null(strstr(out.data, "$p0 << EOD\n1.1 200 200 200 \n7 1000 1000 1000 \nEOD\n"));
    assert_non_null(strstr(out.data, "$p1 << EOD\n1.1 150 150 150 \n7 400 400 400 \nEOD\n"));
    assert_non_null(strstr(out.data, "$p2 << EOD\n7 600 600 600 \nEOD\n"));
    assert_null(strstr(out.data, " 300 "));
    assert_non_null(strstr(out.data, "set logscale y\n"));
    eco_text_free(&out);
}

static void batch_points(void **state) {
    (void)state;
    eco_text out = {0};
    assert_int_equal(draw(ECO_PLOT_BATCH,
                          HEAD "g,m,7,NF4,1000,400,native,1,-60,-61,-59,,\n"
                               "g,m,7,NF4,300,200,native,4,-33,-34,-32,,\n",
                          &out),
                     ECO_OK);
    assert_non_null(strstr(out.data, "$p0 << EOD\n1 1000 1000 1000 \n4 300 300 300 \nEOD\n"));
    assert_non_null(strstr(out.data, "title 'm FP16'"));
    eco_text_free(&out);
}

static void change_with_interval(void **state) {
    (void)state;
    eco_text out = {0};
    /* A row without a stated change has one from its energies: 150 / 200 - 1. */
    assert_int_equal(draw(ECO_PLOT_CROSSOVER,
                          HEAD "g,m,7,NF4,1000,400,native,1,-60,-61,-59,,\n"
                               "g,n,1.1,NF4,200,150,native,1,,,,,\n",
                          &out),
                     ECO_OK);
    assert_non_null(strstr(out.data, "$p0 << EOD\n1.1 -25 -25 -25 \n7 -60 -61 -59 \nEOD\n"));
    eco_text_free(&out);
}

/* Two runs of one arm make one bar: their mean, with whiskers at both. */
static void bars(void **state) {
    (void)state;
    eco_text out = {0};
    assert_int_equal(draw(ECO_PLOT_ROOFLINE,
                          HEAD "g,m,7,NF4,1000,400,native,1,-60,-61,-59,0.75,0.25\n"
                               "g,m,7,NF4,1000,400,native,1,-60,-61,-59,0.25,0.25\n",
                          &out),
                     ECO_OK);
    assert_non_null(strstr(out.data, "$p0 << EOD\n0 50 25 75 \nEOD\n"));
    assert_non_null(strstr(out.data, "$p1 << EOD\n1 25 25 25 \nEOD\n"));
    assert_non_null(strstr(out.data, "'m FP16, batch 1' 0, 'm NF4, batch 1' 1"));
    eco_text_free(&out);
}

static void nothing_to_draw(void **state) {
    (void)state;
    static const char bare[] = "gpu,model,precision\ng,m,NF4\n";
    for (int kind = ECO_PLOT_SIZE; kind < ECO_PLOT_COUNT; kind++) {
        eco_text out = {0};
        assert_int_equal(draw((eco_plot_kind)kind, bare, &out), ECO_E_INVALID);
        eco_text_free(&out);
    }
}

/* What stands outside single quotes in a script. */
static void outside_quotes(const char *script, char *out) {
    bool inside = false;
    for (; *script != '\0'; script++) {
        if (*script == '\'') {
            inside = !inside; /* two in a row leave and enter again: nothing between them */
        } else if (!inside) {
            *out++ = *script;
        }
    }
    *out = '\0';
    assert_false(inside);
}

static void text_stays_in_its_quotes(void **state) {
    (void)state;
    eco_text out = {0};
    assert_int_equal(
        draw(ECO_PLOT_SIZE,
             "gpu,model,params_b,precision,energy_fp16_j1k,energy_quant_j1k\n"
             "\"x' ; system \"\"touch EVIL\"\" #\",m`touch EVIL`,7,\"N'`touch EVIL`\",1000,400\n"
             "other,m,7,\"''EVIL\",1000,500\n",
             &out),
        ECO_OK);
    char *rest = malloc(out.length + 1);
    assert_non_null(rest);
    outside_quotes(out.data, rest);
    assert_null(strstr(rest, "EVIL"));
    assert_null(strstr(rest, "system"));
    assert_null(strchr(out.data, '`'));
    assert_non_null(strstr(out.data, "EVIL")); /* it was there to be found */
    free(rest);
    eco_text_free(&out);
}

static eco_sample sample(double t_s, double watts, eco_phase phase) {
    return (eco_sample){.t_ns = (int64_t)(t_s * 1e9),
                        .power_w = watts > 0.0 ? eco_reading_of(watts)
                                               : eco_reading_absent(ECO_ABSENT_NOT_READ),
                        .phase = phase};
}

static void power_with_phases(void **state) {
    (void)state;
    const eco_sample rows[] = {
        sample(1.0, 100.0, ECO_PHASE_RAMP), sample(1.5, 400.0, ECO_PHASE_DECODE),
        sample(2.0, 0.0, ECO_PHASE_DECODE), sample(2.5, 410.0, ECO_PHASE_DECODE),
        sample(9.0, 405.0, ECO_PHASE_DECODE)};
    const eco_plot_trace traces[] = {
        {.precision = "FP16", .rows = rows, .n = sizeof rows / sizeof rows[0]}};
    eco_report *report = eco_report_new();
    eco_text out = {0};
    eco_error err = {0};
    eco_report_set_number(report, ECO_FIELD_EN_IDLE_LOADED, ECO_TOP, 120.5);
    ASSERT_OK(eco_plot_power(report, traces, 1, &svg, &out, &err), &err);
    /* The absent reading is no zero, and the line breaks at the gap. */
    assert_non_null(strstr(out.data, "$arm0 << EOD\n1.0000 100.000\n1.5000 400.000\n2.5000 "
                                     "410.000\n\n9.0000 405.000\nEOD\n"));
    assert_non_null(strstr(out.data, "rect from first 1.0000, graph 0.000 to first 1.5000"));
    assert_non_null(strstr(out.data, "rect from first 1.5000, graph 0.000 to first 2.5000"));
    assert_non_null(strstr(out.data, "rect from first 9.0000, graph 0.000 to first 9.0000"));
    assert_non_null(strstr(out.data, "120.500 with lines"));
    assert_non_null(strstr(out.data, "title 'decode'"));
    assert_null(strstr(out.data, "title 'prefill'"));
    eco_text_free(&out);
    const eco_plot_trace empty[] = {{.precision = "FP16", .rows = &rows[2], .n = 1}};
    assert_int_equal(eco_plot_power(report, empty, 1, &svg, &out, &err), ECO_E_INVALID);
    eco_text_free(&out);
    eco_report_free(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_points),          cmocka_unit_test(batch_points),
        cmocka_unit_test(change_with_interval), cmocka_unit_test(bars),
        cmocka_unit_test(nothing_to_draw),      cmocka_unit_test(text_stays_in_its_quotes),
        cmocka_unit_test(power_with_phases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
