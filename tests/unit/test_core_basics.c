/* SPDX-License-Identifier: Apache-2.0
 *
 * The small parts of core: SHA-256 against the FIPS 180-4 examples, the arena, growing text, UTF-8, the allocation watch.
 */
#include "core/alloc.h"
#include "core/arena.h"
#include "core/sha256.h"
#include "core/str.h"
#include "test_helpers.h"

#include <stdlib.h>
#include <string.h>

static void test_sha256_vectors(void **state) {
    (void)state;
    static const struct {
        const char *text, *hex;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrs"
         "mnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[ECOI_SHA256_HEX_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ecoi_sha256_hex(rows[i].text, strlen(rows[i].text), hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

/* A million times "a", fed in pieces of every length from 1 to 130. */
static void test_sha256_pieces(void **state) {
    (void)state;
    char piece[131];
    memset(piece, 'a', sizeof piece);
    ecoi_sha256 sha;
    ecoi_sha256_init(&sha);
    size_t left = 1000000;
    for (size_t n = 1; left > 0; n = n % 130 + 1) {
        const size_t take = n < left ? n : left;
        ecoi_sha256_add(&sha, piece, take);
        left -= take;
    }
    unsigned char digest[ECOI_SHA256_SIZE];
    ecoi_sha256_final(&sha, digest);
    static const unsigned char expected[ECOI_SHA256_SIZE] = {
        0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7,
        0xe2, 0x84, 0xd7, 0x3e, 0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97,
        0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
    assert_memory_equal(digest, expected, sizeof expected);
}

static void test_arena(void **state) {
    (void)state;
    ecoi_arena arena = {0};
    unsigned char *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = ecoi_arena_alloc(&arena, i * 37);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < i * 37; k++) {
            assert_int_equal(blocks[i][k], 0);
        }
        memset(blocks[i], (int)(i % 251 + 1), i * 37);
    }
    for (size_t i = 1; i < 500; i++) {
        assert_int_equal(blocks[i][0], i % 251 + 1);
        assert_int_equal(blocks[i][i * 37 - 1], i % 251 + 1);
    }
    assert_null(ecoi_arena_alloc(&arena, SIZE_MAX));
    assert_string_equal(ecoi_arena_copy(&arena, "text and more", 4), "text");
    ecoi_arena_fini(&arena);
    assert_null(arena.chunks);
}

static void test_text(void **state) {
    (void)state;
    eco_text text = {0};
    for (int i = 0; i < 1000; i++) {
        ecoi_text_addf(&text, "%d,", i);
    }
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(text.data), text.length);
    eco_text_free(&text);
    assert_null(text.data);
    ecoi_text_add_number(&text, 0.1);
    ecoi_text_add_char(&text, ' ');
    ecoi_text_add_number(&text, (double)NAN);
    ecoi_text_add_char(&text, ' ');
    ecoi_text_add_fixed(&text, 2.0, 3);
    ecoi_text_add_char(&text, ' ');
    ecoi_text_add_i64(&text, -7);
    assert_string_equal(text.data, "0.1 null 2.000 -7");
    eco_text_free(&text);
}

static void test_strings(void **state) {
    (void)state;
    char copy[5];
    assert_true(ecoi_str_copy(copy, sizeof copy, "1234"));
    assert_false(ecoi_str_copy(copy, sizeof copy, "12345"));
    assert_string_equal(copy, "1234");
    assert_true(ecoi_str_copy(copy, sizeof copy, NULL));
    assert_string_equal(copy, "");
    assert_true(ecoi_str_equal_nocase("GPU-ab", "gpu-AB"));
    assert_false(ecoi_str_equal_nocase("GPU-ab", "GPU-abc"));
    assert_false(ecoi_str_equal_nocase("[", "{"));
    assert_true(ecoi_str_starts_with("ecocompute 1", "ecocompute"));
    assert_false(ecoi_str_starts_with("eco", "ecocompute"));
}

/* Every scalar value is written as valid UTF-8; every other two- and three-byte beginning is refused. */
static void test_utf8(void **state) {
    (void)state;
    for (uint32_t scalar = 0; scalar <= 0x10ffff; scalar++) {
        char bytes[4];
        const size_t n = ecoi_utf8_put(scalar, bytes);
        const bool surrogate = scalar >= 0xd800 && scalar <= 0xdfff;
        assert_int_equal(ecoi_utf8_scan(bytes, n), surrogate ? 0 : n);
        assert_int_equal(ecoi_utf8_scan(bytes, n - 1), 0);
    }
    uint32_t n_valid = 0;
    for (uint32_t pair = 0; pair <= 0xffff; pair++) {
        const char bytes[2] = {(char)(pair >> 8), (char)pair};
        n_valid += ecoi_utf8_scan(bytes, 2) == 2 ? 1 : 0;
    }
    assert_int_equal(n_valid, 0x800 - 0x80);
}

static void test_allocation_watch(void **state) {
    (void)state;
    assert_null(ecoi_calloc(SIZE_MAX / 2, 3));
    if (!ecoi_alloc_checked()) {
        assert_int_equal(ecoi_alloc_violations(), 0);
        skip();
    }
    ecoi_alloc_forbid(true);
    void *memory = ecoi_malloc(10);
    assert_non_null(memory);
    memory = ecoi_realloc(memory, 20);
    ecoi_free(memory);
    ecoi_alloc_forbid(false);
    ecoi_free(ecoi_malloc(1));
    assert_int_equal(ecoi_alloc_violations(), 2);
    ecoi_alloc_forbid(true);
    ecoi_alloc_forbid(false);
    assert_int_equal(ecoi_alloc_violations(), 0);
    ecoi_alloc_fail_from(2);
    memory = ecoi_malloc(1);
    assert_non_null(memory);
    assert_null(ecoi_malloc(1));
    assert_null(ecoi_malloc(1));
    ecoi_alloc_fail_from(0);
    ecoi_free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_vectors),
        cmocka_unit_test(test_sha256_pieces),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_allocation_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
