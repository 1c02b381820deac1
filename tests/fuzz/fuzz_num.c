/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers: reading against the C library's (correctly rounded in glibc), the shortest digits against reading them back
 * and against one digit fewer, fixed decimals against printf. The input is a number's text; its first bytes are also
 * taken as the bits of a double.
 */
#include "fuzz_check.h"

#include "core/num.h"

#include <errno.h>
#include <math.h>

static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool is_zero(double value) {
    return fpclassify(value) == FP_ZERO;
}

static void check_parse(const char *text, size_t size, const char *text_z) {
    double value = 1;
    const bool whole = size > 0 && ecoi_num_scan(text, size) == size;
    const eco_status status = ecoi_num_parse(text, size, &value);
    FUZZ_DEMAND(whole == (status == ECO_OK || status == ECO_E_RANGE));
    if (!whole) {
        return;
    }
    char *end = NULL;
    const double wanted = strtod(text_z, &end);
    FUZZ_DEMAND(end == text_z + size);
    FUZZ_DEMAND((status == ECO_E_RANGE) == (isinf(wanted) != 0));
    FUZZ_DEMAND(status != ECO_OK || same_bits(value, wanted) ||
                (is_zero(value) && is_zero(wanted)));
}

/* No text of fewer significant digits reads back. */
static bool shorter_reads_back(double value, int n_digits) {
    char text[64];
    (void)snprintf(text, sizeof text, "%.*e", n_digits - 2, value);
    return same_bits(strtod(text, NULL), value);
}

static int significant_digits(const char *text) {
    char digits[ECOI_NUM_MAX];
    int n = 0;
    for (const char *c = text; *c != '\0' && *c != 'e'; c++) {
        if (*c >= '0' && *c <= '9' && (n > 0 || *c != '0')) {
            digits[n++] = *c;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

static void check_write(double value, int decimals) {
    char text[ECOI_NUM_MAX];
    const size_t n = ecoi_num_write(value, text);
    double again = 0;
    FUZZ_DEMAND(n == strlen(text) && ecoi_num_parse(text, n, &again) == ECO_OK);
    FUZZ_DEMAND(same_bits(again, value) || (is_zero(again) && is_zero(value)));
    const int n_digits = significant_digits(text);
    FUZZ_DEMAND(n_digits <= 17);
    FUZZ_DEMAND(is_zero(value) || n_digits < 2 || !shorter_reads_back(value, n_digits));
    char fixed[ECOI_NUM_FIXED_MAX];
    char wanted[ECOI_NUM_FIXED_MAX];
    FUZZ_DEMAND(ecoi_num_fixed(value, decimals, fixed) == strlen(fixed));
    (void)snprintf(wanted, sizeof wanted, "%.*f", decimals, value);
    const char *unsigned_zero = wanted;
    if (wanted[0] == '-' && strspn(wanted + 1, "0.") == strlen(wanted + 1)) {
        unsigned_zero++;
    }
    FUZZ_DEMAND(strcmp(fixed, unsigned_zero) == 0);
}

static void check_integers(const char *text, size_t size, const char *text_z) {
    uint64_t u = 1;
    int64_t i = 1;
    char written[ECOI_NUM_MAX];
    errno = 0;
    if (ecoi_num_parse_u64(text, size, &u) == ECO_OK) {
        FUZZ_DEMAND(u == strtoull(text_z, NULL, 10) && errno == 0);
        FUZZ_DEMAND(ecoi_num_write_u64(u, written) == size && memcmp(written, text, size) == 0);
    }
    if (ecoi_num_parse_i64(text, size, &i) == ECO_OK) {
        FUZZ_DEMAND(i == strtoll(text_z, NULL, 10) && errno == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    char *const text_z = fuzz_copy_z(data, size);
    check_parse(text, size, text_z);
    check_integers(text, size, text_z);
    double bits = 0;
    memcpy(&bits, data, size < sizeof bits ? size : sizeof bits);
    if (isfinite(bits)) {
        check_write(bits, size > 8 ? data[8] % (ECOI_NUM_DECIMALS_MAX + 1) : 3);
    }
    free(text);
    free(text_z);
    return 0;
}
