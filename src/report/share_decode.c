/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading share links, which anybody can write: sizes are capped, a member has the type it must have or the link is
 * refused, and a text is only ever a text.
 */
#include "ecocompute/share.h"

#include "core/base64.h"
#include "core/json.h"
#include "core/num.h"
#include "core/str.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The keys of a blob: ours first, then the long ones that the published page takes too. */
typedef struct share_key {
    const char *names[3];
    bool number;
    bool required;
    size_t offset; /* in eco_share_point */
} share_key;

enum { KEY_BASIS = 5, N_KEYS = 10 };
static const share_key keys[N_KEYS] = {
    {{"m", "model"}, false, false, offsetof(eco_share_point, model)},
    {{"N", "params_b"}, true, true, offsetof(eco_share_point, params_b)},
    {{"a", "arch", "gpu_arch"}, false, false, offsetof(eco_share_point, arch)},
    {{"p", "precision"}, false, false, offsetof(eco_share_point, precision)},
    {{"e", "dE", "vs_fp16_energy_pct"}, true, true, offsetof(eco_share_point, delta_pct)},
    [KEY_BASIS] = {{"b", "basis"}, false, false, 0},
    {{"g", "gpu"}, false, false, offsetof(eco_share_point, gpu)},
    {{"x", "engine"}, false, false, offsetof(eco_share_point, engine)},
    {{"w", "weights"}, false, false, offsetof(eco_share_point, weights)},
    {{"s", "source"}, false, false, offsetof(eco_share_point, source)}};

/* The member of a key by any of its names; more than one is refused. */
static eco_status find_member(const ecoi_json *root, const share_key *key, const ecoi_json **out,
                              eco_error *err) {
    *out = NULL;
    for (size_t i = 0; i < sizeof key->names / sizeof key->names[0]; i++) {
        const ecoi_json *const found =
            key->names[i] != NULL ? ecoi_json_member(root, key->names[i], strlen(key->names[i]))
                                  : NULL;
        if (found == NULL || found->type == ECOI_JSON_NULL) {
            continue;
        }
        if (*out != NULL) {
            return eco_error_set(err, ECO_E_INVALID, 0, "link: %s: said twice, as %s too",
                                 key->names[0], key->names[i]);
        }
        *out = found;
    }
    return ECO_OK;
}

static eco_status take_text(const ecoi_json *value, const share_key *key, char *to,
                            eco_error *err) {
    if (value->type != ECOI_JSON_STRING || strlen(value->text) != value->text_length) {
        return eco_error_set(err, ECO_E_INVALID, 0, "link: %s: a text is expected", key->names[0]);
    }
    if (!ecoi_str_copy(to, ECO_SHARE_TEXT_MAX, value->text)) {
        return eco_error_set(err, ECO_E_RANGE, 0, "link: %s: longer than %d bytes", key->names[0],
                             ECO_SHARE_TEXT_MAX - 1);
    }
    return ECO_OK;
}

static eco_status take_basis(const ecoi_json *value, eco_basis *out, eco_error *err) {
    if (value->type != ECOI_JSON_STRING || strlen(value->text) != value->text_length ||
        !eco_basis_parse(value->text, out)) {
        return eco_error_set(err, ECO_E_INVALID, 0,
                             "link: b: measured, interpolated, extrapolated or another basis is "
                             "expected");
    }
    return ECO_OK;
}

static eco_status take_members(const ecoi_json *root, eco_share_point *point, eco_error *err) {
    for (size_t i = 0; i < N_KEYS; i++) {
        const share_key *const key = &keys[i];
        const ecoi_json *value = NULL;
        ECO_TRY(find_member(root, key, &value, err));
        if (value == NULL && !key->required) {
            continue;
        }
        if (value == NULL || (key->number && value->type != ECOI_JSON_NUMBER)) {
            return eco_error_set(err, ECO_E_INVALID, 0, "link: %s: a number is expected",
                                 key->names[0]);
        }
        if (i == KEY_BASIS) {
            ECO_TRY(take_basis(value, &point->basis, err));
        } else if (key->number) {
            memcpy((char *)point + key->offset, &value->number, sizeof(double));
        } else {
            ECO_TRY(take_text(value, key, (char *)point + key->offset, err));
        }
    }
    if (!(point->params_b > 0.0 && point->params_b <= 1e6)) {
        return eco_error_set(err, ECO_E_RANGE, 0,
                             "link: N: a number above 0 and at most 1000000 is expected");
    }
    if (!(point->delta_pct > -100.0 && isfinite(point->delta_pct))) {
        return eco_error_set(err, ECO_E_RANGE, 0, "link: e: a number above -100 is expected");
    }
    return ECO_OK;
}

static eco_status read_blob(const char *blob, size_t length, eco_share_point *point,
                            eco_error *err) {
    *point = (eco_share_point){.basis = ECO_BASIS_UNAVAILABLE};
    if (length == 0 || length > ECO_SHARE_BLOB_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "link: overlay: 1 to %d characters are expected",
                             ECO_SHARE_BLOB_MAX);
    }
    eco_text json = {0};
    size_t bad = 0;
    const bool decoded = ecoi_base64url_read(&json, blob, length, &bad);
    if (!decoded || json.failed) {
        const bool failed = json.failed;
        eco_text_free(&json);
        return failed ? eco_error_set(err, ECO_E_NO_MEMORY, 0, "link: out of memory")
                      : eco_error_set(err, ECO_E_PARSE, 0,
                                      "link: overlay: no base64url without padding at "
                                      "character %zu",
                                      bad + 1);
    }
    ecoi_json_doc doc = {0};
    eco_status status = ecoi_json_read(json.data, json.length, "link", &doc, err);
    if (status == ECO_OK && doc.root->type != ECOI_JSON_OBJECT) {
        status = eco_error_set(err, ECO_E_INVALID, 0, "link: an object is expected, found %s",
                               ecoi_json_type_name(doc.root->type));
    }
    if (status == ECO_OK) {
        status = take_members(doc.root, point, err);
    }
    ecoi_json_fini(&doc);
    eco_text_free(&json);
    if (status == ECO_OK && point->model[0] == '\0') {
        (void)ecoi_str_copy(point->model, sizeof point->model, "your model");
    }
    if (status == ECO_OK && point->precision[0] == '\0') {
        (void)ecoi_str_copy(point->precision, sizeof point->precision, "NF4");
    }
    return status;
}

static bool is_bare(const char *link, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (strchr("?&#=/:", link[i]) != NULL) { /* a NUL counts as one */
            return false;
        }
    }
    return length > 0;
}

static size_t parameter_length(const char *at, size_t length) {
    size_t n = 0;
    while (n < length && at[n] != '&' && at[n] != '#' && at[n] != '?') {
        n++;
    }
    return n;
}

static eco_status read_link(const char *link, size_t length, eco_share_point *points, size_t *n,
                            eco_error *err) {
    static const char name[] = "overlay=";
    const size_t n_name = sizeof name - 1;
    for (size_t i = 0; i < length;) {
        const size_t n_parameter = parameter_length(link + i, length - i);
        if (n_parameter >= n_name && memcmp(link + i, name, n_name) == 0) {
            if (*n == ECO_SHARE_POINTS_MAX) {
                return eco_error_set(err, ECO_E_RANGE, 0, "link: more than %d overlays",
                                     ECO_SHARE_POINTS_MAX);
            }
            ECO_TRY(read_blob(link + i + n_name, n_parameter - n_name, &points[*n], err));
            ++*n;
        }
        i += n_parameter + 1;
    }
    return *n > 0 ? ECO_OK
                  : eco_error_set(err, ECO_E_PARSE, 0,
                                  "link: no overlay in it; SITE/?tab=run&overlay=… or what "
                                  "follows overlay= is expected");
}

eco_status eco_share_decode(const char *link, size_t length,
                            eco_share_point points[ECO_SHARE_POINTS_MAX], size_t *n,
                            eco_error *err) {
    *n = 0;
    if (length > ECO_SHARE_URL_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "link: longer than %d bytes", ECO_SHARE_URL_MAX);
    }
    if (is_bare(link, length)) {
        ECO_TRY(read_blob(link, length, &points[0], err));
        *n = 1;
        return ECO_OK;
    }
    const eco_status status = read_link(link, length, points, n, err);
    *n = status == ECO_OK ? *n : 0;
    return status;
}

/* ---- What was read ---- */

static void add_line(eco_text *out, const char *label, const char *text) {
    if (text[0] != '\0') {
        ecoi_text_addf(out, "%-10s ", label);
        eco_text_add_visible(out, text, strlen(text)); /* a line stays one line */
        ecoi_text_add_char(out, '\n');
    }
}

void eco_share_text(const eco_share_point *points, size_t n, eco_text *out) {
    for (size_t i = 0; i < n; i++) {
        const eco_share_point *const p = &points[i];
        char number[ECOI_NUM_MAX];
        if (i > 0) {
            ecoi_text_add_char(out, '\n');
        }
        add_line(out, "model", p->model);
        (void)ecoi_num_write(p->params_b, number);
        ecoi_text_addf(out, "%-10s %s B parameters\n", "size", number);
        add_line(out, "card", p->gpu);
        add_line(out, "class", p->arch);
        add_line(out, "precision", p->precision);
        (void)ecoi_num_write(p->delta_pct, number);
        ecoi_text_addf(out, "%-10s %s%s %% energy per token against FP16 (negative saves)\n",
                       "change", p->delta_pct > 0 ? "+" : "", number);
        ecoi_text_addf(out, "%-10s %s, as the link says; nothing in a link is signed\n", "basis",
                       eco_basis_name(p->basis));
        add_line(out, "engine", p->engine);
        add_line(out, "weights", p->weights);
        add_line(out, "source", p->source);
    }
}

static bool put(ecoi_json_doc *doc, ecoi_json *object, const char *key, ecoi_json *value) {
    return value != NULL && ecoi_json_set(doc, object, key, NULL, value);
}

static bool put_text(ecoi_json_doc *doc, ecoi_json *object, const char *key, const char *text) {
    return put(doc, object, key,
               text[0] != '\0' ? ecoi_json_new_string(doc, text, strlen(text))
                               : ecoi_json_new(doc, ECOI_JSON_NULL));
}

static bool append_point(ecoi_json_doc *doc, ecoi_json *list, const eco_share_point *p) {
    ecoi_json *const o = ecoi_json_new(doc, ECOI_JSON_OBJECT);
    if (o == NULL) {
        return false;
    }
    ecoi_json_append(list, o);
    return put_text(doc, o, "model", p->model) &&
           put(doc, o, "params_b", ecoi_json_new_number(doc, p->params_b)) &&
           put_text(doc, o, "arch", p->arch) && put_text(doc, o, "precision", p->precision) &&
           put(doc, o, "delta_pct", ecoi_json_new_number(doc, p->delta_pct)) &&
           put_text(doc, o, "basis", eco_basis_name(p->basis)) && put_text(doc, o, "gpu", p->gpu) &&
           put_text(doc, o, "engine", p->engine) && put_text(doc, o, "weights", p->weights) &&
           put_text(doc, o, "source", p->source);
}

eco_status eco_share_json(const eco_share_point *points, size_t n, eco_text *out, eco_error *err) {
    ecoi_json_doc doc = {0};
    ecoi_json *const list = ecoi_json_new(&doc, ECOI_JSON_ARRAY);
    bool made = list != NULL;
    for (size_t i = 0; made && i < n; i++) {
        made = append_point(&doc, list, &points[i]);
    }
    made = made && ecoi_json_write(list, out) && !out->failed;
    ecoi_json_fini(&doc);
    return made ? ECO_OK : eco_error_set(err, ECO_E_NO_MEMORY, 0, "link: out of memory");
}
