/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a journal, as --resume reads them. The input is a list of payloads, one a line; they are framed with
 * true checksums behind a true record of the plan, so that all of it reaches the readers of the records. For any
 * input: a journal beginning with this plan is looked at without a failure, and what is given back fits the plan.
 */
#define _DEFAULT_SOURCE

#include "fuzz_check.h"

#include "core/sha256.h"
#include "core/str.h"
#include "protocol/session.h"

#include <fcntl.h>
#include <unistd.h>

static char folder[64];

static void folder_remove(void) {
    char path[80];
    (void)snprintf(path, sizeof path, "%s/journal", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void folder_make(void) {
    const char *const memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(folder, sizeof folder, "%s/eco-fuzz-XXXXXX", memory);
    FUZZ_DEMAND(mkdtemp(folder) != NULL && atexit(folder_remove) == 0);
}

static eco_plan plan_usual(void) {
    return (eco_plan){.shape = eco_model_at(0),
                      .arms = {ECO_FORMAT_FP16, ECO_FORMAT_NF4},
                      .n_arms = 2,
                      .head = ECO_FORMAT_FP16,
                      .engine = {.name = "native", .device = "cuda"},
                      .batch = 1,
                      .n_prompt = 4,
                      .n_tokens = 8,
                      .seed = 1,
                      .order_seed = 1,
                      .shuffle = false,
                      .n_blocks = 3,
                      .window_s = 0.3,
                      .window_ticks_min = 20.0,
                      .ramp_s = 0.5,
                      .burn_in_s = 0.5,
                      .margin_pct = 3.0,
                      .resume = true,
                      .output_dir = folder};
}

static void add_plan(eco_text *out, const eco_plan *plan) {
    eco_plan_row rows[ECO_PLAN_ROWS_MAX];
    const uint32_t n = ecoi_plan_rows(plan, rows);
    ecoi_text_addf(out,
                   "{\"record\": \"plan\", \"format\": \"%s\", \"run_id\": \"r\", \"tool\": \"t\", "
                   "\"boot_id\": \"b\", \"device\": \"d\", \"meter\": \"m\", \"origin_ns\": 5, "
                   "\"options\": {",
                   ECO_JOURNAL_FORMAT);
    for (uint32_t i = 0; i < n; i++) {
        ecoi_text_addf(out, "%s\"%s\": \"%s\"", i > 0 ? ", " : "", rows[i].key, rows[i].value);
    }
    ecoi_text_add_z(out, "}}\n");
}

static void frame(eco_text *out, const char *text, size_t size) {
    char sum[ECO_JOURNAL_SUM_MAX] = "";
    while (size > 0) {
        const char *const end = memchr(text, '\n', size);
        const size_t n = end != NULL ? (size_t)(end - text) : size;
        unsigned char digest[ECOI_SHA256_SIZE];
        ecoi_sha256 sha;
        ecoi_sha256_init(&sha);
        ecoi_sha256_add(&sha, sum, strlen(sum));
        ecoi_sha256_add(&sha, text, n);
        ecoi_sha256_final(&sha, digest);
        (void)snprintf(sum, sizeof sum, "%02x%02x%02x%02x", digest[0], digest[1], digest[2],
                       digest[3]);
        ecoi_text_addf(out, "%zu %s ", n, sum);
        ecoi_text_add(out, text, n);
        ecoi_text_add_char(out, '\n');
        const size_t step = end != NULL ? n + 1 : n;
        text += step;
        size -= step;
    }
}

static void write_journal(const eco_text *text) {
    char path[80];
    (void)snprintf(path, sizeof path, "%s/journal", folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_DEMAND(fd >= 0 && write(fd, text->data, text->length) == (ssize_t)text->length);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (folder[0] == '\0') {
        folder_make();
    }
    const eco_plan plan = plan_usual();
    eco_text payloads = {0};
    eco_text journal = {0};
    add_plan(&payloads, &plan);
    ecoi_text_add(&payloads, (const char *)data, size);
    frame(&journal, payloads.data, payloads.length);
    FUZZ_DEMAND(!payloads.failed && !journal.failed);
    write_journal(&journal);
    eco_resume found;
    eco_error err = {0};
    const eco_status status = eco_resume_look(&plan, true, &found, &err);
    if (status != ECO_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    FUZZ_DEMAND(status == ECO_OK);
    FUZZ_DEMAND(found.blocks_finished <= plan.n_blocks && strcmp(found.run_id, "r") == 0);
    FUZZ_DEMAND(!found.finished || found.blocks_finished == plan.n_blocks);
    FUZZ_DEMAND(memchr(found.note, '\0', sizeof found.note) != NULL);
    eco_text_free(&payloads);
    eco_text_free(&journal);
    return 0;
}
