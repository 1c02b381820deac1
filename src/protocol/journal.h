/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a run: an append-only file of checksummed records, one a line, each on disk before anything else
 * mentions what it holds. Format: docs/journal.md. Reading treats it as untrusted and stops at the first record that is
 * not whole; what follows is cut off before the next one is written.
 */
#ifndef ECOCOMPUTE_PROTOCOL_JOURNAL_H
#define ECOCOMPUTE_PROTOCOL_JOURNAL_H

#include "core/json.h"
#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ECO_JOURNAL_NAME "journal"
#define ECO_JOURNAL_FORMAT "ecocompute-journal/1"

enum {
    ECO_JOURNAL_RECORD_MAX = 32 * 1024 * 1024, /* bytes of one payload */
    ECO_JOURNAL_SIZE_MAX = 512 * 1024 * 1024,
    ECO_JOURNAL_RECORDS_MAX = 4096,
    ECO_JOURNAL_REASON_MAX = 160,
    ECO_JOURNAL_SUM_MAX = 9 /* eight hex digits and NUL */
};

/* What was found. The good part is the longest beginning of whole records in order that the visitor took. */
typedef struct eco_journal_scan {
    size_t good_bytes, dropped_bytes;
    uint32_t n_records;
    char sum[ECO_JOURNAL_SUM_MAX];       /* of the last good record; "" = none */
    char reason[ECO_JOURNAL_REASON_MAX]; /* why the rest is dropped; "" = there is no rest */
} eco_journal_scan;

/* Takes record `index` (from 0). ECO_OK: go on. ECO_E_INVALID: it does not belong here; `reason` says why and the good
 * part ends before it. Any other status ends the reading as a failure. The payload lives until the return. */
typedef eco_status (*eco_journal_visit)(void *user, uint32_t index, const ecoi_json *payload,
                                        char reason[ECO_JOURNAL_REASON_MAX], eco_error *err);

/* Pure. ECO_E_INVALID when `text` is not the beginning of a journal at all (nothing of it may be cut off then). */
ECO_NODISCARD eco_status ecoi_journal_parse(const char *text, size_t length,
                                            eco_journal_visit visit, void *user,
                                            eco_journal_scan *out, eco_error *err);
/* Of the file in `folder`, without taking it. ECO_E_NOT_FOUND when there is none. */
ECO_NODISCARD eco_status ecoi_journal_look(const char *folder, eco_journal_visit visit, void *user,
                                           eco_journal_scan *out, eco_error *err);

typedef struct eco_journal eco_journal;

/* Opens or makes the file in `folder` and takes it for this process; the hold ends with close or with the process,
 * however it ends. ECO_E_BUSY: another has it. Nothing of an old file is changed. */
ECO_NODISCARD eco_status ecoi_journal_open(const char *folder, eco_journal **out, eco_error *err);
bool ecoi_journal_is_held(const char *folder); /* by a process that has it open */
/* Reads what is there; appending goes on behind the good part. */
ECO_NODISCARD eco_status ecoi_journal_load(eco_journal *journal, eco_journal_visit visit,
                                           void *user, eco_journal_scan *out, eco_error *err);
/* Drops all that stands behind the good part (of a journal that was not loaded: everything) and syncs. */
ECO_NODISCARD eco_status ecoi_journal_cut(eco_journal *journal, eco_error *err);
/* One record, synced with its folder when this returns; on failure the file is as it was before. ECO_E_IO also when
 * the file is no longer the one in the folder. `payload` is an object. */
ECO_NODISCARD eco_status ecoi_journal_append(eco_journal *journal, const ecoi_json *payload,
                                             eco_error *err);
uint32_t ecoi_journal_count(const eco_journal *journal); /* good records */
/* `remove`: takes the file away, too, unless it holds what another run wrote. NULL is fine. */
void ecoi_journal_close(eco_journal *journal, bool remove);

#endif
