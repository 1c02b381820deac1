/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan files: defaults, one experiment a batch, every refusal with its place; and the index, begun, resumed, refused.
 */
#include "test_helpers.h"

#include "ecocompute/plan_file.h"
#include "protocol/journal.h"
#include "sys/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static eco_status parse(const char *text, eco_plan_file *out, eco_error *err) {
    *err = (eco_error){0};
    return eco_plan_file_parse(text, strlen(text), "t", out, err);
}

static const char two[] = "version: 1\n"
                          "name: two\n"
                          "defaults:\n"
                          "  precisions: [NF4]\n"
                          "  batch: [1, 16]\n"
                          "  window: 2.5\n"
                          "  quick: yes\n"
                          "experiments:\n"
                          "  - model: qwen2-7b\n"
                          "  - model: TinyLlama-1.1B\n"
                          "    batch: 4\n"
                          "    blocks: 3\n"
                          "    quick: no\n"
                          "    precisions: FP16\n"
                          "    order: fixed\n"
                          "    outliers: 3\n";

static void defaults_and_entries(void **state) {
    (void)state;
    eco_plan_file plan;
    eco_error err;
    ASSERT_OK(parse(two, &plan, &err), &err);
    assert_string_equal(plan.name, "two");
    assert_int_equal(strlen(plan.sha256), 64);
    assert_int_equal(plan.n, 3);
    assert_string_equal(plan.experiments[0].name, "01-qwen2-7b-b1");
    assert_string_equal(plan.experiments[1].name, "02-qwen2-7b-b16");
    assert_string_equal(plan.experiments[2].name, "03-tinyllama-1.1b-b4");
    assert_string_equal(plan.experiments[0].shape->name, "Qwen2-7B");
    assert_int_equal(plan.experiments[1].batch, 16);
    assert_int_equal(plan.experiments[0].n_precisions, 1);
    assert_int_equal(plan.experiments[0].precisions[0], ECO_FORMAT_NF4);
    ASSERT_NEAR(plan.experiments[1].numbers[ECO_PLAN_WINDOW], 2.5, 0.0);
    assert_true(plan.experiments[1].quick);
    const eco_experiment *last = &plan.experiments[2];
    assert_false(last->quick);
    assert_true(last->fixed_order);
    assert_int_equal(last->n_precisions, 0); /* the baseline alone */
    assert_int_equal(last->line, 10);
    ASSERT_NEAR(last->numbers[ECO_PLAN_BLOCKS], 3.0, 0.0);
    ASSERT_NEAR(last->numbers[ECO_PLAN_OUTLIERS], 3.0, 0.0);
    assert_true(last->numbers[ECO_PLAN_TOKENS] < 0.0);
    eco_plan_file_free(&plan);
}

#define ONE "version: 1\nexperiments:\n  - model: Qwen2-7B\n"

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"experiments:\n  - model: Qwen2-7B\n",
         "t:1:1: the key version is missing; this program reads 1"},
        {"version: 2\nexperiments:\n  - model: Qwen2-7B\n",
         "t:1:10: version: '2' is not usable; expected a whole number from 1 to 1"},
        {"version: 1\n", "t:1:1: experiments: expected a list of at least one"},
        {"version: 1\nexperiments: []\n", "t:2:14: experiments: expected a list of at least one"},
        {"version: 1\nexperiments: 3\n", "t:2:14: experiments: expected a list of at least one"},
        {"- 1\n", "t:1:1: a plan is a mapping with the keys version and experiments"},
        {"version: 1\nexperiment: []\n",
         "t:2:1: unknown key 'experiment', did you mean 'experiments'?"},
        {"version: 1\nexperiments:\n  - precisions: NF4\n", "t:3:5: the experiment has no model"},
        {"version: 1\nexperiments:\n  - Qwen2-7B\n",
         "t:3:5: an experiment is a mapping with at least a model"},
        {"version: 1\nexperiments:\n  - model: Qwen2-8B\n",
         "t:3:12: unknown model 'Qwen2-8B', did you mean 'Qwen2-7B'?"},
        {"version: 1\nexperiments:\n  - model: [Qwen2-7B]\n",
         "t:3:12: model: expected the name of a model, not a list"},
        {ONE "    precisions: [NF4, NF5]\n",
         "t:4:23: unknown precision 'NF5', did you mean 'NF4'?"},
        {ONE "    precisions: [NF4, NF4]\n",
         "t:4:23: precisions: 'NF4' is not usable; it is named twice"},
        {ONE "    precisions: [NF4, FP16]\n",
         "t:3:5: precisions: the baseline is named among them"},
        {ONE "    precisions: {NF4: 1}\n",
         "t:4:17: precisions: expected a list of formats, not a mapping"},
        {ONE "    batch: [1, 4, 1]\n", "t:4:19: batch: '1' is not usable; it is named twice"},
        {ONE "    batch: 65\n",
         "t:4:12: batch: '65' is not usable; expected a whole number from 1 to 64"},
        {ONE "    batch: [1, 0]\n",
         "t:4:16: batch: '0' is not usable; expected a whole number from 1 to 64"},
        {ONE "    precisions: []\n", "t:4:17: precisions: expected a list of formats"},
        {ONE "    batch: []\n", "t:4:12: batch: expected a number or a list of numbers"},
        {ONE "    blocks: 1.5\n",
         "t:4:13: blocks: '1.5' is not usable; expected a whole number from 1 to 64"},
        {ONE "    blocks: \"3\"\n",
         "t:4:13: blocks: '3' is not usable; expected a whole number from 1 to 64"},
        {ONE "    window: nan\n",
         "t:4:13: window: 'nan' is not usable; expected a number from 0.2 to 600"},
        {ONE "    window: 1e999\n",
         "t:4:13: window: '1e999' is not usable; expected a number from 0.2 to 600"},
        {ONE "    quick: maybe\n", "t:4:12: quick: 'maybe' is not usable; expected no or yes"},
        {ONE "    protocol: [paired]\n",
         "t:4:15: protocol: expected paired or published, not a list"},
        {ONE "    blokcs: 3\n", "t:4:5: unknown key 'blokcs', did you mean 'blocks'?"},
        {ONE "    command: rm\n", "t:4:5: unknown key 'command'"},
        {ONE "    prompt_tokens: 1048576\n    tokens: 1048576\n",
         "t:3:5: prompt_tokens + tokens: 2097152 positions; Qwen2-7B has at most"},
        {ONE "    model: Qwen2-7B\n", "t:4:5: 'model' stands here twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        eco_plan_file plan;
        eco_error err;
        assert_int_not_equal(parse(rows[i].text, &plan, &err), ECO_OK);
        err.message[strlen(rows[i].message)] = '\0'; /* the end may name a number of the table */
        assert_string_equal(err.message, rows[i].message);
        assert_null(plan.experiments);
    }
}

static void too_many(void **state) {
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        char *text = malloc(65536);
        assert_non_null(text);
        size_t used = (size_t)sprintf(text, "version: 1\nexperiments:\n");
        for (int i = 0; i < ECO_EXPERIMENTS_MAX + extra; i++) {
            used += (size_t)sprintf(text + used, "  - model: Qwen2-7B\n");
        }
        eco_plan_file plan;
        eco_error err;
        assert_int_equal(parse(text, &plan, &err), extra == 0 ? ECO_OK : ECO_E_RANGE);
        eco_plan_file_free(&plan);
        free(text);
    }
}

/* ---- Index ---- */

typedef struct place {
    char folder[64], file[80];
} place;

static place make_folder(void) {
    place p = {.folder = "/tmp/eco_plan_XXXXXX"};
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.file, sizeof p.file, "%s/plan.json", p.folder);
    return p;
}

static void remove_folder(const place *p) {
    (void)unlink(p->file);
    assert_int_equal(rmdir(p->folder), 0);
}

static void begun_and_resumed(void **state) {
    (void)state;
    const place p = make_folder();
    eco_plan_file plan;
    eco_plan_index *index = NULL;
    eco_error err;
    char folder[ECO_EXPERIMENT_NAME_MAX + 16];
    ASSERT_OK(parse(two, &plan, &err), &err);
    assert_int_equal(eco_plan_index_open(p.folder, &plan, true, &index, &err), ECO_E_NOT_FOUND);
    ASSERT_OK(eco_plan_index_open(p.folder, &plan, false, &index, &err), &err);
    assert_int_equal(eco_plan_index_state(index, 0), ECO_EXPERIMENT_PENDING);
    ASSERT_OK(eco_plan_index_begin(index, 0, folder, &err), &err);
    assert_string_equal(folder, "01-qwen2-7b-b1");
    ASSERT_OK(eco_plan_index_end(index, 0, ECO_EXPERIMENT_DONE, 0, NULL, &err), &err);
    ASSERT_OK(eco_plan_index_begin(index, 1, folder, &err), &err);
    eco_plan_index *other = NULL;
    assert_int_equal(eco_plan_index_open(p.folder, &plan, true, &other, &err), ECO_E_BUSY);
    assert_non_null(strstr(err.message, "another run is at work"));
    eco_plan_index_free(index); /* as if the program had been killed in the second */

    assert_int_equal(eco_plan_index_open(p.folder, &plan, false, &index, &err), ECO_E_USAGE);
    assert_non_null(strstr(err.message, "--resume"));
    ASSERT_OK(eco_plan_index_open(p.folder, &plan, true, &index, &err), &err);
    assert_int_equal(eco_plan_index_state(index, 0), ECO_EXPERIMENT_DONE);
    assert_int_equal(eco_plan_index_state(index, 1), ECO_EXPERIMENT_RUNNING);
    assert_int_equal(eco_plan_index_state(index, 2), ECO_EXPERIMENT_PENDING);
    ASSERT_OK(eco_plan_index_begin(index, 1, folder, &err), &err);
    assert_string_equal(folder, "02-qwen2-7b-b16.2"); /* the first attempt keeps its folder */
    ASSERT_OK(eco_plan_index_end(index, 1, ECO_EXPERIMENT_FAILED, 1, "device \"lost\"", &err),
              &err);
    eco_text text = {0};
    ASSERT_OK(eco_plan_index_text(index, &text, &err), &err);
    assert_non_null(strstr(text.data, "\"reason\": \"device \\\"lost\\\"\""));
    assert_non_null(strstr(text.data, "\"exit_status\": 1"));
    eco_text_free(&text);
    eco_plan_index_free(index);
    eco_plan_file_free(&plan);
    remove_folder(&p);
}

/* A journal in `folder`/`name`: metered by `meter`, ended as `how`. */
static void write_journal(const place *p, const char *name, const char *meter, const char *how) {
    char folder[160];
    char text[3][96];
    eco_journal *journal = NULL;
    eco_error err;
    snprintf(folder, sizeof folder, "%s/%s", p->folder, name);
    assert_int_equal(mkdir(folder, 0755), 0);
    snprintf(text[0], sizeof text[0], "{\"record\": \"plan\", \"meter\": \"%s\"}", meter);
    snprintf(text[1], sizeof text[1], "{\"record\": \"block\"}");
    snprintf(text[2], sizeof text[2], "{\"record\": \"end\", \"how\": \"%s\"}", how);
    ASSERT_OK(ecoi_journal_open(folder, &journal, &err), &err);
    ASSERT_OK(ecoi_journal_cut(journal, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        ecoi_json_doc doc = {0};
        ASSERT_OK(ecoi_json_read(text[i], strlen(text[i]), "here", &doc, &err), &err);
        ASSERT_OK(ecoi_journal_append(journal, doc.root, &err), &err);
        ecoi_json_fini(&doc);
    }
    ecoi_journal_close(journal, false);
}

/* Killed between an experiment's last record and the index: what its journal calls finished is not begun anew. */
static void finished_before_the_index(void **state) {
    (void)state;
    static const struct {
        const char *meter, *how;
        eco_experiment_state wanted;
    } rows[] = {{"nvml, counter", "finished", ECO_EXPERIMENT_DONE},
                {"", "finished", ECO_EXPERIMENT_UNMEASURED},
                {"nvml, counter", "interrupted", ECO_EXPERIMENT_RUNNING}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const place p = make_folder();
        eco_plan_file plan;
        eco_plan_index *index = NULL;
        eco_error err;
        char folder[ECO_EXPERIMENT_NAME_MAX + 16];
        char path[2][160];
        ASSERT_OK(parse(two, &plan, &err), &err);
        ASSERT_OK(eco_plan_index_open(p.folder, &plan, false, &index, &err), &err);
        ASSERT_OK(eco_plan_index_begin(index, 0, folder, &err), &err);
        eco_plan_index_free(index);
        write_journal(&p, folder, rows[i].meter, rows[i].how);
        for (int again = 0; again < 2; again++) { /* it is written down, too */
            ASSERT_OK(eco_plan_index_open(p.folder, &plan, true, &index, &err), &err);
            assert_int_equal(eco_plan_index_state(index, 0), rows[i].wanted);
            assert_int_equal(eco_plan_index_state(index, 1), ECO_EXPERIMENT_PENDING);
            eco_plan_index_free(index);
        }
        snprintf(path[0], sizeof path[0], "%s/%s/journal", p.folder, folder);
        snprintf(path[1], sizeof path[1], "%s/%s", p.folder, folder);
        assert_int_equal(unlink(path[0]), 0);
        assert_int_equal(rmdir(path[1]), 0);
        eco_plan_file_free(&plan);
        remove_folder(&p);
    }
}

static void foreign_index(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "[]", "{\"schema\": \"ecocompute-plan/1\"}",
        "{\"schema\": \"ecocompute-plan/2\", \"plan_sha256\": \"x\", \"experiments\": []}"};
    const place p = make_folder();
    eco_plan_file plan;
    eco_plan_index *index = NULL;
    eco_error err;
    ASSERT_OK(parse(two, &plan, &err), &err);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ASSERT_OK(ecoi_file_write(p.file, texts[i], strlen(texts[i]), &err), &err);
        assert_int_not_equal(eco_plan_index_open(p.folder, &plan, true, &index, &err), ECO_OK);
        assert_null(index);
    }
    (void)unlink(p.file);

    /* Another plan, and one with a byte more. */
    ASSERT_OK(eco_plan_index_open(p.folder, &plan, false, &index, &err), &err);
    eco_plan_index_free(index);
    eco_plan_file_free(&plan);
    char changed[sizeof two + 8];
    snprintf(changed, sizeof changed, "%s# x\n", two);
    ASSERT_OK(parse(changed, &plan, &err), &err);
    assert_int_equal(eco_plan_index_open(p.folder, &plan, true, &index, &err), ECO_E_USAGE);
    assert_non_null(strstr(err.message, "another plan"));
    eco_plan_file_free(&plan);
    remove_folder(&p);
}

/* An index whose hash is right but whose experiments are not this plan's. */
static void edited_index(void **state) {
    (void)state;
    const place p = make_folder();
    eco_plan_file plan;
    eco_plan_index *index = NULL;
    eco_error err;
    eco_text text = {0};
    ASSERT_OK(parse(two, &plan, &err), &err);
    ASSERT_OK(eco_plan_index_open(p.folder, &plan, false, &index, &err), &err);
    ASSERT_OK(eco_plan_index_text(index, &text, &err), &err);
    eco_plan_index_free(index);
    static const char *const edits[][2] = {{"02-qwen2-7b-b16", "02-qwen2-7b-b17"},
                                           {"\"pending\"", "\"finished\""},
                                           {"\"attempts\": []", "\"attempts\": {}"}};
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char *copy = calloc(1, text.length + 64);
        assert_non_null(copy);
        const char *at = strstr(text.data, edits[i][0]);
        assert_non_null(at);
        sprintf(copy, "%.*s%s%s", (int)(at - text.data), text.data, edits[i][1],
                at + strlen(edits[i][0]));
        ASSERT_OK(ecoi_file_write(p.file, copy, strlen(copy), &err), &err);
        assert_int_equal(eco_plan_index_open(p.folder, &plan, true, &index, &err), ECO_E_INVALID);
        free(copy);
    }
    eco_text_free(&text);
    eco_plan_file_free(&plan);
    remove_folder(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_and_entries),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(too_many),
                                       cmocka_unit_test(begun_and_resumed),
                                       cmocka_unit_test(finished_before_the_index),
                                       cmocka_unit_test(foreign_index),
                                       cmocka_unit_test(edited_index)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
