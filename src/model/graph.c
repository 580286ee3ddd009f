/* graph.c - a model with its symbols bound, its shapes known, and its slow truth. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "model/maker.h"

/* --- Symbols ---------------------------------------------------------------------------------- */

/* "'batch', 'time'", or "none". */
static void symbols_list(const assay_model *model, as_text *out)
{
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++) {
            char quoted[AS_MAX_NAME_BYTES];
            if (!dims->dim[k].symbol)
                continue;
            snprintf(quoted, sizeof quoted, "'%s'", dims->dim[k].symbol);
            if (!out->data || !strstr(out->data, quoted))
                as_text_printf(out, "%s%s", out->length ? ", " : "", quoted);
        }
    }
    if (!out->length)
        as_text_add(out, "none");
}

static bool symbol_has(const assay_model *model, const char *symbol)
{
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++)
            if (dims->dim[k].symbol && !strcmp(dims->dim[k].symbol, symbol))
                return true;
    }
    return false;
}

static assay_status dims_check(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims)
{
    for (int i = 0; i < n_dims; i++) {
        if (dims[i].size < 1)
            return as_fail(env, ASSAY_BAD_INPUT, "model: %s: dimension '%s' is bound to %" PRId64 " and must be at least 1",
                           model->name, dims[i].symbol, dims[i].size);
        for (int k = 0; k < i; k++)
            if (!strcmp(dims[k].symbol, dims[i].symbol) && dims[k].size != dims[i].size)
                return as_fail(env, ASSAY_BAD_INPUT, "model: %s: dimension '%s' is bound to %" PRId64 " and to %" PRId64, model->name,
                               dims[i].symbol, dims[k].size, dims[i].size);
        if (symbol_has(model, dims[i].symbol))
            continue;
        as_text symbols = {0};
        symbols_list(model, &symbols);
        assay_status status = as_fail(env, ASSAY_BAD_INPUT, "model: %s: it has no dimension '%s'; its dimensions: %s", model->name,
                                      dims[i].symbol, symbols.data ? symbols.data : "?");
        as_text_drop(&symbols);
        return status;
    }
    return ASSAY_OK;
}

static assay_status shape_bind(assay_env *env, const assay_model *model, const as_value *value, const as_binding_dim *dims, int n_dims,
                               as_shape *out)
{
    as_shape shape = { .rank = value->dims.rank };
    for (int i = 0; i < shape.rank; i++) {
        const as_dim *dim = &value->dims.dim[i];
        int           k = 0;
        shape.dim[i] = dim->size;
        if (!dim->symbol)
            continue;
        while (k < n_dims && strcmp(dims[k].symbol, dim->symbol))
            k++;
        if (k == n_dims)
            return as_fail(env, ASSAY_BAD_INPUT, "model: %s: input '%s' has the dimension '%s' (axis %d), which is not bound to a size",
                           model->name, value->name, dim->symbol, i);
        shape.dim[i] = dims[k].size;
    }
    if (!as_shape_ok(&shape, value->dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: input '%s' would be %s %s, which is too large", model->name, value->name,
                       as_dtype_name(value->dtype), as_shape_show(&shape, (char[192]){0}, 192));
    *out = shape;
    return ASSAY_OK;
}

/* --- Binding ---------------------------------------------------------------------------------- */

static assay_status node_bind(assay_env *env, const assay_model *model, int id, uint64_t seed, as_graph *g)
{
    const as_node  *from = &model->nodes[id];
    as_bound_node  *node = &g->nodes[id];
    as_tensor_info *in = AS_TAKE(g->arena, as_tensor_info, from->n_in), *out = AS_TAKE(g->arena, as_tensor_info, from->n_out);
    node->in = AS_TAKE(g->arena, int, from->n_in);
    node->out = AS_TAKE(g->arena, int, from->n_out);
    if (!in || !out || !node->in || !node->out)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: no memory to bind node '%s'", model->name, from->name);
    for (int i = 0; i < from->n_in; i++) {
        node->in[i] = from->in[i];
        if (from->in[i] >= 0)
            in[i] = g->values[from->in[i]].info;
    }
    node->ctx = (as_node_ctx){ .op = from->op, .name = from->name, .attrs = from->attrs, .n_attrs = from->n_attrs, .in = in,
                               .n_in = from->n_in, .n_out = from->n_out, .seed = seed, .node_id = (uint32_t)id };
    assay_status status = as_op_infer(env, &node->ctx, out);
    if (status != ASSAY_OK)
        return as_fail(env, status, "model: %s: %s", model->name, assay_message(env));
    node->ctx.out = out;
    for (int i = 0; i < from->n_out; i++) {
        node->out[i] = from->out[i];
        g->values[from->out[i]].info = out[i];
    }
    return ASSAY_OK;
}

/* --- Shape arithmetic ------------------------------------------------------------------------- */

/* Shapes are computed by nodes (Shape, Gather, Concat, ...) that end in a Reshape or a Slice, which must know the values.
 * So what is small and known is computed here, whatever the plan's passes do later.  Weights are not touched: a param
 * is no constant, and large constants stay. */
enum { FOLD_MAX_INTS = 65536, FOLD_MAX_FLOATS = 1024 };
#define FOLD_MAX_FLOPS       (UINT64_C(4) << 20) /* of one node */
#define FOLD_MAX_TOTAL_FLOPS (UINT64_C(256) << 20)
#define FOLD_MAX_TOTAL_BYTES (UINT64_C(64) << 20)

typedef struct folder { bool *is_output; uint64_t flops, bytes; } folder;

/* Their results depend on the shape of the input alone. */
static bool reads_shape_only(const as_op *op)
{
    return !strcmp(op->name, "Shape") || !strcmp(op->name, "Size");
}

static bool is_random(const as_op *op)
{
    return !strncmp(op->name, "Random", 6) || !strcmp(op->name, "Dropout") || !strcmp(op->name, "Bernoulli") ||
           !strcmp(op->name, "Multinomial");
}

static bool is_small(const as_tensor_info *info, uint64_t *bytes)
{
    uint64_t count = (uint64_t)as_shape_count(&info->shape), each = as_dtype_bytes(info->dtype);
    *bytes += count * each;
    return count <= (as_dtype_is_float(info->dtype) ? (uint64_t)FOLD_MAX_FLOATS : (uint64_t)FOLD_MAX_INTS);
}

static bool can_fold(const as_bound_node *node, folder *f)
{
    const as_node_ctx *n = &node->ctx;
    bool               shape_only = reads_shape_only(n->op);
    int                n_present = 0;
    uint64_t           bytes = 0, ignored = 0;
    if (is_random(n->op))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (as_in_has(n, i)) {
            n_present++;
            if (!shape_only && (!n->in[i].constant || !is_small(&n->in[i], &ignored)))
                return false;
        }
    for (int i = 0; i < n->n_out; i++)
        if (!is_small(&n->out[i], &bytes))
            return false;
    /* Without an input it may be random or large, and "Constant" has been made a constant by the readers. */
    if (!n_present)
        return false;
    as_cost  cost = n->op->cost(n);
    uint64_t flops = cost.flops > UINT64_MAX - cost.special ? UINT64_MAX : cost.flops + cost.special;
    if (flops > FOLD_MAX_FLOPS || f->flops + flops > FOLD_MAX_TOTAL_FLOPS || f->bytes + bytes > FOLD_MAX_TOTAL_BYTES)
        return false;
    f->flops += flops;
    f->bytes += bytes;
    return true;
}

/* Memory for a view that nobody reads: Shape and Size look at the view's shape only. */
static as_view known_view(const as_tensor_info *info)
{
    static const uint64_t nothing = 0;
    return as_view_of((void *)(uintptr_t)(info->constant ? info->constant : &nothing), info->dtype, &info->shape);
}

/* A graph output stays a node, so that a plan gives it a buffer of its own; its readers see the values all the same. */
static assay_status node_fold(assay_env *env, const assay_model *model, as_bound_node *node, as_graph *g, folder *f)
{
    as_view in[AS_MAX_IN] = {0}, out[AS_MAX_OUT] = {0};
    if (!can_fold(node, f))
        return ASSAY_OK;
    for (int i = 0; i < node->ctx.n_in; i++)
        if (as_in_has(&node->ctx, i))
            in[i] = known_view(&node->ctx.in[i]);
    for (int i = 0; i < node->ctx.n_out; i++) {
        const as_tensor_info *info = &node->ctx.out[i];
        void *data = as_arena_take(g->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return as_fail(env, ASSAY_NO_MEMORY, "model: %s: no memory for the constant that node '%s' gives", model->name, node->ctx.name);
        out[i] = as_view_of(data, info->dtype, &info->shape);
    }
    assay_status status = node->ctx.op->eval(env, &node->ctx, in, out);
    if (status != ASSAY_OK)
        return as_fail(env, status, "model: %s: %s", model->name, assay_message(env));
    node->dead = true;
    for (int i = 0; i < node->ctx.n_out; i++)
        node->dead &= !f->is_output[node->out[i]];
    for (int i = 0; i < node->ctx.n_out; i++) {
        as_bound_value *v = &g->values[node->out[i]];
        v->info.constant = out[i].data;
        if (node->dead) {
            v->role = AS_ROLE_CONSTANT;
            v->data = out[i].data;
            v->producer = -1;
        }
    }
    return ASSAY_OK;
}

static assay_status nodes_bind(assay_env *env, const assay_model *model, uint64_t seed, as_graph *g)
{
    folder f = { .is_output = AS_TAKE(g->arena, bool, g->n_values) };
    if (!f.is_output)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: no memory to bind %d nodes", model->name, g->n_nodes);
    for (int i = 0; i < g->n_outputs; i++)
        f.is_output[g->outputs[i]] = true;
    for (int i = 0; i < g->n_nodes; i++) {
        AS_TRY(node_bind(env, model, i, seed, g));
        AS_TRY(node_fold(env, model, &g->nodes[i], g, &f));
    }
    return ASSAY_OK;
}

static assay_status values_bind(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, as_graph *g)
{
    for (int i = 0; i < model->n_values; i++) {
        const as_value *from = &model->values[i];
        as_bound_value *to = &g->values[i];
        *to = (as_bound_value){ .name = from->name, .role = from->role, .data = from->data, .producer = from->producer, .model_value = i };
        if (from->role == AS_ROLE_COMPUTED)
            continue;
        to->info.dtype = from->dtype;
        AS_TRY(shape_bind(env, model, from, dims, n_dims, &to->info.shape));
        if (from->role == AS_ROLE_CONSTANT)
            to->info.constant = from->data;
    }
    return ASSAY_OK;
}

assay_status as_graph_bind(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, uint64_t seed,
                           as_arena *arena, as_graph *out)
{
    AS_TRY(dims_check(env, model, dims, n_dims));
    as_graph g = { .arena = arena, .n_values = model->n_values, .cap_values = model->n_values, .n_nodes = model->n_nodes,
                   .cap_nodes = model->n_nodes, .n_inputs = model->n_inputs, .n_outputs = model->n_outputs };
    g.values = AS_TAKE(arena, as_bound_value, g.n_values);
    g.nodes = AS_TAKE(arena, as_bound_node, g.n_nodes);
    g.inputs = AS_TAKE(arena, int, g.n_inputs);
    g.outputs = AS_TAKE(arena, int, g.n_outputs);
    if (!g.values || !g.nodes || !g.inputs || !g.outputs)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: no memory to bind %d nodes", model->name, g.n_nodes);
    memcpy(g.inputs, model->inputs, (size_t)g.n_inputs * sizeof *g.inputs);
    memcpy(g.outputs, model->outputs, (size_t)g.n_outputs * sizeof *g.outputs);
    AS_TRY(values_bind(env, model, dims, n_dims, &g));
    AS_TRY(nodes_bind(env, model, seed, &g));
    *out = g;
    return ASSAY_OK;
}

int as_graph_add_value(as_graph *g, const as_bound_value *value)
{
    as_bound_value copy = *value; /* it may stand in the array that moves */
    if (g->n_values == g->cap_values) {
        int             cap = g->cap_values ? g->cap_values * 2 : 16;
        as_bound_value *moved = AS_TAKE(g->arena, as_bound_value, cap);
        if (!moved)
            return -1;
        if (g->n_values)
            memcpy(moved, g->values, (size_t)g->n_values * sizeof *moved);
        g->values = moved;
        g->cap_values = cap;
    }
    g->values[g->n_values] = copy;
    return g->n_values++;
}

/* --- The slow truth --------------------------------------------------------------------------- */

static assay_status view_check(assay_env *env, const as_bound_value *value, const char *what, const as_view *view)
{
    if (view->dtype == value->info.dtype && as_shape_same(&view->shape, &value->info.shape))
        return ASSAY_OK;
    return as_fail(env, ASSAY_BAD_INPUT, "evaluate: %s '%s' is %s %s and was given as %s %s", what, value->name,
                   as_dtype_name(value->info.dtype), as_shape_show(&value->info.shape, (char[192]){0}, 192),
                   as_dtype_name(view->dtype), as_shape_show(&view->shape, (char[192]){0}, 192));
}

static assay_status node_eval(assay_env *env, const as_bound_node *node, as_view *views, as_graph const *g, as_arena *arena)
{
    as_view in[AS_MAX_IN] = {0}, out[AS_MAX_OUT] = {0};
    if (env && as_cancelled(env))
        return as_fail(env, ASSAY_CANCELLED, "evaluate: cancelled before node '%s'", node->ctx.name);
    for (int i = 0; i < node->ctx.n_in; i++)
        if (node->in[i] >= 0) {
            in[i] = views[node->in[i]];
            if (!in[i].data)
                return as_fail(env, ASSAY_INTERNAL, "evaluate: node '%s' reads '%s' before it is computed", node->ctx.name,
                               g->values[node->in[i]].name);
        }
    for (int i = 0; i < node->ctx.n_out; i++) {
        const as_tensor_info *info = &node->ctx.out[i];
        void *data = as_arena_take(arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return as_fail(env, ASSAY_NO_MEMORY, "evaluate: no memory for output %d of node '%s', %s %s", i, node->ctx.name,
                           as_dtype_name(info->dtype), as_shape_show(&info->shape, (char[192]){0}, 192));
        out[i] = as_view_of(data, info->dtype, &info->shape);
    }
    AS_TRY(node->ctx.op->eval(env, &node->ctx, in, out));
    for (int i = 0; i < node->ctx.n_out; i++)
        if (node->out[i] >= 0)
            views[node->out[i]] = out[i];
    return ASSAY_OK;
}

static assay_status graph_eval(assay_env *env, const as_graph *g, const as_view *inputs, const as_view *outputs, as_arena *arena)
{
    as_view *views = AS_TAKE(arena, as_view, g->n_values);
    if (!views)
        return as_fail(env, ASSAY_NO_MEMORY, "evaluate: no memory for %d values", g->n_values);
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].data) /* a view's memory is not const; no operator writes to an input */
            views[i] = as_view_of((void *)(uintptr_t)g->values[i].data, g->values[i].info.dtype, &g->values[i].info.shape);
    for (int i = 0; i < g->n_inputs; i++) {
        AS_TRY(view_check(env, &g->values[g->inputs[i]], "input", &inputs[i]));
        views[g->inputs[i]] = inputs[i];
    }
    for (int i = 0; i < g->n_outputs; i++)
        AS_TRY(view_check(env, &g->values[g->outputs[i]], "output", &outputs[i]));
    for (int i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i].dead)
            AS_TRY(node_eval(env, &g->nodes[i], views, g, arena));
    for (int i = 0; i < g->n_outputs; i++)
        if (!views[g->outputs[i]].data)
            return as_fail(env, ASSAY_INTERNAL, "evaluate: nothing computes the output '%s'", g->values[g->outputs[i]].name);
    for (int i = 0; i < g->n_outputs; i++)
        as_view_copy(&outputs[i], &views[g->outputs[i]]);
    return ASSAY_OK;
}

assay_status as_graph_eval(assay_env *env, const as_graph *g, const as_view *inputs, const as_view *outputs)
{
    as_arena     arena = {0};
    assay_status status = graph_eval(env, g, inputs, outputs, &arena);
    as_arena_drop(&arena);
    return status;
}

/* --- Inputs when none are given ----------------------------------------------------------------- */

void as_random_input(uint64_t seed, const char *name, const as_view *view)
{
    uint64_t hash = as_hash64(name, strlen(name));
    uint32_t node = (uint32_t)hash, step = (uint32_t)(hash >> 32);
    int64_t  count = as_shape_count(&view->shape);
    if (view->dtype == AS_F32 && as_view_contiguous(view)) {
        as_philox_fill(seed, node, step, -1.0f, 1.0f, view->data, (size_t)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double unit = (double)as_philox_uniform(seed, node, step, (uint64_t)i);
        if (as_dtype_is_float(view->dtype))
            as_view_set(view, i, 2.0 * unit - 1.0);
        else if (view->dtype == AS_BOOL)
            as_view_set_i64(view, i, unit >= 0.5);
        else
            as_view_set_i64(view, i, (int64_t)(10.0 * unit));
    }
}
