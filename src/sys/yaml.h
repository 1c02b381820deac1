/* SPDX-License-Identifier: Apache-2.0
 *
 * Small YAML documents from outside, read event by event (libyaml) into a tree under caps: what a plan file needs and
 * nothing else. No anchors, aliases, tags, directives, duplicate keys or second document; keys are plain texts. Every
 * node knows its line and column, so that messages of the reader's user can name them.
 */
#ifndef ECOI_YAML_H
#define ECOI_YAML_H

#include "core/arena.h"
#include "ecocompute/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ECO_YAML_SIZE_MAX = 256 * 1024, /* bytes of text */
    ECO_YAML_DEPTH_MAX = 8,
    ECO_YAML_MEMBERS_MAX = 256, /* of one mapping: a new key is compared with each */
    ECO_YAML_NODES_MAX = 16384
};

typedef enum ecoi_yaml_type {
    ECOI_YAML_SCALAR = 0,
    ECOI_YAML_SEQUENCE,
    ECOI_YAML_MAPPING
} ecoi_yaml_type;

/* A node belongs to its document. */
typedef struct ecoi_yaml ecoi_yaml;
struct ecoi_yaml {
    ecoi_yaml_type type;
    uint32_t n;            /* elements or members */
    uint32_t line, column; /* from 1, of the value; of a member's key where it is one: key_line */
    uint32_t key_line, key_column;
    const char *key;  /* of a member; NUL-terminated, no NUL inside */
    const char *text; /* SCALAR: NUL-terminated, no NUL inside */
    bool
        quoted; /* SCALAR: written in quotes or as a block, so a text even if it looks like a number */
    ecoi_yaml *first, *last, *next;
};

/* Zero-initialise; free with ecoi_yaml_fini. */
typedef struct ecoi_yaml_doc {
    ecoi_arena arena;
    ecoi_yaml *root;
} ecoi_yaml_doc;

/* ECO_E_PARSE with "name:line:column: …", ECO_E_RANGE over a cap, ECO_E_NO_MEMORY. On failure *doc is empty. An empty
 * document is ECO_E_PARSE. */
ECO_NODISCARD eco_status ecoi_yaml_read(const char *text, size_t length, const char *name,
                                        ecoi_yaml_doc *doc, eco_error *err);
void ecoi_yaml_fini(ecoi_yaml_doc *doc);

/* NULL when the value is no mapping or has no such member. */
const ecoi_yaml *ecoi_yaml_member(const ecoi_yaml *mapping, const char *key);
const char *ecoi_yaml_type_name(ecoi_yaml_type type); /* "a list", … */

#endif
