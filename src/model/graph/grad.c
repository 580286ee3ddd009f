/* grad.c - the backward pass as a graph: each operator's own rule, called from the last node to the first. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/maker.h"

/* The builder that gradient rules see; `base` comes first, so that a pointer to it is a pointer to this. */
typedef struct grad {
    as_builder      base;
    as_maker       *m;
    as_tensor_info *infos; /* one per value of the maker */
    int             n_infos, cap_infos;
    const char     *around; /* the forward node whose rule is running, for names */
    int             n_around;
    const char     *loss; /* the only output to start from; NULL: all that are floats */
} grad;

static bool info_add(grad *b, int value, const as_tensor_info *info)
{
    if (value < 0)
        return false;
    if (value >= b->cap_infos) {
        int cap = b->cap_infos ? b->cap_infos * 2 : 64;
        while (cap <= value)
            cap *= 2;
        as_tensor_info *moved = realloc(b->infos, (size_t)cap * sizeof *moved);
        if (!moved) {
            as_maker_fail_as(b->m, ASSAY_NO_MEMORY, "not enough memory for the shapes of the gradient");
            return false;
        }
        b->infos = moved;
        b->cap_infos = cap;
    }
    b->infos[value] = *info;
    b->n_infos = value + 1;
    return true;
}

static const as_tensor_info *info(as_builder *base, int value) { return &((grad *)base)->infos[value]; }

static int constant(as_builder *base, const as_view *view)
{
    grad          *b = (grad *)base;
    int            id = as_maker_constant(b->m, NULL, view);
    as_tensor_info known = {.dtype = view->dtype, .shape = view->shape};
    if (id >= 0)
        known.constant = as_maker_value(b->m, id)->data;
    return info_add(b, id, &known) ? id : -1;
}

/* "d:fc1/gemm_2": whose gradient, and which node of it. */
static void name_next(grad *b, const char *op, char *out, size_t size)
{
    const char *dot = strrchr(op, '.');
    snprintf(out, size, "d:%s/%s_%d", b->around, dot ? dot + 1 : op, ++b->n_around);
    for (char *c = strrchr(out, '/'); c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

static int node(as_builder *base, const char *op_name, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                int n_out)
{
    grad          *b = (grad *)base;
    as_tensor_info in_infos[AS_MAX_IN] = {0}, out_infos[AS_MAX_OUT] = {0};
    int            ids[AS_MAX_OUT];
    const as_op   *op = as_op_find(op_name);
    char           name[AS_MAX_NAME_BYTES + 128]; /* the maker refuses it if it is too long */
    if (as_maker_failed(b->m))
        return -1;
    name_next(b, op_name, name, sizeof name);
    if (!op || n_in > AS_MAX_IN || n_out > AS_MAX_OUT) {
        as_maker_fail_as(b->m, ASSAY_INTERNAL, "the gradient of node '%s' asks for %s with %d inputs and %d outputs", b->around,
                         op_name, n_in, n_out);
        return -1;
    }
    for (int i = 0; i < n_in; i++)
        if (in[i] >= 0)
            in_infos[i] = b->infos[in[i]];
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--;
    as_node_ctx  ctx = {.op = op, .name = name, .attrs = attrs, .n_attrs = n_attrs, .in = in_infos, .n_in = n_in, .n_out = n_out};
    assay_status status = as_op_infer(b->base.env, &ctx, out_infos);
    if (status != ASSAY_OK) {
        as_maker_fail_as(b->m, status, "the gradient of node '%s': %s", b->around, assay_message(b->base.env));
        return -1;
    }
    if (as_maker_node(b->m, op_name, name, in, n_in, attrs, n_attrs, ids, n_out, NULL) < 0)
        return -1;
    for (int i = 0; i < n_out; i++)
        if (!info_add(b, ids[i], &out_infos[i]))
            return -1;
    if (outs)
        memcpy(outs, ids, (size_t)n_out * sizeof *outs);
    return ids[0];
}

/* --- The forward pass, copied with its shapes -------------------------------------------------- */

/* For each value of the bound graph: its id in the maker, the id of its gradient, and whether it depends on a wanted value. */
typedef struct state {
    int  id, d;
    bool wanted;
} state;

static void values_copy(grad *b, const as_graph *g, state *values)
{
    for (int i = 0; i < g->n_values; i++) {
        const as_bound_value *v = &g->values[i];
        as_dims               dims;
        values[i].d = values[i].id = -1;
        if (v->role == AS_ROLE_COMPUTED)
            continue;
        as_dims_of_shape(&v->info.shape, &dims);
        if (v->role == AS_ROLE_INPUT) {
            values[i].id = as_maker_input(b->m, v->name, v->info.dtype, &dims);
        } else if (v->role == AS_ROLE_PARAM) {
            values[i].id = as_maker_param(b->m, v->name, v->info.dtype, &v->info.shape, v->data, false);
        } else {
            as_view view = as_view_of((void *)(uintptr_t)v->data, v->info.dtype, &v->info.shape);
            values[i].id = as_maker_constant(b->m, v->name, &view);
        }
        info_add(b, values[i].id, &v->info);
    }
}

/* A forward node as its gradient rule sees it: with the outputs that only the rule reads. */
typedef struct forward {
    as_node_ctx ctx;
    int        *out; /* ids in the maker */
} forward;

/* Its outputs, those included that only its gradient reads. */
static bool forward_of(grad *b, const as_bound_node *n, bool wanted, as_arena *arena, forward *f)
{
    int n_more = wanted && n->ctx.op->grad && n->ctx.op->grad_outs ? n->ctx.op->grad_outs(&n->ctx) : 0;
    f->ctx = n->ctx;
    f->ctx.n_out = n_more > n->ctx.n_out ? n_more : n->ctx.n_out;
    f->out = AS_TAKE(arena, int, f->ctx.n_out);
    as_tensor_info *infos = AS_TAKE(arena, as_tensor_info, AS_MAX_OUT);
    if (!f->out || !infos) {
        as_maker_fail_as(b->m, ASSAY_NO_MEMORY, "not enough memory for the outputs of node '%s'", n->ctx.name);
        return false;
    }
    if (f->ctx.n_out == n->ctx.n_out)
        return true;
    f->ctx.out = infos;
    assay_status status = as_op_infer(b->base.env, &f->ctx, infos);
    if (status != ASSAY_OK)
        as_maker_fail_as(b->m, status, "the gradient of node '%s': %s", n->ctx.name, assay_message(b->base.env));
    return status == ASSAY_OK;
}

static void nodes_copy(grad *b, const as_graph *g, state *values, as_arena *arena, forward *forwards)
{
    for (int i = 0; i < g->n_nodes && !as_maker_failed(b->m); i++) {
        const as_bound_node *n = &g->nodes[i];
        forward             *f = &forwards[i];
        int                  in[AS_MAX_IN];
        const char          *names[AS_MAX_OUT] = {0};
        bool                 wanted = false;
        if (n->dead)
            continue; /* folded: its results are constants */
        for (int k = 0; k < n->ctx.n_in; k++) {
            in[k] = n->in[k] < 0 ? -1 : values[n->in[k]].id;
            wanted |= n->in[k] >= 0 && values[n->in[k]].wanted;
        }
        for (int k = 0; k < n->ctx.n_out; k++)
            names[k] = g->values[n->out[k]].name;
        as_maker_module(b->m, n->ctx.module ? n->ctx.module : "");
        as_maker_place(b->m, &(as_train_place){n->ctx.place.pass ? n->ctx.place.pass : AS_PASS_FORWARD,
                                               n->ctx.place.layer ? n->ctx.place.layer : n->ctx.name, n->ctx.place.stream});
        if (!forward_of(b, n, wanted, arena, f) || as_maker_node(b->m, n->ctx.op->name, n->ctx.name, in, n->ctx.n_in, n->ctx.attrs,
                                                                 n->ctx.n_attrs, f->out, f->ctx.n_out, names) < 0)
            return;
        for (int k = 0; k < f->ctx.n_out; k++)
            info_add(b, f->out[k], &f->ctx.out[k]);
        for (int k = 0; k < n->ctx.n_out; k++) {
            values[n->out[k]].id = f->out[k];
            values[n->out[k]].wanted |= wanted && as_dtype_is_float(n->ctx.out[k].dtype);
        }
    }
}

/* --- Back from the outputs ------------------------------------------------------------------------ */

static void outputs_seed(grad *b, const as_graph *g, state *values)
{
    bool has_float = false;
    for (int i = 0; i < g->n_outputs && !as_maker_failed(b->m); i++) {
        const as_bound_value *v = &g->values[g->outputs[i]];
        char                  name[AS_MAX_NAME_BYTES + 8];
        as_dims               dims;
        if (!as_dtype_is_float(v->info.dtype) || (b->loss && strcmp(b->loss, v->name)))
            continue;
        has_float = true;
        snprintf(name, sizeof name, "d:%s", v->name);
        as_dims_of_shape(&v->info.shape, &dims);
        int d = as_maker_input(b->m, name, v->info.dtype, &dims);
        info_add(b, d, &(as_tensor_info){.dtype = v->info.dtype, .shape = v->info.shape});
        values[g->outputs[i]].d = d;
    }
    if (!has_float)
        as_maker_fail(b->m, "no output is of a float dtype, so there is nothing to take the gradient of");
}

/* A value that is used twice gets the sum of the gradients from its users. */
static void gradient_add(grad *b, const as_bound_value *v, state *value, int d)
{
    const as_tensor_info *got = &b->infos[d];
    if (got->dtype != v->info.dtype || !as_shape_same(&got->shape, &v->info.shape))
        as_maker_fail_as(b->m, ASSAY_INTERNAL, "the gradient of '%s' by node '%s' is %s %s and must be %s %s", v->name, b->around,
                         as_dtype_name(got->dtype), as_shape_show(&got->shape, (char[192]){0}, 192), as_dtype_name(v->info.dtype),
                         as_shape_show(&v->info.shape, (char[192]){0}, 192));
    else
        value->d = value->d < 0 ? d : as_b2(&b->base, "Add", value->d, d);
}

static void node_back(grad *b, const as_graph *g, const as_bound_node *n, const forward *f, state *values)
{
    int  in[AS_MAX_IN], d_out[AS_MAX_OUT], d_in[AS_MAX_IN];
    bool has_d = false, wanted = false;
    for (int k = 0; k < f->ctx.n_out; k++) {
        d_out[k] = k < n->ctx.n_out ? values[n->out[k]].d : -1;
        has_d |= d_out[k] >= 0;
    }
    for (int k = 0; k < AS_MAX_IN; k++)
        in[k] = d_in[k] = -1;
    for (int k = 0; k < n->ctx.n_in; k++)
        if (n->in[k] >= 0) {
            in[k] = values[n->in[k]].id;
            wanted |= values[n->in[k]].wanted;
        }
    if (!has_d || !wanted)
        return;
    b->around = n->ctx.name;
    as_maker_module(b->m, n->ctx.module ? n->ctx.module : "");
    as_maker_place(b->m, &(as_train_place){.pass = n->ctx.place.pass == AS_PASS_LOSS ? AS_PASS_LOSS : AS_PASS_BACKWARD,
                                           .layer = n->ctx.place.layer ? n->ctx.place.layer : n->ctx.name});
    b->n_around = 0;
    if (!n->ctx.op->grad) {
        as_maker_fail_as(b->m, ASSAY_UNSUPPORTED, "node '%s': the operator %s has no gradient", n->ctx.name, n->ctx.op->name);
        return;
    }
    assay_status status = n->ctx.op->grad(&b->base, &f->ctx, in, f->out, d_out, d_in);
    if (status != ASSAY_OK) /* has no effect when the builder has failed before */
        as_maker_fail_as(b->m, status, "the gradient of node '%s': %s", n->ctx.name, assay_message(b->base.env));
    for (int k = 0; k < n->ctx.n_in && !as_maker_failed(b->m); k++)
        if (d_in[k] >= 0 && n->in[k] >= 0 && values[n->in[k]].wanted)
            gradient_add(b, &g->values[n->in[k]], &values[n->in[k]], d_in[k]);
}

/* --- The outputs "d:<name>" ----------------------------------------------------------------------- */

static int zeros(grad *b, const char *name, const as_tensor_info *like)
{
    /* Stride 0 along every axis: one element represents all. */
    double  zero = 0.0;
    as_view one = {.data = &zero, .dtype = like->dtype, .shape = like->shape};
    return as_maker_constant(b->m, name, &one);
}

static void output_name(grad *b, const as_bound_value *v, int d)
{
    char name[AS_MAX_NAME_BYTES + 8];
    snprintf(name, sizeof name, "d:%s", v->name);
    if (as_maker_failed(b->m))
        return;
    if (d < 0) {
        as_maker_output(b->m, zeros(b, name, &v->info));
        return;
    }
    const as_value *value = as_maker_value(b->m, d);
    b->around = v->name;
    b->n_around = 0;
    as_maker_place(b->m, &(as_train_place){.pass = AS_PASS_BACKWARD});
    /* If the gradient is an input d:y itself, or the gradient of two values, a copy gets the name. */
    if (value->role != AS_ROLE_COMPUTED || as_maker_is_output(b->m, d)) {
        as_attr allow = AS_ATTR_I("allowzero", 1);
        int     to = as_b_ints(&b->base, v->info.shape.dim, (size_t)v->info.shape.rank);
        d = to < 0 ? -1 : node(&b->base, "Reshape", (int[]){d, to}, 2, &allow, 1, NULL, 1);
    }
    if (d >= 0 && !as_maker_value_rename(b->m, d, name))
        as_maker_fail(b->m, "the gradient of '%s' needs the name '%s', which is taken", v->name, name);
    if (!as_maker_failed(b->m))
        as_maker_output(b->m, d);
}

static assay_status wanted_find(assay_env *env, const assay_model *model, const char *name, bool or_computed, int *out)
{
    int id = as_model_value_find(model, name);
    if (id < 0 || (model->values[id].role != AS_ROLE_INPUT && model->values[id].role != AS_ROLE_PARAM && !or_computed))
        return as_fail(env, ASSAY_NOT_FOUND, "gradient: model %s has no input or parameter '%s'", model->name, name);
    if (model->values[id].role != AS_ROLE_COMPUTED && !as_dtype_is_float(model->values[id].dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "gradient: '%s' of model %s is %s, and only floats have a gradient", name, model->name,
                       as_dtype_name(model->values[id].dtype));
    *out = id;
    return ASSAY_OK;
}

static assay_status differentiate(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims,
                                  const char *loss, const char *const *wrt, int n_wrt, assay_model **out)
{
    as_arena     arena = {0};
    as_graph     g;
    grad         b = {.base = {.node = node, .constant = constant, .info = info, .env = env}, .around = "", .loss = loss};
    assay_status status = ASSAY_OK;
    if (n_wrt < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "gradient: model %s: no input or parameter is listed", model->name);
    AS_TRY_OR(done, as_graph_bind(env, model, dims, n_dims, NULL, 0, 0, &arena, &g));
    state   *values = AS_TAKE(&arena, state, g.n_values);
    forward *forwards = AS_TAKE(&arena, forward, g.n_nodes);
    int     *ids = AS_TAKE(&arena, int, n_wrt);
    char    *title = as_arena_printf(&arena, "%s:%s", model->name, loss ? "train" : "grad");
    if (!values || !forwards || !ids || !title) {
        status = as_fail(env, ASSAY_NO_MEMORY, "gradient: model %s: not enough memory for %d values", model->name, g.n_values);
        goto done;
    }
    for (int i = 0; i < n_wrt; i++) {
        AS_TRY_OR(done, wanted_find(env, model, wrt[i], loss != NULL, &ids[i]));
        if (values[ids[i]].wanted) {
            status = as_fail(env, ASSAY_BAD_INPUT, "gradient: model %s: '%s' is listed twice", model->name, wrt[i]);
            goto done;
        }
        values[ids[i]].wanted = true;
    }
    AS_TRY_OR(done, as_maker_new(env, title, 0, &b.m));
    as_maker_prune(b.m); /* rules give the gradients of all inputs; unwanted ones are removed here and cost nothing */
    values_copy(&b, &g, values);
    nodes_copy(&b, &g, values, &arena, forwards);
    outputs_seed(&b, &g, values);
    for (int i = 0; i < g.n_outputs && loss && !as_maker_failed(b.m); i++)
        as_maker_output(b.m, values[g.outputs[i]].id);
    for (int i = g.n_nodes - 1; i >= 0 && !as_maker_failed(b.m); i--)
        if (!g.nodes[i].dead)
            node_back(&b, &g, &g.nodes[i], &forwards[i], values);
    for (int i = 0; i < n_wrt && !as_maker_failed(b.m); i++)
        output_name(&b, &g.values[ids[i]], values[ids[i]].d);
    status = as_maker_finish(b.m, out);
done:
    free(b.infos);
    as_arena_drop(&arena);
    return status;
}

assay_status as_model_grad(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, const char *const *wrt,
                           int n_wrt, assay_model **out)
{
    return differentiate(env, model, dims, n_dims, NULL, wrt, n_wrt, out);
}

assay_status as_model_backward(assay_env *env, const assay_model *model, const char *loss, const char *const *wrt, int n_wrt,
                               assay_model **out)
{
    return differentiate(env, model, NULL, 0, loss, wrt, n_wrt, out);
}
