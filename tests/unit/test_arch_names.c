/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats and card families by name, and "did you mean".
 */
#include "ecocompute/arch.h"

#include "test_helpers.h"

static void test_formats(void **state) {
    (void)state;
    eco_format format = ECO_FORMAT_COUNT;
    assert_true(eco_format_find("nf4", &format));
    assert_int_equal(format, ECO_FORMAT_NF4);
    ASSERT_NEAR(eco_format_at(ECO_FORMAT_NF4)->bits_per_weight, 4.5, 0.0);
    assert_true(eco_format_find("Fp16", &format));
    assert_int_equal(format, ECO_FORMAT_FP16);
    ASSERT_NEAR(eco_format_at(ECO_FORMAT_FP16)->bits_per_weight, 16.0, 0.0);
    assert_false(eco_format_find("NF", &format));
    assert_false(eco_format_find("NF44", &format));
    assert_false(eco_format_find(NULL, &format));
    assert_int_equal(format, ECO_FORMAT_FP16); /* untouched by a miss */
    assert_null(eco_format_at(ECO_FORMAT_COUNT));
}

static void test_family_by_capability(void **state) {
    (void)state;
    static const struct {
        int32_t major, minor;
        const char *family;
    } rows[] = {
        {7, 0, "volta"},  {7, 2, "volta"},      {7, 5, "turing"},
        {8, 0, "ampere"}, {8, 6, "ampere"},     {8, 9, "ada"},
        {9, 0, "hopper"}, {10, 0, "blackwell"}, {12, 0, "blackwell"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(eco_card_family(rows[i].major, rows[i].minor, "GTX 1080"),
                            rows[i].family);
    }
    assert_string_equal(eco_card_family(6, 1, "NVIDIA H100"),
                        "pascal"); /* the capability decides */
    assert_null(eco_card_family(99, 0, NULL));
}

static void test_family_by_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *family;
    } rows[] = {
        {"NVIDIA B200", "blackwell"},
        {"NVIDIA GB200", "blackwell"},
        {"NVIDIA GeForce RTX 5090", "blackwell"},
        {"NVIDIA H100 80GB HBM3", "hopper"},
        {"NVIDIA H200", "hopper"},
        {"NVIDIA GH200 480GB", "hopper"},
        {"NVIDIA L40S", "ada"},
        {"NVIDIA RTX 6000 Ada Generation", "ada"},
        {"NVIDIA RTX 5000 Ada Generation", "ada"},
        {"NVIDIA GeForce RTX 4090", "ada"},
        {"NVIDIA GeForce RTX 4090 D", "ada"},
        {"RTX 4090D", "ada"},
        {"NVIDIA GeForce RTX 4080 SUPER", "ada"},
        {"NVIDIA A100-SXM4-40GB", "ampere"},
        {"NVIDIA A800-SXM4-80GB", "ampere"},
        {"NVIDIA A10G", "ampere"},
        {"NVIDIA RTX A6000", "ampere"},
        {"NVIDIA GeForce RTX 3060 Laptop GPU", "ampere"},
        {"Tesla T4", "turing"},
        {"Quadro RTX 5000", "turing"},
        {"NVIDIA TITAN RTX", "turing"},
        {"NVIDIA GeForce RTX 2080 Ti", "turing"},
        {"Tesla V100-SXM2-16GB", "volta"},
        {"NVIDIA TITAN V", "volta"},
        {"nvidia_h100_nvl", "hopper"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *family = eco_card_family(-1, -1, rows[i].name);
        if (family == NULL) {
            fail_msg("%s: no family, want %s", rows[i].name, rows[i].family);
        }
        assert_string_equal(family, rows[i].family);
    }
    static const char *const none[] = {
        "NVIDIA GeForce GTX 980", "Tesla K80", "NVIDIA GB20", "RTX", "", "H1000"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_null(eco_card_family(-1, -1, none[i]));
    }
    assert_null(eco_card_family(-1, -1, NULL));
    assert_null(eco_card_family(0, 0,
                                "a b c d e f g h i j k l m n o p q r s t u v w x y z "
                                "a b c d e f g h H100"));
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const names[] = {"native",         "openai",   "transformers",
                                        "TinyLlama-1.1B", "Qwen2-7B", "NF4"};
    const size_t n = sizeof names / sizeof names[0];
    assert_string_equal(eco_nearest_name("nativ", names, n), "native");
    assert_string_equal(eco_nearest_name("NAITVE", names, n), "native"); /* a swap costs one */
    assert_string_equal(eco_nearest_name("tinylama-1.1b", names, n), "TinyLlama-1.1B");
    assert_string_equal(eco_nearest_name("Qwen2-7", names, n), "Qwen2-7B");
    assert_string_equal(eco_nearest_name("NF", names, n), "NF4");
    assert_string_equal(eco_nearest_name("openai", names, n), "openai");
    assert_null(eco_nearest_name("zebra", names, n));
    assert_null(eco_nearest_name("x", names, n));
    assert_null(eco_nearest_name("", names, n));
    assert_null(eco_nearest_name(NULL, names, n));
    assert_null(eco_nearest_name("native", names, 0));
    char huge[512];
    for (size_t i = 0; i + 1 < sizeof huge; i++) {
        huge[i] = 'n';
    }
    huge[sizeof huge - 1] = '\0';
    assert_null(eco_nearest_name(huge, names, n));
}

/* Of two as near, the first; of two near, the nearer. */
static void test_nearest_order(void **state) {
    (void)state;
    static const char *const names[] = {"cat", "car", "cart"};
    assert_string_equal(eco_nearest_name("caz", names, 3), "cat");
    assert_string_equal(eco_nearest_name("carts", names, 3), "cart");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),        cmocka_unit_test(test_family_by_capability),
        cmocka_unit_test(test_family_by_name), cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_order),
    };
    return cmocka_run_group_tests_name("arch_names", tests, NULL, NULL);
}
