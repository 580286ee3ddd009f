/* ps_dead.c - removes the nodes whose results are not needed. */
#include "plan/lower.h"

static assay_status run(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note)
{
    (void)ctx;
    as_arena scratch = {0};
    bool    *needed = AS_TAKE(&scratch, bool, graph->n_values);
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
    as_arena_drop(&scratch);
    return ASSAY_OK;
}

const as_pass as_ps_dead = {.name = "dead", .order = 90, .help = "remove nodes whose results are not used", .run = run};
