/* SPDX-License-Identifier: Apache-2.0
 *
 * The model table against published parameter counts, and the accounting of bytes and operations
 * against sums done by hand for a small shape with odd sizes.
 */
#include "ecocompute/arch.h"

#include "test_helpers.h"

#include <string.h>

/* d_model 96, three heads of 32 on one kv head, 200 wide, 101 words, two layers. */
static const eco_model_shape tiny = {.name = "tiny",
                                     .hf_id = "test/tiny",
                                     .family = "qwen2",
                                     .n_layers = 2,
                                     .d_model = 96,
                                     .n_heads = 3,
                                     .n_kv_heads = 1,
                                     .d_head = 32,
                                     .d_ff = 200,
                                     .n_vocab = 101,
                                     .n_positions_max = 64,
                                     .tied_embeddings = true,
                                     .qkv_bias = true,
                                     .rope_theta = 1e4,
                                     .norm_eps = 1e-5};

/* Exact counts: as the model hub prints them for the safetensors files of these models. */
static void test_published_param_counts(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t n_params;
    } rows[] = {
        {"SmolLM2-135M", 134515008},  {"Qwen2-0.5B", 494032768},    {"TinyLlama-1.1B", 1100048384},
        {"Qwen2-1.5B", 1543714304},   {"Qwen2.5-3B", 3085938688},   {"Qwen2-7B", 7615616512},
        {"Mistral-7B", 7241732096},   {"Llama-3.1-8B", 8030261248}, {"Yi-1.5-9B", 8829407232},
        {"Qwen2.5-14B", 14770033664},
    };
    assert_int_equal(eco_model_count(), sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < eco_model_count(); i++) {
        const eco_model_shape *shape = eco_model_find(rows[i].name);
        assert_non_null(shape);
        assert_int_equal(eco_model_n_params(shape), rows[i].n_params);
    }
}

/* Every row is a shape the kernels can run, and its label is the published rounding of its count.
 */
static void test_rows_are_sound(void **state) {
    (void)state;
    for (size_t i = 0; i < eco_model_count(); i++) {
        const eco_model_shape *shape = eco_model_at(i);
        assert_ptr_equal(eco_model_find(shape->hf_id), shape);
        assert_int_equal(shape->n_heads * shape->d_head, shape->d_model);
        assert_int_equal(shape->n_heads % shape->n_kv_heads, 0);
        assert_int_equal(shape->d_head % 2, 0);
        assert_true(shape->n_positions_max >= 2048);
        assert_int_equal(shape->qkv_bias, strcmp(shape->family, "qwen2") == 0);
        ASSERT_NEAR_REL((double)eco_model_n_params(shape) * 1e-9, shape->params_b, 0.09);
    }
    assert_null(eco_model_at(eco_model_count()));
}

static void test_find(void **state) {
    (void)state;
    const eco_model_shape *shape = eco_model_find("tinyllama/TINYLLAMA-1.1b-chat-V1.0");
    assert_non_null(shape);
    assert_string_equal(shape->name, "TinyLlama-1.1B");
    assert_ptr_equal(eco_model_find("tinyllama-1.1b"), shape);
    assert_null(eco_model_find("TinyLlama"));
    assert_null(eco_model_find("TinyLlama-1.1B "));
    assert_null(eco_model_find(""));
    assert_null(eco_model_find(NULL));
}

/* A layer: q and o 96·96, k and v 32·96, gate, up and down 200·96: 82176 weights.
 * Beside them: 101·96 embedding, 5·96 gains, 2·(96 + 32 + 32) biases. */
static void test_param_counts_by_hand(void **state) {
    (void)state;
    assert_int_equal(eco_model_n_linear_params(&tiny), 2 * 82176);
    assert_int_equal(eco_model_n_params(&tiny), 164352 + 9696 + 480 + 320);
    eco_model_shape untied = tiny;
    untied.tied_embeddings = false;
    untied.qkv_bias = false;
    assert_int_equal(eco_model_n_params(&untied), 164352 + 2 * 9696 + 480);
}

static void test_token_bytes_fp16(void **state) {
    (void)state;
    const eco_token_bytes b = eco_model_token_bytes(&tiny, ECO_FORMAT_FP16, ECO_FORMAT_FP16, 10.0);
    ASSERT_NEAR(b.linear, 328704.0, 0.0);
    ASSERT_NEAR(b.head, 19392.0, 0.0);
    ASSERT_NEAR(b.kv_read, 2560.0, 0.0); /* 10 positions · 2 layers · (K + V) · 32 · 2 bytes */
    ASSERT_NEAR(b.kv_write, 256.0, 0.0);
    ASSERT_NEAR(b.other, 2.0 * (480 + 320 + 96), 0.0); /* gains, biases, one embedding row */
    ASSERT_NEAR(b.total, 328704.0 + 19392.0 + 2560.0 + 256.0 + 1792.0, 0.0);
}

/* A row of 96: 48 bytes of codes and two absmax; a row of 200: 100 and four. */
static void test_token_bytes_nf4(void **state) {
    (void)state;
    const eco_token_bytes b = eco_model_token_bytes(&tiny, ECO_FORMAT_NF4, ECO_FORMAT_NF4, 0.5);
    ASSERT_NEAR(b.linear, 2.0 * (656 * 56 + 96 * 116), 0.0);
    ASSERT_NEAR(b.head, 101.0 * 56, 0.0);
    ASSERT_NEAR(b.kv_read, 128.0, 0.0);
    const eco_model_shape *big = eco_model_find("TinyLlama-1.1B");
    const eco_token_bytes whole = eco_model_token_bytes(big, ECO_FORMAT_NF4, ECO_FORMAT_FP16, 0.0);
    ASSERT_NEAR(whole.linear, (double)eco_model_n_linear_params(big) * 4.5 / 8.0, 0.0);
}

static void test_token_flops(void **state) {
    (void)state;
    /* 2·(164352 + 9696) for the matrices; 11 positions · 3 heads · 32 · 2 layers, twice, for q·k
     * and p·v */
    ASSERT_NEAR(eco_model_token_flops(&tiny, 10.0), 348096.0 + 2.0 * 2.0 * 11 * 3 * 32 * 2, 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_param_counts),
        cmocka_unit_test(test_rows_are_sound),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_param_counts_by_hand),
        cmocka_unit_test(test_token_bytes_fp16),
        cmocka_unit_test(test_token_bytes_nf4),
        cmocka_unit_test(test_token_flops),
    };
    return cmocka_run_group_tests_name("arch_models", tests, NULL, NULL);
}
