/* op_scatternd.c - a copy of the data with parts replaced: the last axis of the indices says where each update goes, one
 * number for each leading axis of the data. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "reduction", .kind = AS_ATTR_TEXT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape, *updates = &n->in[2].shape;
    as_reduction    how;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_index(env, n, 1, "indices", false));
    if (n->in[2].dtype != n->in[0].dtype)
        return as_refuse(env, n, "data is %s and updates are %s", as_dtype_name(n->in[0].dtype), as_dtype_name(n->in[2].dtype));
    AS_TRY(as_reduction_read(env, n, &how));
    if (x->rank < 1 || indices->rank < 1)
        return as_refuse(env, n, "data is %s and indices are %s: neither may be a scalar", AS_SHOW(x), AS_SHOW(indices));
    int     q = indices->rank - 1;
    int64_t depth = indices->dim[q];
    if (depth < 0 || depth > x->rank)
        return as_refuse(env, n, "indices are %s: each holds %lld numbers and data %s has %d axes", AS_SHOW(indices),
                         (long long)depth, AS_SHOW(x), x->rank);
    as_shape want = {.rank = q};
    for (int i = 0; i < q; i++)
        want.dim[i] = indices->dim[i];
    bool fits = q + x->rank - depth <= AS_MAX_RANK;
    for (int64_t i = depth; fits && i < x->rank; i++)
        want.dim[want.rank++] = x->dim[i];
    if (!fits || !as_shape_same(&want, updates))
        return as_refuse(env, n, "data is %s, indices are %s and updates are %s, not the shape of what is replaced", AS_SHOW(x),
                         AS_SHOW(indices), AS_SHOW(updates));
    out[0] = as_info(n->in[0].dtype, x);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int          q = in[1].shape.rank - 1, depth = (int)in[1].shape.dim[q];
    as_shape     outer = in[1].shape;
    as_reduction how;
    outer.rank = q;
    int64_t count = as_shape_count(&outer), index[AS_MAX_RANK] = {0}, to[AS_MAX_RANK];
    AS_TRY(as_reduction_read(env, n, &how));
    as_view_copy(&out[0], &in[0]);
    for (int64_t i = 0; i < count; i++, as_index_next(&outer, index)) {
        for (int k = 0; k < depth; k++)
            AS_TRY(as_index_read(env, n, &in[1], i * depth + k, in[0].shape.dim[k], &to[k]));
        as_view update = as_view_fix(&in[2], index, q), place = as_view_fix(&out[0], to, depth);
        as_reduce_into(&place, &update, how);
    }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    as_reduction how;
    d_in[0] = d_in[1] = d_in[2] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(as_reduction_read(b->env, n, &how));
    if (how > AS_REDUCE_ADD)
        return as_no_grad(b->env, n, "only those of the reductions none and add are known");
    d_in[0] = d_out[0];
    if (how == AS_REDUCE_NONE) {
        int zeros = as_b_blank(b, n->in[2].dtype, &n->in[2].shape);
        d_in[0] = zeros < 0 ? -1 : b->node(b, "ScatterND", (int[]){d_out[0], in[1], zeros}, 3, NULL, 0, NULL, 1);
    }
    d_in[2] = as_b2(b, "GatherND", d_out[0], in[1]);
    return ASSAY_OK;
}

#define HOW(how_) .n_attrs = 1, .attrs = {AS_ATTR_S("reduction", how_)}
#define INDICES(rows_, columns_, ...)                                                               \
    {                                                                                               \
        .dtype = AS_I64, .shape = {2, {rows_, columns_}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }

static const as_case cases[] = {
    /* ONNX's first example. */
    {.name = "elements by onnx",
     .n_in = 3,
     .in = {AS_IN(F32, 8), INDICES(4, 1, 4, 3, 1, 7), AS_IN(F32, 4)},
     AS_GIVEN(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
     AS_WANT(1, 11, 3, 10, 9, 6, 7, 12)},
    {.name = "rows by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 2), INDICES(2, 1, -1, 0), AS_IN(F64, 2, 2)},
     AS_GIVEN(0, 0, 0, 0, 0, 0, 1, 2, 3, 4),
     AS_WANT(3, 4, 0, 0, 1, 2)},
    {.name = "add by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 2), INDICES(3, 2, 0, 1, 0, 1, 1, 0), AS_IN(F32, 3)},
     HOW("add"),
     AS_GIVEN(1, 2, 3, 4, 10, 20, 30),
     AS_WANT(1, 32, 33, 4)},
    {.name = "mul by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2), INDICES(2, 1, 1, 1), AS_IN(F32, 2)},
     HOW("mul"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 4),
     AS_WANT(1, 24)},
    {.name = "max by hand",
     .n_in = 3,
     .in = {AS_IN(I64, 2), INDICES(2, 1, 1, 0), AS_IN(I64, 2)},
     HOW("max"),
     .no_grad = true,
     AS_GIVEN(1, -2, 3, -4),
     AS_WANT(1, 3)},
    {.name = "min by hand",
     .n_in = 3,
     .in = {AS_IN(F16, 2), INDICES(2, 1, 1, 0), AS_IN(F16, 2)},
     HOW("min"),
     .no_grad = true,
     AS_GIVEN(1, -2, 3, -4),
     AS_WANT(-4, -2)},
    {.name = "add rows of 5x7", .n_in = 3, .in = {AS_IN(F32, 5, 7), INDICES(3, 1, 4, 0, 4), AS_IN(F32, 3, 7)}, HOW("add")},
    {.name = "bool",
     .n_in = 3,
     .in = {AS_IN(BOOL, 2), INDICES(1, 1, 1), AS_IN(BOOL, 1)},
     .no_grad = true,
     AS_GIVEN(1, 1, 0),
     AS_WANT(1, 0)},
    {.name = "nothing",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 4), {.dtype = AS_I64, .shape = {2, {0, 1}}, .ints = (const int64_t[]){0}}, AS_IN(F32, 0, 4)}},
};

const as_op as_op_scatternd = {
    .name = "ScatterND",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_scatter_cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* the order of additions is free */
};
