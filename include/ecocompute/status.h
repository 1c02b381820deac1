/* SPDX-License-Identifier: Apache-2.0
 *
 * Status codes and the one error record of the library. A fallible function returns eco_status, sets its
 * outputs on entry, and ends with `eco_error *err` (caller-owned, NULL allowed). The origin of a failure
 * writes the message once, naming the file, device, field or flag; callers forward the status.
 * Thread safety: all functions here are pure or write only to `err`.
 */
#ifndef ECOCOMPUTE_STATUS_H
#define ECOCOMPUTE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, pinned number, one-line text). Numbers never change once released. */
#define ECO_STATUS_MAP(X)                                             \
    X(ECO_OK, 0, "done")                                              \
    X(ECO_E_FAILED, 1, "failed")                                      \
    X(ECO_E_USAGE, 2, "wrong use")                                    \
    X(ECO_E_NO_MEMORY, 3, "out of memory")                            \
    X(ECO_E_IO, 4, "input or output failed")                          \
    X(ECO_E_PARSE, 5, "not well formed")                              \
    X(ECO_E_RANGE, 6, "out of range")                                 \
    X(ECO_E_UNSUPPORTED, 7, "not supported here")                     \
    X(ECO_E_PERMISSION, 8, "no permission")                           \
    X(ECO_E_NOT_FOUND, 9, "not found")                                \
    X(ECO_E_BUSY, 10, "in use by others")                             \
    X(ECO_E_DEVICE_LOST, 11, "device lost")                           \
    X(ECO_E_DEVICE_MEMORY, 12, "device memory exhausted")             \
    X(ECO_E_INTERRUPTED, 13, "interrupted")                           \
    X(ECO_E_BOUNDARY_MISMATCH, 14, "meter does not contain the work") \
    X(ECO_E_TIMEOUT, 15, "timed out")                                 \
    X(ECO_E_INVALID, 16, "breaks a rule")                             \
    X(ECO_E_STUCK, 17, "a driver call does not return")

#define ECO_STATUS_ENUMERATOR(name, number, text) name = number,
typedef enum eco_status { ECO_STATUS_MAP(ECO_STATUS_ENUMERATOR) } eco_status;
#undef ECO_STATUS_ENUMERATOR

enum { ECO_ERROR_MESSAGE_MAX = 240 };

typedef struct eco_error {
    eco_status code;
    int64_t native; /* errno, nvmlReturn_t or CUresult where there is one, else 0 */
    char message[ECO_ERROR_MESSAGE_MAX];
} eco_error;

#define ECO_NODISCARD __attribute__((warn_unused_result))

/* The enumerator's name ("ECO_E_PARSE") and its text; static storage, never NULL. */
const char *eco_status_name(eco_status status);
const char *eco_status_text(eco_status status);

/* Fills *err (if not NULL) and returns `code`. A message that does not fit is cut, never overrun. */
eco_status eco_error_set(eco_error *err, eco_status code, int64_t native, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The only macro that may hide a return: forwards a failure unchanged. */
#define ECO_TRY(expr)                             \
    do {                                          \
        const eco_status eco_try_status = (expr); \
        if (eco_try_status != ECO_OK) {           \
            return eco_try_status;                \
        }                                         \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
