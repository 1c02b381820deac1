/* SPDX-License-Identifier: Apache-2.0
 *
 * Vendor libraries by dlopen and a symbol table: names newest first, where the pointer goes, required or not.
 */
#ifndef ECOCOMPUTE_SYS_DL_H
#define ECOCOMPUTE_SYS_DL_H

#include "ecocompute/status.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct eco_dl eco_dl;

typedef struct eco_dl_symbol {
    const char *names[3]; /* newest first; NULL ends */
    size_t offset;        /* of the function pointer in the table passed to ecoi_dl_open */
    bool required;
} eco_dl_symbol;

typedef struct eco_dl_library {
    const char *soname;         /* "libnvidia-ml.so.1": tried first by the loader's own search */
    const char *const *folders; /* then in these known driver folders; NULL ends */
    const eco_dl_symbol *symbols;
    size_t n_symbols;
} eco_dl_library;

/* Loads, resolves every symbol into `table`, and finds the path really loaded. ECO_E_NOT_FOUND: the message names the
 * paths tried; ECO_E_UNSUPPORTED: a required symbol is missing (named), or the library is a toolkit stub (its path
 * holds "/stubs/"). On failure the table is zeroed and nothing stays loaded. */
ECO_NODISCARD eco_status ecoi_dl_open(const eco_dl_library *library, void *table, eco_dl **out,
                                      eco_error *err);
const char *ecoi_dl_path(const eco_dl *dl); /* absolute, resolved; lives as long as dl */
bool ecoi_dl_path_known(
    const eco_dl *dl); /* in one of the known driver folders or the loader's system folders */
void ecoi_dl_close(eco_dl *dl); /* NULL is fine */

#endif
