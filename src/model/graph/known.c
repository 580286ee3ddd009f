/* known.c - goes from the values that must be known while planning back to the inputs of the model. */
#include "model/graph/known.h"

#include <stdlib.h>
#include <string.h>

bool as_reads_shape_only(const as_op *op) { return !strcmp(op->name, "Shape") || !strcmp(op->name, "Size"); }

/* --- Subgraphs ---------------------------------------------------------------------------------- */

/* Which values of a body must be known, given which of its outputs must be: one bool per value, freed by the caller; NULL: no
 * memory.  The first `first` outputs of a body (the condition of a Loop) are not outputs of the node. */
static bool *body_mark(const as_node *node, const as_body *body, int first, const bool *needed, const bool *carried, int n_carried)
{
    const assay_model *graph = body->graph;
    bool              *inside = calloc((size_t)graph->n_values + 1, sizeof *inside);
    if (!inside)
        return NULL;
    for (int k = 0; k < graph->n_outputs; k++) {
        bool wanted =
            k < first || (k - first < node->n_out && needed[node->out[k - first]]) || (k - first < n_carried && carried[k - first]);
        if (wanted)
            inside[graph->outputs[k]] = true;
    }
    if (as_known_mark(graph, inside))
        return inside;
    free(inside);
    return NULL;
}

/* If an iteration needs a carried value, it also needs the result of the iteration before.  Two rounds find nearly all of these;
 * if a third would find more, all carried values are taken. */
static bool control_mark(const as_node *node, const as_body *body, bool *needed)
{
    bool is_loop = !strcmp(node->op->name, "Loop"), is_if = !strcmp(node->op->name, "If");
    int  lead = is_loop ? 2 : 0, n_carried = is_if ? 0 : body->n_formal - lead, first_in = is_loop ? 2 : 0;
    bool carried[AS_MAX_IN] = {0};
    if (n_carried > AS_MAX_IN)
        n_carried = AS_MAX_IN;
    for (int round = 0;; round++) {
        bool *inside = body_mark(node, body, is_loop, needed, carried, n_carried), more = false;
        if (!inside)
            return false;
        for (int k = 0; k < n_carried; k++)
            if (inside[body->graph->inputs[lead + k]] && !carried[k])
                carried[k] = more = true;
        for (int k = 0; more && round == 1 && k < n_carried; k++)
            carried[k] = true;
        for (int k = body->n_formal; !more && k < body->graph->n_inputs; k++)
            if (inside[body->graph->inputs[k]])
                needed[node->in[body->from[k - body->n_formal]]] = true;
        free(inside);
        if (!more)
            break;
    }
    for (int k = 0; k < n_carried && first_in + k < node->n_formal; k++)
        if (carried[k] && node->in[first_in + k] >= 0)
            needed[node->in[first_in + k]] = true;
    return true;
}

/* --- The walk ------------------------------------------------------------------------------------ */

/* Producers come before their readers, so one pass from the end is enough. */
bool as_known_mark(const assay_model *model, bool *needed)
{
    for (int i = model->n_nodes - 1; i >= 0; i--) {
        const as_node *node = &model->nodes[i];
        bool           wanted = false;
        for (int k = 0; k < node->n_out; k++)
            wanted |= needed[node->out[k]];
        wanted &= !as_reads_shape_only(node->op) && !node->n_bodies;
        for (int k = 0; k < node->n_in; k++)
            if (node->in[k] >= 0 && (wanted || (k < 64 && (node->op->known_in & AS_INPUT_BIT(k)))))
                needed[node->in[k]] = true;
        for (int k = 0; k < node->n_bodies; k++)
            if (!control_mark(node, &node->bodies[k], needed))
                return false;
    }
    return true;
}

int as_known_missing(const as_graph *g, int value, bool *seen)
{
    seen[value] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const as_bound_node *node = &g->nodes[i];
        bool                 wanted = false;
        for (int k = 0; k < node->ctx.n_out; k++)
            wanted |= seen[node->out[k]];
        for (int k = 0; wanted && !as_reads_shape_only(node->ctx.op) && k < node->ctx.n_in; k++)
            if (node->in[k] >= 0)
                seen[node->in[k]] = true;
    }
    for (int i = 0; i < g->n_inputs; i++)
        if (seen[g->inputs[i]] && !g->values[g->inputs[i]].info.constant)
            return g->inputs[i];
    return -1;
}
