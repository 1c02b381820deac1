/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of the published task: sizes in names, every key by its text, the parameters file over what stood there, refusals
 * with their place; and the two files that are shipped.
 */
#include "test_helpers.h"

#include "ecocompute/arch.h"
#include "ecocompute/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eco_task some_task(void) {
    return (eco_task){.model_name = "m",
                      .precision = "NF4",
                      .gpu_arch = "auto",
                      .params_b = eco_reading_absent(ECO_ABSENT_NOT_READ),
                      .batch_size = 1,
                      .tokens = 256,
                      .iterations = 10,
                      .warmup = 2,
                      .sample_rate_hz = 10,
                      .context_length = 2048,
                      .quality_seq_len = 1024,
                      .quality_probe = true};
}

static eco_status parse(eco_task *task, const char *text, eco_text *notes, eco_error *err) {
    *err = (eco_error){0};
    return eco_task_parse(task, text, strlen(text), "t", notes, err);
}

/* SPEC 1.3: the first decimal before a b at a word's end. */
static void size_in_name(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double size_b; /* 0 = none */
    } rows[] = {{"TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1.1},
                {"Qwen/Qwen2-0.5B", 0.5},
                {"meta-llama/Llama-3.1-8B", 8},
                {"mistralai/Mixtral-8x7B-v0.1", 7},
                {"a 7 b model", 7},
                {"v1.10.7b", 10.7},
                {"falcon-40b", 40},
                {"bert-base-uncased", 0},
                {"gpt2", 0},
                {"7bit", 0},
                {"7B_chat", 0},
                {"0b", 0},
                {"", 0},
                {"12.b", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const eco_reading size = eco_model_size_in_name(rows[i].name);
        if (eco_reading_present(size) != (rows[i].size_b > 0)) {
            print_error("%s\n", rows[i].name);
            fail();
        }
        ASSERT_NEAR(eco_reading_present(size) ? size.value : 0.0, rows[i].size_b, 1e-12);
    }
}

static void every_key(void **state) {
    (void)state;
    static const struct {
        const char *key, *text;
    } good[] = {{"model_name", "Qwen/Qwen2-7B"},
                {"params_b", "7"},
                {"precision", "int8"},
                {"batch_size", "32"},
                {"gpu_arch", "RTX 4090"},
                {"context_length", "512"},
                {"tokens", "64"},
                {"iterations", "3"},
                {"warmup", "0"},
                {"sample_rate_hz", "20"},
                {"quality_probe", "no"},
                {"quality_text", "a.txt"},
                {"quality_seq_len", "512"},
                {"thermal_mode", "steady"},
                {"power_trace", "true"}};
    eco_task task = some_task();
    eco_error err = {0};
    size_t n = 0;
    while (eco_task_key(n) != NULL) {
        n++;
    }
    assert_int_equal(n, sizeof good / sizeof good[0]);
    for (size_t i = 0; i < n; i++) {
        ASSERT_OK(eco_task_set(&task, good[i].key, good[i].text, &err), &err);
    }
    assert_string_equal(task.model_name, "Qwen/Qwen2-7B");
    ASSERT_NEAR(task.params_b.value, 7.0, 0.0);
    assert_string_equal(task.precision, "INT8");
    assert_int_equal(task.batch_size, 32);
    assert_string_equal(task.gpu_arch, "RTX 4090");
    assert_int_equal(task.context_length, 512);
    assert_int_equal(task.tokens, 64);
    assert_int_equal(task.iterations, 3);
    assert_int_equal(task.warmup, 0);
    assert_int_equal(task.sample_rate_hz, 20);
    assert_false(task.quality_probe);
    assert_string_equal(task.quality_text, "a.txt");
    assert_int_equal(task.quality_seq_len, 512);
    assert_true(task.steady);
    assert_true(task.power_trace);
    ASSERT_OK(eco_task_set(&task, "params_b", "null", &err), &err);
    assert_false(eco_reading_present(task.params_b));
    ASSERT_OK(eco_task_set(&task, "gpu_arch", "", &err), &err); /* published: empty is auto */
    assert_string_equal(task.gpu_arch, "auto");
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *key, *text, *message;
    } bad[] = {
        {"precision", "FP8", "'FP8' is not usable; expected FP16, NF4 or INT8"},
        {"batch_size", "0", "'0' is not usable; expected a whole number from 1 to 4096"},
        {"batch_size", "1.5", "'1.5' is not usable; expected a whole number from 1 to 4096"},
        {"batch_size", "-1", "'-1' is not usable; expected a whole number from 1 to 4096"},
        {"iterations", "1e9", "'1e9' is not usable; expected a whole number from 1 to 1000"},
        {"tokens", "many", "'many' is not usable; expected a whole number from 1 to 1048576"},
        {"params_b", "nan", "'nan' is not usable; expected billions of parameters, or null"},
        {"params_b", "0", "'0' is not usable; expected billions of parameters, or null"},
        {"thermal_mode", "hot", "'hot' is not usable; expected cold or steady"},
        {"model_name", "", "'' is not usable; expected a name or a path"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        eco_task task = some_task();
        const eco_task before = task;
        eco_error err = {0};
        assert_int_equal(eco_task_set(&task, bad[i].key, bad[i].text, &err), ECO_E_USAGE);
        assert_string_equal(err.message, bad[i].message);
        assert_memory_equal(&task, &before, sizeof task);
    }
    eco_task task = some_task();
    eco_error err = {0};
    assert_int_equal(eco_task_set(&task, "colour", "red", &err), ECO_E_NOT_FOUND);
}

/* The file changes what it names and nothing else; null and unknown keys change nothing. */
static void file_over_defaults(void **state) {
    (void)state;
    eco_task task = some_task();
    eco_text notes = {0};
    eco_error err;
    ASSERT_OK(parse(&task,
                    "precision: INT8\nparams_b: null\nbatchsize: 4\ntokens: 128 # short\n"
                    "gpu_arch: ada\nquality_probe: false\nmodel_name:\n",
                    &notes, &err),
              &err);
    assert_string_equal(task.precision, "INT8");
    assert_false(eco_reading_present(task.params_b));
    assert_int_equal(task.tokens, 128);
    assert_int_equal(task.batch_size, 1);
    assert_int_equal(task.iterations, 10);
    assert_string_equal(task.gpu_arch, "ada");
    assert_string_equal(task.model_name, "m");
    assert_false(task.quality_probe);
    assert_string_equal(
        notes.data, "t:3:1: unknown key 'batchsize' is passed over; did you mean 'batch_size'?\n");
    eco_text_free(&notes);
}

static void file_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        eco_status status;
        const char *message;
    } bad[] = {{"tokens: 256\nprecision: FP8\n", ECO_E_USAGE,
                "t:2:12: precision: 'FP8' is not usable; expected FP16, NF4 or INT8"},
               {"tokens: [1, 2]\n", ECO_E_USAGE,
                "t:1:9: tokens: expected a whole number from 1 to 1048576, not a list"},
               {"- tokens\n", ECO_E_PARSE, "t:1:1: expected key: value lines, not a list"},
               {"tokens: 1\ntokens: 2\n", ECO_E_PARSE, NULL},
               {"tokens: &a 1\n", ECO_E_PARSE, NULL},
               {"tokens: {\n", ECO_E_PARSE, NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        eco_task task = some_task();
        const eco_task before = task;
        eco_text notes = {0};
        eco_error err;
        assert_int_equal(parse(&task, bad[i].text, &notes, &err), bad[i].status);
        if (bad[i].message != NULL) {
            assert_string_equal(err.message, bad[i].message);
        }
        assert_int_equal(strncmp(err.message, "t:", 2), 0);
        assert_memory_equal(&task, &before, sizeof task);
        eco_text_free(&notes);
    }
}

static void load_shipped(const char *file, eco_task *task) {
    char path[1024];
    const char *root = getenv("ECO_SOURCE_DIR");
    eco_text notes = {0};
    eco_error err = {0};
    assert_non_null(root);
    snprintf(path, sizeof path, "%s/parameters/%s", root, file);
    *task = (eco_task){.precision = ""};
    ASSERT_OK(eco_task_load(task, path, &notes, &err), &err);
    assert_null(notes.data);
}

/* SPEC 1.2 and 7.1 case 37. */
static void shipped_files(void **state) {
    (void)state;
    eco_task task;
    load_shipped("energy_params.yaml", &task);
    assert_string_equal(task.model_name, "TinyLlama/TinyLlama-1.1B-Chat-v1.0");
    ASSERT_NEAR(task.params_b.value, 1.1, 0.0);
    assert_string_equal(task.precision, "NF4");
    assert_string_equal(task.gpu_arch, "auto");
    const uint32_t counts[] = {task.batch_size,     task.context_length, task.tokens,
                               task.iterations,     task.warmup,         task.sample_rate_hz,
                               task.quality_seq_len};
    static const uint32_t wanted[] = {1, 2048, 256, 10, 2, 10, 1024};
    assert_memory_equal(counts, wanted, sizeof wanted);
    assert_true(task.quality_probe);
    load_shipped("bert_bs32.yaml", &task);
    assert_string_equal(task.model_name, "bert-base-uncased");
    ASSERT_NEAR(task.params_b.value, 0.11, 0.0);
    assert_string_equal(task.gpu_arch, "ampere");
    assert_int_equal(task.batch_size, 32);
    assert_int_equal(task.context_length, 512);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_in_name),  cmocka_unit_test(every_key),
        cmocka_unit_test(refusals),      cmocka_unit_test(file_over_defaults),
        cmocka_unit_test(file_refusals), cmocka_unit_test(shipped_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
