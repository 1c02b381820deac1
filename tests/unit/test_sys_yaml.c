/* SPDX-License-Identifier: Apache-2.0
 *
 * The YAML reader: what it takes and where it stands, and everything it refuses with line and column.
 */
#include "test_helpers.h"

#include "core/alloc.h"
#include "sys/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eco_status read_text(const char *text, ecoi_yaml_doc *doc, eco_error *err) {
    *err = (eco_error){0};
    return ecoi_yaml_read(text, strlen(text), "t", doc, err);
}

static void tree_with_places(void **state) {
    (void)state;
    ecoi_yaml_doc doc;
    eco_error err;
    ASSERT_OK(read_text("# a comment\n"
                        "version: 1\n"
                        "list: [NF4, \"7\"]\n"
                        "deep:\n"
                        "  - model: Qwen2-7B\n"
                        "    batch: 4\n",
                        &doc, &err),
              &err);
    assert_int_equal(doc.root->type, ECOI_YAML_MAPPING);
    assert_int_equal(doc.root->n, 3);
    const ecoi_yaml *version = ecoi_yaml_member(doc.root, "version");
    assert_string_equal(version->text, "1");
    assert_false(version->quoted);
    assert_int_equal(version->line, 2);
    assert_int_equal(version->column, 10);
    assert_int_equal(version->key_column, 1);
    const ecoi_yaml *list = ecoi_yaml_member(doc.root, "list");
    assert_int_equal(list->n, 2);
    assert_string_equal(list->first->text, "NF4");
    assert_true(list->first->next->quoted);
    assert_null(list->first->key);
    const ecoi_yaml *entry = ecoi_yaml_member(doc.root, "deep")->first;
    const ecoi_yaml *batch = ecoi_yaml_member(entry, "batch");
    assert_int_equal(batch->line, 6);
    assert_int_equal(batch->key_line, 6);
    assert_int_equal(batch->key_column, 5);
    assert_null(ecoi_yaml_member(entry, "Batch"));
    assert_null(ecoi_yaml_member(list, "NF4"));
    ecoi_yaml_fini(&doc);
}

static void byte_order_mark(void **state) {
    (void)state;
    ecoi_yaml_doc doc;
    eco_error err;
    ASSERT_OK(read_text("\xef\xbb\xbf# saved by Notepad\nversion: 1\n", &doc, &err), &err);
    const ecoi_yaml *version = ecoi_yaml_member(doc.root, "version");
    assert_non_null(version);
    assert_int_equal(version->line, 2);
    ecoi_yaml_fini(&doc);
    assert_int_equal(read_text("\xef\xbb\xbf", &doc, &err), ECO_E_PARSE);
    assert_string_equal(err.message, "t:1:1: the file is empty");
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "t:1:1: the file is empty"},
        {"# nothing\n", "t:1:1: the file is empty"},
        {"a: 1\nb: 2\na: 3\n", "t:3:1: 'a' stands here twice"},
        {"a: &x 1\n", "t:1:4: anchors and tags are not allowed"},
        {"a: *x\n", "t:1:4: aliases are not allowed"},
        {"a: !!int 1\n", "t:1:4: anchors and tags are not allowed"},
        {"a: !!map {b: 1}\n", "t:1:4: anchors and tags are not allowed"},
        {"a: &l [1]\n", "t:1:4: anchors and tags are not allowed"},
        {"? [1, 2]\n: 3\n", "t:1:3: a key must be a plain text"},
        {"a: 1\n---\nb: 2\n", "t:2:1: a second document is not allowed"},
        {"%YAML 1.1\n---\na: 1\n", "t:1:1: directives are not allowed"},
        {"[[[[[[[[[1]]]]]]]]]\n", "t:1:9: nested too deeply"},
        {"a: \"x\\0y\"\n", "t:1:4: a NUL character is not allowed"},
        {"a: [1, 2\n", "t:2:1: "},
        {"a: 1\n\tb: 2\n", "t:2:1: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ecoi_yaml_doc doc;
        eco_error err;
        assert_int_not_equal(read_text(rows[i].text, &doc, &err), ECO_OK);
        /* What libyaml itself refuses has its words, so only the place is looked at there. */
        err.message[strlen(rows[i].message)] = '\0';
        assert_string_equal(err.message, rows[i].message);
        assert_null(doc.root);
    }
}

static void not_utf8(void **state) {
    (void)state;
    ecoi_yaml_doc doc;
    eco_error err;
    assert_int_equal(read_text("a: \xff\n", &doc, &err), ECO_E_PARSE);
    assert_non_null(strstr(err.message, "t:1:"));
}

/* At each cap the last value is taken and one more is refused. */
static void caps(void **state) {
    (void)state;
    ecoi_yaml_doc doc;
    eco_error err;
    char *text = malloc(ECO_YAML_SIZE_MAX + 2);
    assert_non_null(text);
    ASSERT_OK(read_text("[[[[[[[[1]]]]]]]]\n", &doc, &err), &err);
    ecoi_yaml_fini(&doc);
    for (int extra = 0; extra < 2; extra++) {
        size_t used = 0;
        for (int i = 0; i < ECO_YAML_MEMBERS_MAX + extra; i++) {
            used += (size_t)sprintf(text + used, "k%d: 1\n", i);
        }
        assert_int_equal(ecoi_yaml_read(text, used, "t", &doc, &err),
                         extra == 0 ? ECO_OK : ECO_E_RANGE);
        ecoi_yaml_fini(&doc);
        used = 0;
        for (int i = 0; i < ECO_YAML_NODES_MAX - 1 + extra; i++) { /* and the list itself */
            used += (size_t)sprintf(text + used, "- 1\n");
        }
        assert_int_equal(ecoi_yaml_read(text, used, "t", &doc, &err),
                         extra == 0 ? ECO_OK : ECO_E_RANGE);
        ecoi_yaml_fini(&doc);
        memset(text, '#', ECO_YAML_SIZE_MAX + 1);
        memcpy(text, "a: 1\n", 5);
        assert_int_equal(ecoi_yaml_read(text, ECO_YAML_SIZE_MAX + (size_t)extra, "t", &doc, &err),
                         extra == 0 ? ECO_OK : ECO_E_RANGE);
        ecoi_yaml_fini(&doc);
    }
    free(text);
}

/* 100,000 brackets end at the eighth. */
static void nested_without_end(void **state) {
    (void)state;
    ecoi_yaml_doc doc;
    eco_error err;
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, '[', 100000);
    text[100000] = '\0';
    assert_int_equal(read_text(text, &doc, &err), ECO_E_RANGE);
    assert_string_equal(err.message, "t:1:9: nested too deeply");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tree_with_places),
                                       cmocka_unit_test(byte_order_mark),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(not_utf8),
                                       cmocka_unit_test(caps),
                                       cmocka_unit_test(nested_without_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
