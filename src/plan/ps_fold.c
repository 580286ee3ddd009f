/* ps_fold.c - computes everything that depends only on constants, once, while planning.
 *
 * Parameters are not constants: they may be replaced, so what depends on them is a set-up step instead. */
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

/* A small constant may be expanded into any amount of memory; above this size it is cheaper to compute it than to store it. */
#define MAX_FOLDED_BYTES (UINT64_C(64) << 20)

/* A graph output stays a step, so that it gets a buffer of the instance; an operator without inputs may be random. */
static bool can_fold(const as_graph *g, const as_bound_node *node, uint64_t *bytes)
{
    int n_present = 0;
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0) {
            if (g->values[node->in[k]].role != AS_ROLE_CONSTANT)
                return false;
            n_present++;
        }
    *bytes = 0;
    for (int k = 0; k < node->ctx.n_out; k++)
        if (node->out[k] >= 0) {
            if (as_edit_is_output(g, node->out[k]) ||
                __builtin_add_overflow(*bytes, as_info_bytes(&g->values[node->out[k]].info), bytes))
                return false;
        }
    return n_present > 0;
}

static assay_status node_eval(assay_env *env, as_graph *g, const as_bound_node *node)
{
    as_view in[AS_MAX_IN] = {0}, out[AS_MAX_OUT] = {0};
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0) {
            const as_bound_value *v = &g->values[node->in[k]];
            union {
                const void *read;
                void       *view;
            } data = {v->data}; /* views of inputs are only read */
            in[k] = as_view_of(data.view, v->info.dtype, &v->info.shape);
        }
    for (int k = 0; k < node->ctx.n_out; k++) {
        const as_tensor_info *info = node->out[k] >= 0 ? &g->values[node->out[k]].info : &node->ctx.out[k];
        void                 *data = as_arena_take(g->arena, as_info_bytes(info), 1, 64);
        if (!data)
            return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the %llu constant bytes that %s '%s' gives",
                           (unsigned long long)as_info_bytes(info), node->ctx.op->name, node->ctx.name);
        out[k] = as_view_of(data, info->dtype, &info->shape);
    }
    AS_TRY(as_op_eval(env, &node->ctx, in, out));
    for (int k = 0; k < node->ctx.n_out; k++)
        if (node->out[k] >= 0) {
            as_bound_value *v = &g->values[node->out[k]];
            v->role = AS_ROLE_CONSTANT;
            v->data = v->info.constant = out[k].data;
            v->producer = -1;
        }
    return ASSAY_OK;
}

/* Readers of a new constant may now see its values: their contexts are updated. */
static assay_status context_refresh(assay_env *env, as_graph *g, as_bound_node *node)
{
    bool stale = false;
    for (int k = 0; k < node->ctx.n_in; k++)
        stale |= node->in[k] >= 0 && node->ctx.in[k].constant != g->values[node->in[k]].info.constant;
    if (!stale)
        return ASSAY_OK;
    as_tensor_info *in = AS_TAKE(g->arena, as_tensor_info, node->ctx.n_in);
    if (!in)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the context of %s '%s'", node->ctx.op->name,
                       node->ctx.name);
    memcpy(in, node->ctx.in, (size_t)node->ctx.n_in * sizeof *in);
    for (int k = 0; k < node->ctx.n_in; k++)
        if (node->in[k] >= 0)
            in[k].constant = g->values[node->in[k]].info.constant;
    node->ctx.in = in;
    return ASSAY_OK;
}

static assay_status run(assay_env *env, as_graph *graph, const as_pass_ctx *ctx, as_pass_note *note)
{
    (void)ctx;
    uint64_t held = 0, bytes;
    for (int i = 0; i < graph->n_nodes; i++) {
        as_bound_node *node = &graph->nodes[i];
        if (node->dead)
            continue;
        AS_TRY(context_refresh(env, graph, node));
        if (!can_fold(graph, node, &bytes) || bytes > MAX_FOLDED_BYTES - held)
            continue;
        AS_TRY(node_eval(env, graph, node));
        held += bytes;
        node->dead = true;
        note->n_changed++;
        note->bytes_saved += bytes;
    }
    note->text = "what depends only on constants is computed while planning";
    return ASSAY_OK;
}

const as_pass as_ps_fold = {
    .name = "fold", .order = 10, .help = "compute what depends only on constants while planning", .run = run};
