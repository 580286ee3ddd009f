/* bind.c - binds nodes with known shapes; small nodes with known inputs are computed at once. */
#include "model/graph/bind.h"

#include <string.h>

#include "model/graph/known.h"
#include "model/graph/maker.h"

/* --- What is not known -------------------------------------------------------------------------- */

assay_status as_bind_unknown(as_binder *b, int value, assay_status status)
{
    as_arena arena = {0};
    bool    *seen = AS_TAKE(&arena, bool, b->g->n_values);
    int      input = seen && value >= 0 ? as_known_missing(b->g, value, seen) : -1;
    if (b->env) {
        char        message[sizeof b->env->message];
        const char *name = input < 0 ? "" : b->g->values[input].name;
        snprintf(message, sizeof message, "%s", assay_message(b->env));
        status = input < 0 ? as_fail(b->env, status, "model: %s: %s", b->model->name, message)
                           : as_fail(b->env, status, "model: %s: %s; give the values of the input '%s' (--input %s=FILE)",
                                     b->model->name, message, name, name);
    }
    as_arena_drop(&arena);
    return status;
}

/* The first input that must be known but is not. */
static int unknown_input(const as_bound_node *node)
{
    for (int i = 0; i < node->ctx.n_in && i < 64; i++)
        if ((node->ctx.op->known_in & AS_INPUT_BIT(i)) && as_in_has(&node->ctx, i) && !node->ctx.in[i].constant)
            return node->in[i];
    return -1;
}

/* --- Shape arithmetic ------------------------------------------------------------------------- */

/* Nodes such as Shape, Gather and Concat compute shapes for a Reshape or a Slice, which must know the values.  So small known
 * values are computed here, whatever the plan's passes do later.  Weights are not touched: a param is not a constant, and large
 * constants stay. */
enum { FOLD_MAX_INTS = 65536, FOLD_MAX_FLOATS = 1024 };
#define FOLD_MAX_FLOPS       (UINT64_C(4) << 20) /* of one node */
#define FOLD_MAX_TOTAL_FLOPS (UINT64_C(256) << 20)
#define FOLD_MAX_TOTAL_BYTES (UINT64_C(64) << 20)

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

static bool can_fold(as_binder *b, const as_bound_node *node)
{
    const as_node_ctx *n = &node->ctx;
    bool               shape_only = as_reads_shape_only(n->op);
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
    /* A node without inputs may be random or large; the readers have already turned "Constant" into a constant. */
    if (!n_present)
        return false;
    as_cost  cost = n->op->cost(n);
    uint64_t flops = cost.flops > UINT64_MAX - cost.special ? UINT64_MAX : cost.flops + cost.special;
    if (flops > FOLD_MAX_FLOPS || b->flops + flops > FOLD_MAX_TOTAL_FLOPS || b->bytes + bytes > FOLD_MAX_TOTAL_BYTES)
        return false;
    b->flops += flops;
    b->bytes += bytes;
    return true;
}

/* Memory for a view whose elements are not read: Shape and Size use only its shape. */
static as_view known_view(const as_tensor_info *info)
{
    static const uint64_t nothing = 0;
    return as_view_of((void *)(uintptr_t)(info->constant ? info->constant : &nothing), info->dtype, &info->shape);
}

static bool is_output(const as_binder *b, int value) { return value < b->model->n_values && b->is_output[value]; }

/* A graph output stays a node, so that a plan gives it a buffer of its own; its readers still see the values. */
static assay_status node_fold(as_binder *b, as_bound_node *node)
{
    as_view   in[AS_MAX_IN] = {0}, out[AS_MAX_OUT] = {0};
    as_graph *g = b->g;
    if (!can_fold(b, node))
        return ASSAY_OK;
    for (int i = 0; i < node->ctx.n_in; i++)
        if (as_in_has(&node->ctx, i))
            in[i] = known_view(&node->ctx.in[i]);
    for (int i = 0; i < node->ctx.n_out; i++) {
        const as_tensor_info *info = &node->ctx.out[i];
        void                 *data = as_arena_take(g->arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64);
        if (!data)
            return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the constant that node '%s' gives",
                           b->model->name, node->ctx.name);
        out[i] = as_view_of(data, info->dtype, &info->shape);
    }
    assay_status status = as_op_eval(b->env, &node->ctx, in, out);
    if (status != ASSAY_OK)
        return as_fail(b->env, status, "model: %s: %s", b->model->name, assay_message(b->env));
    node->dead = true;
    for (int i = 0; i < node->ctx.n_out; i++)
        node->dead &= !is_output(b, node->out[i]);
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

/* --- Nodes -------------------------------------------------------------------------------------- */

bool as_bind_nodes_grow(as_graph *g)
{
    if (g->n_nodes < g->cap_nodes)
        return true;
    int            cap = g->cap_nodes ? g->cap_nodes * 2 : 16;
    as_bound_node *moved = AS_TAKE(g->arena, as_bound_node, cap);
    if (!moved)
        return false;
    if (g->n_nodes)
        memcpy(moved, g->nodes, (size_t)g->n_nodes * sizeof *moved);
    g->nodes = moved;
    g->cap_nodes = cap;
    return true;
}

assay_status as_bind_op(as_binder *b, const as_op *op, const char *name, const as_attr *attrs, int n_attrs, const int *in_ids,
                        int n_in, const int *out_ids, int n_out)
{
    as_graph       *g = b->g;
    as_tensor_info *in = AS_TAKE(g->arena, as_tensor_info, n_in), *out = AS_TAKE(g->arena, as_tensor_info, n_out);
    as_bound_node   made = {.in = AS_TAKE(g->arena, int, n_in), .out = AS_TAKE(g->arena, int, n_out)};
    if (!in || !out || !made.in || !made.out || !as_bind_nodes_grow(g))
        return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind node '%s'", b->model->name, name);
    for (int i = 0; i < n_in; i++) {
        made.in[i] = in_ids[i];
        if (in_ids[i] >= 0)
            in[i] = g->values[in_ids[i]].info;
    }
    made.ctx = (as_node_ctx){.op = op,
                             .name = name,
                             .module = b->module,
                             .place = b->place,
                             .attrs = attrs,
                             .n_attrs = n_attrs,
                             .in = in,
                             .n_in = n_in,
                             .n_out = n_out,
                             .seed = b->seed,
                             .node_id = b->place.stream ? b->place.stream - 1 : (uint32_t)g->n_nodes};
    assay_status status = as_op_infer(b->env, &made.ctx, out);
    if (status != ASSAY_OK)
        return as_bind_unknown(b, unknown_input(&made), status);
    made.ctx.out = out;
    for (int i = 0; i < n_out; i++) {
        made.out[i] = out_ids[i];
        g->values[out_ids[i]].info = out[i];
        g->values[out_ids[i]].producer = g->n_nodes;
    }
    g->nodes[g->n_nodes] = made;
    return node_fold(b, &g->nodes[g->n_nodes++]);
}

const char *as_scope_module(const as_scope *s, const as_node *node)
{
    return *node->module || !s->module ? node->module : s->module;
}

static assay_status node_bind(as_binder *b, const as_scope *s, const as_node *node)
{
    int         in[AS_MAX_IN], out[AS_MAX_OUT];
    const char *name = *s->prefix ? as_arena_printf(b->g->arena, "%s%s", s->prefix, node->name) : node->name;
    if (!name)
        return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind node '%s'", b->model->name, node->name);
    for (int i = 0; i < node->n_in; i++)
        in[i] = node->in[i] < 0 ? -1 : s->map[node->in[i]];
    for (int i = 0; i < node->n_out; i++)
        out[i] = s->map[node->out[i]];
    b->module = as_scope_module(s, node);
    b->place = node->place;
    return as_bind_op(b, node->op, name, node->attrs, node->n_attrs, in, node->n_in, out, node->n_out);
}

assay_status as_bind_scope(as_binder *b, const as_scope *s)
{
    for (int i = 0; i < s->model->n_nodes; i++) {
        const as_node *node = &s->model->nodes[i];
        AS_TRY(node->n_bodies ? as_bind_control(b, s, node) : node_bind(b, s, node));
    }
    return ASSAY_OK;
}

/* A small body that is unrolled many times must not fill the memory with its values. */
int as_bind_value(as_binder *b, const as_bound_value *value)
{
    if (b->g->n_values >= AS_MAX_VALUES) {
        (void)as_fail(b->env, ASSAY_UNSUPPORTED, "model: %s: with its subgraphs written out it has more than %d values",
                      b->model->name, AS_MAX_VALUES);
        return -1;
    }
    int id = value->name ? as_graph_add_value(b->g, value) : -1;
    if (id < 0)
        (void)as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory to write its subgraphs out", b->model->name);
    return id;
}

int as_bind_static(as_binder *b, const as_scope *s, const as_value *value)
{
    as_bound_value made = {.name = as_arena_printf(b->g->arena, "%s%s", s->prefix, value->name),
                           .role = value->role,
                           .data = value->data,
                           .producer = -1,
                           .model_value = -1,
                           .info = {.dtype = value->dtype, .shape = as_shape_of_dims(&value->dims)}};
    if (made.name && value->role == AS_ROLE_CONSTANT && !as_dtype_aligned(value->dtype, value->data))
        made.data = as_bind_aligned(b->g->arena, &made.info, value->data);
    if (value->role == AS_ROLE_CONSTANT)
        made.info.constant = made.data;
    if (!made.data)
        made.name = NULL;
    return as_bind_value(b, &made);
}
