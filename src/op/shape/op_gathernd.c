/* op_gathernd.c - the last axis of the indices holds where to read: one number for each leading axis of the data, behind
 * batch_dims axes that both have. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "batch_dims", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *indices = &n->in[1].shape;
    int64_t         batch = as_attr_int(n, "batch_dims", 0);
    as_shape        y = {0};
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(as_rule_index(env, n, 1, "indices", false));
    if (x->rank < 1 || indices->rank < 1)
        return as_refuse(env, n, "data is %s and indices are %s: neither may be a scalar", AS_SHOW(x), AS_SHOW(indices));
    int q = indices->rank - 1;
    if (batch < 0 || batch >= x->rank || batch > q)
        return as_refuse(env, n, "batch_dims is %lld and data is %s and indices are %s", (long long)batch, AS_SHOW(x),
                         AS_SHOW(indices));
    for (int i = 0; i < batch; i++)
        if (x->dim[i] != indices->dim[i])
            return as_refuse(env, n, "data is %s and indices are %s: their first %lld sizes must agree", AS_SHOW(x),
                             AS_SHOW(indices), (long long)batch);
    int64_t depth = indices->dim[q];
    if (depth < 1 || depth > x->rank - batch)
        return as_refuse(env, n, "indices are %s: each holds %lld numbers and data %s has %lld axes to read from", AS_SHOW(indices),
                         (long long)depth, AS_SHOW(x), (long long)(x->rank - batch));
    if (q + x->rank - batch - depth > AS_MAX_RANK)
        return as_refuse(env, n, "the output would have rank %lld and at most %d are possible",
                         (long long)(q + x->rank - batch - depth), AS_MAX_RANK);
    for (int i = 0; i < q; i++)
        y.dim[y.rank++] = indices->dim[i];
    for (int64_t i = batch + depth; i < x->rank; i++)
        y.dim[y.rank++] = x->dim[i];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int      batch = (int)as_attr_int(n, "batch_dims", 0), q = in[1].shape.rank - 1, depth = (int)in[1].shape.dim[q];
    as_shape outer = in[1].shape;
    outer.rank = q;
    int64_t count = as_shape_count(&outer), index[AS_MAX_RANK] = {0}, from[AS_MAX_RANK];
    for (int64_t i = 0; i < count; i++, as_index_next(&outer, index)) {
        for (int k = 0; k < batch; k++)
            from[k] = index[k];
        for (int k = 0; k < depth; k++)
            AS_TRY(as_index_read(env, n, &in[1], i * depth + k, in[0].shape.dim[batch + k], &from[batch + k]));
        as_view x = as_view_fix(&in[0], from, batch + depth), y = as_view_fix(&out[0], index, q);
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
    if (as_attr_int(n, "batch_dims", 0) != 0)
        return as_no_grad(b->env, n, "ScatterND has no batch_dims");
    as_attr add = AS_ATTR_S("reduction", "add");
    int     zeros = as_b_blank(b, n->in[0].dtype, &n->in[0].shape);
    if (zeros >= 0)
        d_in[0] = b->node(b, "ScatterND", (int[]){zeros, in[1], d_out[0]}, 3, &add, 1, NULL, 1);
    return ASSAY_OK;
}

#define INDICES(rows_, columns_, ...)                                                               \
    {                                                                                               \
        .dtype = AS_I64, .shape = {2, {rows_, columns_}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }

static const as_case cases[] = {
    /* ONNX's five examples begin with these. */
    {.name = "elements by onnx",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2), INDICES(2, 2, 0, 0, 1, 1)},
     AS_GIVEN(0, 1, 2, 3),
     AS_WANT(0, 3)},
    {.name = "rows by onnx", .n_in = 2, .in = {AS_IN(F32, 2, 2), INDICES(2, 1, 1, 0)}, AS_GIVEN(0, 1, 2, 3), AS_WANT(2, 3, 0, 1)},
    {.name = "inner rows by onnx",
     .n_in = 2,
     .in = {AS_IN(F64, 2, 2, 2), INDICES(2, 2, 0, 1, 1, 0)},
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7),
     AS_WANT(2, 3, 4, 5)},
    {.name = "batch by onnx",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2, 2), INDICES(2, 1, 1, 0)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("batch_dims", 1)},
     .no_grad = true,
     AS_GIVEN(0, 1, 2, 3, 4, 5, 6, 7),
     AS_WANT(2, 3, 4, 5)},
    {.name = "the same twice, from the end", .n_in = 2, .in = {AS_IN(F32, 3, 4), INDICES(3, 2, -1, -1, 2, 3, 0, 1)}},
    {.name = "i8", .n_in = 2, .in = {AS_IN(I8, 4), INDICES(2, 1, 3, -3)}, .no_grad = true, AS_GIVEN(1, 2, 3, 4), AS_WANT(4, 2)},
    {.name = "nothing", .n_in = 2, .in = {AS_IN(F32, 3, 4), {.dtype = AS_I64, .shape = {2, {0, 2}}, .ints = (const int64_t[]){0}}}},
};

const as_op as_op_gathernd = {
    .name = "GatherND",
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
