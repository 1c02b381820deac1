/* SPDX-License-Identifier: Apache-2.0
 *
 * A journal from disk. An input that begins with '#' is a list of payloads, one a line, framed here with their true
 * checksums, so that a fuzzer gets past them; any other input is the file as it is. For any input: the good part and
 * the dropped part are the whole; the good part alone reads to the same records; records that were framed truly and
 * are JSON objects all count.
 */
#include "fuzz_check.h"

#include "core/sha256.h"
#include "core/str.h"
#include "protocol/journal.h"

typedef struct visited {
    uint32_t n;
    size_t n_members;
} visited;

static eco_status visit(void *user, uint32_t index, const ecoi_json *payload,
                        char reason[ECO_JOURNAL_REASON_MAX], eco_error *err) {
    visited *const seen = user;
    (void)err;
    FUZZ_DEMAND(index == seen->n && payload != NULL);
    if (payload->type != ECOI_JSON_OBJECT) {
        (void)snprintf(reason, ECO_JOURNAL_REASON_MAX, "is no object");
        return ECO_E_INVALID;
    }
    seen->n++;
    seen->n_members += payload->n;
    return ECO_OK;
}

static void frame_line(eco_text *out, char sum[ECO_JOURNAL_SUM_MAX], const char *line, size_t n) {
    unsigned char digest[ECOI_SHA256_SIZE];
    ecoi_sha256 sha;
    ecoi_sha256_init(&sha);
    ecoi_sha256_add(&sha, sum, strlen(sum));
    ecoi_sha256_add(&sha, line, n);
    ecoi_sha256_final(&sha, digest);
    (void)snprintf(sum, ECO_JOURNAL_SUM_MAX, "%02x%02x%02x%02x", digest[0], digest[1], digest[2],
                   digest[3]);
    ecoi_text_addf(out, "%zu %s ", n, sum);
    ecoi_text_add(out, line, n);
    ecoi_text_add_char(out, '\n');
}

static void frame_all(const char *text, size_t size, eco_text *out) {
    char sum[ECO_JOURNAL_SUM_MAX] = "";
    while (size > 0) {
        const char *const end = memchr(text, '\n', size);
        const size_t n = end != NULL ? (size_t)(end - text) : size;
        frame_line(out, sum, text, n);
        const size_t step = end != NULL ? n + 1 : n;
        text += step;
        size -= step;
    }
}

static void check(const char *text, size_t size) {
    visited seen = {0};
    eco_journal_scan scan = {0};
    eco_error err = {0};
    const eco_status status = ecoi_journal_parse(text, size, visit, &seen, &scan, &err);
    if (status != ECO_OK) {
        FUZZ_DEMAND(status == ECO_E_INVALID && err.message[0] != '\0');
        return;
    }
    FUZZ_DEMAND(scan.good_bytes + scan.dropped_bytes == size && scan.n_records == seen.n);
    FUZZ_DEMAND((scan.dropped_bytes == 0) == (scan.reason[0] == '\0'));
    visited again = {0};
    eco_journal_scan good = {0};
    FUZZ_DEMAND(ecoi_journal_parse(text, scan.good_bytes, visit, &again, &good, &err) == ECO_OK);
    FUZZ_DEMAND(again.n == seen.n && again.n_members == seen.n_members);
    FUZZ_DEMAND(good.dropped_bytes == 0 && strcmp(good.sum, scan.sum) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    if (size > 0 && text[0] == '#') {
        eco_text framed = {0};
        frame_all(text + 1, size - 1, &framed);
        if (framed.length > 0) {
            check(framed.data, framed.length);
        }
        eco_text_free(&framed);
    } else {
        check(text, size);
    }
    free(text);
    return 0;
}
