/* rewrite.c - a model made from another, node by node. */
#include "train/rewrite.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void values_copy(as_rewrite *r)
{
    for (int i = 0; i < r->from->n_values; i++) {
        const as_value *v = &r->from->values[i];
        as_shape        shape = as_shape_of_dims(&v->dims);
        r->ids[i] = -1;
        if (v->role == AS_ROLE_PARAM)
            r->ids[i] = as_maker_param(r->m, v->name, v->dtype, &shape, v->data, false);
        if (v->role == AS_ROLE_CONSTANT) {
            as_view view = as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape);
            r->ids[i] = as_maker_constant(r->m, v->name, &view);
        }
    }
    for (int i = 0; i < r->from->n_inputs; i++) {
        const as_value *v = &r->from->values[r->from->inputs[i]];
        r->ids[r->from->inputs[i]] = as_maker_input(r->m, v->name, v->dtype, &v->dims);
    }
}

assay_status as_rewrite_begin(assay_env *env, const assay_model *from, as_rewrite *r)
{
    *r = (as_rewrite){.env = env, .from = from};
    AS_TRY(as_graph_bind(env, from, NULL, 0, NULL, 0, 0, &r->arena, &r->graph));
    assert(r->graph.n_nodes == from->n_nodes && r->graph.n_values >= from->n_values);
    r->ids = AS_TAKE(&r->arena, int, from->n_values);
    if (!r->ids)
        return as_fail(env, ASSAY_NO_MEMORY, "training: not enough memory for %d values", from->n_values);
    AS_TRY(as_maker_new(env, from->name, 0, &r->m));
    values_copy(r);
    return ASSAY_OK;
}

void as_rewrite_inputs(const as_rewrite *r, int node, int *in)
{
    const as_node *n = &r->from->nodes[node];
    for (int k = 0; k < n->n_in; k++)
        in[k] = n->in[k] < 0 ? -1 : r->ids[n->in[k]];
}

void as_rewrite_node(as_rewrite *r, int node, const int *in, const char *prefix, as_train_pass pass, int *out)
{
    const as_node *n = &r->from->nodes[node];
    const char    *names[AS_MAX_OUT], *name = prefix ? as_arena_printf(&r->arena, "%s%s", prefix, n->name) : n->name;
    int            outs[AS_MAX_OUT];
    as_train_place place = n->place;
    bool           ok = name != NULL;
    for (int k = 0; k < n->n_out; k++) {
        const char *own = r->from->values[n->out[k]].name;
        names[k] = prefix ? as_arena_printf(&r->arena, "%s%s", prefix, own) : own;
        ok &= names[k] != NULL;
    }
    if (!ok) {
        as_maker_fail(r->m, "not enough memory for the names of node '%s'", n->name);
        return;
    }
    if (!place.stream) /* random numbers stay those of the original place, whatever stands before it now */
        place.stream = (unsigned)node + 1;
    if (prefix)
        place.pass = pass;
    as_maker_module(r->m, n->module);
    as_maker_place(r->m, &place);
    if (as_maker_node(r->m, n->op->name, name, in, n->n_in, n->attrs, n->n_attrs, outs, n->n_out, names) < 0)
        return;
    for (int k = 0; k < n->n_out; k++)
        if (prefix)
            out[k] = outs[k];
        else
            r->ids[n->out[k]] = outs[k];
}

assay_status as_rewrite_end(as_rewrite *r, assay_status status, assay_model **model)
{
    assay_model *made = NULL;
    bool         wanted = model && status == ASSAY_OK;
    for (int i = 0; i < r->from->n_outputs && wanted; i++)
        as_maker_output(r->m, r->ids[r->from->outputs[i]]);
    if (r->m && wanted) {
        status = as_maker_finish(r->m, &made);
    } else if (r->m) { /* only finishing frees a maker */
        char message[sizeof r->env->message];
        memcpy(message, r->env->message, sizeof message);
        as_maker_fail(r->m, "not wanted");
        (void)as_maker_finish(r->m, &made);
        memcpy(r->env->message, message, sizeof message);
    }
    as_arena_drop(&r->arena);
    if (status != ASSAY_OK || !wanted)
        return status;
    as_model_link *link = AS_TAKE(&made->arena, as_model_link, 1);
    if (!link) {
        assay_model_free(made);
        return as_fail(r->env, ASSAY_NO_MEMORY, "training: not enough memory for its parameters");
    }
    *link = (as_model_link){.model = *model};
    made->lenders = link;
    *model = made;
    return ASSAY_OK;
}

int as_rewrite_backward(const assay_model *model)
{
    for (int i = 0; i < model->n_nodes; i++)
        if (model->nodes[i].place.pass == AS_PASS_BACKWARD)
            return i;
    return model->n_nodes;
}

bool *as_rewrite_given(const assay_model *model, as_arena *arena)
{
    bool *given = AS_TAKE(arena, bool, model->n_values);
    for (int i = 0; given && i < model->n_values; i++)
        given[i] = model->values[i].role == AS_ROLE_PARAM || model->values[i].role == AS_ROLE_CONSTANT;
    for (int i = 0; given && i < model->n_nodes; i++) {
        const as_node *n = &model->nodes[i];
        bool           all = n->n_in > 0, is_part = !strcmp(n->op->name, "assay.Part");
        for (int k = 0; k < n->n_in; k++)
            all &= n->in[k] < 0 || given[n->in[k]];
        for (int k = 0; k < n->n_out; k++)
            given[n->out[k]] = all || is_part;
    }
    return given;
}
