/* SPDX-License-Identifier: Apache-2.0
 *
 * libyaml's parser gives one event at a time; depth, size and the number of nodes are looked at with each, so that a
 * hostile text costs no more than its own length. Nothing here recurses.
 */
#include "sys/yaml.h"

#include <string.h>
#include <yaml.h>

typedef struct reader {
    yaml_parser_t parser;
    const char *name;
    ecoi_yaml_doc *doc;
    ecoi_yaml *open[ECO_YAML_DEPTH_MAX]; /* containers entered and not left, outermost first */
    const char *key[ECO_YAML_DEPTH_MAX]; /* of each mapping: the key whose value is awaited */
    yaml_mark_t key_mark[ECO_YAML_DEPTH_MAX];
    uint32_t depth;
    uint32_t n_nodes, n_documents;
    bool done;
    eco_error *err;
} reader;

static eco_status refuse(reader *r, eco_status code, yaml_mark_t mark, const char *what) {
    return eco_error_set(r->err, code, 0, "%s:%zu:%zu: %s", r->name, mark.line + 1, mark.column + 1,
                         what);
}

static eco_status no_memory(reader *r) {
    return eco_error_set(r->err, ECO_E_NO_MEMORY, 0, "%s: out of memory", r->name);
}

/* What libyaml itself found wrong. */
static eco_status parser_failure(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        return no_memory(r);
    }
    if (p->error == YAML_READER_ERROR) {
        return eco_error_set(r->err, ECO_E_PARSE, 0, "%s:%zu:%zu: %s", r->name, p->mark.line + 1,
                             p->mark.column + 1,
                             p->problem != NULL ? p->problem : "not readable as UTF-8");
    }
    return refuse(r, ECO_E_PARSE, p->problem_mark, p->problem != NULL ? p->problem : "not YAML");
}

static bool is_mapping(const reader *r) {
    return r->depth > 0 && r->open[r->depth - 1]->type == ECOI_YAML_MAPPING;
}

static bool awaits_key(const reader *r) {
    return is_mapping(r) && r->key[r->depth - 1] == NULL;
}

static eco_status add_node(reader *r, ecoi_yaml_type type, yaml_mark_t mark, ecoi_yaml **out) {
    if (awaits_key(r)) {
        return refuse(r, ECO_E_PARSE, mark, "a key must be a plain text");
    }
    if (r->n_nodes == ECO_YAML_NODES_MAX) {
        return refuse(r, ECO_E_RANGE, mark, "too many values");
    }
    ecoi_yaml *node = ecoi_arena_alloc(&r->doc->arena, sizeof *node);
    if (node == NULL) {
        return no_memory(r);
    }
    *node = (ecoi_yaml){
        .type = type, .line = (uint32_t)mark.line + 1, .column = (uint32_t)mark.column + 1};
    r->n_nodes++;
    if (r->depth == 0) {
        r->doc->root = node;
    } else {
        ecoi_yaml *parent = r->open[r->depth - 1];
        if (is_mapping(r)) {
            node->key = r->key[r->depth - 1];
            node->key_line = (uint32_t)r->key_mark[r->depth - 1].line + 1;
            node->key_column = (uint32_t)r->key_mark[r->depth - 1].column + 1;
            r->key[r->depth - 1] = NULL;
        }
        if (parent->last != NULL) {
            parent->last->next = node;
        } else {
            parent->first = node;
        }
        parent->last = node;
        parent->n++;
    }
    *out = node;
    return ECO_OK;
}

static eco_status take_scalar(reader *r, const yaml_event_t *event) {
    const char *value = (const char *)event->data.scalar.value;
    const size_t length = event->data.scalar.length;
    if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL) {
        return refuse(r, ECO_E_PARSE, event->start_mark, "anchors and tags are not allowed");
    }
    if (memchr(value, '\0', length) != NULL) {
        return refuse(r, ECO_E_PARSE, event->start_mark, "a NUL character is not allowed");
    }
    char *text = ecoi_arena_alloc(&r->doc->arena, length + 1);
    if (text == NULL) {
        return no_memory(r);
    }
    memcpy(text, value, length);
    text[length] = '\0';
    if (awaits_key(r)) {
        if (r->open[r->depth - 1]->n == ECO_YAML_MEMBERS_MAX) {
            return refuse(r, ECO_E_RANGE, event->start_mark, "too many keys in one mapping");
        }
        if (ecoi_yaml_member(r->open[r->depth - 1], text) != NULL) {
            return eco_error_set(r->err, ECO_E_PARSE, 0, "%s:%zu:%zu: '%.60s' stands here twice",
                                 r->name, event->start_mark.line + 1, event->start_mark.column + 1,
                                 text);
        }
        r->key[r->depth - 1] = text;
        r->key_mark[r->depth - 1] = event->start_mark;
        return ECO_OK;
    }
    ecoi_yaml *node = NULL;
    ECO_TRY(add_node(r, ECOI_YAML_SCALAR, event->start_mark, &node));
    node->text = text;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return ECO_OK;
}

static eco_status enter(reader *r, ecoi_yaml_type type, const yaml_event_t *event, bool marked) {
    if (marked) {
        return refuse(r, ECO_E_PARSE, event->start_mark, "anchors and tags are not allowed");
    }
    if (r->depth == ECO_YAML_DEPTH_MAX) {
        return refuse(r, ECO_E_RANGE, event->start_mark, "nested too deeply");
    }
    ecoi_yaml *node = NULL;
    ECO_TRY(add_node(r, type, event->start_mark, &node));
    r->key[r->depth] = NULL;
    r->open[r->depth++] = node;
    return ECO_OK;
}

static eco_status take_document(reader *r, const yaml_event_t *event) {
    if (event->data.document_start.version_directive != NULL ||
        event->data.document_start.tag_directives.start !=
            event->data.document_start.tag_directives.end) {
        return refuse(r, ECO_E_PARSE, event->start_mark, "directives are not allowed");
    }
    if (++r->n_documents > 1) {
        return refuse(r, ECO_E_PARSE, event->start_mark, "a second document is not allowed");
    }
    return ECO_OK;
}

static eco_status take(reader *r, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return enter(r, ECOI_YAML_SEQUENCE, event,
                     event->data.sequence_start.anchor != NULL ||
                         event->data.sequence_start.tag != NULL);
    case YAML_MAPPING_START_EVENT:
        return enter(r, ECOI_YAML_MAPPING, event,
                     event->data.mapping_start.anchor != NULL ||
                         event->data.mapping_start.tag != NULL);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return ECO_OK;
    case YAML_ALIAS_EVENT:
        return refuse(r, ECO_E_PARSE, event->start_mark, "aliases are not allowed");
    case YAML_DOCUMENT_START_EVENT:
        return take_document(r, event);
    case YAML_STREAM_END_EVENT:
        r->done = true;
        return ECO_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return ECO_OK;
    }
    return ECO_OK;
}

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

eco_status ecoi_yaml_read(const char *text, size_t length, const char *name, ecoi_yaml_doc *doc,
                          eco_error *err) {
    *doc = (ecoi_yaml_doc){.root = NULL};
    if (length > ECO_YAML_SIZE_MAX) {
        return eco_error_set(err, ECO_E_RANGE, 0, "%s: larger than %d bytes", name,
                             ECO_YAML_SIZE_MAX);
    }
    reader r = {.name = name, .doc = doc, .err = err};
    if (!yaml_parser_initialize(&r.parser)) {
        return no_memory(&r);
    }
    /* A byte order mark may begin the text (YAML 1.2.2, 5.2); with the encoding set libyaml takes it for content. */
    if (length >= strlen(BYTE_ORDER_MARK) &&
        memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
        text += strlen(BYTE_ORDER_MARK);
        length -= strlen(BYTE_ORDER_MARK);
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
    eco_status status = ECO_OK;
    while (status == ECO_OK && !r.done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r.parser, &event)) {
            status = parser_failure(&r);
            break;
        }
        status = take(&r, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&r.parser);
    if (status == ECO_OK && doc->root == NULL) {
        status = eco_error_set(err, ECO_E_PARSE, 0, "%s:1:1: the file is empty", name);
    }
    if (status != ECO_OK) {
        ecoi_yaml_fini(doc);
    }
    return status;
}

void ecoi_yaml_fini(ecoi_yaml_doc *doc) {
    ecoi_arena_fini(&doc->arena);
    *doc = (ecoi_yaml_doc){.root = NULL};
}

const ecoi_yaml *ecoi_yaml_member(const ecoi_yaml *mapping, const char *key) {
    if (mapping == NULL || mapping->type != ECOI_YAML_MAPPING) {
        return NULL;
    }
    for (const ecoi_yaml *node = mapping->first; node != NULL; node = node->next) {
        if (strcmp(node->key, key) == 0) {
            return node;
        }
    }
    return NULL;
}

const char *ecoi_yaml_type_name(ecoi_yaml_type type) {
    switch (type) {
    case ECOI_YAML_SCALAR:
        return "a single value";
    case ECOI_YAML_SEQUENCE:
        return "a list";
    case ECOI_YAML_MAPPING:
        return "a mapping";
    }
    return "unknown";
}
