/* graph.c - a model with its symbols bound and its shapes known, and its reference evaluation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "model/graph/bind.h"
#include "model/graph/known.h"
#include "model/graph/maker.h"

/* --- Symbols ---------------------------------------------------------------------------------- */

/* The first axis of an input that has the symbol; NULL: none. */
static const as_dim *symbol_find(const assay_model *model, const char *symbol)
{
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++)
            if (dims->dim[k].symbol && !strcmp(dims->dim[k].symbol, symbol))
                return &dims->dim[k];
    }
    return NULL;
}

/* "'batch', 'time'", or "none". */
static void symbols_list(const assay_model *model, as_text *out)
{
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++)
            if (dims->dim[k].symbol && symbol_find(model, dims->dim[k].symbol) == &dims->dim[k])
                as_text_printf(out, "%s'%s'", out->length ? ", " : "", dims->dim[k].symbol);
    }
    if (!out->length)
        as_text_add(out, "none");
}

static assay_status dims_check(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims)
{
    for (int i = 0; i < n_dims; i++) {
        if (dims[i].size < 1)
            return as_fail(env, ASSAY_BAD_INPUT, "model: %s: dimension '%s' is bound to %" PRId64 " and must be at least 1",
                           model->name, dims[i].symbol, dims[i].size);
        for (int k = 0; k < i; k++)
            if (!strcmp(dims[k].symbol, dims[i].symbol) && dims[k].size != dims[i].size)
                return as_fail(env, ASSAY_BAD_INPUT, "model: %s: dimension '%s' is bound to %" PRId64 " and to %" PRId64,
                               model->name, dims[i].symbol, dims[k].size, dims[i].size);
        if (symbol_find(model, dims[i].symbol))
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

static assay_status shape_bind(assay_env *env, const assay_model *model, const as_value *value, const as_binding_dim *dims,
                               int n_dims, as_shape *out)
{
    as_shape shape = {.rank = value->dims.rank};
    for (int i = 0; i < shape.rank; i++) {
        const as_dim *dim = &value->dims.dim[i];
        int           k = 0;
        shape.dim[i] = dim->size;
        if (!dim->symbol)
            continue;
        while (k < n_dims && strcmp(dims[k].symbol, dim->symbol))
            k++;
        if (k == n_dims)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "model: %s: input '%s' has the dimension '%s' (axis %d), which is not bound to a size; give one, as in "
                           "--dim %s=8",
                           model->name, value->name, dim->symbol, i, dim->symbol);
        shape.dim[i] = dims[k].size;
    }
    if (!as_shape_ok(&shape, value->dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: input '%s' would be %s %s, which is too large", model->name, value->name,
                       as_dtype_name(value->dtype), as_shape_show(&shape, (char[192]){0}, 192));
    *out = shape;
    return ASSAY_OK;
}

/* --- Binding ---------------------------------------------------------------------------------- */

static assay_status nodes_bind(assay_env *env, const assay_model *model, uint64_t seed, as_graph *g)
{
    as_binder b = {.env = env, .model = model, .g = g, .seed = seed, .is_output = AS_TAKE(g->arena, bool, g->n_values)};
    as_scope  s = {.model = model, .map = AS_TAKE(g->arena, int, g->n_values), .prefix = ""};
    if (!b.is_output || !s.map)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind %d nodes", model->name, model->n_nodes);
    for (int i = 0; i < g->n_outputs; i++)
        b.is_output[g->outputs[i]] = true;
    for (int i = 0; i < g->n_values; i++)
        s.map[i] = i;
    return as_bind_scope(&b, &s);
}

/* Elements of a file, which may be at any address, as an aligned copy. */
const void *as_bind_aligned(as_arena *arena, const as_tensor_info *info, const void *data)
{
    size_t count = (size_t)as_shape_count(&info->shape), each = as_dtype_bytes(info->dtype);
    void  *copy = as_arena_take(arena, count, each, 64);
    return copy ? memcpy(copy, data, count * each) : NULL;
}

/* The values of an input in its own dtype; kept when a shape depends on them. */
static assay_status known_bind(assay_env *env, const assay_model *model, const as_known_input *known, bool needed, as_graph *g,
                               as_bound_value *to)
{
    const as_shape *shape = &to->info.shape;
    if (!as_shape_same(&known->view.shape, shape))
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: input '%s': %s has %s, the model needs %s", model->name, known->name,
                       known->source, as_shape_show(&known->view.shape, (char[192]){0}, 192),
                       as_shape_show(shape, (char[192]){0}, 192));
    if (!as_view_fits(&known->view, to->info.dtype))
        return as_fail(env, ASSAY_BAD_INPUT, "model: %s: input '%s': %s has %s, the model needs %s", model->name, known->name,
                       known->source, as_dtype_name(known->view.dtype), as_dtype_name(to->info.dtype));
    if (!needed)
        return ASSAY_OK;
    void *data = as_arena_take(g->arena, (size_t)as_shape_count(shape), as_dtype_bytes(to->info.dtype), 64);
    if (!data)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the values of input '%s'", model->name, known->name);
    as_view copy = as_view_of(data, to->info.dtype, shape);
    as_view_copy(&copy, &known->view);
    to->info.constant = data;
    return ASSAY_OK;
}

static assay_status inputs_know(assay_env *env, const assay_model *model, const as_known_input *known, int n_known, as_graph *g)
{
    bool *needed = AS_TAKE(g->arena, bool, model->n_values);
    if (!needed)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind %d values", model->name, model->n_values);
    if (n_known && !as_known_mark(model, needed))
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory to find what must be known of %d values", model->name,
                       model->n_values);
    for (int k = 0; k < n_known; k++) {
        int i = 0;
        while (i < model->n_inputs && strcmp(model->values[model->inputs[i]].name, known[k].name))
            i++;
        if (i == model->n_inputs)
            return as_fail(env, ASSAY_BAD_INPUT, "model: %s: it has no input '%s'", model->name, known[k].name);
        AS_TRY(known_bind(env, model, &known[k], needed[model->inputs[i]], g, &g->values[model->inputs[i]]));
    }
    return ASSAY_OK;
}

static assay_status values_bind(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims, as_graph *g)
{
    for (int i = 0; i < model->n_values; i++) {
        const as_value *from = &model->values[i];
        as_bound_value *to = &g->values[i];
        *to = (as_bound_value){
            .name = from->name, .role = from->role, .data = from->data, .producer = from->producer, .model_value = i};
        if (from->role == AS_ROLE_COMPUTED)
            continue;
        to->info.dtype = from->dtype;
        AS_TRY(shape_bind(env, model, from, dims, n_dims, &to->info.shape));
        if (from->role != AS_ROLE_CONSTANT)
            continue;
        if (!as_dtype_aligned(from->dtype, from->data) && !(to->data = as_bind_aligned(g->arena, &to->info, from->data)))
            return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the constant '%s'", model->name, from->name);
        to->info.constant = to->data;
    }
    return ASSAY_OK;
}

assay_status as_graph_bind(assay_env *env, const assay_model *model, const as_binding_dim *dims, int n_dims,
                           const as_known_input *known, int n_known, uint64_t seed, as_arena *arena, as_graph *out)
{
    AS_TRY(dims_check(env, model, dims, n_dims));
    as_graph g = {.arena = arena,
                  .n_values = model->n_values,
                  .cap_values = model->n_values,
                  .cap_nodes = model->n_nodes,
                  .n_inputs = model->n_inputs,
                  .n_outputs = model->n_outputs};
    g.values = AS_TAKE(arena, as_bound_value, g.n_values);
    g.nodes = AS_TAKE(arena, as_bound_node, g.cap_nodes);
    g.inputs = AS_TAKE(arena, int, g.n_inputs);
    g.outputs = AS_TAKE(arena, int, g.n_outputs);
    if (!g.values || !g.nodes || !g.inputs || !g.outputs)
        return as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind %d nodes", model->name, g.cap_nodes);
    memcpy(g.inputs, model->inputs, (size_t)g.n_inputs * sizeof *g.inputs);
    memcpy(g.outputs, model->outputs, (size_t)g.n_outputs * sizeof *g.outputs);
    AS_TRY(values_bind(env, model, dims, n_dims, &g));
    AS_TRY(inputs_know(env, model, known, n_known, &g));
    AS_TRY(nodes_bind(env, model, seed, &g));
    *out = g;
    return ASSAY_OK;
}

int as_graph_add_value(as_graph *g, const as_bound_value *value)
{
    as_bound_value copy = *value; /* it may be in the array that moves */
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

/* --- The reference code --------------------------------------------------------------------------- */

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
    for (int i = 0; i < node->ctx.n_in; i++)
        if (node->in[i] >= 0) {
            in[i] = views[node->in[i]];
            if (!in[i].data)
                return as_fail(env, ASSAY_INTERNAL, "evaluate: node '%s' reads '%s' before it is computed", node->ctx.name,
                               g->values[node->in[i]].name);
        }
    for (int i = 0; i < node->ctx.n_out; i++) {
        const as_tensor_info *info = &node->ctx.out[i];
        void                 *data = as_arena_take(arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return as_fail(env, ASSAY_NO_MEMORY, "evaluate: not enough memory for output %d of node '%s', %s %s", i, node->ctx.name,
                           as_dtype_name(info->dtype), as_shape_show(&info->shape, (char[192]){0}, 192));
        out[i] = as_view_of(data, info->dtype, &info->shape);
    }
    AS_TRY(as_op_eval(env, &node->ctx, in, out));
    for (int i = 0; i < node->ctx.n_out; i++)
        if (node->out[i] >= 0)
            views[node->out[i]] = out[i];
    return ASSAY_OK;
}

static assay_status graph_eval(assay_env *env, const as_graph *g, const as_view *inputs, const as_view *outputs, as_arena *arena)
{
    as_view *views = AS_TAKE(arena, as_view, g->n_values);
    if (!views)
        return as_fail(env, ASSAY_NO_MEMORY, "evaluate: not enough memory for %d values", g->n_values);
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].data) {
            const as_tensor_info *info = &g->values[i].info;
            const void           *data = g->values[i].data;
            if (!as_dtype_aligned(info->dtype, data) && !(data = as_bind_aligned(arena, info, data)))
                return as_fail(env, ASSAY_NO_MEMORY, "evaluate: not enough memory for '%s'", g->values[i].name);
            views[i] =
                as_view_of((void *)(uintptr_t)data, info->dtype, &info->shape); /* not const, but no operator writes to an input */
        }
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
            as_view_set(view, i, view->dtype == AS_F8E8M0 ? 1.0 - unit : 2.0 * unit - 1.0); /* this type has no sign and no zero */
        else if (view->dtype == AS_BOOL)
            as_view_set_i64(view, i, unit >= 0.5);
        else
            as_view_set_i64(view, i, (int64_t)(10.0 * unit));
    }
}
