/* SPDX-License-Identifier: Apache-2.0
 *
 * The model itself: which amounts a token costs and which prices they carry, and what is believed of each price before
 * any row is seen. Pure.
 */
#include "model/energy_model_parts.h"

#include <math.h>
#include <string.h>

typedef struct prior {
    double mean, sd;
} prior;

/* Widths: 0.7 to 1 where only the order of magnitude is known, 0.3 for the price of a byte (data sheets and one probe: 0.137
 * J/GB on an H200), 0.1 to 0.4 for what differs between cards, hosts and stacks. They are judgements from what the sources
 * say of repeats; docs/energy-model.md shows how little halving and doubling them does. */
static const prior priors[ECOI_ENERGY_KIND_COUNT] = {
    [ECOI_ENERGY_LAUNCH] = {-2.9004, 1.0},    /* 0.055 J: 75 W for 0.73 ms */
    [ECOI_ENERGY_BYTE_GDDR] = {-1.2730, 0.3}, /* 0.28 J/GB */
    [ECOI_ENERGY_BYTE_HBM] = {-1.8971, 0.3},  /* 0.15 J/GB */
    [ECOI_ENERGY_TDP_POWER] = {0.5, 0.1}, /* power between launches, laptops to data-centre cards */
    [ECOI_ENERGY_FEW_OUTLIERS] = {-0.2877, 0.3}, /* × 0.75 */
    [ECOI_ENERGY_NF4_BATCH] = {0.0, 0.5},        /* × 1 */
    [ECOI_ENERGY_PRODUCT] = {-4.6052, 0.7},      /* 0.01 J */
    [ECOI_ENERGY_ENGINE] = {-2.8134, 1.0},       /* × 0.06: captured launches */
    [ECOI_ENERGY_LAUNCH_RATIO] = {0.47, 0.5},    /* × 1.6; INT8 below */
    [ECOI_ENERGY_UNPACK] = {-2.8134, 0.7},       /* 0.06 J */
    [ECOI_ENERGY_CARD_LAUNCH] = {0.0, 0.2},      [ECOI_ENERGY_CARD_BYTE] = {0.0, 0.2},
    [ECOI_ENERGY_CARD_WEIGHT] = {-3.9120, 1.5}, /* 0.02 J: next to nothing */
    [ECOI_ENERGY_SESSION] = {0.0, 0.1},          [ECOI_ENERGY_HOST] = {0.0, 0.3},
    [ECOI_ENERGY_HOST_RATIO] = {0.0, 0.2}, /* INT8 below */
    [ECOI_ENERGY_STACK_RATIO] = {0.0, 0.1},      [ECOI_ENERGY_UNPACK_BATCH] = {0.0, 0.7},
    [ECOI_ENERGY_PRODUCT_RATIO] = {0.0, 0.5},
};

/* LLM.int8 is a chain of small kernels: four times the launches, and a stack changes that by half as much again. */
static bool is_int8(const char *key) {
    return strncmp(key, "INT8", 4) == 0;
}

double ecoi_energy_prior_mean(ecoi_energy_kind kind, const char *key) {
    return kind == ECOI_ENERGY_LAUNCH_RATIO && is_int8(key) ? 1.3863 : priors[kind].mean;
}

double ecoi_energy_prior_sd(ecoi_energy_kind kind, const char *key) {
    if (is_int8(key)) {
        switch ((int)kind) {
        case ECOI_ENERGY_LAUNCH_RATIO:
            return 0.7;
        case ECOI_ENERGY_HOST_RATIO:
            return 0.1;
        case ECOI_ENERGY_STACK_RATIO:
            return 0.4;
        default:
            break;
        }
    }
    return priors[kind].sd;
}

static ecoi_energy_term *term(ecoi_energy_sum *sum, double amount) {
    ecoi_energy_term *t = &sum->terms[sum->n_terms++];
    t->amount = amount;
    t->n_factors = 0;
    return t;
}

static void times(ecoi_energy_term *t, ecoi_energy_kind kind, double power, const char *a,
                  const char *b, const char *c) {
    ecoi_energy_factor *f = &t->factors[t->n_factors++];
    f->kind = kind;
    f->power = power;
    f->key[0] = '\0';
    ecoi_energy_key_add(f->key, a);
    ecoi_energy_key_add(f->key, b);
    ecoi_energy_key_add(f->key, c);
}

/* What a host is: a card under a stack. Sessions of an unknown stack do not share one. */
static const char *host_stack(const ecoi_energy_case *c) {
    return c->stack[0] != '\0' ? c->stack : c->session;
}

static void add_launches(const ecoi_energy_case *c, bool quantized, ecoi_energy_sum *out) {
    const bool bitsandbytes = strcmp(c->engine, "transformers") == 0;
    ecoi_energy_term *t = term(out, c->shape.layers / c->batch);
    times(t, ECOI_ENERGY_LAUNCH, 1.0, "", "", "");
    times(t, ECOI_ENERGY_TDP_POWER, log(c->tdp_w / 450.0), "", "", "");
    times(t, ECOI_ENERGY_CARD_LAUNCH, 1.0, c->gpu, "", "");
    times(t, ECOI_ENERGY_SESSION, 1.0, c->session, "", "");
    times(t, ECOI_ENERGY_HOST, 1.0, c->gpu, host_stack(c), "");
    if (!bitsandbytes) {
        times(t, ECOI_ENERGY_ENGINE, 1.0, c->engine, "", "");
        return;
    }
    if (!quantized) {
        return;
    }
    times(t, ECOI_ENERGY_LAUNCH_RATIO, 1.0, c->precision, "", "");
    times(t, ECOI_ENERGY_STACK_RATIO, 1.0, c->precision, host_stack(c), "");
    times(t, ECOI_ENERGY_HOST_RATIO, 1.0, c->precision, c->gpu, host_stack(c));
    if (c->shape.few_outliers && is_int8(c->precision)) {
        times(t, ECOI_ENERGY_FEW_OUTLIERS, 1.0, "", "", "");
    }
}

static void byte_price(const ecoi_energy_case *c, ecoi_energy_term *t) {
    times(t, c->hbm ? ECOI_ENERGY_BYTE_HBM : ECOI_ENERGY_BYTE_GDDR, 1.0, "", "", "");
    times(t, ECOI_ENERGY_CARD_BYTE, 1.0, c->gpu, "", "");
}

void ecoi_energy_sum_of(const ecoi_energy_case *c, bool quantized, ecoi_energy_sum *out) {
    const ecoi_energy_shape *s = &c->shape;
    const bool bitsandbytes = strcmp(c->engine, "transformers") == 0;
    const double share = 1.0 / c->batch;
    const double bytes = quantized ? c->bytes_per_weight : 2.0;
    out->n_terms = 0;
    add_launches(c, quantized, out);
    byte_price(c,
               term(out, share * (bytes * s->linear_g + 2.0 * s->head_g) + s->kv_gb * c->context));
    if (bitsandbytes) {
        times(term(out, share * s->linear_g), ECOI_ENERGY_CARD_WEIGHT, 1.0, c->gpu, "", "");
    }
    if (quantized) {
        ecoi_energy_term *t = term(out, share * s->linear_g);
        times(t, ECOI_ENERGY_UNPACK, 1.0, c->engine, c->precision, "");
        if (!bitsandbytes && c->batch > 1.0) {
            times(t, ECOI_ENERGY_UNPACK_BATCH, 1.0, c->engine, c->precision, "");
        }
    }
    /* bitsandbytes has a fused 4-bit product for one row; for more it unpacks the matrix to FP16 and multiplies that. */
    if (quantized && bitsandbytes && c->batch > 1.0 && strcmp(c->precision, "NF4") == 0) {
        ecoi_energy_term *t = term(out, share * 4.0 * s->linear_g);
        byte_price(c, t);
        times(t, ECOI_ENERGY_NF4_BATCH, 1.0, "", "", "");
    }
    if (c->batch > 1.0) {
        const double products = 1.0 - share;
        times(term(out, products * s->head_g), ECOI_ENERGY_PRODUCT, 1.0, "", "", "");
        ecoi_energy_term *t = term(out, products * s->linear_g);
        times(t, ECOI_ENERGY_PRODUCT, 1.0, "", "", "");
        if (quantized && !bitsandbytes) {
            times(t, ECOI_ENERGY_PRODUCT_RATIO, 1.0, c->engine, c->precision, "");
        }
    }
}
