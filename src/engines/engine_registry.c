/* SPDX-License-Identifier: Apache-2.0
 *
 * The public face of the engines: finds the driver by name, checks every argument once, and passes
 * on.
 */
#include "ecocompute/engine.h"

#include "core/alloc.h"
#include "engines/driver.h"

#include <string.h>

#define ECO_ENGINE(name) extern const eco_engine_driver ecoi_engine_##name;
#include "engines/engines.def"
#undef ECO_ENGINE

#define ECO_ENGINE(name) &ecoi_engine_##name,
static const eco_engine_driver *const engine_drivers[] = {
#include "engines/engines.def"
};
#undef ECO_ENGINE

enum { ENGINE_COUNT = sizeof engine_drivers / sizeof engine_drivers[0] };

struct eco_engine {
    const eco_engine_driver *driver;
    void *state;
};

struct eco_arm {
    const eco_engine_driver *driver;
    void *state;
    uint32_t n_vocab;
};

size_t eco_engine_count(void) {
    return ENGINE_COUNT;
}

void eco_engine_name(size_t index, eco_engine_status *out) {
    *out = (eco_engine_status){.name = "", .summary = ""};
    if (index < ENGINE_COUNT) {
        engine_drivers[index]->formats(out);
        out->name = engine_drivers[index]->name;
        out->summary = engine_drivers[index]->summary;
    }
}

void eco_engine_probe(size_t index, eco_engine_status *out) {
    eco_engine_name(index, out);
    if (index < ENGINE_COUNT) {
        engine_drivers[index]->probe(out);
    }
}

static eco_status engine_find(const char *name, const eco_engine_driver **out, eco_error *err) {
    const char *names[ENGINE_COUNT];
    for (size_t i = 0; i < ENGINE_COUNT; i++) {
        if (strcmp(name, engine_drivers[i]->name) == 0) {
            *out = engine_drivers[i];
            return ECO_OK;
        }
        names[i] = engine_drivers[i]->name;
    }
    const char *nearest = eco_nearest_name(name, names, ENGINE_COUNT);
    if (nearest != NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "unknown engine \"%s\"; did you mean \"%s\"?",
                             name, nearest);
    }
    return eco_error_set(err, ECO_E_USAGE, 0, "unknown engine \"%s\"; the first known is \"%s\"",
                         name, names[0]);
}

eco_status eco_engine_open(const eco_engine_options *options, eco_engine **out, eco_error *err) {
    if (out == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "engine open: no place for the engine");
    }
    *out = NULL;
    if (options == NULL || options->name == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "engine open: no engine named");
    }
    const eco_engine_driver *driver = NULL;
    ECO_TRY(engine_find(options->name, &driver, err));
    eco_engine *engine = ecoi_calloc(1, sizeof *engine);
    if (engine == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "engine: %zu bytes", sizeof *engine);
    }
    engine->driver = driver;
    const eco_status status = driver->open(options, &engine->state, err);
    if (status != ECO_OK) {
        ecoi_free(engine);
        return status;
    }
    *out = engine;
    return ECO_OK;
}

void eco_engine_close(eco_engine *engine) {
    if (engine != NULL) {
        engine->driver->close(engine->state);
        ecoi_free(engine);
    }
}

void eco_engine_describe(const eco_engine *engine, eco_engine_info *out) {
    *out = (eco_engine_info){.name = ""};
    if (engine != NULL) {
        engine->driver->describe(engine->state, out);
        out->name = engine->driver->name;
    }
}

eco_status eco_arm_check(const eco_engine *engine, const eco_workload *workload, eco_error *err) {
    if (engine == NULL || workload == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "arm check: needs an engine and a workload");
    }
    return engine->driver->arm_check(engine->state, workload, err);
}

uint64_t eco_arm_bytes(const eco_engine *engine, const eco_workload *workload) {
    return engine == NULL || workload == NULL ? 0
                                              : engine->driver->arm_bytes(engine->state, workload);
}

eco_status eco_arm_open(eco_engine *engine, const eco_workload *workload, eco_arm **out,
                        eco_error *err) {
    if (out == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0, "arm open: no place for the arm");
    }
    *out = NULL;
    if (engine == NULL || workload == NULL || workload->shape == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "arm open: needs an engine and a workload with a model");
    }
    eco_arm *arm = ecoi_calloc(1, sizeof *arm);
    if (arm == NULL) {
        return eco_error_set(err, ECO_E_NO_MEMORY, 0, "arm: %zu bytes", sizeof *arm);
    }
    arm->driver = engine->driver;
    arm->n_vocab = workload->shape->n_vocab;
    const eco_status status = engine->driver->arm_open(engine->state, workload, &arm->state, err);
    if (status != ECO_OK) {
        ecoi_free(arm);
        return status;
    }
    *out = arm;
    return ECO_OK;
}

void eco_arm_close(eco_arm *arm) {
    if (arm != NULL) {
        arm->driver->arm_close(arm->state);
        ecoi_free(arm);
    }
}

void eco_arm_describe(const eco_arm *arm, eco_arm_info *out) {
    *out = (eco_arm_info){.prefill_method = "", .kernels = ""};
    if (arm != NULL) {
        arm->driver->arm_describe(arm->state, out);
    }
}

eco_status eco_arm_work(eco_arm *arm, const eco_work *work, eco_work_result *out, eco_error *err) {
    if (out != NULL) {
        *out = (eco_work_result){0};
    }
    if (arm == NULL || work == NULL || out == NULL) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "arm work: needs an arm, the work and a place for the result");
    }
    if ((unsigned)work->kind > ECO_WORK_MATRIX_INT8) {
        return eco_error_set(err, ECO_E_USAGE, 0, "arm work: unknown kind %d", (int)work->kind);
    }
    if (work->stop == NULL && work->n_units_max == 0) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "arm work: without a stop flag it needs a number of units");
    }
    return arm->driver->arm_work(arm->state, work, out, err);
}

eco_status eco_arm_logits(eco_arm *arm, const uint32_t *tokens, size_t n, float *logits,
                          eco_error *err) {
    if (arm == NULL || tokens == NULL || logits == NULL || n == 0) {
        return eco_error_set(err, ECO_E_USAGE, 0,
                             "arm logits: needs an arm, at least one token and a place");
    }
    if (arm->driver->arm_logits == NULL) {
        return eco_error_set(err, ECO_E_UNSUPPORTED, 0, "engine %s cannot show logits",
                             arm->driver->name);
    }
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] >= arm->n_vocab) {
            return eco_error_set(err, ECO_E_RANGE, 0, "token %u at %zu: the vocabulary has %u",
                                 tokens[i], i, arm->n_vocab);
        }
    }
    return arm->driver->arm_logits(arm->state, tokens, n, logits, err);
}
