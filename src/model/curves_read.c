/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a curves.json into a set of curves. The text is untrusted: core/json.c caps it; here every number must be finite
 * and in its range, every list and name within its cap. Keys that are not of the published file are passed over.
 */
#include "ecocompute/curve.h"

#include "core/alloc.h"
#include "core/json.h"
#include "ecocompute/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_MAX_BYTES = 200,
    PATH_MAX_BYTES = 128,
    PERCENT_MAX = 1000000,
    SIZE_MAX_B = 100000,
    OTHER_MAX = 1000000000
};

struct eco_curve_file {
    ecoi_json_doc doc; /* names point into it */
    ecoi_arena arena;
    eco_curve_set set;
};

typedef struct reader {
    eco_curve_file *file;
    const char *name;
    eco_error *err;
} reader;

/* What a member has to be: "curves.ada.NF4" and the key, for messages. */
typedef struct place {
    const ecoi_json *object;
    char path[PATH_MAX_BYTES];
} place;

static eco_status refuse(const reader *in, const place *at, const char *key, const char *expected) {
    return eco_error_set(in->err, ECO_E_INVALID, 0, "%.80s: %s%s%.40s: %s", in->name, at->path,
                         at->path[0] != '\0' ? "." : "", key, expected);
}

static eco_status no_memory(const reader *in) {
    return eco_error_set(in->err, ECO_E_NO_MEMORY, 0, "%.80s: out of memory", in->name);
}

static place below(const place *at, const char *key, const ecoi_json *object) {
    place next = {.object = object};
    (void)snprintf(next.path, sizeof next.path, "%.80s%s%.40s", at->path,
                   at->path[0] != '\0' ? "." : "", key);
    return next;
}

static const ecoi_json *member(const place *at, const char *key) {
    return ecoi_json_member(at->object, key, strlen(key));
}

static eco_status number_in(const reader *in, const place *at, const char *key, double lo,
                            double hi, double *out) {
    const ecoi_json *value = member(at, key);
    char expected[80];
    (void)snprintf(expected, sizeof expected, "a number from %g to %g is expected", lo, hi);
    if (value == NULL || value->type != ECOI_JSON_NUMBER || !isfinite(value->number) ||
        value->number < lo || value->number > hi) {
        return refuse(in, at, key, expected);
    }
    *out = value->number;
    return ECO_OK;
}

/* Sizes in billions are above 0; 1e-6 is a model of a thousand parameters. */
static eco_status size_of(const reader *in, const place *at, const char *key, double *out) {
    return number_in(in, at, key, 1e-6, SIZE_MAX_B, out);
}

/* null or absent: not there. */
static eco_status reading_in(const reader *in, const place *at, const char *key, double lo,
                             double hi, eco_reading *out) {
    const ecoi_json *value = member(at, key);
    *out = eco_reading_absent(ECO_ABSENT_NOT_READ);
    if (value == NULL || value->type == ECOI_JSON_NULL) {
        return ECO_OK;
    }
    ECO_TRY(number_in(in, at, key, lo, hi, &out->value));
    out->absence = ECO_PRESENT;
    return ECO_OK;
}

static bool usable_name(const char *text, size_t length) {
    return length > 0 && length <= NAME_MAX_BYTES && strlen(text) == length;
}

/* "" where it is absent. */
static eco_status text_in(const reader *in, const place *at, const char *key, const char **out) {
    const ecoi_json *value = member(at, key);
    *out = "";
    if (value == NULL || value->type == ECOI_JSON_NULL) {
        return ECO_OK;
    }
    if (value->type != ECOI_JSON_STRING || value->text_length > NAME_MAX_BYTES ||
        strlen(value->text) != value->text_length) {
        return refuse(in, at, key, "a text of at most 200 bytes is expected");
    }
    *out = value->text;
    return ECO_OK;
}

/* The object `key`, whose members have usable names; *out is NULL where it is absent. */
static eco_status object_in(const reader *in, const place *at, const char *key,
                            const ecoi_json **out) {
    const ecoi_json *value = member(at, key);
    *out = value;
    if (value == NULL) {
        return ECO_OK;
    }
    if (value->type != ECOI_JSON_OBJECT || value->n > ECO_FIT_CURVES_MAX) {
        return refuse(in, at, key, "an object of at most 64 members is expected");
    }
    for (const ecoi_json *child = value->first; child != NULL; child = child->next) {
        if (!usable_name(child->key, child->key_length)) {
            return refuse(in, at, key, "a name in it is empty, too long or holds a NUL");
        }
    }
    return ECO_OK;
}

static eco_status list_in(const reader *in, const place *at, const ecoi_json **out) {
    *out = member(at, "anchors");
    if (*out == NULL || (*out)->type != ECOI_JSON_ARRAY || (*out)->n == 0 ||
        (*out)->n > ECO_FIT_POINTS_MAX) {
        return refuse(in, at, "anchors", "a list of 1 to 256 anchors is expected");
    }
    return ECO_OK;
}

/* The list's elements are objects; at[i] gets the place of element `i`. */
static eco_status element_at(const reader *in, const place *at, const ecoi_json *element,
                             uint32_t i, place *out) {
    char key[32];
    (void)snprintf(key, sizeof key, "anchors.%u", i);
    if (element->type != ECOI_JSON_OBJECT) {
        return refuse(in, at, key, "an object is expected");
    }
    *out = below(at, key, element);
    return ECO_OK;
}

static eco_status read_anchors(const reader *in, const place *at, eco_curve *curve) {
    const ecoi_json *list = NULL;
    ECO_TRY(list_in(in, at, &list));
    eco_curve_anchor *anchors = ecoi_arena_alloc(&in->file->arena, list->n * sizeof *anchors);
    if (anchors == NULL) {
        return no_memory(in);
    }
    curve->anchors = anchors;
    for (const ecoi_json *child = list->first; child != NULL; child = child->next) {
        eco_curve_anchor *anchor = &anchors[curve->n_anchors];
        place here = {.object = child};
        double n_trials = 0.0;
        const char *basis = "";
        ECO_TRY(element_at(in, at, child, (uint32_t)curve->n_anchors, &here));
        ECO_TRY(size_of(in, &here, "N", &anchor->params_b));
        ECO_TRY(number_in(in, &here, "dE", -100.0, PERCENT_MAX, &anchor->delta_pct));
        ECO_TRY(text_in(in, &here, "model", &anchor->model));
        ECO_TRY(text_in(in, &here, "gpu", &anchor->gpu));
        ECO_TRY(text_in(in, &here, "basis", &basis));
        if (member(&here, "n") != NULL) {
            ECO_TRY(number_in(in, &here, "n", 0.0, OTHER_MAX, &n_trials));
        }
        anchor->n_trials = (uint32_t)n_trials;
        anchor->basis = ECO_BASIS_MEASURED;
        if (basis[0] != '\0' && !eco_basis_parse(basis, &anchor->basis)) {
            return refuse(in, &here, "basis", "measured or another basis is expected");
        }
        curve->n_anchors++;
    }
    return ECO_OK;
}

static eco_status read_curve(const reader *in, const place *at, eco_curve *curve) {
    ECO_TRY(number_in(in, at, "A", -PERCENT_MAX, PERCENT_MAX, &curve->a_pct));
    ECO_TRY(number_in(in, at, "S", -PERCENT_MAX, PERCENT_MAX, &curve->s_pct));
    ECO_TRY(size_of(in, at, "Nstar", &curve->nstar_b));
    ECO_TRY(number_in(in, at, "resid_std", 0.0, PERCENT_MAX, &curve->resid_std_pct));
    ECO_TRY(size_of(in, at, "n_min", &curve->n_min_b));
    ECO_TRY(number_in(in, at, "n_max", curve->n_min_b, SIZE_MAX_B, &curve->n_max_b));
    ECO_TRY(reading_in(in, at, "crossover_b", 1e-6, SIZE_MAX_B, &curve->crossover_b));
    ECO_TRY(reading_in(in, at, "loo_mae", 0.0, PERCENT_MAX, &curve->loo_mae_pct));
    return read_anchors(in, at, curve);
}

static eco_status read_curves(const reader *in, const place *top) {
    const ecoi_json *archs = NULL;
    ECO_TRY(object_in(in, top, "curves", &archs));
    if (archs == NULL) {
        return refuse(in, top, "curves", "not there; a curves.json is expected");
    }
    eco_curve *curves = ecoi_arena_alloc(&in->file->arena, ECO_FIT_CURVES_MAX * sizeof *curves);
    if (curves == NULL) {
        return no_memory(in);
    }
    in->file->set.curves = curves;
    const place at = below(top, "curves", archs);
    for (const ecoi_json *arch = archs->first; arch != NULL; arch = arch->next) {
        const ecoi_json *precisions = NULL;
        ECO_TRY(object_in(in, &at, arch->key, &precisions));
        const place class_at = below(&at, arch->key, precisions);
        for (const ecoi_json *child = precisions->first; child != NULL; child = child->next) {
            if (child->type != ECOI_JSON_OBJECT || in->file->set.n_curves == ECO_FIT_CURVES_MAX) {
                return refuse(in, &class_at, child->key,
                              "an object, one of at most 64, is expected");
            }
            eco_curve *curve = &curves[in->file->set.n_curves];
            const place here = below(&class_at, child->key, child);
            curve->arch = arch->key;
            curve->precision = child->key;
            ECO_TRY(read_curve(in, &here, curve));
            in->file->set.n_curves++;
        }
    }
    return ECO_OK;
}

static eco_status read_baseline(const reader *in, const place *at, eco_fp16_baseline *out) {
    const ecoi_json *list = NULL;
    ECO_TRY(size_of(in, at, "n_min", &out->n_min_b));
    ECO_TRY(number_in(in, at, "n_max", out->n_min_b, SIZE_MAX_B, &out->n_max_b));
    ECO_TRY(list_in(in, at, &list));
    eco_fp16_anchor *anchors = ecoi_arena_alloc(&in->file->arena, list->n * sizeof *anchors);
    if (anchors == NULL) {
        return no_memory(in);
    }
    out->anchors = anchors;
    for (const ecoi_json *child = list->first; child != NULL; child = child->next) {
        eco_fp16_anchor *anchor = &anchors[out->n_anchors];
        place here = {.object = child};
        ECO_TRY(element_at(in, at, child, (uint32_t)out->n_anchors, &here));
        ECO_TRY(size_of(in, &here, "N", &anchor->params_b));
        if (out->n_anchors > 0 && anchor->params_b <= anchors[out->n_anchors - 1].params_b) {
            return refuse(in, &here, "N", "larger sizes are expected to follow smaller ones");
        }
        ECO_TRY(number_in(in, &here, "e_j1k", 1e-6, OTHER_MAX, &anchor->energy_j1k));
        ECO_TRY(text_in(in, &here, "model", &anchor->model));
        ECO_TRY(text_in(in, &here, "gpu", &anchor->gpu));
        out->n_anchors++;
    }
    return ECO_OK;
}

static eco_status read_baselines(const reader *in, const place *top) {
    const ecoi_json *archs = NULL;
    ECO_TRY(object_in(in, top, "fp16_energy", &archs));
    if (archs == NULL || archs->n == 0) {
        return ECO_OK;
    }
    eco_fp16_baseline *baselines = ecoi_arena_alloc(&in->file->arena, archs->n * sizeof *baselines);
    if (baselines == NULL) {
        return no_memory(in);
    }
    in->file->set.baselines = baselines;
    const place at = below(top, "fp16_energy", archs);
    for (const ecoi_json *child = archs->first; child != NULL; child = child->next) {
        eco_fp16_baseline *baseline = &baselines[in->file->set.n_baselines];
        const place here = below(&at, child->key, child);
        if (child->type != ECOI_JSON_OBJECT) {
            return refuse(in, &at, child->key, "an object is expected");
        }
        baseline->arch = child->key;
        ECO_TRY(read_baseline(in, &here, baseline));
        in->file->set.n_baselines++;
    }
    return ECO_OK;
}

static eco_status read_hardware(const reader *in, const place *top) {
    const ecoi_json *archs = NULL;
    ECO_TRY(object_in(in, top, "hardware", &archs));
    if (archs == NULL || archs->n == 0) {
        return ECO_OK;
    }
    eco_class_hardware *hardware = ecoi_arena_alloc(&in->file->arena, archs->n * sizeof *hardware);
    if (hardware == NULL) {
        return no_memory(in);
    }
    in->file->set.hardware = hardware;
    const place at = below(top, "hardware", archs);
    for (const ecoi_json *child = archs->first; child != NULL; child = child->next) {
        eco_class_hardware *card = &hardware[in->file->set.n_hardware];
        const place here = below(&at, child->key, child);
        if (child->type != ECOI_JSON_OBJECT) {
            return refuse(in, &at, child->key, "an object is expected");
        }
        card->arch = child->key;
        ECO_TRY(text_in(in, &here, "gpu", &card->gpu));
        ECO_TRY(number_in(in, &here, "mem_bw_gbps", 1e-6, OTHER_MAX, &card->mem_bw_gb_per_s));
        ECO_TRY(number_in(in, &here, "fp16_tflops", 1e-6, OTHER_MAX, &card->fp16_tflops));
        ECO_TRY(text_in(in, &here, "source", &card->source));
        in->file->set.n_hardware++;
    }
    return ECO_OK;
}

/* "arch_label" and "borrow": names by name. */
static eco_status read_names(const reader *in, const place *top, const char *key,
                             const eco_curve_name **out, size_t *n) {
    const ecoi_json *object = NULL;
    ECO_TRY(object_in(in, top, key, &object));
    if (object == NULL || object->n == 0) {
        return ECO_OK;
    }
    eco_curve_name *names = ecoi_arena_alloc(&in->file->arena, object->n * sizeof *names);
    if (names == NULL) {
        return no_memory(in);
    }
    const place at = below(top, key, object);
    *out = names;
    for (const ecoi_json *child = object->first; child != NULL; child = child->next) {
        names[*n].arch = child->key;
        ECO_TRY(text_in(in, &at, child->key, &names[*n].value));
        (*n)++;
    }
    return ECO_OK;
}

static eco_status read_caps(const reader *in, const place *top) {
    const ecoi_json *object = NULL;
    ECO_TRY(object_in(in, top, "s_cap", &object));
    if (object == NULL || object->n == 0) {
        return ECO_OK;
    }
    eco_curve_cap *caps = ecoi_arena_alloc(&in->file->arena, object->n * sizeof *caps);
    if (caps == NULL) {
        return no_memory(in);
    }
    const place at = below(top, "s_cap", object);
    in->file->set.caps = caps;
    for (const ecoi_json *child = object->first; child != NULL; child = child->next) {
        caps[in->file->set.n_caps].precision = child->key;
        ECO_TRY(number_in(in, &at, child->key, 0.0, 100.0, &caps[in->file->set.n_caps].s_cap_pct));
        in->file->set.n_caps++;
    }
    return ECO_OK;
}

static eco_status read_all(const reader *in) {
    eco_curve_set *set = &in->file->set;
    const place top = {.object = in->file->doc.root};
    if (top.object->type != ECOI_JSON_OBJECT) {
        return eco_error_set(in->err, ECO_E_INVALID, 0, "%.80s: an object is expected", in->name);
    }
    ECO_TRY(text_in(in, &top, "model", &set->model));
    ECO_TRY(read_caps(in, &top));
    ECO_TRY(read_names(in, &top, "arch_label", &set->labels, &set->n_labels));
    ECO_TRY(read_names(in, &top, "borrow", &set->borrows, &set->n_borrows));
    ECO_TRY(read_curves(in, &top));
    ECO_TRY(read_baselines(in, &top));
    return read_hardware(in, &top);
}

eco_status eco_curves_read(const char *json, size_t length, const char *name, eco_curve_file **out,
                           eco_error *err) {
    *out = NULL;
    eco_curve_file *file = ecoi_calloc(1, sizeof *file);
    if (file == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "%.80s: out of memory", name);
    }
    const reader in = {.file = file, .name = name, .err = err};
    eco_status status = ecoi_json_read(json, length, name, &file->doc, err);
    if (status == ECO_OK) {
        status = read_all(&in);
    }
    if (status != ECO_OK) {
        eco_curve_file_free(file);
        return status;
    }
    *out = file;
    return ECO_OK;
}

const eco_curve_set *eco_curve_file_set(const eco_curve_file *file) {
    return &file->set;
}

void eco_curve_file_free(eco_curve_file *file) {
    if (file != NULL) {
        ecoi_json_fini(&file->doc);
        ecoi_arena_fini(&file->arena);
        ecoi_free(file);
    }
}
