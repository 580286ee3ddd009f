/* op_gatherelements.c - y has the shape of the indices, and each index says where along the axis its element comes from. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape;
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_index(env, n, 1, "indices", true));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), x->rank, &axis));
    bool fits = indices->rank == x->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || indices->dim[i] <= x->dim[i];
    if (!fits)
        return as_refuse(env, n, "indices are %s and data is %s: of one rank, and no larger but along axis %d", AS_SHOW(indices),
                         AS_SHOW(x), axis);
    out[0] = as_info(n->in[0].dtype, indices);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t count = as_shape_count(&in[1].shape), index[AS_MAX_RANK] = {0}, from[AS_MAX_RANK];
    int     axis, rank = in[0].shape.rank;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), rank, &axis));
    for (int64_t i = 0; i < count; i++, as_index_next(&in[1].shape, index)) {
        for (int k = 0; k < rank; k++)
            from[k] = index[k];
        AS_TRY(as_index_read(env, n, &in[1], i, in[0].shape.dim[axis], &from[axis]));
        as_view x = as_view_fix(&in[0], from, rank), y = as_view_fix(&out[0], index, rank);
        as_view_copy(&y, &x);
    }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    as_attr list[] = {AS_ATTR_I("axis", as_attr_int(n, "axis", 0)), AS_ATTR_S("reduction", "add")};
    int     zeros = as_b_blank(b, n->in[0].dtype, &n->in[0].shape);
    if (zeros >= 0)
        d_in[0] = b->node(b, "ScatterElements", (int[]){zeros, in[1], d_out[0]}, 3, list, 2, NULL, 1);
    return ASSAY_OK;
}

#define INDICES(dtype_, rows_, columns_, ...)                                                            \
    {                                                                                                    \
        .dtype = AS_##dtype_, .shape = {2, {rows_, columns_}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }
#define AXIS(axis_) .n_attrs = 1, .attrs = {AS_ATTR_I("axis", axis_)}

static const as_case cases[] = {
    /* numpy: take_along_axis([[1,2],[3,4]], [[0,0],[1,0]], 1), ONNX's example. */
    {.name = "columns by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), INDICES(I64, 2, 2, 0, 0, 1, 0)},
     AXIS(1),
     AS_GIVEN(1, 2, 3, 4),
     AS_WANT(1, 1, 4, 3)},
    /* ONNX's example: negative indices, fewer rows. */
    {.name = "rows by onnx",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 3), INDICES(I32, 2, 3, -1, -2, 0, -2, 0, 0)},
     AXIS(0),
     AS_GIVEN(1, 2, 3, 4, 5, 6, 7, 8, 9),
     AS_WANT(7, 5, 3, 4, 2, 3)},
    {.name = "more than the axis has",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), INDICES(I64, 2, 5, 0, 1, 2, 1, 0, 2, 2, 2, -3, -1)},
     AXIS(-1)},
    {.name = "i16",
     .n_in = 2,
     .in = {AS_IN(I16, 3), AS_IN_INTS(2, 2, 0, 1)},
     .no_grad = true,
     AS_GIVEN(-5, 6, 7),
     AS_WANT(7, 7, -5, 6)},
    {.name = "no indices", .n_in = 2, .in = {AS_IN(F32, 3), {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}},
};

const as_op as_op_gatherelements = {
    .name = "GatherElements",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_picked,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
