/* SPDX-License-Identifier: Apache-2.0
 *
 * An explanation as lines for people and as JSON. Texts of the report may come from outside and are made visible.
 */
#include "ecocompute/explain.h"

#include "core/json.h"
#include "core/str.h"

#include <math.h>
#include <string.h>

static void add_text(eco_text *out, const char *text) {
    eco_text_add_visible(out, text, strlen(text));
}

static void label(eco_text *out, const char *name) {
    ecoi_text_addf(out, "  %-9s ", name);
}

/* "2074.8 MB" with the unit that leaves one to four digits before the point. */
static void add_scaled(eco_text *out, double value, const char *unit) {
    static const struct {
        double scale;
        const char *prefix;
    } rows[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (value >= 0.9995 * rows[i].scale || i + 1 == sizeof rows / sizeof rows[0]) {
            ecoi_text_add_fixed(out, value / rows[i].scale, 3);
            ecoi_text_addf(out, " %s%s", rows[i].prefix, unit);
            return;
        }
    }
}

static void add_percent(eco_text *out, double share, int decimals) {
    ecoi_text_add_fixed(out, share * 100.0, decimals);
    ecoi_text_add_z(out, " %");
}

static void add_bytes(const eco_explained_arm *a, eco_text *out) {
    label(out, "bytes");
    add_scaled(out, a->bytes_per_token, "B");
    ecoi_text_add_z(out, " a token");
    if (a->split_known) {
        ecoi_text_add_z(out, " (linear ");
        add_scaled(out, a->bytes.linear, "B");
        ecoi_text_add_z(out, ", head ");
        add_scaled(out, a->bytes.head, "B");
        ecoi_text_add_z(out, ", KV ");
        add_scaled(out, a->bytes.kv_read + a->bytes.kv_write, "B");
        ecoi_text_add_z(out, ", other ");
        add_scaled(out, a->bytes.other, "B");
        ecoi_text_add_z(out, ")");
    } else {
        ecoi_text_add_z(out, " (model, format or count not known here: not divided)");
    }
    ecoi_text_add_char(out, '\n');
}

static void add_time(const eco_explanation *e, const eco_explained_arm *a, eco_text *out) {
    label(out, "time");
    ecoi_text_add_fixed(out, a->token_s * 1e6, 1);
    ecoi_text_add_z(out, " us a token");
    if (e->batch > 1) {
        ecoi_text_add_z(out, ", ");
        ecoi_text_add_fixed(out, a->step_s * 1e6, 1);
        ecoi_text_addf(out, " us a step of %u", e->batch);
    }
    if (a->layer_s > 0.0) {
        ecoi_text_add_z(out, ", ");
        ecoi_text_add_fixed(out, a->layer_s * 1e6, 2);
        ecoi_text_addf(out, " us a layer and step (%u layers, head included)", e->n_layers);
    }
    if (a->bound.roofline_s > 0.0) {
        ecoi_text_add_z(out, "; the bytes alone need ");
        ecoi_text_add_fixed(out, a->bound.roofline_s * 1e6, 1);
        ecoi_text_add_z(out, " us: ");
        add_percent(out, a->bound.bandwidth_share, 1);
        ecoi_text_add_z(out, " of the probed bandwidth");
    } else {
        ecoi_text_add_z(out, "; no bandwidth was probed");
    }
    ecoi_text_add_char(out, '\n');
}

static void add_operations(const eco_explanation *e, const eco_explained_arm *a, eco_text *out) {
    label(out, "work");
    if (a->flops_per_token > 0.0) {
        add_scaled(out, a->flops_per_token, "FLOP");
        ecoi_text_add_z(out, " a token");
    } else {
        ecoi_text_add_z(out, "operations not known here");
    }
    if (a->bound.compute_share > 0.0) {
        ecoi_text_add_z(out, ": ");
        add_percent(out, a->bound.compute_share, 1);
        ecoi_text_add_z(out, " of the matrix rate (");
        add_scaled(out, a->matrix_flops_per_s, "FLOP/s");
        if (e->lent) {
            ecoi_text_add_z(out, ", ");
            add_text(out, e->lent_from);
        }
        ecoi_text_add_z(out, ")");
    } else {
        ecoi_text_add_z(out, "; no matrix rate was probed");
    }
    ecoi_text_add_char(out, '\n');
}

static void add_energy(const eco_explained_arm *a, eco_text *out) {
    label(out, "energy");
    if (a->mj_per_token <= 0.0) {
        ecoi_text_add_z(out, "none was read\n");
        return;
    }
    ecoi_text_add_fixed(out, a->mj_per_token, 1);
    ecoi_text_add_z(out, " mJ a token");
    if (a->mj_hi > 0.0 && a->n_windows >= 2) {
        ecoi_text_add_z(out, " (95 % ");
        ecoi_text_add_fixed(out, a->mj_lo, 1);
        ecoi_text_add_z(out, " to ");
        ecoi_text_add_fixed(out, a->mj_hi, 1);
        ecoi_text_addf(out, ", %u windows)", a->n_windows);
    } else if (a->n_windows > 0) {
        ecoi_text_addf(out, " (n = %u, spread unknown)", a->n_windows);
    }
    if (a->bound.roofline_j > 0.0) {
        ecoi_text_add_z(out, "; the bytes alone need ");
        ecoi_text_add_fixed(out, a->bound.roofline_j * 1e3, 1);
        ecoi_text_add_z(out, " mJ: ");
        ecoi_text_add_fixed(out, a->bound.energy_factor, 2);
        ecoi_text_addf(out, " times that%s",
                       a->bound.below_floor ? ", which is less than is possible" : "");
    }
    ecoi_text_add_char(out, '\n');
}

static void add_launches_and_power(const eco_explanation *e, const eco_explained_arm *a,
                                   eco_text *out) {
    if (a->launches_per_step > 0.0) {
        label(out, "launches");
        ecoi_text_add_fixed(out, a->launches_per_step, 0);
        ecoi_text_add_z(out, " a step, ");
        add_percent(out, a->bound.launch_share, 1);
        ecoi_text_add_z(out, " of the time\n");
    }
    if (a->power_w > 0.0) {
        label(out, "power");
        ecoi_text_add_fixed(out, a->power_w, 1);
        ecoi_text_add_z(out, " W");
        if (e->power_limit_w > 0.0) {
            ecoi_text_add_z(out, " of a limit of ");
            ecoi_text_add_fixed(out, e->power_limit_w, 0);
            ecoi_text_add_z(out, " W (");
            add_percent(out, a->power_w / e->power_limit_w, 0);
            ecoi_text_add_z(out, ")");
        }
        ecoi_text_add_char(out, '\n');
    }
}

static void add_arm(const eco_explanation *e, uint32_t i, eco_text *out) {
    const eco_explained_arm *a = &e->arms[i];
    add_text(out, a->precision);
    ecoi_text_addf(out, ": %s", a->bound.name);
    if (a->stored_bound != NULL && strcmp(a->stored_bound, a->bound.name) != 0) {
        ecoi_text_add_z(out, " (the report says ");
        add_text(out, a->stored_bound);
        ecoi_text_add_char(out, ')');
    }
    if (a->kernels != NULL) {
        ecoi_text_add_z(out, "; ");
        add_text(out, a->kernels);
    }
    ecoi_text_add_char(out, '\n');
    add_bytes(a, out);
    add_time(e, a, out);
    add_operations(e, a, out);
    add_energy(a, out);
    add_launches_and_power(e, a, out);
    label(out, "advice");
    ecoi_text_add(out, e->advice[i].data, e->advice[i].length);
    ecoi_text_add_char(out, '\n');
}

static void add_signed(eco_text *out, double value) {
    ecoi_text_add_z(out, value > 0.0 ? "+" : "");
    ecoi_text_add_fixed(out, value, 2);
}

static void add_change(const eco_explanation *e, eco_text *out) {
    if (!e->has_change) {
        return;
    }
    ecoi_text_add_z(out, "change: ");
    add_signed(out, e->delta_pct);
    ecoi_text_add_z(out, " % (");
    if (e->n_blocks >= 2) {
        ecoi_text_add_z(out, "95 % ");
        add_signed(out, e->lo_pct);
        ecoi_text_add_z(out, " to ");
        add_signed(out, e->hi_pct);
        ecoi_text_addf(out, ", %u blocks", e->n_blocks);
    } else {
        ecoi_text_add_z(out, "n = 1, spread unknown");
    }
    if (e->expanded_pct > 0.0) {
        ecoi_text_add_z(out, "; timing and sensor ±");
        ecoi_text_add_fixed(out, e->expanded_pct, 2);
        ecoi_text_add_z(out, " %");
    }
    ecoi_text_add_z(out, "), ");
    add_text(out, e->basis);
    ecoi_text_add_z(out, "; verdict: ");
    add_text(out, e->verdict);
    ecoi_text_add_char(out, '\n');
}

void eco_explanation_text(const eco_explanation *e, eco_text *out) {
    add_text(out, e->model);
    ecoi_text_add_z(out, " on ");
    add_text(out, e->gpu);
    ecoi_text_add_z(out, ", engine ");
    add_text(out, e->engine);
    ecoi_text_addf(out, ", batch %u, positions %.0f to %.0f%s\n", e->batch, e->position_first,
                   fmax(e->position_last - 1.0, 0.0), e->published ? ", prefill included" : "");
    if (e->read_bytes_per_s > 0.0) {
        ecoi_text_add_z(out, "probed in the run: ");
        add_scaled(out, e->read_bytes_per_s, "B/s");
        if (e->read_j_per_byte > 0.0) {
            ecoi_text_add_z(out, ", ");
            ecoi_text_add_fixed(out, e->read_j_per_byte * 1e12, 1);
            ecoi_text_add_z(out, " mJ/GB");
        }
        if (e->launch_s > 0.0) {
            ecoi_text_add_z(out, ", ");
            ecoi_text_add_fixed(out, e->launch_s * 1e6, 2);
            ecoi_text_add_z(out, " us a launch");
        }
        ecoi_text_add_z(out, " (n = 1 each)\n");
    }
    for (uint32_t i = 0; i < e->n_arms; i++) {
        add_arm(e, i, out);
    }
    add_change(e, out);
    if (e->why.length > 0) {
        ecoi_text_add_z(out, e->unsettled ? "why (of a change that is not settled): " : "why: ");
        eco_text_add_visible(out, e->why.data, e->why.length);
        ecoi_text_add_char(out, '\n');
    }
    out->failed |= e->why.failed || e->advice[0].failed || e->advice[1].failed;
}

/* ---- JSON ---- */

typedef struct maker {
    ecoi_json_doc doc;
    bool failed;
} maker;

static void put(maker *m, ecoi_json *object, const char *key, ecoi_json *value) {
    if (object == NULL || value == NULL || !ecoi_json_set(&m->doc, object, key, NULL, value)) {
        m->failed = true;
    }
}

static void put_if(maker *m, ecoi_json *object, const char *key, bool known, double value) {
    put(m, object, key,
        known && isfinite(value) ? ecoi_json_new_number(&m->doc, value)
                                 : ecoi_json_new(&m->doc, ECOI_JSON_NULL));
}

/* null where it is not known. */
static void put_number(maker *m, ecoi_json *object, const char *key, double value) {
    put_if(m, object, key, value > 0.0, value);
}

static void put_text(maker *m, ecoi_json *object, const char *key, const char *text) {
    put(m, object, key,
        text != NULL ? ecoi_json_new_string(&m->doc, text, strlen(text))
                     : ecoi_json_new(&m->doc, ECOI_JSON_NULL));
}

static void put_arm(maker *m, ecoi_json *list, const eco_explanation *e, uint32_t i) {
    const eco_explained_arm *a = &e->arms[i];
    ecoi_json *object = ecoi_json_new(&m->doc, ECOI_JSON_OBJECT);
    if (object == NULL) {
        m->failed = true;
        return;
    }
    ecoi_json_append(list, object);
    const struct {
        const char *key;
        double value;
    } rows[] = {{"bytes_per_token", a->bytes_per_token},
                {"bytes_linear", a->bytes.linear},
                {"bytes_head", a->bytes.head},
                {"bytes_kv", a->bytes.kv_read + a->bytes.kv_write},
                {"bytes_other", a->bytes.other},
                {"flops_per_token", a->flops_per_token},
                {"token_us", a->token_s * 1e6},
                {"step_us", a->step_s * 1e6},
                {"layer_us", a->layer_s * 1e6},
                {"roofline_us", a->bound.roofline_s * 1e6},
                {"bandwidth_share", a->bound.bandwidth_share},
                {"matrix_flop_per_s", a->matrix_flops_per_s},
                {"compute_share", a->bound.compute_share},
                {"energy_per_token_mj", a->mj_per_token},
                {"roofline_mj", a->bound.roofline_j * 1e3},
                {"energy_over_roofline", a->bound.energy_factor},
                {"launches_per_step", a->launches_per_step},
                {"launch_share", a->bound.launch_share},
                {"power_w", a->power_w}};
    put_text(m, object, "precision", a->precision);
    put_text(m, object, "role", a->role);
    put_text(m, object, "bound", a->bound.name);
    put_text(m, object, "bound_in_report", a->stored_bound);
    put_text(m, object, "kernels", a->kernels);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        put_number(m, object, rows[k].key, rows[k].value);
    }
    put_number(m, object, "energy_per_token_lo_mj", a->mj_lo);
    put_number(m, object, "energy_per_token_hi_mj", a->mj_hi);
    put_number(m, object, "windows", a->n_windows);
    put_text(m, object, "advice", e->advice[i].data);
}

eco_status eco_explanation_json(const eco_explanation *e, eco_text *out, eco_error *err) {
    maker m = {0};
    ecoi_json *root = ecoi_json_new(&m.doc, ECOI_JSON_OBJECT);
    ecoi_json *list = ecoi_json_new(&m.doc, ECOI_JSON_ARRAY);
    m.failed = root == NULL || list == NULL;
    if (!m.failed) {
        put_text(&m, root, "model", e->model);
        put_text(&m, root, "gpu", e->gpu);
        put_text(&m, root, "engine", e->engine);
        put_number(&m, root, "batch", e->batch);
        put_number(&m, root, "layers", e->n_layers);
        put_number(&m, root, "position_mean", (e->position_first + e->position_last) / 2.0);
        put_number(&m, root, "read_bandwidth_gb_per_s", e->read_bytes_per_s * 1e-9);
        put_number(&m, root, "read_mj_per_gb", e->read_j_per_byte * 1e12);
        put_number(&m, root, "launch_us", e->launch_s * 1e6);
        put_number(&m, root, "power_limit_w", e->power_limit_w);
        put_text(&m, root, "matrix_rate_from",
                 e->lent                               ? e->lent_from
                 : e->arms[0].matrix_flops_per_s > 0.0 ? "report"
                                                       : NULL);
        for (uint32_t i = 0; i < e->n_arms; i++) {
            put_arm(&m, list, e, i);
        }
        put(&m, root, "arms", list);
        put_if(&m, root, "delta_pct", e->has_change, e->delta_pct);
        put_if(&m, root, "ci95_lo_pct", e->n_blocks >= 2, e->lo_pct);
        put_if(&m, root, "ci95_hi_pct", e->n_blocks >= 2, e->hi_pct);
        put_number(&m, root, "blocks", e->n_blocks);
        put_number(&m, root, "u_expanded_ratio_pct", e->expanded_pct);
        put_text(&m, root, "verdict", e->has_change ? e->verdict : NULL);
        put_text(&m, root, "basis", e->basis);
        put_text(&m, root, "why", e->why.data);
    }
    if (m.failed || !ecoi_json_write(root, out) || out->failed) {
        ecoi_json_fini(&m.doc);
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "explain: out of memory");
    }
    ecoi_json_fini(&m.doc);
    while (out->length > 0 && out->data[out->length - 1] == '\n') {
        out->data[--out->length] = '\0';
    }
    return ECO_OK;
}
