/* op_scatterelements.c - a copy of the data in which each update goes to its index along the axis. Of two updates for one
 * place the last stays, unless `reduction` says how to combine them. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "reduction", .kind = AS_ATTR_TEXT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape, *updates = &n->in[2].shape;
    as_reduction    how;
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_index(env, n, 1, "indices", true));
    if (n->in[2].dtype != n->in[0].dtype)
        return as_refuse(env, n, "data is %s and updates are %s", as_dtype_name(n->in[0].dtype), as_dtype_name(n->in[2].dtype));
    AS_TRY(as_reduction_read(env, n, &how));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), x->rank, &axis));
    if (!as_shape_same(indices, updates))
        return as_refuse(env, n, "indices are %s and updates are %s: they must be of one shape", AS_SHOW(indices),
                         AS_SHOW(updates));
    bool fits = indices->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || indices->dim[i] <= x->dim[i];
    if (!fits)
        return as_refuse(env, n, "indices are %s and data is %s: of one rank, and no larger but along axis %d", AS_SHOW(indices),
                         AS_SHOW(x), axis);
    out[0] = as_info(n->in[0].dtype, x);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t      count = as_shape_count(&in[1].shape), index[AS_MAX_RANK] = {0}, to[AS_MAX_RANK];
    int          axis, rank = in[0].shape.rank;
    as_reduction how;
    AS_TRY(as_reduction_read(env, n, &how));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), rank, &axis));
    as_view_copy(&out[0], &in[0]);
    for (int64_t i = 0; i < count; i++, as_index_next(&in[1].shape, index)) {
        for (int k = 0; k < rank; k++)
            to[k] = index[k];
        AS_TRY(as_index_read(env, n, &in[1], i, in[0].shape.dim[axis], &to[axis]));
        as_view update = as_view_fix(&in[2], index, rank), place = as_view_fix(&out[0], to, rank);
        as_reduce_into(&place, &update, how);
    }
    return ASSAY_OK;
}

/* Where an update replaced the data, the data gets no gradient; where it was added, the data does. Without a reduction no two
 * indices may name the same place. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    as_attr      list[] = {AS_ATTR_I("axis", as_attr_int(n, "axis", 0))};
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
        d_in[0] = zeros < 0 ? -1 : b->node(b, "ScatterElements", (int[]){d_out[0], in[1], zeros}, 3, list, 1, NULL, 1);
    }
    d_in[2] = b->node(b, "GatherElements", (int[]){d_out[0], in[1]}, 2, list, 1, NULL, 1);
    return ASSAY_OK;
}

#define HOW(axis_, how_) .n_attrs = 2, .attrs = {AS_ATTR_I("axis", axis_), AS_ATTR_S("reduction", how_)}
#define INDICES(rows_, columns_, ...)                                                               \
    {                                                                                               \
        .dtype = AS_I64, .shape = {2, {rows_, columns_}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }

static const as_case cases[] = {
    /* ONNX's example. */
    {.name = "along 1 by onnx",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 5), INDICES(1, 2, 1, 3), AS_IN(F32, 1, 2)},
     HOW(1, "none"),
     AS_GIVEN(1, 2, 3, 4, 5, 1.1, 2.1),
     AS_WANT(1, 1.1, 3, 2.1, 5)},
    {.name = "along 0 by onnx",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 3), INDICES(2, 3, 1, 0, 2, 0, 2, 1), AS_IN(F64, 2, 3)},
     HOW(0, "none"),
     AS_GIVEN(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1.1, 1.2, 2, 2.1, 2.2),
     AS_WANT(2, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2)},
    /* By hand: two updates for one place. */
    {.name = "add by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN_INTS(1, -2), AS_IN(F32, 2)},
     HOW(0, "add"),
     AS_GIVEN(1, 2, 3, 10, 20),
     AS_WANT(1, 32, 3)},
    {.name = "mul by hand",
     .n_in = 3,
     .in = {AS_IN(I8, 3), AS_IN_INTS(1, 1), AS_IN(I8, 2)},
     HOW(0, "mul"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 10, 7),
     AS_WANT(1, -116, 3)},
    {.name = "max by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 3), AS_IN_INTS(1, 1), AS_IN(F32, 2)},
     HOW(0, "max"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 10, -7),
     AS_WANT(1, 10, 3)},
    {.name = "min by hand",
     .n_in = 3,
     .in = {AS_IN(U64, 3), AS_IN_INTS(1, 0), AS_IN(U64, 2)},
     HOW(-1, "min"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3, 0, 7),
     AS_WANT(1, 0, 3)},
    {.name = "add along the middle",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 2),
            {.dtype = AS_I32, .shape = {3, {1, 4, 2}}, .ints = (const int64_t[]){0, 1, 2, 2, 0, 0, -1, 1}},
            AS_IN(F32, 1, 4, 2)},
     HOW(1, "add")},
    {.name = "nothing",
     .n_in = 3,
     .in = {AS_IN(F32, 3), {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}, AS_IN(F32, 0)}},
};

const as_op as_op_scatterelements = {
    .name = "ScatterElements",
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
