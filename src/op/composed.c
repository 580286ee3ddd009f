/* composed.c - shapes, cost and values of an operator from the operators that define it. */
#include "op/composed.h"

#include <string.h>

/* A tape: the values of a rule in the order in which it makes them.  `base` comes first, so that a pointer to it is a pointer to this. */
typedef struct tape {
    as_builder         base;
    as_arena           arena;
    const as_node_ctx *around;
    as_tensor_info    *infos;
    as_view           *views; /* without data unless values are computed */
    int                n, cap, n_nodes;
    bool               computes;
    as_cost            cost;
    assay_status       failure;
} tape;

static int failed(tape *t, assay_status status)
{
    if (t->failure == ASSAY_OK)
        t->failure = status;
    return -1;
}

static int no_memory(tape *t)
{
    return failed(t, as_fail(t->base.env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for its parts", t->around->op->name,
                             t->around->name ? t->around->name : ""));
}

static int value_add(tape *t, const as_tensor_info *info, const as_view *view)
{
    if (t->n == t->cap) {
        int             cap = t->cap ? 2 * t->cap : 64;
        as_tensor_info *infos = AS_TAKE(&t->arena, as_tensor_info, cap);
        as_view        *views = AS_TAKE(&t->arena, as_view, cap);
        if (!infos || !views)
            return no_memory(t);
        if (t->n) {
            memcpy(infos, t->infos, (size_t)t->n * sizeof *infos);
            memcpy(views, t->views, (size_t)t->n * sizeof *views);
        }
        t->infos = infos;
        t->views = views;
        t->cap = cap;
    }
    t->infos[t->n] = *info;
    t->views[t->n] = *view;
    return t->n++;
}

static const as_tensor_info *info(as_builder *base, int value)
{
    static const as_tensor_info nothing = {0};
    tape                       *t = (tape *)base;
    return value < 0 || value >= t->n ? &nothing : &t->infos[value];
}

static bool view_take(tape *t, const as_tensor_info *of, as_view *out)
{
    void *data = as_arena_take(&t->arena, (size_t)as_shape_count(&of->shape), as_dtype_bytes(of->dtype), 64);
    *out = as_view_of(data, of->dtype, &of->shape);
    return data != NULL;
}

static int constant(as_builder *base, const as_view *value)
{
    tape          *t = (tape *)base;
    as_tensor_info known = {.dtype = value->dtype, .shape = value->shape};
    as_view        copy;
    if (t->failure != ASSAY_OK)
        return -1;
    if (!view_take(t, &known, &copy))
        return no_memory(t);
    as_view_copy(&copy, value);
    known.constant = copy.data;
    return value_add(t, &known, &copy);
}

static void cost_add(tape *t, const as_node_ctx *n)
{
    as_cost one = n->op->cost(n);
    t->cost.flops = as_sat_add(t->cost.flops, one.flops);
    t->cost.special = as_sat_add(t->cost.special, one.special);
}

static int node(as_builder *base, const char *name, const int *in, int n_in, const as_attr *attrs, int n_attrs, int *outs,
                int n_out)
{
    tape          *t = (tape *)base;
    const as_op   *op = as_op_find(name);
    as_tensor_info in_infos[AS_MAX_IN] = {0}, found[AS_MAX_OUT] = {0};
    as_view        in_views[AS_MAX_IN] = {0}, results[AS_MAX_OUT] = {0};
    int            first = t->n;
    if (t->failure != ASSAY_OK)
        return -1;
    while (n_in > 0 && in[n_in - 1] < 0)
        n_in--;
    if (!op || n_in > AS_MAX_IN || n_out > AS_MAX_OUT || t->n_nodes++ >= AS_MAX_EXPANDED)
        return failed(t, as_fail(base->env, op ? ASSAY_UNSUPPORTED : ASSAY_INTERNAL,
                                 "%s '%s': it would be written out as more than %d nodes, or as %s, which does not exist",
                                 t->around->op->name, t->around->name ? t->around->name : "", AS_MAX_EXPANDED, name));
    for (int i = 0; i < n_in; i++)
        if (in[i] >= 0) {
            in_infos[i] = t->infos[in[i]];
            in_views[i] = t->views[in[i]];
        }
    as_node_ctx  n = {.op = op,
                      .name = t->around->name,
                      .attrs = attrs,
                      .n_attrs = n_attrs,
                      .in = in_infos,
                      .n_in = n_in,
                      .n_out = n_out,
                      .seed = t->around->seed,
                      .node_id = t->around->node_id,
                      .step = t->around->step};
    assay_status status = as_op_infer(base->env, &n, found);
    if (status != ASSAY_OK)
        return failed(t, status);
    n.out = found;
    cost_add(t, &n);
    for (int i = 0; i < n_out && t->computes; i++)
        if (!view_take(t, &found[i], &results[i]))
            return no_memory(t);
    if (t->computes && (status = op->eval(base->env, &n, in_views, results)) != ASSAY_OK)
        return failed(t, status);
    for (int i = 0; i < n_out; i++) {
        int id = value_add(t, &found[i], &results[i]);
        if (id < 0)
            return -1;
        if (outs)
            outs[i] = id;
    }
    return first;
}

/* Runs the rule; the ids of the outputs are those of the tape. */
static assay_status run(tape *t, assay_env *env, const as_node_ctx *n, const as_view *in, int *out)
{
    int ids[AS_MAX_IN];
    t->base = (as_builder){.node = node, .constant = constant, .info = info, .env = env};
    t->around = n;
    t->computes = in != NULL;
    for (int i = 0; i < AS_MAX_IN; i++)
        ids[i] = i < n->n_in && as_in_has(n, i) ? value_add(t, &n->in[i], in ? &in[i] : &(as_view){0}) : -1;
    for (int i = 0; i < n->n_out; i++)
        out[i] = -1;
    assay_status status = t->failure == ASSAY_OK ? n->op->expand(&t->base, n, ids, out) : t->failure;
    if (status != ASSAY_OK || t->failure != ASSAY_OK)
        return t->failure != ASSAY_OK ? t->failure : status;
    for (int i = 0; i < n->n_out; i++)
        if (out[i] < 0)
            return as_fail(env, ASSAY_UNSUPPORTED, "%s '%s': output %d of this form is not supported", n->op->name,
                           n->name ? n->name : "", i);
    return ASSAY_OK;
}

assay_status as_composed_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    tape         t = {0};
    int          ids[AS_MAX_OUT];
    assay_status status = run(&t, env, n, NULL, ids);
    for (int i = 0; status == ASSAY_OK && i < n->n_out; i++)
        out[i] = as_info(t.infos[ids[i]].dtype, &t.infos[ids[i]].shape);
    as_arena_drop(&t.arena);
    return status;
}

as_cost as_composed_cost(const as_node_ctx *n)
{
    tape    t = {0};
    int     ids[AS_MAX_OUT];
    as_cost cost = as_cost_bytes(n);
    if (run(&t, NULL, n, NULL, ids) == ASSAY_OK) {
        cost.flops = t.cost.flops;
        cost.special = t.cost.special;
    }
    as_arena_drop(&t.arena);
    return cost;
}

assay_status as_composed_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    tape         t = {0};
    int          ids[AS_MAX_OUT];
    assay_status status = run(&t, env, n, in, ids);
    for (int i = 0; status == ASSAY_OK && i < n->n_out; i++)
        if (out[i].dtype != AS_NONE)
            as_view_copy(&out[i], &t.views[ids[i]]);
    as_arena_drop(&t.arena);
    return status;
}

/* --- Formulas ----------------------------------------------------------------------------------- */

int as_b_node(as_builder *b, const char *op, const int *in, int n_in, const as_attr *attrs, int n_attrs)
{
    return b->node(b, op, in, n_in, attrs, n_attrs, NULL, 1);
}

as_tensor_info as_b_info(as_builder *b, int x) { return x < 0 ? (as_tensor_info){0} : *b->info(b, x); }

int64_t as_b_dim(as_builder *b, int x, int axis)
{
    as_tensor_info t = as_b_info(b, x);
    axis += axis < 0 ? t.shape.rank : 0;
    return axis < 0 || axis >= t.shape.rank ? 0 : t.shape.dim[axis];
}

/* TensorProto.DataType */
static const as_dtype codes[] = {
    [1] = AS_F32,     [2] = AS_U8,          [3] = AS_I8,    [4] = AS_U16,       [5] = AS_I16,
    [6] = AS_I32,     [7] = AS_I64,         [9] = AS_BOOL,  [10] = AS_F16,      [11] = AS_F64,
    [12] = AS_U32,    [13] = AS_U64,        [16] = AS_BF16, [17] = AS_F8E4M3FN, [18] = AS_F8E4M3FNUZ,
    [19] = AS_F8E5M2, [20] = AS_F8E5M2FNUZ, [21] = AS_U4,   [22] = AS_I4,       [23] = AS_F4E2M1,
    [24] = AS_F8E8M0, [25] = AS_U2,         [26] = AS_I2,   [27] = AS_F6E2M3,   [28] = AS_F6E3M2,
};

as_dtype as_dtype_of_code(int64_t code) { return code < 0 || code >= (int64_t)AS_COUNT(codes) ? AS_NONE : codes[code]; }

int64_t as_code_of_dtype(as_dtype dtype)
{
    for (size_t i = 1; i < AS_COUNT(codes) && dtype != AS_NONE; i++)
        if (codes[i] == dtype)
            return (int64_t)i;
    return 0;
}

int as_b_cast(as_builder *b, int x, as_dtype to)
{
    if (as_b_info(b, x).dtype == to)
        return x;
    return AS_MAKE_WITH(b, "Cast", AS_WITH(AS_ATTR_I("to", as_code_of_dtype(to))), x);
}

int as_b_like(as_builder *b, int like, double value)
{
    as_dtype dtype = as_b_info(b, like).dtype;
    return dtype == AS_NONE ? -1 : as_b_scalar(b, dtype, value);
}

int as_b_shape(as_builder *b, int x, int rank, const int64_t *dims)
{
    as_shape to = {.rank = rank};
    memcpy(to.dim, dims, (size_t)rank * sizeof *dims);
    return as_b_reshape(b, x, &to);
}

int as_b_cut(as_builder *b, int x, int axis, int64_t begin, int64_t end, int64_t step)
{
    int64_t at = axis;
    return AS_MAKE(b, "Slice", x, as_b_ints(b, &begin, 1), as_b_ints(b, &end, 1), as_b_ints(b, &at, 1), as_b_ints(b, &step, 1));
}

int as_b_join(as_builder *b, int axis, int x, int y) { return AS_MAKE_WITH(b, "Concat", AS_WITH(AS_ATTR_I("axis", axis)), x, y); }

int as_b_wider(as_builder *b, int x, int axis)
{
    int64_t at = axis;
    return AS_MAKE(b, "Unsqueeze", x, as_b_ints(b, &at, 1));
}

int as_b_reduce(as_builder *b, const char *op, int x, int axis, bool keep)
{
    int64_t at = axis;
    return AS_MAKE_WITH(b, op, AS_WITH(AS_ATTR_I("keepdims", keep)), x, as_b_ints(b, &at, 1));
}

int as_b_softmax(as_builder *b, int x, int axis) { return AS_MAKE_WITH(b, "Softmax", AS_WITH(AS_ATTR_I("axis", axis)), x); }

int as_b_with(as_builder *b, const char *op, int x, double k) { return AS_MAKE(b, op, x, as_b_like(b, x, k)); }

int as_b_count(as_builder *b, int64_t count)
{
    int64_t limit[] = {0, count, 1};
    int     in[3];
    for (int i = 0; i < 3; i++) {
        as_view one = as_view_of(&limit[i], AS_I64, &(as_shape){0});
        in[i] = b->constant(b, &one);
    }
    return as_b_node(b, "Range", in, 3, NULL, 0);
}

int as_b_longer(as_builder *b, int x, int64_t count, double value)
{
    as_shape shape = as_b_info(b, x).shape;
    if (count <= 0 || shape.rank < 1)
        return x;
    shape.dim[shape.rank - 1] = count;
    int more = AS_MAKE(b, "Expand", as_b_like(b, x, value), as_b_ints(b, shape.dim, (size_t)shape.rank));
    return as_b_join(b, shape.rank - 1, x, more);
}
