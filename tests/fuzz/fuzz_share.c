/* SPDX-License-Identifier: Apache-2.0
 *
 * A share link of any origin: what is read is within its bounds, and written again it reads back the same. Its texts go
 * through redaction too, which must add no path.
 */
#include "fuzz_check.h"

#include "ecocompute/share.h"
#include "report/redact.h"

#include <math.h>

static void check_text(const char *text) {
    FUZZ_DEMAND(memchr(text, '\0', ECO_SHARE_TEXT_MAX) != NULL);
    eco_text kept = {0};
    ecoi_redact_text(&kept, text);
    FUZZ_DEMAND(!kept.failed);
    FUZZ_DEMAND(kept.data == NULL || (strstr(kept.data, "://") == NULL && kept.data[0] != '/'));
    eco_text_free(&kept);
}

static void check_point(const eco_share_point *point) {
    FUZZ_DEMAND(point->params_b > 0.0 && point->params_b <= 1e6);
    FUZZ_DEMAND(point->delta_pct > -100.0 && isfinite(point->delta_pct));
    FUZZ_DEMAND(point->model[0] != '\0' && point->precision[0] != '\0');
    check_text(point->model);
    check_text(point->arch);
    check_text(point->precision);
    check_text(point->gpu);
    check_text(point->engine);
    check_text(point->weights);
    check_text(point->source);
    /* Out and in again. A size that rounds to 0, or a change to -100, is no point that can be written. */
    eco_text url = {0};
    eco_share_point again[ECO_SHARE_POINTS_MAX];
    size_t n = 0;
    if (eco_share_url(point, NULL, &url, NULL) == ECO_OK) {
        FUZZ_DEMAND(eco_share_decode(url.data, url.length, again, &n, NULL) == ECO_OK && n == 1);
        FUZZ_DEMAND(strcmp(again[0].model, point->model) == 0);
        FUZZ_DEMAND(strcmp(again[0].gpu, point->gpu) == 0 && again[0].basis == point->basis);
    } else {
        FUZZ_DEMAND(point->params_b < 0.0001 || point->delta_pct < -99.9);
    }
    eco_text_free(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const link = fuzz_copy(data, size);
    eco_share_point points[ECO_SHARE_POINTS_MAX];
    eco_error err = {0};
    size_t n = 0;
    const eco_status status = eco_share_decode(link, size, points, &n, &err);
    FUZZ_DEMAND((status == ECO_OK) == (n > 0) && n <= ECO_SHARE_POINTS_MAX);
    FUZZ_DEMAND(status == ECO_OK || (err.message[0] != '\0' && err.code == status));
    for (size_t i = 0; i < n; i++) {
        check_point(&points[i]);
    }
    eco_text text = {0};
    eco_share_text(points, n, &text);
    FUZZ_DEMAND(!text.failed && eco_share_json(points, n, &text, NULL) == ECO_OK);
    eco_text_free(&text);
    free(link);
    return 0;
}
