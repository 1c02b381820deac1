/* SPDX-License-Identifier: Apache-2.0
 *
 * Names from outside, which users type and reports hold: models, formats, phases, bases, card families, and the
 * nearest of a list. What is found is called what was asked for; the nearest of a list that holds the name is that
 * name; text made visible for a terminal holds nothing that could drive one.
 */
#include "fuzz_check.h"

#include "ecocompute/arch.h"
#include "ecocompute/trace.h"

#include <strings.h>

static void check_nearest(const char *name) {
    const char *names[64];
    size_t n = 0;
    for (; n < eco_model_count() && n < 63; n++) {
        names[n] = eco_model_at(n)->name;
    }
    (void)eco_nearest_name(name, names, n);
    /* Longer names than it looks at are refused, the empty one too. */
    names[n++] = name;
    const char *const nearest = eco_nearest_name(name, names, n);
    FUZZ_DEMAND(nearest == NULL || strcasecmp(nearest, name) == 0);
    FUZZ_DEMAND(nearest != NULL || strlen(name) > 96 || name[0] == '\0');
}

static void check_visible(const char *name, size_t size) {
    eco_text once = {0};
    eco_text twice = {0};
    eco_text_add_visible(&once, name, size);
    eco_text_add_visible(&twice, once.data != NULL ? once.data : "", once.length);
    for (size_t i = 0; i < once.length; i++) {
        const unsigned char c = (unsigned char)once.data[i];
        FUZZ_DEMAND(c >= 0x20 && c != 0x7f);
        FUZZ_DEMAND(c != 0xc2 || (unsigned char)once.data[i + 1] >= 0xa0);
    }
    FUZZ_DEMAND(once.length == twice.length &&
                (once.length == 0 || memcmp(once.data, twice.data, once.length) == 0));
    eco_text_free(&once);
    eco_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const name = fuzz_copy_z(data, size);
    const eco_model_shape *const shape = eco_model_find(name);
    FUZZ_DEMAND(shape == NULL || strcasecmp(shape->name, name) == 0 ||
                strcasecmp(shape->hf_id, name) == 0);
    eco_format format = ECO_FORMAT_COUNT;
    FUZZ_DEMAND(!eco_format_find(name, &format) ||
                strcasecmp(eco_format_at(format)->name, name) == 0);
    eco_basis basis = ECO_BASIS_UNAVAILABLE;
    FUZZ_DEMAND(!eco_basis_parse(name, &basis) || strcmp(eco_basis_name(basis), name) == 0);
    char *const bare = fuzz_copy(data, size);
    eco_phase phase = ECO_PHASE_COUNT;
    FUZZ_DEMAND(
        !eco_phase_parse(bare, size, &phase) ||
        (strlen(eco_phase_name(phase)) == size && memcmp(eco_phase_name(phase), bare, size) == 0));
    check_visible(bare, size);
    free(bare);
    (void)eco_card_family(0, 0, name);
    check_nearest(name);
    free(name);
    return 0;
}
