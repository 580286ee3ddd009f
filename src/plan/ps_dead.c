/* ps_dead.c - removes the nodes whose results are not needed. */
#include "plan/lower.h"

/* Takes away the outputs that nothing reads, where the operator can do without them: the gradient of an input, the last state. */
static assay_status outputs_drop(assay_env *env, as_graph *graph, as_bound_node *node, const bool *needed, as_pass_note *note)
{
    as_tensor_info *infos = AS_TAKE(graph->arena, as_tensor_info, node->ctx.n_out);
    int            *out = AS_TAKE(graph->arena, int, node->ctx.n_out);
    if (!infos || !out)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the outputs of node '%s'", node->ctx.name);
    for (int k = 0; k < node->ctx.n_out; k++) {
        infos[k] = node->ctx.out[k];
        out[k] = node->out[k];
        if (out[k] < 0 || needed[out[k]])
            continue;
        note->bytes_saved += as_info_bytes(&infos[k]);
        infos[k] = (as_tensor_info){.dtype = AS_NONE};
        out[k] = -1;
    }
    node->ctx.out = infos;
    node->out = out;
    return ASSAY_OK;
}

static assay_status run(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note)
{
    (void)ctx;
    as_arena     scratch = {0};
    assay_status status = ASSAY_OK;
    bool        *needed = AS_TAKE(&scratch, bool, graph->n_values);
    if (!needed)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to mark the %d values of the graph", graph->n_values);
    for (int i = 0; i < graph->n_outputs; i++)
        needed[graph->outputs[i]] = true;

    /* Backwards, because nodes come after those whose results they read. */
    for (int i = graph->n_nodes - 1; i >= 0; i--) {
        as_bound_node *node = &graph->nodes[i];
        if (node->dead)
            continue;
        bool alive = false;
        for (int k = 0; k < node->ctx.n_out; k++)
            alive |= node->out[k] >= 0 && needed[node->out[k]];
        if (alive) {
            if (node->ctx.op->outs_optional)
                AS_TRY_OR(done, outputs_drop(env, graph, node, needed, note));
            for (int k = 0; k < node->ctx.n_in; k++)
                if (node->in[k] >= 0)
                    needed[node->in[k]] = true;
            continue;
        }
        node->dead = true;
        note->n_changed++;
        for (int k = 0; k < node->ctx.n_out; k++)
            if (node->out[k] >= 0) {
                const as_tensor_info *info = &graph->values[node->out[k]].info;
                note->bytes_saved += as_info_bytes(info);
            }
    }
    note->text = "nodes whose results are not used are removed";
done:
    as_arena_drop(&scratch);
    return status;
}

const as_pass as_ps_dead = {.name = "dead", .order = 90, .help = "remove nodes whose results are not used", .run = run};
