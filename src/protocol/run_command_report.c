/* SPDX-License-Identifier: Apache-2.0
 *
 * What a series of runs found, for people and as a JSON document (docs/run.md lists its keys). An absent energy is null
 * with its code beside it; numbers are written without the locale.
 */
#include "ecocompute/plan.h"
#include "ecocompute/run_command.h"

#include "core/json.h"
#include "core/str.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- for people ---- */

static void add_words(eco_text *out, char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) {
        ecoi_text_add_z(out, i == 0 ? "" : " ");
        for (const char *c = words[i]; *c != '\0'; c++) {
            const unsigned char byte = (unsigned char)*c;
            ecoi_text_add_char(out, byte < 0x20 || byte == 0x7f ? '?' : *c);
        }
    }
}

static void add_spread(eco_text *out, double half_width, uint32_t n, int decimals) {
    if (n > 1) {
        ecoi_text_add_z(out, " ± ");
        ecoi_text_add_fixed(out, half_width, decimals);
        ecoi_text_addf(out, " (95 %%, n = %u)", n);
    } else {
        ecoi_text_addf(out, " (n = %u)", n);
    }
}

static const char *first_code(const eco_run_result *result, uint32_t command, uint32_t meter) {
    for (uint32_t i = 0; i < result->n_runs; i++) {
        const eco_run_one *one = &result->runs[i];
        if (one->command == command && one->energies[meter].code[0] != '\0') {
            return one->energies[meter].code;
        }
    }
    return "no finished run";
}

static void text_mean(const eco_run_result *result, uint32_t command, uint32_t meter,
                      eco_text *out) {
    const eco_run_meter *m = &result->meters[meter];
    const eco_run_mean *mean = &result->means[command][meter];
    ecoi_text_addf(out, "  %s, %s, %s%s: ", m->info.name, m->info.device.name,
                   eco_boundary_kind_name(m->info.device.boundary.kind),
                   meter == 0 ? "" : " (apart)");
    if (mean->energy_j.n == 0) {
        ecoi_text_addf(out, "no energy (%s)\n", first_code(result, command, meter));
        return;
    }
    ecoi_text_add_fixed(out, mean->energy_j.value, 2);
    ecoi_text_add_z(out, " J");
    add_spread(out, mean->energy_j.hi - mean->energy_j.value, mean->energy_j.n, 2);
    ecoi_text_add_z(out, ", edges ± ");
    ecoi_text_add_fixed(out, mean->edge_half_width_j, 2);
    ecoi_text_addf(out, " J, %s by %s", eco_basis_name(mean->energy_j.basis),
                   m->info.energy_field != NULL ? m->info.energy_field : m->info.power_field);
    if (mean->mj_per_token.n > 0) {
        ecoi_text_add_z(out, "; ");
        ecoi_text_add_fixed(out, mean->mj_per_token.value, 2);
        ecoi_text_add_z(out, " mJ/token");
        add_spread(out, mean->mj_per_token.hi - mean->mj_per_token.value, mean->mj_per_token.n, 2);
    }
    ecoi_text_add_z(out, "\n");
}

static void text_phases(const eco_run_result *result, const eco_run_one *one, eco_text *out) {
    for (uint32_t p = 0; p < one->n_phases; p++) {
        const eco_run_phase *phase = &one->phases[p];
        ecoi_text_addf(out, "  run %u phase %s: ", one->repeat, phase->name);
        ecoi_text_add_fixed(out, phase->seconds, 3);
        ecoi_text_addf(out, " s in %u", phase->n_times);
        if (phase->has_tokens) {
            ecoi_text_addf(out, ", %llu tokens", (unsigned long long)phase->tokens);
        }
        for (uint32_t m = 0; m < result->n_meters; m++) {
            const eco_run_energy *energy = &phase->energies[m];
            ecoi_text_addf(out, "; %s %s ", result->meters[m].info.name,
                           result->meters[m].info.device.name);
            if (!eco_reading_present(energy->energy_j)) {
                ecoi_text_addf(out, "no energy (%s)", energy->code);
                continue;
            }
            ecoi_text_add_fixed(out, energy->energy_j.value, 2);
            ecoi_text_add_z(out, " J, edges ± ");
            ecoi_text_add_fixed(out, energy->edge_half_width_j, 2);
            if (eco_reading_present(energy->mj_per_token)) {
                ecoi_text_add_z(out, ", ");
                ecoi_text_add_fixed(out, energy->mj_per_token.value, 2);
                ecoi_text_add_z(out, " mJ/token");
            }
        }
        ecoi_text_add_z(out, "\n");
    }
}

static void text_command(const eco_run_plan *plan, const eco_run_result *result, uint32_t command,
                         eco_text *out) {
    const eco_mean *seconds = &result->seconds[command];
    if (result->n_commands == 2) {
        ecoi_text_addf(out, "%c: ", command == 0 ? 'A' : 'B');
    }
    add_words(out, plan->commands[command]);
    ecoi_text_add_z(out, "\n  time: ");
    if (seconds->n > 0) {
        ecoi_text_add_fixed(out, seconds->mean, 4);
        ecoi_text_add_z(out, " s");
        add_spread(out, seconds->half_width, seconds->n, 4);
        ecoi_text_add_z(out, "\n");
    } else {
        ecoi_text_add_z(out, "no finished run\n");
    }
    for (uint32_t m = 0; m < result->n_meters; m++) {
        text_mean(result, command, m, out);
    }
    for (uint32_t i = 0; i < result->n_runs; i++) {
        const eco_run_one *one = &result->runs[i];
        if (one->command != command) {
            continue;
        }
        if (!one->counted) {
            ecoi_text_addf(out, "  run %u %s %d and is not counted", one->repeat,
                           one->signal != 0 ? "was killed by signal" : "ended with status",
                           one->signal != 0 ? one->signal : one->exit_status);
            if (result->n_meters > 0 && eco_reading_present(one->energies[0].energy_j)) {
                ecoi_text_add_z(out, " (");
                ecoi_text_add_fixed(out, one->energies[0].energy_j.value, 2);
                ecoi_text_add_z(out, " J)");
            }
            ecoi_text_add_z(out, "\n");
        }
        if (one->left_running) {
            ecoi_text_addf(out,
                           "  run %u left processes running: what they use after its end is not "
                           "in its energy\n",
                           one->repeat);
        }
        text_phases(result, one, out);
    }
}

static void text_pairing(const eco_run_result *result, uint32_t meter, eco_text *out) {
    const eco_run_pairing *pairing = &result->pairings[meter];
    ecoi_text_addf(out, "B against A, %s, %s: ", result->meters[meter].info.name,
                   result->meters[meter].info.device.name);
    if (pairing->n_pairs == 0) {
        ecoi_text_add_z(out, "no pair with two energies, no verdict\n");
        return;
    }
    ecoi_text_add_z(out, pairing->change_pct > 0 ? "+" : "");
    ecoi_text_add_fixed(out, pairing->change_pct, 2);
    ecoi_text_add_z(out, " % energy");
    if (pairing->n_pairs > 1) {
        ecoi_text_add_z(out, " (95 %: ");
        ecoi_text_add_fixed(out, pairing->lo_pct, 2);
        ecoi_text_add_z(out, " to ");
        ecoi_text_add_fixed(out, pairing->hi_pct, 2);
        ecoi_text_add_z(out, ")");
    }
    ecoi_text_addf(out, ", n = %u: %s\n", pairing->n_pairs, eco_verdict_name(pairing->verdict));
}

void eco_run_result_text(const eco_run_plan *plan, const eco_run_result *result, eco_text *out) {
    for (uint32_t c = 0; c < result->n_commands; c++) {
        text_command(plan, result, c, out);
    }
    for (uint32_t m = 0; result->n_commands == 2 && m < result->n_meters; m++) {
        text_pairing(result, m, out);
    }
    if (result->n_meters == 0) {
        ecoi_text_addf(out, "no energy: %s\n", result->no_meter);
    } else if (result->left_out[0] != '\0') {
        ecoi_text_addf(out, "not read: %s\n", result->left_out);
    }
    if (result->n_markers_ignored > 0) {
        ecoi_text_addf(out, "markers ignored: %u (malformed, without a begin, or too many)\n",
                       result->n_markers_ignored);
    }
    for (uint32_t i = 0; i < result->n_warnings; i++) {
        const eco_run_warning *warning = &result->warnings[i];
        const eco_warning_info *info = eco_warning_at(warning->warning);
        ecoi_text_addf(out, "warning %s: %s%s%s%s; %s\n", info->code, info->text,
                       warning->detail[0] != '\0' ? " (" : "", warning->detail,
                       warning->detail[0] != '\0' ? ")" : "", info->advice);
    }
}

/* ---- JSON ---- */

typedef struct json_writer {
    ecoi_json_doc doc;
    bool failed;
} json_writer;

static void put(json_writer *w, ecoi_json *object, const char *key, ecoi_json *value) {
    w->failed |=
        object == NULL || value == NULL || !ecoi_json_set(&w->doc, object, key, NULL, value);
}

static void put_number(json_writer *w, ecoi_json *object, const char *key, double value) {
    put(w, object, key, ecoi_json_new_number(&w->doc, value));
}

static void put_integer(json_writer *w, ecoi_json *object, const char *key, int64_t value) {
    put(w, object, key, ecoi_json_new_integer(&w->doc, value));
}

static void put_bool(json_writer *w, ecoi_json *object, const char *key, bool value) {
    put(w, object, key, ecoi_json_new_bool(&w->doc, value));
}

static void put_string(json_writer *w, ecoi_json *object, const char *key, const char *value) {
    put(w, object, key,
        value == NULL ? ecoi_json_new(&w->doc, ECOI_JSON_NULL)
                      : ecoi_json_new_string(&w->doc, value, strlen(value)));
}

static void put_reading(json_writer *w, ecoi_json *object, const char *key, eco_reading reading) {
    put(w, object, key,
        eco_reading_present(reading) ? ecoi_json_new_number(&w->doc, reading.value)
                                     : ecoi_json_new(&w->doc, ECOI_JSON_NULL));
}

static ecoi_json *put_new(json_writer *w, ecoi_json *object, const char *key, ecoi_json_type type) {
    ecoi_json *value = ecoi_json_new(&w->doc, type);
    put(w, object, key, value);
    return value;
}

static ecoi_json *append_object(json_writer *w, ecoi_json *array) {
    ecoi_json *value = ecoi_json_new(&w->doc, ECOI_JSON_OBJECT);
    w->failed |= array == NULL || value == NULL;
    if (!w->failed) {
        ecoi_json_append(array, value);
    }
    return value;
}

static void put_energy(json_writer *w, ecoi_json *array, const eco_run_energy *energy) {
    ecoi_json *o = append_object(w, array);
    put_reading(w, o, "energy_j", energy->energy_j);
    put_string(w, o, "code", energy->code[0] != '\0' ? energy->code : NULL);
    if (eco_reading_present(energy->energy_j)) {
        put_number(w, o, "edge_half_width_j", energy->edge_half_width_j);
        put_reading(w, o, "window_j", energy->window_j);
        put_number(w, o, "gap_s", energy->gap_s);
        put_number(w, o, "gap_j", energy->gap_j);
        put_reading(w, o, "integral_j", energy->integral_j);
        put_reading(w, o, "counter_to_integral", energy->counter_to_integral);
        put_reading(w, o, "energy_per_token_mj", energy->mj_per_token);
        put_number(w, o, "longest_gap_s", energy->longest_gap_s);
    }
}

static void put_tokens(json_writer *w, ecoi_json *object, bool has, uint64_t tokens) {
    put(w, object, "tokens",
        has ? ecoi_json_new_integer(&w->doc, (int64_t)tokens)
            : ecoi_json_new(&w->doc, ECOI_JSON_NULL));
}

static void put_run(json_writer *w, const eco_run_result *result, const eco_run_one *one,
                    ecoi_json *array) {
    ecoi_json *o = append_object(w, array);
    put_string(w, o, "command", one->command == 0 ? "A" : "B");
    put_integer(w, o, "repeat", one->repeat);
    put_number(w, o, "start_s", one->start_s);
    put_number(w, o, "seconds", one->seconds);
    put_number(w, o, "cpu_s", one->cpu_s);
    put_integer(w, o, "exit_status", one->exit_status);
    put_integer(w, o, "signal", one->signal);
    put_bool(w, o, "counted", one->counted);
    put_bool(w, o, "left_running", one->left_running);
    put_tokens(w, o, one->has_tokens, one->tokens);
    ecoi_json *energies = put_new(w, o, "energies", ECOI_JSON_ARRAY);
    for (uint32_t m = 0; m < result->n_meters; m++) {
        put_energy(w, energies, &one->energies[m]);
    }
    ecoi_json *phases = put_new(w, o, "phases", ECOI_JSON_ARRAY);
    for (uint32_t p = 0; p < one->n_phases; p++) {
        const eco_run_phase *phase = &one->phases[p];
        ecoi_json *f = append_object(w, phases);
        put_string(w, f, "name", phase->name);
        put_integer(w, f, "times", phase->n_times);
        put_number(w, f, "seconds", phase->seconds);
        put_tokens(w, f, phase->has_tokens, phase->tokens);
        energies = put_new(w, f, "energies", ECOI_JSON_ARRAY);
        for (uint32_t m = 0; m < result->n_meters; m++) {
            put_energy(w, energies, &phase->energies[m]);
        }
    }
}

static void put_meter(json_writer *w, const eco_run_meter *meter, bool first, ecoi_json *array) {
    ecoi_json *o = append_object(w, array);
    put_string(w, o, "name", meter->info.name);
    put_string(w, o, "device", meter->info.device.name);
    put_string(w, o, "boundary", eco_boundary_kind_name(meter->info.device.boundary.kind));
    put_string(w, o, "pci_bus_id", meter->info.device.boundary.pci_bus_id);
    put_string(w, o, "driver", meter->info.device.driver);
    put_string(w, o, "library_path", meter->info.device.library_path);
    put_bool(w, o, "headline", first);
    put_string(w, o, "energy_field", meter->info.energy_field);
    put_string(w, o, "power_field", meter->info.power_field);
    put_string(w, o, "basis", eco_basis_name(meter->basis));
    put_reading(w, o, "counter_update_period_s", meter->period_s);
    put_reading(w, o, "idle_w", meter->idle_w);
}

static void put_quantity(json_writer *w, ecoi_json *object, const char *key,
                         const eco_quantity *quantity) {
    ecoi_json *o = put_new(w, object, key, ECOI_JSON_OBJECT);
    const bool any = quantity->n > 0;
    const eco_reading absent = eco_reading_absent(ECO_ABSENT_NOT_READ);
    put_reading(w, o, "value", any ? eco_reading_of(quantity->value) : absent);
    put_reading(w, o, "lo", quantity->n > 1 ? eco_reading_of(quantity->lo) : absent);
    put_reading(w, o, "hi", quantity->n > 1 ? eco_reading_of(quantity->hi) : absent);
    put_integer(w, o, "n", quantity->n);
    put_string(w, o, "basis", eco_basis_name(quantity->basis));
}

static void put_command(json_writer *w, const eco_run_plan *plan, const eco_run_result *result,
                        uint32_t command, ecoi_json *array) {
    ecoi_json *o = append_object(w, array);
    put_string(w, o, "name", command == 0 ? "A" : "B");
    ecoi_json *words = put_new(w, o, "words", ECOI_JSON_ARRAY);
    for (size_t i = 0; plan->commands[command][i] != NULL && !w->failed; i++) {
        const char *word = plan->commands[command][i];
        ecoi_json *value = ecoi_json_new_string(&w->doc, word, strlen(word));
        w->failed |= value == NULL;
        if (value != NULL) {
            ecoi_json_append(words, value);
        }
    }
    const eco_mean *seconds = &result->seconds[command];
    const eco_quantity time = {.value = seconds->mean,
                               .lo = seconds->mean - seconds->half_width,
                               .hi = seconds->mean + seconds->half_width,
                               .n = seconds->n,
                               .basis = ECO_BASIS_COMPUTED};
    put_quantity(w, o, "seconds", &time);
    ecoi_json *means = put_new(w, o, "meters", ECOI_JSON_ARRAY);
    for (uint32_t m = 0; m < result->n_meters; m++) {
        const eco_run_mean *mean = &result->means[command][m];
        ecoi_json *e = append_object(w, means);
        put_quantity(w, e, "energy_j", &mean->energy_j);
        put_quantity(w, e, "energy_per_token_mj", &mean->mj_per_token);
        put_number(w, e, "edge_half_width_j", mean->edge_half_width_j);
    }
}

static void put_pairings(json_writer *w, const eco_run_result *result, ecoi_json *root) {
    ecoi_json *array = put_new(w, root, "b_against_a", ECOI_JSON_ARRAY);
    for (uint32_t m = 0; m < result->n_meters; m++) {
        const eco_run_pairing *pairing = &result->pairings[m];
        ecoi_json *o = append_object(w, array);
        const eco_reading absent = eco_reading_absent(ECO_ABSENT_NOT_READ);
        const bool any = pairing->n_pairs > 0;
        const bool many = pairing->n_pairs > 1;
        put_reading(w, o, "change_pct", any ? eco_reading_of(pairing->change_pct) : absent);
        put_reading(w, o, "lo_pct", many ? eco_reading_of(pairing->lo_pct) : absent);
        put_reading(w, o, "hi_pct", many ? eco_reading_of(pairing->hi_pct) : absent);
        put_integer(w, o, "pairs", pairing->n_pairs);
        put_string(w, o, "verdict", any ? eco_verdict_name(pairing->verdict) : NULL);
    }
    put_number(w, root, "margin_pct", result->margin_pct);
    char seed[24];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)result->order_seed);
    put_string(w, root, "order_seed", seed);
}

static void put_warnings(json_writer *w, const eco_run_result *result, ecoi_json *root) {
    ecoi_json *array = put_new(w, root, "warnings", ECOI_JSON_ARRAY);
    for (uint32_t i = 0; i < result->n_warnings; i++) {
        const eco_warning_info *info = eco_warning_at(result->warnings[i].warning);
        ecoi_json *o = append_object(w, array);
        put_string(w, o, "code", info->code);
        put_string(w, o, "text", info->text);
        put_string(w, o, "advice", info->advice);
        put_string(w, o, "detail",
                   result->warnings[i].detail[0] != '\0' ? result->warnings[i].detail : NULL);
    }
}

static void put_all(json_writer *w, const eco_run_plan *plan, const eco_run_result *result) {
    ecoi_json *root = ecoi_json_new(&w->doc, ECOI_JSON_OBJECT);
    w->doc.root = root;
    put_string(w, root, "kind", "ecocompute run");
    put_string(w, root, "version", eco_version());
    put_integer(w, root, "exit_status", result->exit_status);
    put_integer(w, root, "interrupted_by_signal", result->interrupted);
    put_integer(w, root, "runs_planned", result->n_planned);
    put_integer(w, root, "markers_ignored", result->n_markers_ignored);
    put_string(w, root, "no_meter", result->no_meter[0] != '\0' ? result->no_meter : NULL);
    put_string(w, root, "left_out", result->left_out[0] != '\0' ? result->left_out : NULL);
    put_string(w, root, "fault", result->fault.code != ECO_OK ? result->fault.message : NULL);
    ecoi_json *array = put_new(w, root, "meters", ECOI_JSON_ARRAY);
    for (uint32_t m = 0; m < result->n_meters; m++) {
        put_meter(w, &result->meters[m], m == 0, array);
    }
    array = put_new(w, root, "commands", ECOI_JSON_ARRAY);
    for (uint32_t c = 0; c < result->n_commands; c++) {
        put_command(w, plan, result, c, array);
    }
    if (result->n_commands == 2) {
        put_pairings(w, result, root);
    }
    array = put_new(w, root, "runs", ECOI_JSON_ARRAY);
    for (uint32_t i = 0; i < result->n_runs; i++) {
        put_run(w, result, &result->runs[i], array);
    }
    put_warnings(w, result, root);
}

eco_status eco_run_result_json(const eco_run_plan *plan, const eco_run_result *result,
                               eco_text *out, eco_error *err) {
    json_writer w = {.failed = false};
    put_all(&w, plan, result);
    const bool written = !w.failed && ecoi_json_write(w.doc.root, out);
    ecoi_json_fini(&w.doc);
    return written ? ECO_OK : eco_error_set(err, ECO_E_NO_MEMORY, 0, "run.json: out of memory");
}

eco_status eco_run_result_write(const eco_run_plan *plan, const eco_run_result *result,
                                eco_error *err) {
    char path[ECO_FOLDER_MAX + 16];
    eco_text text = {0};
    (void)snprintf(path, sizeof path, "%s/run.json", plan->output_dir);
    if (access(path, F_OK) == 0) {
        return eco_error_set(err, ECO_E_BUSY, 0, "%s: another run has written it meanwhile", path);
    }
    eco_status status = eco_run_result_json(plan, result, &text, err);
    if (status == ECO_OK) {
        status = ecoi_file_write(path, text.data, text.length, err);
    }
    eco_text_free(&text);
    return status;
}
