/* SPDX-License-Identifier: Apache-2.0
 *
 * write_schema json|page: schema/energy-1.3.schema.json (JSON Schema, draft-07) or docs/schema.md on standard output,
 * from the rules that the check in C reads too. tools/gen_schema.sh renews both files.
 */
#include "core/json.h"
#include "core/str.h"
#include "report/report_doc.h"
#include "report/schema_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ecoi_json_doc doc;

static void die(const char *what) {
    fprintf(stderr, "write_schema: %s\n", what);
    exit(1);
}

static ecoi_json *made(ecoi_json *value) {
    if (value == NULL) {
        die("out of memory");
    }
    return value;
}

static ecoi_json *object_new(void) {
    return made(ecoi_json_new(&doc, ECOI_JSON_OBJECT));
}

static ecoi_json *text_new(const char *text, size_t length) {
    return made(ecoi_json_new_string(&doc, text, length));
}

static ecoi_json *put(ecoi_json *object, const char *key, ecoi_json *value) {
    if (!ecoi_json_set(&doc, object, key, NULL, value)) {
        die("out of memory");
    }
    return value;
}

static void put_text(ecoi_json *object, const char *key, const char *text) {
    put(object, key, text_new(text, strlen(text)));
}

/* The member `key`, made if it is not there. */
static ecoi_json *enter(ecoi_json *object, const char *key, ecoi_json_type type) {
    ecoi_json *const found = ecoi_json_member(object, key, strlen(key));
    return found != NULL ? found : put(object, key, made(ecoi_json_new(&doc, type)));
}

static void put_type(ecoi_json *schema, const char *type, bool null_ok) {
    if (!null_ok) {
        put_text(schema, "type", type);
        return;
    }
    ecoi_json *const types = put(schema, "type", made(ecoi_json_new(&doc, ECOI_JSON_ARRAY)));
    ecoi_json_append(types, text_new(type, strlen(type)));
    ecoi_json_append(types, text_new("null", 4));
}

static void require(ecoi_json *schema, const char *key) {
    ecoi_json *const required = enter(schema, "required", ECOI_JSON_ARRAY);
    ecoi_json_append(required, text_new(key, strlen(key)));
}

/* ---- Values ----------------------------------------------------------------------------------- */

static const char *type_name(eco_field_type type) {
    static const char *const names[] = {
        [ECO_TYPE_STRING] = "string",   [ECO_TYPE_NUMBER] = "number",
        [ECO_TYPE_INTEGER] = "integer", [ECO_TYPE_BOOLEAN] = "boolean",
        [ECO_TYPE_STRINGS] = "array",   [ECO_TYPE_STRING_MAP] = "object"};
    return names[type];
}

static void put_names(ecoi_json *schema, const ecoi_field_rule *rule) {
    ecoi_json *const list = put(schema, "enum", made(ecoi_json_new(&doc, ECOI_JSON_ARRAY)));
    for (const char *name = rule->names; *name != '\0';) {
        const size_t length = strcspn(name, "|");
        ecoi_json_append(list, text_new(name, length));
        name += length + (name[length] == '|' ? 1 : 0);
    }
    if (rule->null_ok) {
        ecoi_json_append(list, made(ecoi_json_new(&doc, ECOI_JSON_NULL)));
    }
}

static ecoi_json *strings_schema(void) {
    ecoi_json *const schema = object_new();
    put_text(schema, "type", "string");
    return schema;
}

static ecoi_json *value_schema(eco_field field, const ecoi_field_rule *rule) {
    const eco_field_info *const info = eco_field_at(field);
    ecoi_json *const schema = object_new();
    eco_text text = {0};
    ecoi_text_addf(&text, "%s%s%s%s", info->meaning, info->unit[0] != '\0' ? " [" : "", info->unit,
                   info->unit[0] != '\0' ? "]" : "");
    put_text(schema, "description", text.data);
    eco_text_free(&text);
    if (!rule->held) {
        return schema; /* a draft's field: told, not held */
    }
    put_type(schema, type_name(info->type), rule->null_ok);
    if (info->type == ECO_TYPE_STRING && rule->names != NULL) {
        put_names(schema, rule);
    }
    if (info->type == ECO_TYPE_STRINGS) {
        put(schema, "items", strings_schema());
    }
    if (info->type == ECO_TYPE_STRING_MAP) {
        put(schema, "additionalProperties", strings_schema());
    }
    if (rule->bounded && (info->type == ECO_TYPE_NUMBER || info->type == ECO_TYPE_INTEGER)) {
        put(schema, "minimum", made(ecoi_json_new_number(&doc, rule->at_least)));
    } else if (info->type == ECO_TYPE_INTEGER) {
        put(schema, "minimum", made(ecoi_json_new_number(&doc, -ECOI_SCHEMA_INTEGER_MAX)));
    }
    if (info->type == ECO_TYPE_INTEGER) {
        put(schema, "maximum", made(ecoi_json_new_number(&doc, ECOI_SCHEMA_INTEGER_MAX)));
    }
    if (rule->always_false) {
        put(schema, "const", made(ecoi_json_new_bool(&doc, false)));
    }
    return schema;
}

/* ---- Containers ------------------------------------------------------------------------------- */

static bool held_through(const char *path, size_t length, ecoi_edition edition) {
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        const char *const other = eco_field_at((eco_field)i)->path;
        if (strncmp(other, path, length) == 0 && (other[length] == '.' || other[length] == '[') &&
            ecoi_schema_rule((eco_field)i, edition).held) {
            return true;
        }
    }
    return false;
}

static bool object_required(const char *key, ecoi_edition edition) {
    int from = 0;
    const char *name = NULL;
    for (size_t i = 0; (name = ecoi_schema_object(i, &from)) != NULL; i++) {
        if (strcmp(name, key) == 0) {
            return from <= edition.minor;
        }
    }
    return false;
}

/* The schema of the object behind one step of a path. */
static ecoi_json *enter_step(ecoi_json *schema, const char *path, const ecoi_step *step,
                             ecoi_edition edition) {
    char key[64];
    (void)snprintf(key, sizeof key, "%.*s", (int)step->key_length, step->key);
    ecoi_json *const properties = enter(schema, "properties", ECOI_JSON_OBJECT);
    ecoi_json *inner = ecoi_json_member(properties, key, strlen(key));
    if (inner != NULL) {
        return step->array ? enter(inner, "items", ECOI_JSON_OBJECT) : inner;
    }
    inner = put(properties, key, object_new());
    const size_t length = (size_t)(step->key - path) + step->key_length;
    const bool held = held_through(path, length, edition);
    const bool required = step->key == path && object_required(key, edition);
    if (required) {
        require(schema, key);
    }
    if (held) {
        put_type(inner, step->array ? "array" : "object", !required);
    }
    if (!step->array) {
        return inner;
    }
    ecoi_json *const items = enter(inner, "items", ECOI_JSON_OBJECT);
    if (held) {
        put_type(items, "object", false);
    }
    return items;
}

static void add_field(ecoi_json *schema, eco_field field, ecoi_edition edition) {
    const ecoi_field_rule rule = ecoi_schema_rule(field, edition);
    if (!rule.described) {
        return;
    }
    const char *const path = eco_field_at(field)->path;
    const char *rest = path;
    ecoi_step step = ecoi_step_next(&rest);
    for (; !step.last; step = ecoi_step_next(&rest)) {
        schema = enter_step(schema, path, &step, edition);
    }
    put(enter(schema, "properties", ECOI_JSON_OBJECT), step.key, value_schema(field, &rule));
    if (rule.held && rule.required) {
        require(schema, step.key);
    }
}

static ecoi_json *edition_schema(ecoi_edition edition) {
    ecoi_json *const schema = object_new();
    put_text(schema, "type", "object");
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        add_field(schema, (eco_field)i, edition);
    }
    return schema;
}

/* ---- The file --------------------------------------------------------------------------------- */

static ecoi_json *reference(const char *name) {
    eco_text text = {0};
    ecoi_text_addf(&text, "#/definitions/%s", name);
    ecoi_json *const schema = object_new();
    put_text(schema, "$ref", text.data);
    eco_text_free(&text);
    return schema;
}

/* {"required": [key], "properties": {key: value}} */
static ecoi_json *has_member(const char *key, ecoi_json *value) {
    ecoi_json *const schema = object_new();
    require(schema, key);
    put(put(schema, "properties", object_new()), key, value);
    return schema;
}

static ecoi_json *own_tool(void) {
    ecoi_json *const tool = object_new();
    put_text(tool, "type", "string");
    put_text(tool, "pattern", "^" ECOI_SCHEMA_TOOL);
    ecoi_json *const software = has_member("tool", tool);
    put_text(software, "type", "object");
    return has_member("software", software);
}

static ecoi_json *rule_of_version(int minor) {
    char name[8];
    eco_text version = {0};
    (void)snprintf(name, sizeof name, "1.%d", minor);
    ecoi_text_addf(&version, "%s%d", ECOI_SCHEMA_PREFIX, minor);
    ecoi_json *const constant = object_new();
    put_text(constant, "const", version.data);
    eco_text_free(&version);
    ecoi_json *const rule = object_new();
    put(rule, "if", has_member("schema_version", constant));
    if (minor < ECOI_SCHEMA_MINOR_MAX) {
        put(rule, "then", reference(name));
        return rule;
    }
    ecoi_json *const then = put(rule, "then", object_new());
    put(then, "if", own_tool());
    put(then, "then", reference(ECOI_SCHEMA_TOOL));
    put(then, "else", reference(name));
    return rule;
}

static void write_json(eco_text *out) {
    ecoi_json *const root = object_new();
    put_text(root, "$schema", "http://json-schema.org/draft-07/schema#");
    put_text(root, "title", "ecocompute energy report, 1.0 to 1.3");
    put_text(root, "$comment",
             "Generated by tools/gen_schema.sh; do not edit. A report is held against its own "
             "version, and one of the program ecocompute against its additions too.");
    put_text(root, "type", "object");
    require(root, "schema_version");
    const ecoi_edition newest = {.minor = ECOI_SCHEMA_MINOR_MAX};
    const ecoi_field_rule rule = ecoi_schema_rule(ECO_FIELD_SCHEMA_VERSION, newest);
    put(put(root, "properties", object_new()), "schema_version",
        value_schema(ECO_FIELD_SCHEMA_VERSION, &rule));
    ecoi_json *const all = put(root, "allOf", made(ecoi_json_new(&doc, ECOI_JSON_ARRAY)));
    ecoi_json *const definitions = put(root, "definitions", object_new());
    for (int minor = 0; minor <= ECOI_SCHEMA_MINOR_MAX; minor++) {
        char name[8];
        (void)snprintf(name, sizeof name, "1.%d", minor);
        ecoi_json_append(all, rule_of_version(minor));
        put(definitions, name, edition_schema((ecoi_edition){.minor = minor}));
    }
    const ecoi_edition ours = {.minor = ECOI_SCHEMA_MINOR_MAX, .ours = true};
    put(definitions, ECOI_SCHEMA_TOOL, edition_schema(ours));
    if (!ecoi_json_write(root, out)) {
        die("out of memory");
    }
}

/* ---- The page --------------------------------------------------------------------------------- */

static void add_cell(eco_text *out, const char *text) {
    ecoi_text_add_z(out, " ");
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            ecoi_text_add_z(out, ", ");
        } else {
            ecoi_text_add_char(out, *text);
        }
    }
    ecoi_text_add_z(out, " |");
}

static void add_row(eco_text *out, eco_field field) {
    const eco_field_info *const info = eco_field_at(field);
    const ecoi_edition newest = {.minor = ECOI_SCHEMA_MINOR_MAX, .ours = true};
    const ecoi_field_rule rule = ecoi_schema_rule(field, newest);
    const int from = ecoi_schema_required_from(field);
    char required[16] = "";
    if (info->required) {
        (void)snprintf(required, sizeof required, from > 0 ? "from 1.%d" : "yes", from);
    }
    ecoi_text_addf(out, "| `%s` |", info->path);
    add_cell(out, info->type == ECO_TYPE_STRINGS      ? "strings"
                  : info->type == ECO_TYPE_STRING_MAP ? "object of strings"
                                                      : type_name(info->type));
    add_cell(out, info->unit[0] != '\0' ? info->unit : "");
    add_cell(out, info->since);
    add_cell(out, required);
    ecoi_text_addf(out, " %s", info->meaning);
    if (rule.names != NULL) {
        ecoi_text_add_z(out, "; one of:");
        add_cell(out, rule.names);
    } else {
        ecoi_text_add_z(out, " |");
    }
    ecoi_text_add_char(out, '\n');
}

static void write_page(eco_text *out) {
    ecoi_text_add_z(
        out,
        "# Fields of energy.json\n\n"
        "<!-- Generated by tools/gen_schema.sh from include/ecocompute/fields.def and "
        "src/report/rules.def; do not edit. -->\n\n"
        "`schema/energy-1.3.schema.json` (JSON Schema, draft-07) and `ecocompute validate` hold a "
        "report against the rules of the version it names: a report 1.1 need not know what 1.3 "
        "asks for. Keys that are not listed are allowed. Beyond the schema, `validate` refuses "
        "text "
        "that is no strict JSON: duplicate keys, NaN, more than 64 levels, more than 64 MiB.\n\n"
        "Since: `1.0` to `1.3` are the published versions. `1.3+` are additions of this program, "
        "held only in reports whose `software.tool` begins with `ecocompute`. `1.4-draft` is "
        "proposed there; such fields are described here and not held.\n\n"
        "Required: the key must be there whenever the object around it is. Numbers and optional "
        "texts may be null, for what could not be read; counts that a published version requires "
        "may not. Amounts are 0 or more; `system_under_test.accelerator_count` and "
        "`workload.batch_size` 1 or more; `measurement.sample_rate_hz` from 1.3 on 10 or more, but "
        "in reports of this program, which print the rate achieved.\n");
    const char *block = "";
    size_t length = 0;
    for (uint32_t i = 0; i < ECO_FIELD_COUNT; i++) {
        const char *const path = eco_field_at((eco_field)i)->path;
        const size_t n = strcspn(path, ".[");
        const bool top = path[n] == '\0';
        if (i == 0 || (top ? length != 0 : n != length || strncmp(path, block, n) != 0)) {
            block = path;
            length = top ? 0 : n;
            ecoi_text_addf(out, "\n## %.*s\n\n", top ? 9 : (int)n, top ? "top level" : path);
            ecoi_text_add_z(out, "| field | type | unit | since | required | meaning |\n"
                                 "| --- | --- | --- | --- | --- | --- |\n");
        }
        add_row(out, (eco_field)i);
    }
}

int main(int argc, char **argv) {
    eco_text out = {0};
    if (argc == 2 && strcmp(argv[1], "json") == 0) {
        write_json(&out);
    } else if (argc == 2 && strcmp(argv[1], "page") == 0) {
        write_page(&out);
    } else {
        die("usage: write_schema json|page");
    }
    if (out.failed) {
        die("out of memory");
    }
    (void)fwrite(out.data, 1, out.length, stdout);
    eco_text_free(&out);
    ecoi_json_fini(&doc);
    return fflush(stdout) == 0 ? 0 : 1;
}
