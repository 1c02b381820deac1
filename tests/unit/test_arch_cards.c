/* SPDX-License-Identifier: Apache-2.0
 *
 * Cards: families by the published table (SPEC section 7.1, cases 14 to 37) and by ours, the family of a run, the second
 * reading of names in look-ups, and data sheets by name.
 */
#include "ecocompute/arch.h"

#include "test_helpers.h"

#include <string.h>

typedef struct naming {
    const char *name, *family; /* family NULL: none */
} naming;

static void check_family(eco_rules rules, const naming *row) {
    const char *family = eco_card_family_by_name(rules, row->name);
    if ((family == NULL) != (row->family == NULL) ||
        (family != NULL && strcmp(family, row->family) != 0)) {
        fail_msg("%s: '%s' is of %s, want %s", eco_rules_name(rules),
                 row->name != NULL ? row->name : "(null)", family != NULL ? family : "none",
                 row->family != NULL ? row->family : "none");
    }
}

/* The names of SPEC section 7.1, 14 to 33; both rules agree but where the published table has no row. */
static void test_published_cases(void **state) {
    (void)state;
    static const naming rows[] = {
        {"NVIDIA GeForce RTX 4090", "ada"},
        {"NVIDIA GeForce RTX 4090 D", "ada"},
        {"NVIDIA L40S", "ada"},
        {"NVIDIA L4", "ada"},
        {"NVIDIA RTX 4000 Ada Generation", "ada"},
        {"NVIDIA GeForce RTX 5090", "blackwell"},
        {"NVIDIA B200", "blackwell"},
        {"NVIDIA H100 80GB HBM3", "hopper"},
        {"NVIDIA H200", "hopper"},
        {"NVIDIA A100-SXM4-40GB", "ampere"},
        {"NVIDIA A800-SXM4-80GB", "ampere"},
        {"NVIDIA A10G", "ampere"},
        {"NVIDIA RTX A6000", "ampere"},
        {"NVIDIA GeForce RTX 3090", "ampere"},
        {"Tesla T4", "turing"},
        {"NVIDIA GeForce RTX 2080 Ti", "turing"},
        {"Tesla V100-SXM2-16GB", "volta"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_family(ECO_RULES_PUBLISHED_1_1, &rows[i]);
        check_family(ECO_RULES_CURRENT, &rows[i]);
    }
    static const naming none[] = {{"NVIDIA GeForce GTX 1080", NULL}, {"", NULL}, {NULL, NULL}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        check_family(ECO_RULES_PUBLISHED_1_1, &none[i]);
    }
    check_family(ECO_RULES_CURRENT, &none[1]);
    check_family(ECO_RULES_CURRENT, &none[2]);
}

/* The last row of SPEC section 1.11: of no family there, of the named one here. */
static void test_current_knows_more(void **state) {
    (void)state;
    static const naming rows[] = {
        {"NVIDIA GeForce GTX 1080", "pascal"},
        {"NVIDIA GeForce GTX 1660 Ti", "turing"},
        {"Tesla P100-PCIE-16GB", "pascal"},
        {"NVIDIA H20", "hopper"},
        {"NVIDIA L20", "ada"},
        {"NVIDIA B300", "blackwell"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "blackwell"},
        {"NVIDIA RTX PRO 4500", "blackwell"},
        {"NVIDIA A100X", "ampere"},
        {"NVIDIA GB10", "blackwell"},
        {"Tesla V100S-PCIE-32GB", "volta"},
        {"NVIDIA RTX A500 Laptop GPU", "ampere"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const naming published = {rows[i].name, NULL};
        check_family(ECO_RULES_CURRENT, &rows[i]);
        check_family(ECO_RULES_PUBLISHED_1_1, &published);
    }
}

static void test_laptops(void **state) {
    (void)state;
    static const naming rows[] = {
        {"NVIDIA GeForce RTX 3050 Ti Laptop GPU", "ampere"},
        {"NVIDIA GeForce RTX 4070 Laptop GPU", "ada"},
        {"NVIDIA GeForce RTX 5090 Laptop GPU", "blackwell"},
        {"NVIDIA GeForce RTX 2070 with Max-Q Design", "turing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_family(ECO_RULES_PUBLISHED_1_1, &rows[i]);
        check_family(ECO_RULES_CURRENT, &rows[i]);
    }
}

/* SPEC section 7.1, 34 to 37. */
static void test_resolve(void **state) {
    (void)state;
    static const eco_rules both[] = {ECO_RULES_CURRENT, ECO_RULES_PUBLISHED_1_1};
    for (size_t i = 0; i < 2; i++) {
        const char *explicit_one = eco_arch_resolve(both[i], "turing", 9, 0, "NVIDIA H200");
        assert_string_equal(explicit_one, "turing");
        assert_string_equal(eco_arch_resolve(both[i], "RTX 4090", 9, 0, "NVIDIA H200"), "RTX 4090");
        assert_string_equal(eco_arch_resolve(both[i], "auto", -1, -1, "NVIDIA H200"), "hopper");
        assert_string_equal(eco_arch_resolve(both[i], "", -1, -1, "Tesla T4"), "turing");
        assert_string_equal(eco_arch_resolve(both[i], "auto", -1, -1, NULL), "unknown");
        assert_string_equal(eco_arch_resolve(both[i], NULL, -1, -1, ""), "unknown");
        assert_string_equal(eco_arch_resolve(both[i], "auto", -1, -1, "Radeon VII"), "Radeon VII");
    }
    /* The capability counts for us alone. */
    assert_string_equal(eco_arch_resolve(ECO_RULES_CURRENT, "auto", 8, 9, "NVIDIA Odd"), "ada");
    assert_string_equal(eco_arch_resolve(ECO_RULES_PUBLISHED_1_1, "auto", 8, 9, "NVIDIA Odd"),
                        "NVIDIA Odd");
    assert_string_equal(eco_card_family(8, 7, NULL), "ampere");
    assert_string_equal(eco_card_family(12, 1, NULL), "blackwell");
}

static void test_curve_class(void **state) {
    (void)state;
    static const naming rows[] = {
        {"T4", "turing"},
        {"Turing (T4)", "turing"},
        {"RTX 4090", "ada"},
        {"rtx4090d", "ada"},
        {"Ada", "ada"},
        {"RTX5090", "blackwell"},
        {"a100-sxm4", "ampere"},
        {"A800", "ampere"},
        {"Ampere", "ampere"},
        {"hopper", NULL},
        {"H100", NULL},
        {"", NULL},
        {"blackwell", "blackwell"},
        {"volta", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *arch = eco_arch_curve_class(rows[i].name);
        if (rows[i].family == NULL) {
            assert_null(arch);
        } else {
            assert_non_null(arch);
            assert_string_equal(arch, rows[i].family);
        }
    }
}

static void test_data_sheets(void **state) {
    (void)state;
    static const naming rows[] = {
        {"NVIDIA H200", "H200"},
        {"NVIDIA H200 NVL", "H200 NVL"},
        {"NVIDIA H100 80GB HBM3", "H100 SXM"},
        {"NVIDIA H100 PCIe", "H100 PCIe"},
        {"NVIDIA GeForce RTX 4090", "RTX 4090"},
        {"NVIDIA GeForce RTX 4090 D", "RTX 4090D"},
        {"RTX 4090D", "RTX 4090D"},
        {"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"},
        {"NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"},
        {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
        {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"},
        {"A6000", "RTX A6000"},
        {"NVIDIA GeForce RTX 3090 Ti", "RTX 3090 Ti"},
        {"NVIDIA GeForce RTX 3050 Ti Laptop GPU", "RTX 3050 Ti Laptop GPU"},
        {"NVIDIA GeForce RTX 3080 Ti", NULL}, /* not an RTX 3080 */
        {"NVIDIA GeForce RTX 4070 Laptop GPU", NULL},
        {"NVIDIA A800-PCIE-40GB", NULL},
        {"Radeon VII", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_card *card = eco_card_find(rows[i].name);
        if ((card == NULL) != (rows[i].family == NULL)) {
            fail_msg("'%s' is %s, want %s", rows[i].name, card != NULL ? card->name : "no card",
                     rows[i].family != NULL ? rows[i].family : "no card");
        }
        if (card != NULL) {
            assert_string_equal(card->name, rows[i].family);
        }
    }
}

/* Every row names itself, its family follows from its own capability, and its figures are those of a card. */
static void test_every_card(void **state) {
    (void)state;
    assert_true(eco_card_count() > 40);
    assert_null(eco_card_at(eco_card_count()));
    for (size_t i = 0; i < eco_card_count(); i++) {
        const eco_card *card = eco_card_at(i);
        assert_string_equal(eco_card_family(card->cc_major, card->cc_minor, NULL), card->family);
        if (strstr(card->name, "SXM") == NULL) {
            assert_ptr_equal(eco_card_find(card->name), card);
        }
        if (!(card->vram_gb >= 4 && card->vram_gb < 300 && card->mem_bw_gb_per_s > 100 &&
              card->mem_bw_gb_per_s < 10000 && card->fp16_tflops > 10 && card->fp16_tflops < 3000 &&
              card->tdp_w >= 60 && card->tdp_w <= 1200 && card->source[0] != '\0')) {
            fail_msg("%s: a figure is not that of a card", card->name);
        }
        if (eco_reading_present(card->idle_w)) {
            assert_true(card->idle_w.value > 1.0 && card->idle_w.value < card->tdp_w / 2.0);
        }
    }
    ASSERT_NEAR(eco_card_find("H200")->mem_bw_gb_per_s, 4800, 0);
    ASSERT_NEAR(eco_card_find("RTX 4090")->tdp_w, 450, 0);
}

static void test_rules_names(void **state) {
    (void)state;
    eco_rules rules = ECO_RULES_CURRENT;
    assert_true(eco_rules_parse("published-1.1", &rules));
    assert_int_equal(rules, ECO_RULES_PUBLISHED_1_1);
    assert_false(eco_rules_parse("published", &rules));
    assert_false(eco_rules_parse(NULL, &rules));
    assert_int_equal(rules, ECO_RULES_PUBLISHED_1_1);
    assert_true(eco_rules_parse("current", &rules));
    assert_string_equal(eco_rules_name(rules), "current");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_cases), cmocka_unit_test(test_current_knows_more),
        cmocka_unit_test(test_laptops),         cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_curve_class),     cmocka_unit_test(test_data_sheets),
        cmocka_unit_test(test_every_card),      cmocka_unit_test(test_rules_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
