/* SPDX-License-Identifier: Apache-2.0
 *
 * Share links: golden links made by another program (Python's json and base64), SPEC §7.1 cases 10 and 11, redaction, and
 * what is refused.
 */
#include "core/base64.h"
#include "core/str.h"
#include "ecocompute/share.h"
#include "golden_files.h"
#include "report/redact.h"

#include <string.h>

#define SITE "https://quantenergy.tech/?tab=run&overlay="

/* A report with these members of workload, results and system_under_test. */
static eco_report *report_of(const char *workload, const char *results, const char *sut) {
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"schema_version\": \"ecocompute-energy/1.1\", \"workload\": {%s}, "
                   "\"results\": {%s}, \"system_under_test\": {%s}}",
                   workload, results, sut);
    eco_report *report = NULL;
    eco_error err = {0};
    ASSERT_OK(eco_report_read(text, strlen(text), "report", &report, &err), &err);
    return report;
}

static void links_as(const char *workload, const char *results, const char *sut, const char *link) {
    eco_report *const report = report_of(workload, results, sut);
    eco_share_point point;
    eco_text url = {0};
    eco_error err = {0};
    ASSERT_OK(eco_share_point_of(report, &point, &err), &err);
    ASSERT_OK(eco_share_url(&point, NULL, &url, &err), &err);
    assert_string_equal(url.data, link);
    eco_text_free(&url);
    eco_report_free(report);
}

static void golden_links(void **state) {
    (void)state;
    links_as("\"model_name\": \"TinyLlama/TinyLlama-1.1B-Chat-v1.0\", \"params_b\": 1.1, "
             "\"precision\": \"INT8\"",
             "\"vs_fp16_energy_pct\": 137.931, \"basis\": \"measured\"",
             "\"gpu\": \"NVIDIA GeForce RTX 4090\", \"gpu_arch\": \"ada\"",
             SITE "eyJtIjoiVGlueUxsYW1hL1RpbnlMbGFtYS0xLjFCLUNoYXQtdjEuMCIsIk4iOjEuMSwiYSI6ImFkYSIs"
                  "InAiOiJJTlQ4IiwiZSI6MTM3LjkzLCJiIjoibWVhc3VyZWQiLCJnIjoiTlZJRElBIEdlRm9yY2UgUlRY"
                  "IDQwOTAifQ");
    /* Nothing said: the published fillers. */
    links_as("\"params_b\": 0.494098", "\"vs_fp16_energy_pct\": -11.4", "",
             SITE "eyJtIjoieW91ciBtb2RlbCIsIk4iOjAuNDk0MSwiYSI6IiIsInAiOiJORjQiLCJlIjotMTEuNCwiYiI6"
                  "InVuYXZhaWxhYmxlIiwiZyI6IiJ9");
    /* Engine and weights behind the published keys; a text in ASCII whatever it holds. */
    links_as("\"model_name\": \"\\u00c9cole \\ud83d\\ude00 \\\"7B\\\"\\u007f\", \"params_b\": 7, "
             "\"precision\": \"NF4\", \"engine\": \"native\", \"weights\": \"real\"",
             "\"vs_fp16_energy_pct\": -11.4061, \"basis\": \"interpolated\"",
             "\"gpu\": \"RTX 5090\", \"gpu_arch\": \"blackwell\"",
             SITE "eyJtIjoiXHUwMGM5Y29sZSBcdWQ4M2RcdWRlMDAgXCI3QlwiXHUwMDdmIiwiTiI6NywiYS"
                  "I6ImJsYWNrd2VsbCIsInAiOiJORjQiLCJlIjotMTEuNDEsImIiOiJpbnRlcnBvbGF0ZWQi"
                  "LCJnIjoiUlRYIDUwOTAiLCJ4IjoibmF0aXZlIiwidyI6InJlYWwifQ");
}

/* SPEC §7.1, case 10: what the link says is what the report says. */
static void a_link_decodes_to_its_report(void **state) {
    (void)state;
    size_t length = 0;
    char *const text = golden_load("energy_1_3_ours.json", &length);
    eco_report *report = NULL;
    eco_error err = {0};
    eco_share_point point;
    eco_share_point back[ECO_SHARE_POINTS_MAX];
    eco_text url = {0};
    size_t n = 0;
    ASSERT_OK(eco_report_read(text, length, "ours", &report, &err), &err);
    ASSERT_OK(eco_share_point_of(report, &point, &err), &err);
    ASSERT_OK(eco_share_url(&point, "http://localhost:8000/page//", &url, &err), &err);
    assert_true(ecoi_str_starts_with(url.data, "http://localhost:8000/page/?tab=run&overlay=ey"));
    ASSERT_OK(eco_share_decode(url.data, url.length, back, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_string_equal(back[0].arch, "hopper");
    ASSERT_NEAR(back[0].params_b, 1.1, 0.0);
    assert_string_equal(back[0].precision, "NF4");
    ASSERT_NEAR(back[0].delta_pct, -26.76, 0.0);
    assert_string_equal(eco_basis_name(back[0].basis), "modelled");
    assert_string_equal(back[0].model, "TinyLlama-1.1B (shape only)");
    assert_string_equal(back[0].gpu, "Example GPU");
    assert_string_equal(back[0].engine, "native");
    eco_text_free(&url);
    eco_report_free(report);
    free(text);
}

static void has_no_link(const char *workload, const char *results, eco_status status,
                        const char *message) {
    eco_report *const report = report_of(workload, results, "");
    eco_share_point point;
    eco_error err = {0};
    assert_int_equal(eco_share_point_of(report, &point, &err), status);
    assert_string_equal(err.message, message);
    eco_report_free(report);
}

/* SPEC §7.1, case 11, and the reports that have no point on the picture. */
static void no_link_without_a_change(void **state) {
    (void)state;
    has_no_link("\"params_b\": 7", "\"vs_fp16_energy_pct\": null", ECO_E_NOT_FOUND,
                "no link: results.vs_fp16_energy_pct: the report has no change of energy against "
                "FP16");
    has_no_link("\"params_b\": 0", "\"vs_fp16_energy_pct\": 1", ECO_E_NOT_FOUND,
                "no link: workload.params_b: the report does not tell the model's size");
    has_no_link("\"model_name\": \"x\"", "\"vs_fp16_energy_pct\": 1", ECO_E_NOT_FOUND,
                "no link: workload.params_b: the report does not tell the model's size");
    has_no_link("\"params_b\": 7, \"precision\": \"fp16\"", "\"vs_fp16_energy_pct\": 0.0",
                ECO_E_NOT_FOUND,
                "no link: workload.precision: FP16 is what the others are compared with");
    has_no_link("\"params_b\": -7", "\"vs_fp16_energy_pct\": 1", ECO_E_INVALID,
                "report: workload.params_b: a number above 0 and at most 1000000 is expected");
    has_no_link("\"params_b\": 7", "\"vs_fp16_energy_pct\": -100", ECO_E_INVALID,
                "report: results.vs_fp16_energy_pct: a number above -100 is expected");
    has_no_link("\"params_b\": 7", "\"vs_fp16_energy_pct\": 1, \"basis\": \"certified\"",
                ECO_E_INVALID, "report: results.basis: 'certified' is no basis");
}

static void a_site_has_no_tricks(void **state) {
    (void)state;
    static const char *const bad[] = {"",           "quantenergy.tech", "ftp://a",
                                      "https://",   "https:///a",       "javascript:alert(1)",
                                      "http://a?b", "http://a#b",       "http://a b",
                                      "http://u@a", "http://a\"b",      "http://a\n"};
    const eco_share_point point = {.model = "m", .precision = "NF4", .params_b = 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        eco_text url = {0};
        assert_int_equal(eco_share_url(&point, bad[i], &url, NULL), ECO_E_USAGE);
        assert_int_equal(url.length, 0);
    }
}

static void redacts(const char *text, const char *expected) {
    eco_text out = {0};
    ecoi_redact_text(&out, text);
    assert_string_equal(out.data != NULL ? out.data : "", expected);
    eco_text_free(&out);
}

static void what_names_a_machine_is_taken_out(void **state) {
    (void)state;
    redacts("", "");
    redacts("TinyLlama-1.1B (shape only)", "TinyLlama-1.1B (shape only)");
    redacts("TinyLlama/TinyLlama-1.1B", "TinyLlama/TinyLlama-1.1B");
    redacts("/data/models/llama-7b", "llama-7b");
    redacts("/home/Ann Bee/models/llama 7b", "llama 7b");
    redacts("model at /home/Ann Bee/llama", "model at llama");
    redacts("/home/ann", "[redacted]");
    redacts("/home/ann/", "[redacted]");
    redacts("~/llama", "llama");
    redacts("~ann", "[redacted]");
    redacts("~ann/work/llama", "llama");
    redacts("/", "[redacted]");
    redacts("../ann/llama", "llama");
    redacts("C:\\Users\\ann\\llama", "llama");
    redacts("C:/Users/ann", "[redacted]");
    redacts("\\\\server\\share\\llama", "llama");
    redacts("https://build7.example.org/llama", "llama");
    redacts("models/ann/llama", "llama");
    redacts("NVIDIA A100 (UUID: GPU-01234567-89ab-cdef-0123-456789abcdef)",
            "NVIDIA A100 (UUID: [redacted]");
    redacts("H100 of ann@build7", "H100 of [redacted]");
    redacts("/models/01234567-89AB-cdef-0123-456789abcdef", "[redacted]");
    redacts("GPU 0123456789abcdef0123456789ABCDEF", "GPU [redacted]");
    redacts("commit 0123456789abcdef0123456789abcdef0", "commit 0123456789abcdef0123456789abcdef0");
    redacts("model=/srv/x/llama", "model=llama");
    redacts("(/ann/llama", "(llama");
    redacts("see=~ann", "see=[redacted]");
    redacts("file:/ann/llama", "llama");
    redacts("url=https://ann:key@x/llama", "llama");
    redacts("H200 10.1.22.3:8080", "H200 [redacted]");
    redacts("580.82.07 CUDA 12.1.1 31.0.15.4601 1.2.3.4.5",
            "580.82.07 CUDA 12.1.1 31.0.15.4601 1.2.3.4.5");
    redacts("H200 on gpu7.Lan, slot 3", "H200 on [redacted] slot 3");
    redacts("gpu7.local", "[redacted]");
    redacts("Qwen.localized llama-3.1-8b.Q4_0.gguf", "Qwen.localized llama-3.1-8b.Q4_0.gguf");
    redacts("busy: pid 4711, PID=4712 (pid: 4713) rapid: 3",
            "busy: pid [redacted] [redacted] (pid: [redacted] rapid: 3");
    redacts("user=ann host:build7 Hostname build7", "[redacted] [redacted] Hostname [redacted]");
    redacts("serve.py --key abc /x", "[redacted]");
    redacts("a -- b --", "a -- b --");
}

static void a_point_is_redacted(void **state) {
    (void)state;
    eco_report *const report = report_of(
        "\"model_name\": \"/home/ann/llama\", \"params_b\": 7", "\"vs_fp16_energy_pct\": 1",
        "\"gpu\": \"H100 GPU-01234567-89ab-cdef-0123-456789abcdef\"");
    eco_share_point point;
    eco_error err = {0};
    ASSERT_OK(eco_share_point_of(report, &point, &err), &err);
    assert_string_equal(point.model, "llama");
    assert_string_equal(point.gpu, "H100 [redacted]");
    eco_report_free(report);
}

/* A link whose blob is this text. */
static void refuses_blob(const char *json, eco_status status, const char *message) {
    eco_text link = {0};
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    eco_error err = {0};
    size_t n = 7;
    ecoi_text_add_z(&link, SITE);
    ecoi_base64url_write(&link, json, strlen(json));
    assert_int_equal(eco_share_decode(link.data, link.length, points, &n, &err), status);
    assert_int_equal(n, 0);
    assert_string_equal(err.message, message);
    assert_null(strchr(err.message, '\n'));
    eco_text_free(&link);
}

static void hostile_blobs_are_refused(void **state) {
    (void)state;
    refuses_blob("[1]", ECO_E_INVALID, "link: an object is expected, found array");
    refuses_blob("{\"N\":1}", ECO_E_INVALID, "link: e: a number is expected");
    refuses_blob("{\"e\":1}", ECO_E_INVALID, "link: N: a number is expected");
    refuses_blob("{\"N\":\"1\",\"e\":1}", ECO_E_INVALID, "link: N: a number is expected");
    refuses_blob("{\"N\":-1,\"e\":1}", ECO_E_RANGE,
                 "link: N: a number above 0 and at most 1000000 is expected");
    refuses_blob("{\"N\":1,\"e\":-100}", ECO_E_RANGE, "link: e: a number above -100 is expected");
    refuses_blob("{\"N\":1,\"e\":1,\"m\":7}", ECO_E_INVALID, "link: m: a text is expected");
    refuses_blob("{\"N\":1,\"e\":1,\"m\":\"a\\u0000b\"}", ECO_E_INVALID,
                 "link: m: a text is expected");
    refuses_blob("{\"N\":1,\"e\":1,\"b\":\"certified\"}", ECO_E_INVALID,
                 "link: b: measured, interpolated, extrapolated or another basis is expected");
    refuses_blob("{\"N\":1,\"e\":1,\"params_b\":2}", ECO_E_INVALID,
                 "link: N: said twice, as params_b too");
    char text[512] = "{\"N\":1,\"e\":1,\"g\":\"";
    memset(text + strlen(text), 'a', ECO_SHARE_TEXT_MAX);
    memcpy(text + strlen(text), "\"}", sizeof "\"}");
    refuses_blob(text, ECO_E_RANGE, "link: g: longer than 127 bytes");
    char many[ECO_SHARE_BLOB_MAX];
    memset(many, '[', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    refuses_blob(many, ECO_E_RANGE, "link: overlay: 1 to 8192 characters are expected");
}

static void refuses_link(const char *link, eco_status status, const char *message) {
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    eco_error err = {0};
    size_t n = 7;
    assert_int_equal(eco_share_decode(link, strlen(link), points, &n, &err), status);
    assert_int_equal(n, 0);
    assert_string_equal(err.message, message);
}

static void what_is_no_link_is_refused(void **state) {
    (void)state;
    const char *const none =
        "link: no overlay in it; SITE/?tab=run&overlay=… or what follows overlay= is expected";
    refuses_link("", ECO_E_PARSE, none);
    refuses_link("https://quantenergy.tech/?tab=run", ECO_E_PARSE, none);
    refuses_link("https://quantenergy.tech/?myoverlay=abc", ECO_E_PARSE, none);
    refuses_link(SITE, ECO_E_RANGE, "link: overlay: 1 to 8192 characters are expected");
    refuses_link(SITE "ab+/", ECO_E_PARSE,
                 "link: overlay: no base64url without padding at character 3");
    refuses_link(SITE "eyJOIjoxLCJlIjoxfQ==", ECO_E_PARSE,
                 "link: overlay: no base64url without padding at character 19");
    refuses_link(SITE "eyJOIjoxLCJlIjoxfR", ECO_E_PARSE, /* four bits left over that are not zero */
                 "link: overlay: no base64url without padding at character 19");
    refuses_link("eyJOIjoxLCJlIjoxf", ECO_E_PARSE, /* 17 characters: no bytes give that */
                 "link: overlay: no base64url without padding at character 18");
    /* The second of two is broken: nothing of the first is handed out. */
    refuses_link(SITE "eyJOIjoxLCJlIjoxfQ&overlay=e30", ECO_E_INVALID,
                 "link: N: a number is expected");
}

static void long_keys_and_many_overlays(void **state) {
    (void)state;
    eco_text link = {0};
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    eco_error err = {0};
    size_t n = 0;
    static const char json[] =
        "{\"model\":\"Qwen2-7B\",\"params_b\":7,\"gpu_arch\":\"ada\",\"dE\":-1.5,\"gpu\":\"L4\","
        "\"basis\":null,\"source\":\"notebook\",\"colour\":\"red\"}";
    ecoi_text_add_z(&link, SITE);
    ecoi_base64url_write(&link, json, sizeof json - 1);
    ecoi_text_add_z(&link, "&x=1&overlay=eyJOIjoxLCJlIjoxfQ#overlay=eyJOIjoyLCJlIjoxfQ");
    ASSERT_OK(eco_share_decode(link.data, link.length, points, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_string_equal(points[0].model, "Qwen2-7B");
    assert_string_equal(points[0].arch, "ada");
    assert_string_equal(points[0].source, "notebook");
    assert_string_equal(points[0].precision, "NF4");
    ASSERT_NEAR(points[0].delta_pct, -1.5, 0.0);
    assert_int_equal(points[0].basis, ECO_BASIS_UNAVAILABLE);
    assert_string_equal(points[1].model, "your model");
    ASSERT_NEAR(points[2].params_b, 2, 0.0);
    eco_text_free(&link);
    ecoi_text_add_z(&link, "?");
    for (int i = 0; i <= ECO_SHARE_POINTS_MAX; i++) {
        ecoi_text_add_z(&link, "overlay=eyJOIjoxLCJlIjoxfQ&");
    }
    assert_int_equal(eco_share_decode(link.data, link.length, points, &n, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "link: more than 16 overlays");
    eco_text_free(&link);
}

/* A text of a link stays within its line. */
static void a_link_forges_no_line(void **state) {
    (void)state;
    const eco_share_point point = {.model = "a\nbasis      measured\033[2J",
                                   .precision = "NF4",
                                   .params_b = 1,
                                   .delta_pct = 2.5};
    eco_text text = {0};
    eco_share_text(&point, 1, &text);
    assert_string_equal(text.data,
                        "model      a\\u000abasis      measured\\u001b[2J\n"
                        "size       1 B parameters\n"
                        "precision  NF4\n"
                        "change     +2.5 % energy per token against FP16 (negative saves)\n"
                        "basis      unavailable, as the link says; nothing in a link is signed\n");
    eco_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_links),
        cmocka_unit_test(a_link_decodes_to_its_report),
        cmocka_unit_test(no_link_without_a_change),
        cmocka_unit_test(a_site_has_no_tricks),
        cmocka_unit_test(what_names_a_machine_is_taken_out),
        cmocka_unit_test(a_point_is_redacted),
        cmocka_unit_test(hostile_blobs_are_refused),
        cmocka_unit_test(what_is_no_link_is_refused),
        cmocka_unit_test(long_keys_and_many_overlays),
        cmocka_unit_test(a_link_forges_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
