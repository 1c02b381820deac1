/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames, checksums, lock and durability of a journal. A line is "length sum payload\n"; the sum is the first 32 bits of
 * SHA-256 over the sum before it and the payload, so that a record taken out, put twice or brought from another journal
 * ends the chain. The lock lies on the file itself: the kernel lets go of it when the process dies.
 */
#include "protocol/journal.h"

#include "core/alloc.h"
#include "core/num.h"
#include "core/sha256.h"
#include "core/str.h"
#include "sys/file.h"
#include "sys/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4096, FILE_MODE = 0666, LENGTH_DIGITS_MAX = 9, OPEN_TRIES = 100 };

struct eco_journal {
    int fd;
    char folder[PATH_BYTES_MAX], path[PATH_BYTES_MAX];
    size_t good_bytes;
    uint32_t n_records;
    char sum[ECO_JOURNAL_SUM_MAX];
    bool own; /* nothing of another run is in it */
};

static eco_status journal_error(eco_error *err, const char *path, const char *doing, int code) {
    const bool denied = code == EACCES || code == EPERM || code == EROFS;
    return eco_error_set(err,
                         denied           ? ECO_E_PERMISSION
                         : code == ENOENT ? ECO_E_NOT_FOUND
                                          : ECO_E_IO,
                         code, "%s: cannot %s: %s", path, doing, strerror(code));
}

static void sum_of(const char *before, const char *payload, size_t length,
                   char out[ECO_JOURNAL_SUM_MAX]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[ECOI_SHA256_SIZE];
    ecoi_sha256 sha;
    ecoi_sha256_init(&sha);
    ecoi_sha256_add(&sha, before, strlen(before));
    ecoi_sha256_add(&sha, payload, length);
    ecoi_sha256_final(&sha, digest);
    for (size_t i = 0; i < ECO_JOURNAL_SUM_MAX - 1; i++) {
        out[i] = digits[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
    }
    out[ECO_JOURNAL_SUM_MAX - 1] = '\0';
}

/* ---- Reading ---------------------------------------------------------------------------------- */

typedef struct frame {
    const char *payload;
    size_t length, size; /* of the payload; of the whole line */
    char sum[ECO_JOURNAL_SUM_MAX];
} frame;

/* NULL, or what is wrong with the line that `text` begins with. */
static const char *frame_read(const char *text, size_t length, frame *out) {
    static const char cut[] = "is cut short";
    static const char malformed[] = "is no record";
    const size_t look = length < LENGTH_DIGITS_MAX + 1 ? length : LENGTH_DIGITS_MAX + 1;
    const char *const blank = memchr(text, ' ', look);
    if (blank == NULL) {
        return length > LENGTH_DIGITS_MAX ? malformed : cut;
    }
    uint64_t n = 0;
    const size_t n_digits = (size_t)(blank - text);
    if (ecoi_num_parse_u64(text, n_digits, &n) != ECO_OK || n > ECO_JOURNAL_RECORD_MAX) {
        return malformed;
    }
    const size_t before = n_digits + 1 + ECO_JOURNAL_SUM_MAX; /* digits, blank, sum, blank */
    if (length < before + (size_t)n + 1) {
        return cut;
    }
    if (text[before - 1] != ' ' || text[before + n] != '\n') {
        return malformed;
    }
    memcpy(out->sum, blank + 1, ECO_JOURNAL_SUM_MAX - 1);
    out->sum[ECO_JOURNAL_SUM_MAX - 1] = '\0';
    out->payload = text + before;
    out->length = (size_t)n;
    out->size = before + (size_t)n + 1;
    return NULL;
}

/* One record into the scan; *stop when the good part ends before it. */
static eco_status parse_one(const char *text, size_t length, eco_journal_visit visit, void *user,
                            eco_journal_scan *scan, bool *stop, eco_error *err) {
    frame f;
    char sum[ECO_JOURNAL_SUM_MAX];
    *stop = true;
    const char *const wrong = scan->n_records == ECO_JOURNAL_RECORDS_MAX
                                  ? "is one too many"
                                  : frame_read(text, length, &f);
    if (wrong != NULL) {
        snprintf(scan->reason, sizeof scan->reason, "record %u %s", scan->n_records, wrong);
        return ECO_OK;
    }
    sum_of(scan->sum, f.payload, f.length, sum);
    if (memcmp(sum, f.sum, sizeof sum) != 0) {
        snprintf(scan->reason, sizeof scan->reason, "record %u has the wrong checksum",
                 scan->n_records);
        return ECO_OK;
    }
    ecoi_json_doc doc = {0};
    eco_error error = {0};
    char reason[ECO_JOURNAL_REASON_MAX] = "is out of order";
    eco_status status = ecoi_json_read(f.payload, f.length, "journal", &doc, &error);
    if (status == ECO_E_PARSE || status == ECO_E_RANGE) {
        status = ECO_E_INVALID;
        snprintf(reason, sizeof reason, "holds no JSON");
    } else if (status == ECO_OK) {
        status = visit(user, scan->n_records, doc.root, reason, &error);
    }
    ecoi_json_fini(&doc);
    if (status == ECO_E_INVALID) {
        snprintf(scan->reason, sizeof scan->reason, "record %u %.120s", scan->n_records, reason);
        return ECO_OK;
    }
    if (status != ECO_OK) {
        if (err != NULL) {
            *err = error;
        }
        return status;
    }
    memcpy(scan->sum, sum, sizeof sum);
    scan->good_bytes += f.size;
    scan->n_records++;
    *stop = false;
    return ECO_OK;
}

/* A first record that a crash cut short: part of one line, or the empty block some file systems leave. */
static bool torn_beginning(const char *text, size_t length) {
    static const char shape[] = "{\"record\": ";
    const char *const nul = memchr(text, '\0', length);
    const size_t n = nul != NULL ? (size_t)(nul - text) : length;
    for (size_t i = n; i < length; i++) {
        if (text[i] != '\0') {
            return false;
        }
    }
    size_t at = 0;
    while (at < n && at < LENGTH_DIGITS_MAX && text[at] >= '0' && text[at] <= '9') {
        at++;
    }
    for (size_t i = 0; at < n && i < ECO_JOURNAL_SUM_MAX + 1; i++, at++) {
        const bool blank = i == 0 || i == ECO_JOURNAL_SUM_MAX;
        const bool hex =
            (text[at] >= '0' && text[at] <= '9') || (text[at] >= 'a' && text[at] <= 'f');
        if (blank ? text[at] != ' ' : !hex) {
            return false;
        }
    }
    for (size_t i = 0; at < n && i < sizeof shape - 1; i++, at++) {
        if (text[at] != shape[i]) {
            return false;
        }
    }
    return memchr(text, '\n', n) == NULL;
}

eco_status ecoi_journal_parse(const char *text, size_t length, eco_journal_visit visit, void *user,
                              eco_journal_scan *out, eco_error *err) {
    *out = (eco_journal_scan){0};
    bool stop = false;
    while (!stop && out->good_bytes < length) {
        ECO_TRY(parse_one(text + out->good_bytes, length - out->good_bytes, visit, user, out, &stop,
                          err));
    }
    out->dropped_bytes = length - out->good_bytes;
    if (out->n_records == 0 && length > 0 && !torn_beginning(text, length)) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "not a journal of this program, or its beginning is damaged (%s); it "
                             "is left as it is: choose another folder",
                             out->reason);
    }
    return ECO_OK;
}

static bool path_of(const char *folder, char *out, size_t size) {
    const int length = snprintf(out, size, "%s/%s", folder, ECO_JOURNAL_NAME);
    return length > 0 && (size_t)length < size;
}

static eco_status path_too_long(const char *folder, eco_error *err) {
    return eco_error_set(err, ECO_E_RANGE, 0, "%.100s…: the path is too long", folder);
}

/* Puts the file's name before a message that has none. */
static eco_status with_path(const char *path, const eco_error *inner, eco_error *err) {
    return inner->code == ECO_E_INVALID
               ? eco_error_set(err, inner->code, inner->native, "%s: %s", path, inner->message)
               : eco_error_set(err, inner->code, inner->native, "%s", inner->message);
}

eco_status ecoi_journal_look(const char *folder, eco_journal_visit visit, void *user,
                             eco_journal_scan *out, eco_error *err) {
    *out = (eco_journal_scan){0};
    char path[PATH_BYTES_MAX];
    if (!path_of(folder, path, sizeof path)) {
        return path_too_long(folder, err);
    }
    const eco_file_limits limits = {.size_max = ECO_JOURNAL_SIZE_MAX, .refuse_symlink = true};
    char *text = NULL;
    size_t length = 0;
    ECO_TRY(ecoi_file_read(path, &limits, &text, &length, err));
    eco_error inner = {0};
    const eco_status status = ecoi_journal_parse(text, length, visit, user, out, &inner);
    ecoi_free(text);
    return status == ECO_OK ? ECO_OK : with_path(path, &inner, err);
}

/* ---- Opening ---------------------------------------------------------------------------------- */

/* True when the open file is still the one of that name. */
static bool is_file_at(int fd, const char *path) {
    struct stat open_file;
    struct stat named_file;
    return fstat(fd, &open_file) == 0 && lstat(path, &named_file) == 0 &&
           open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

/* A holder that gives up takes the file away before it lets go: then what was opened is nobody's, and the next try
 * makes a new one. */
static eco_status open_held(eco_journal *journal, eco_error *err) {
    for (int attempt = 0; attempt < OPEN_TRIES; attempt++) {
        journal->fd =
            open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                 FILE_MODE);
        if (journal->fd < 0) {
            return journal_error(err, journal->path, "open", errno);
        }
        struct stat facts;
        if (fstat(journal->fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            return eco_error_set(err, ECO_E_INVALID, 0, "%s: is not a regular file", journal->path);
        }
        const int code = ecoi_lock_take(journal->fd);
        if (code != 0) {
            return code == EAGAIN
                       ? eco_error_set(err, ECO_E_BUSY, code,
                                       "%s: another run is at work in this folder; wait for it or "
                                       "choose another",
                                       journal->folder)
                       : journal_error(err, journal->path, "lock", code);
        }
        if (is_file_at(journal->fd, journal->path)) {
            journal->own = fstat(journal->fd, &facts) == 0 && facts.st_size == 0;
            return ECO_OK;
        }
        (void)close(journal->fd);
        journal->fd = -1;
    }
    return eco_error_set(err, ECO_E_BUSY, 0, "%s: other runs come and go in this folder",
                         journal->folder);
}

eco_status ecoi_journal_open(const char *folder, eco_journal **out, eco_error *err) {
    *out = NULL;
    eco_journal *journal = ecoi_calloc(1, sizeof *journal);
    if (journal == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "journal: out of memory");
    }
    journal->fd = -1;
    eco_status status = ECO_OK;
    if (!path_of(folder, journal->path, sizeof journal->path) ||
        !ecoi_str_copy(journal->folder, sizeof journal->folder, folder)) {
        status = path_too_long(folder, err);
    } else {
        status = open_held(journal, err);
    }
    if (status != ECO_OK) {
        ecoi_journal_close(journal, false);
        return status;
    }
    *out = journal;
    return ECO_OK;
}

bool ecoi_journal_is_held(const char *folder) {
    char path[PATH_BYTES_MAX];
    if (!path_of(folder, path, sizeof path)) {
        return false;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    const bool held = ecoi_lock_test(fd) == EAGAIN;
    (void)close(fd);
    return held;
}

eco_status ecoi_journal_load(eco_journal *journal, eco_journal_visit visit, void *user,
                             eco_journal_scan *out, eco_error *err) {
    ECO_TRY(ecoi_journal_look(journal->folder, visit, user, out, err));
    journal->good_bytes = out->good_bytes;
    journal->n_records = out->n_records;
    memcpy(journal->sum, out->sum, sizeof journal->sum);
    return ECO_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------- */

static int sync_file(int fd) {
    while (fsync(fd) != 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

eco_status ecoi_journal_cut(eco_journal *journal, eco_error *err) {
    int code = ftruncate(journal->fd, (off_t)journal->good_bytes) == 0 ? 0 : errno;
    if (code == 0) {
        code = sync_file(journal->fd);
    }
    if (code != 0) {
        return journal_error(err, journal->path, "cut", code);
    }
    journal->own |= journal->good_bytes == 0;
    return ecoi_folder_sync(journal->folder, err);
}

/* ecoi_json_write lays a document out over lines. A line end in it is never part of a string (those are escaped), so
 * without the line ends and the blanks behind them the document is the same. */
static void on_one_line(eco_text *text) {
    size_t to = 0;
    for (size_t from = 0; from < text->length;) {
        if (text->data[from] != '\n') {
            text->data[to++] = text->data[from++];
            continue;
        }
        from++;
        while (from < text->length && text->data[from] == ' ') {
            from++;
        }
    }
    text->length = to;
    text->data[to] = '\0';
}

static int write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        const ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? errno : EIO;
        }
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static eco_status append_line(eco_journal *journal, const char *payload, size_t length,
                              eco_error *err) {
    char sum[ECO_JOURNAL_SUM_MAX];
    sum_of(journal->sum, payload, length, sum);
    eco_text line = {0};
    ecoi_text_addf(&line, "%zu %s ", length, sum);
    ecoi_text_add(&line, payload, length);
    ecoi_text_add_char(&line, '\n');
    if (line.failed) {
        eco_text_free(&line);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", journal->path);
    }
    const size_t size = line.length;
    int code = write_all(journal->fd, line.data, size);
    eco_text_free(&line);
    if (code == 0) {
        code = sync_file(journal->fd);
    }
    if (code != 0) {
        /* What did get there is part of a record: a reader would drop it, and so do we. */
        (void)!ftruncate(journal->fd, (off_t)journal->good_bytes);
        return journal_error(err, journal->path, "write", code);
    }
    journal->good_bytes += size;
    journal->n_records++;
    memcpy(journal->sum, sum, sizeof sum);
    return ecoi_folder_sync(journal->folder, err);
}

eco_status ecoi_journal_append(eco_journal *journal, const ecoi_json *payload, eco_error *err) {
    if (!is_file_at(journal->fd, journal->path)) {
        return eco_error_set(err, ECO_E_IO, ENOENT,
                             "%s: was taken away or replaced while the run went on", journal->path);
    }
    eco_text text = {0};
    eco_status status = ECO_OK;
    if (!ecoi_json_write(payload, &text)) {
        status = eco_error_set(err, ECO_E_NO_MEMORY, 0, "%s: out of memory", journal->path);
    } else {
        on_one_line(&text);
        status = text.length > ECO_JOURNAL_RECORD_MAX ||
                         journal->good_bytes + text.length > ECO_JOURNAL_SIZE_MAX ||
                         journal->n_records == ECO_JOURNAL_RECORDS_MAX
                     ? eco_error_set(err, ECO_E_RANGE, 0, "%s: a record of %zu bytes is too much",
                                     journal->path, text.length)
                     : append_line(journal, text.data, text.length, err);
    }
    eco_text_free(&text);
    return status;
}

uint32_t ecoi_journal_count(const eco_journal *journal) {
    return journal->n_records;
}

void ecoi_journal_close(eco_journal *journal, bool remove) {
    if (journal == NULL) {
        return;
    }
    if (journal->fd >= 0) {
        if (remove && journal->own && is_file_at(journal->fd, journal->path)) {
            (void)unlink(journal->path);
        }
        (void)close(journal->fd);
    }
    ecoi_free(journal);
}
