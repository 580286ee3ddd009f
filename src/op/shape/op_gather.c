/* op_gather.c - parts of the data along an axis, in the order and the shape of the indices: an embedding's rows. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape;
    as_shape        y = {0};
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_index(env, n, 1, "indices", true));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), x->rank, &axis));
    if (x->rank - 1 + indices->rank > AS_MAX_RANK)
        return as_refuse(env, n, "data %s by indices %s would have rank %d and at most %d are possible", AS_SHOW(x),
                         AS_SHOW(indices), x->rank - 1 + indices->rank, AS_MAX_RANK);
    for (int i = 0; i < axis; i++)
        y.dim[y.rank++] = x->dim[i];
    for (int i = 0; i < indices->rank; i++)
        y.dim[y.rank++] = indices->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        y.dim[y.rank++] = x->dim[i];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static int axis_of(const as_node_ctx *n)
{
    int64_t axis = as_attr_int(n, "axis", 0);
    return (int)(axis < 0 ? axis + n->in[0].shape.rank : axis);
}

/* The output at fixed indices on its index axes is the data at a fixed index on its axis. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int     axis = axis_of(n), wide = in[1].shape.rank;
    int64_t count = as_shape_count(&in[1].shape), index[AS_MAX_RANK] = {0}, at;
    for (int64_t i = 0; i < count; i++, as_index_next(&in[1].shape, index)) {
        AS_TRY(as_index_read(env, n, &in[1], i, in[0].shape.dim[axis], &at));
        as_view from = as_view_part(&in[0], axis, at, 1, 1), to = out[0];
        for (int k = 0; k < wide; k++)
            to = as_view_part(&to, axis + k, index[k], 1, 1);
        as_view_copy(&to, &from);
    }
    return ASSAY_OK;
}

/* Sums the gradients of elements that were read more than once. For that the axes of the indices and the data's axis are moved to
 * the front. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int      axis = axis_of(n), wide = indices->rank, rank = x->rank - 1 + wide;
    int64_t  front[AS_MAX_RANK], home[AS_MAX_RANK];
    as_shape table = *x;
    for (int i = 0; i < rank; i++) /* first the indices' axes, then those before them, then those after */
        front[i] = i < wide ? axis + i : i < wide + axis ? i - wide : i;
    for (int i = 0; i < x->rank; i++)
        home[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    for (int i = 0; i < x->rank; i++)
        table.dim[home[i]] = x->dim[i];
    int     dy = axis ? as_b_transpose(b, d_out[0], front, rank) : d_out[0];
    as_attr size = {.name = "input_shape", .kind = AS_ATTR_INTS, .ints = table.dim, .n = (size_t)table.rank};
    int     sum = dy < 0 ? -1 : b->node(b, "assay.GatherGrad", (int[]){dy, in[1]}, 2, &size, 1, NULL, 1);
    d_in[0] = axis ? as_b_transpose(b, sum, home, x->rank) : sum;
    return ASSAY_OK;
}

#define AXIS(axis_) .n_attrs = 1, .attrs = {AS_ATTR_I("axis", axis_)}

static const as_case cases[] = {
    /* numpy: take([[1,2],[3,4],[5,6]], [[0,1],[-1,2]], axis=0). */
    {.name = "rows by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), {.dtype = AS_I64, .shape = {2, {2, 2}}, .ints = (const int64_t[]){0, 1, -1, 2}}},
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(1, 2, 3, 4, 5, 6, 5, 6)},
    /* numpy: take(.., [2,0], axis=1). */
    {.name = "columns by numpy",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 3), AS_IN_INTS(2, 0)},
     AXIS(1),
     AS_GIVEN(1, 2, 3, 4, 5, 6),
     AS_WANT(3, 1, 6, 4)},
    {.name = "a scalar index", .n_in = 2, .in = {AS_IN(F32, 4, 3), AS_IN_INT(-1)}, AXIS(0)},
    {.name = "i32 indices into the middle",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 5, 3), {.dtype = AS_I32, .shape = {2, {2, 2}}, .ints = (const int64_t[]){4, 4, 0, -2}}},
     AXIS(-2)},
    {.name = "the last axis", .n_in = 2, .in = {AS_IN(F32, 2, 3, 7), AS_IN_INTS(6, 0, 3, 3)}, AXIS(2)},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 5), AS_IN_INTS(3, 3, 1)},
     .no_grad = true,
     AS_GIVEN(10, 11, 12, 13, 14),
     AS_WANT(13, 13, 11)},
    {.name = "bool", .n_in = 2, .in = {AS_IN(BOOL, 3), AS_IN_INTS(1, 2, 0)}, .no_grad = true, AS_GIVEN(1, 0, 1), AS_WANT(0, 1, 1)},
    {.name = "no indices",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}},
    {.name = "rows without columns", .n_in = 2, .in = {AS_IN(F32, 3, 0), AS_IN_INTS(1)}},
};

const as_op as_op_gather = {
    .name = "Gather",
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
