/* SPDX-License-Identifier: Apache-2.0
 *
 * A study's rows: from a report, to CSV and back, and what a CSV from outside is refused for.
 */
#include "test_helpers.h"

#include "ecocompute/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eco_report *make_report(const char *gpu, const char *model) {
    eco_report *r = eco_report_new();
    assert_non_null(r);
    eco_report_set_string(r, ECO_FIELD_SUT_GPU, ECO_TOP, gpu);
    eco_report_set_string(r, ECO_FIELD_WL_MODEL, ECO_TOP, model);
    eco_report_set_string(r, ECO_FIELD_WL_PRECISION, ECO_TOP, "NF4");
    eco_report_set_integer(r, ECO_FIELD_WL_BATCH, ECO_TOP, 4);
    eco_report_set_integer(r, ECO_FIELD_WL_PROMPT, ECO_TOP, 128);
    eco_report_set_integer(r, ECO_FIELD_WL_TOKENS, ECO_TOP, 256);
    eco_report_set_number(r, ECO_FIELD_EN_MEMORY, ECO_TOP, 24.0 * 1073741824.0 - 5e6);
    eco_report_set_number(r, ECO_FIELD_RE_DELTA, ECO_TOP, -23.789);
    eco_report_set_string(r, ECO_FIELD_RUN_ID, ECO_TOP, "run-1");
    static const double mj[2][3] = {{100.0, 102.0, 104.0}, {50.0, 53.0, 51.5}};
    for (uint32_t arm = 0; arm < 2; arm++) {
        eco_report_set_string(r, ECO_FIELD_AR_PRECISION, ECO_AT1(arm), arm == 0 ? "FP16" : "NF4");
        eco_report_set_number(r, ECO_FIELD_AR_MJ, ECO_AT1(arm), arm == 0 ? 102.0 : 51.5);
        for (uint32_t w = 0; w < 3; w++) {
            eco_report_set_string(r, ECO_FIELD_WI_KIND, ECO_AT2(arm, w), "decode");
            eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, ECO_AT2(arm, w), w + 1);
            eco_report_set_number(r, ECO_FIELD_WI_MJ, ECO_AT2(arm, w), mj[arm][w]);
        }
        /* A window after the blocks, and one of another kind, are no trials. */
        eco_report_set_string(r, ECO_FIELD_WI_KIND, ECO_AT2(arm, 3), "decode");
        eco_report_set_integer(r, ECO_FIELD_WI_BLOCK, ECO_AT2(arm, 3), 0);
        eco_report_set_number(r, ECO_FIELD_WI_MJ, ECO_AT2(arm, 3), 9999.0);
    }
    return r;
}

static double number_of(const eco_study *s, uint32_t row, eco_study_column column) {
    double value = -1.0;
    assert_true(eco_study_number(s, row, column, &value));
    return value;
}

static void from_report(void **state) {
    (void)state;
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report("NVIDIA H200", "Qwen2-7B (shape only)");
    ASSERT_OK(eco_study_add_report(s, r, "/home/someone/study/01/energy.json", false, &err), &err);
    assert_int_equal(eco_study_size(s), 1);
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_MODEL), "Qwen2-7B");
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_SESSION), "run-1");
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_REPORT),
                        "/home/someone/study/01/energy.json");
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_VRAM), 24.0, 0.0);
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_CONTEXT), 256.0, 0.0);
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_TRIALS), 3.0, 0.0);
    /* 50, 53, 51.5: mean 51.5, squares 2.25 + 2.25 + 0 over 2. */
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_STD), 1.5, 1e-12);
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_BASE_MJ), 102.0, 0.0);
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_MJ), 51.5, 0.0);
    double absent = 0.0;
    assert_false(eco_study_number(s, 0, ECO_STUDY_LO, &absent));
    assert_false(eco_study_number(s, 1, ECO_STUDY_MJ, &absent));
    eco_report_free(r);
    eco_study_free(s);
}

/* What one text of a report, and its path, come to. */
static void redacted_to(const char *path, const char *shown, const char *gpu, const char *kept) {
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report(gpu, "/home/ann/Qwen2-7B (shape only)");
    ASSERT_OK(eco_study_add_report(s, r, path, true, &err), &err);
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_REPORT), shown);
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_GPU), kept);
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_MODEL), "Qwen2-7B");
    eco_report_free(r);
    eco_study_free(s);
}

static void names_are_taken_out(void **state) {
    (void)state;
    redacted_to("/home/ann/energy.json", "energy.json", "NVIDIA H200", "NVIDIA H200");
    redacted_to("ann/20261130T150901Z-92de83/energy.json", "20261130T150901Z-92de83/energy.json",
                "H200 of ann@build7", "H200 of [redacted]");
    redacted_to("20261130T150901Z-92de8g/energy.json", "energy.json", "pid 4711", "pid [redacted]");
    redacted_to("20261130T150901Z-92de833/e.json", "e.json", "x --key y", "[redacted]");
    redacted_to("20261130T150901Z-92de8/ann@x.json", "[redacted]", "/srv/ann", "ann");
    redacted_to("energy.json", "energy.json", "H200", "H200");
}

static void session_over_run(void **state) {
    (void)state;
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report("g", "m");
    eco_report_set_string(r, ECO_FIELD_SESSION, ECO_TOP, "sitting-7");
    ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_SESSION), "sitting-7");
    assert_string_equal(eco_study_text(s, 0, ECO_STUDY_RUN), "run-1");
    eco_report_free(r);
    eco_study_free(s);
}

/* Texts that a spreadsheet would compute, that need quotes, or that have their own apostrophes, come back as they were. */
static void csv_and_back(void **state) {
    (void)state;
    static const char *const gpus[] = {"=1+2",  "+x",       "-x",        "@x",     "'=1",
                                       "''-1",  "'quoted'", "a,b",       "a\"b",   "''x",
                                       "plain", "=\"a\",b", "\uff1d1+2", "\uff20x"};
    enum { N = sizeof gpus / sizeof gpus[0] };
    eco_error err = {0};
    eco_study *s = eco_study_new();
    for (size_t i = 0; i < N; i++) {
        eco_report *r = make_report(gpus[i], "m");
        ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
        eco_report_free(r);
    }
    eco_text csv = {0};
    eco_study_write_csv(s, &csv);
    assert_non_null(strstr(csv.data, "\n'=1+2,"));
    assert_non_null(strstr(csv.data, "\n\"'=\"\"a\"\",b\","));
    assert_non_null(strstr(csv.data, "\n'\uff1d1+2,"));
    assert_non_null(strstr(csv.data, "\n'\uff20x,"));
    eco_study *back = eco_study_new();
    ASSERT_OK(eco_study_add_csv(back, csv.data, csv.length, "t", &err), &err);
    assert_int_equal(eco_study_size(back), N);
    for (uint32_t i = 0; i < N; i++) {
        assert_string_equal(eco_study_text(back, i, ECO_STUDY_GPU), gpus[i]);
        ASSERT_NEAR(number_of(back, i, ECO_STUDY_DELTA), -23.789, 0.0);
    }
    eco_text again = {0};
    eco_study_write_csv(back, &again);
    assert_string_equal(again.data, csv.data);
    eco_text_free(&again);
    eco_text_free(&csv);
    eco_study_free(back);
    eco_study_free(s);
}

static void control_characters(void **state) {
    (void)state;
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report("a\033[31m\nb\t=1", "m");
    ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
    eco_text csv = {0};
    eco_study_write_csv(s, &csv);
    assert_null(strchr(csv.data, '\033'));
    assert_null(strchr(csv.data, '\t'));
    size_t lines = 0;
    for (const char *c = csv.data; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    assert_int_equal(lines, 2);
    eco_text md = {0};
    eco_study_write_markdown(s, &md);
    assert_null(strchr(md.data, '\033'));
    eco_text_free(&md);
    eco_text_free(&csv);
    eco_report_free(r);
    eco_study_free(s);
}

/* No cell of a Markdown table opens a tag, a link, code, emphasis or another cell. */
static void markdown_cells(void **state) {
    (void)state;
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report("<b>|[a](x) ![i] `c` *e* _u_ ~s~ \\ &lt; {#1} +", "m");
    ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
    eco_text md = {0};
    eco_study_write_markdown(s, &md);
    static const char cell[] = "\n| \\<b\\>\\|\\[a\\]\\(x\\) \\!\\[i\\] \\`c\\` \\*e\\* \\_u\\_ "
                               "\\~s\\~ \\\\ \\&lt; \\{\\#1\\} \\+ | ";
    assert_non_null(strstr(md.data, cell));
    eco_text_free(&md);
    eco_report_free(r);
    eco_study_free(s);
}

static void published_columns(void **state) {
    (void)state;
    static const char text[] = "gpu,arch,other,model,params_b,precision,energy_fp16_j1k\r\n"
                               "RTX 4090D,ada,\"x, y\",Qwen2-0.5B,0.5,NF4,1474.16\r\n"
                               "\r\n"
                               "T4,turing,,m,,INT8,\n";
    eco_error err = {0};
    eco_study *s = eco_study_new();
    ASSERT_OK(eco_study_add_csv(s, text, sizeof text - 1, "t", &err), &err);
    assert_int_equal(eco_study_size(s), 2);
    ASSERT_NEAR(number_of(s, 0, ECO_STUDY_BASE_MJ), 1474.16, 0.0);
    assert_string_equal(eco_study_text(s, 1, ECO_STUDY_PRECISION), "INT8");
    double absent = 0.0;
    assert_false(eco_study_number(s, 1, ECO_STUDY_PARAMS, &absent));
    eco_study_free(s);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"",
         "t:1: not a study: the columns gpu, model and precision are expected in the first line"},
        {"a,b\n1,2\n",
         "t:1: not a study: the columns gpu, model and precision are expected in the first line"},
        {"gpu,model,precision,gpu\n", "t:1: a column is named twice"},
        {"gpu,model,precision\na,b\n", "t:2: fewer cells than the first line has columns"},
        {"gpu,model,precision\na,b,c\n\na,b,c,d\n",
         "t:4: more cells than the first line has columns"},
        {"gpu,model,precision\n\"a,b,c\n", "t:2: a quote does not end"},
        {"gpu,model,precision\n\"a\"x,b,c\n",
         "t:2: expected a comma or the end of the line after a cell"},
        {"gpu,model,precision,params_b\na,b,c,1e\n", "t:2: params_b: '1e' is no number"},
        {"gpu,model,precision,params_b\na,b,c,=1\n", "t:2: params_b: '=1' is no number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_error err = {0};
        eco_study *s = eco_study_new();
        assert_int_not_equal(eco_study_add_csv(s, rows[i].text, strlen(rows[i].text), "t", &err),
                             ECO_OK);
        assert_string_equal(err.message, rows[i].message);
        eco_study_free(s);
    }
}

/* The longest cell is taken, one byte more is not. */
static void cell_cap(void **state) {
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        eco_error err = {0};
        eco_study *s = eco_study_new();
        static const char head[] = "gpu,model,precision\n";
        char *text = calloc(1, sizeof head + ECO_STUDY_CELL_MAX + 16);
        assert_non_null(text);
        memcpy(text, head, sizeof head - 1);
        memset(text + sizeof head - 1, 'x', ECO_STUDY_CELL_MAX + extra);
        strcat(text, ",m,p\n");
        assert_int_equal(eco_study_add_csv(s, text, strlen(text), "t", &err),
                         extra == 0 ? ECO_OK : ECO_E_RANGE);
        assert_int_equal(eco_study_size(s), 1 - extra);
        free(text);
        eco_study_free(s);
    }
}

static void json_lines(void **state) {
    (void)state;
    eco_error err = {0};
    eco_study *s = eco_study_new();
    eco_report *r = make_report("a  \"b\"", "m");
    ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
    ASSERT_OK(eco_study_add_report(s, r, "e.json", false, &err), &err);
    eco_text text = {0};
    ASSERT_OK(eco_study_write_jsonl(s, &text, &err), &err);
    static const char begin[] = "{\"gpu\": \"a  \\\"b\\\"\", \"arch\": null, \"vram_gb\": 24, ";
    assert_memory_equal(text.data, begin, sizeof begin - 1);
    const char *second = strchr(text.data, '\n');
    assert_non_null(second);
    assert_memory_equal(second + 1, begin, sizeof begin - 1);
    assert_int_equal(text.data[text.length - 1], '\n');
    eco_text_free(&text);
    eco_report_free(r);
    eco_study_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_report),        cmocka_unit_test(names_are_taken_out),
        cmocka_unit_test(session_over_run),   cmocka_unit_test(csv_and_back),
        cmocka_unit_test(control_characters), cmocka_unit_test(published_columns),
        cmocka_unit_test(refusals),           cmocka_unit_test(cell_cap),
        cmocka_unit_test(markdown_cells),     cmocka_unit_test(json_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
