/* SPDX-License-Identifier: Apache-2.0
 *
 * YAML from outside and the plan made of it. A tree that is given holds to its caps and knows where it stands; a plan that
 * is given has experiments that could be run.
 */
#include "fuzz_check.h"

#include "ecocompute/plan_file.h"
#include "sys/yaml.h"

static uint32_t check_node(const ecoi_yaml *node, uint32_t depth) {
    FUZZ_DEMAND(depth <= ECO_YAML_DEPTH_MAX);
    FUZZ_DEMAND(node->line >= 1 && node->column >= 1);
    FUZZ_DEMAND((node->type == ECOI_YAML_SCALAR) == (node->text != NULL));
    uint32_t n_nodes = 1;
    uint32_t n = 0;
    for (const ecoi_yaml *child = node->first; child != NULL; child = child->next) {
        FUZZ_DEMAND((node->type == ECOI_YAML_MAPPING) == (child->key != NULL));
        if (child->key != NULL) {
            FUZZ_DEMAND(ecoi_yaml_member(node, child->key) == child);
        }
        n_nodes += check_node(child, depth + 1);
        n++;
    }
    FUZZ_DEMAND(n == node->n);
    return n_nodes;
}

static void check_plan(const eco_plan_file *plan) {
    FUZZ_DEMAND(plan->n >= 1 && plan->n <= ECO_EXPERIMENTS_MAX);
    for (uint32_t i = 0; i < plan->n; i++) {
        const eco_experiment *e = &plan->experiments[i];
        FUZZ_DEMAND(e->shape != NULL && e->batch >= 1 && e->batch <= ECO_BATCH_MAX);
        FUZZ_DEMAND(e->n_precisions < ECO_ARMS_MAX);
        FUZZ_DEMAND(e->name[0] != '\0' && strpbrk(e->name, "/ \n") == NULL && e->name[0] != '.');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const text = fuzz_copy(data, size);
    ecoi_yaml_doc doc;
    eco_plan_file plan;
    eco_error err = {0};
    const eco_status read = ecoi_yaml_read(text, size, "input", &doc, &err);
    if (read == ECO_OK) {
        FUZZ_DEMAND(check_node(doc.root, 0) <= ECO_YAML_NODES_MAX);
    } else {
        FUZZ_DEMAND(doc.root == NULL && err.message[0] != '\0');
    }
    ecoi_yaml_fini(&doc);
    if (eco_plan_file_parse(text, size, "input", &plan, &err) == ECO_OK) {
        FUZZ_DEMAND(read == ECO_OK);
        check_plan(&plan);
    } else {
        FUZZ_DEMAND(plan.experiments == NULL && plan.n == 0);
    }
    eco_plan_file_free(&plan);
    free(text);
    return 0;
}
