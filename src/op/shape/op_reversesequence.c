/* op_reversesequence.c - the first elements of each sample along the time axis in the other order, as many as the sample's length. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "batch_axis", .kind = AS_ATTR_INT}, {.name = "time_axis", .kind = AS_ATTR_INT}, {0}};

static assay_status axes_of(assay_env *env, const as_node_ctx *n, int *batch, int *time)
{
    int rank = n->in[0].shape.rank;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "batch_axis", 1), rank, batch));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "time_axis", 0), rank, time));
    return *batch == *time ? as_refuse(env, n, "batch_axis and time_axis are the same") : ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int batch, time;
    AS_TRY(as_rule_like(env, n, AS_SET_ANY, out));
    AS_TRY(axes_of(env, n, &batch, &time));
    AS_TRY(as_rule_index(env, n, 1, "sequence_lens", true));
    if (!as_shape_same(&n->in[1].shape, &AS_SHAPE(n->in[0].shape.dim[batch])))
        return as_refuse(env, n, "sequence_lens is %s and must have a length for each of the %lld samples",
                         AS_SHOW(&n->in[1].shape), (long long)n->in[0].shape.dim[batch]);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int     batch, time;
    int64_t index[AS_MAX_RANK] = {0};
    AS_TRY(axes_of(env, n, &batch, &time));
    for (int64_t i = 0; i < in[1].shape.dim[0]; i++) {
        int64_t length = as_view_get_i64(&in[1], i);
        if (length < 0 || length > in[0].shape.dim[time])
            return as_refuse(env, n, "sample %lld has the length %lld of %lld", (long long)i, (long long)length,
                             (long long)in[0].shape.dim[time]);
    }
    if (as_shape_count(&in[0].shape) == 0)
        return ASSAY_OK;
    do {
        int64_t from[AS_MAX_RANK], length = as_view_get_i64(&in[1], index[batch]);
        for (int i = 0; i < in[0].shape.rank; i++)
            from[i] = index[i];
        if (index[time] < length)
            from[time] = length - 1 - index[time];
        as_view x = as_view_fix(&in[0], from, in[0].shape.rank), y = as_view_fix(&out[0], index, in[0].shape.rank);
        as_view_copy(&y, &x);
    } while (as_index_next(&in[0].shape, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "time first",
     .n_in = 2,
     .in = {AS_IN(F32, 4, 2), AS_IN(I64, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("time_axis", 0), AS_ATTR_I("batch_axis", 1)},
     AS_GIVEN(0.639999986, -0.899999976, -1, -0.649999976, 0.0799999982, 0.0799999982, 0.0199999996, -0.519999981, 3, 1),
     AS_WANT(0.0799999982, -0.899999976, -1, -0.649999976, 0.639999986, 0.0799999982, 0.0199999996, -0.519999981)},
    /* By ONNX Runtime. */
    {.name = "batch first",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4), AS_IN(I64, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("time_axis", 1), AS_ATTR_I("batch_axis", 0)},
     AS_GIVEN(-0.99000001, 0.479999989, -0.100000001, 0.75, -0.230000004, -0.99000001, -0.709999979, -0.930000007, 4, 2),
     AS_WANT(0.75, -0.100000001, 0.479999989, -0.99000001, -0.99000001, -0.230000004, -0.709999979, -0.930000007)},
};

const as_op as_op_reversesequence = {
    .name = "ReverseSequence",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
