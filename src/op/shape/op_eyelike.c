/* op_eyelike.c - ones on a diagonal of a matrix of the input's shape, zeros elsewhere. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "dtype", .kind = AS_ATTR_INT}, {.name = "k", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_dtype dtype = as_attr_find(n, "dtype") ? as_dtype_of_code(as_attr_int(n, "dtype", 0)) : n->in[0].dtype;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (n->in[0].shape.rank != 2 || dtype == AS_NONE || !(AS_SET_ANY & AS_DTYPE_BIT(dtype)))
        return as_refuse(env, n, "the input is %s and must be a matrix, and dtype a type of numbers or bool",
                         AS_SHOW(&n->in[0].shape));
    out[0] = as_info(dtype, &n->in[0].shape);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t rows = out[0].shape.dim[0], columns = out[0].shape.dim[1], k = as_attr_int(n, "k", 0);
    (void)env, (void)in;
    k = k < -rows ? -rows : k > columns ? columns : k;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            as_view_set(&out[0], i * columns + j, j == i + k);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "above",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("k", 1)},
     AS_GIVEN(0.479999989, -0.629999995, 0.389999986, 0.0500000007, -0.600000024, 0.300000012, 0.0199999996, 0.379999995),
     AS_WANT(0, 1, 0, 0, 0, 0, 1, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "i32",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("dtype", 6)},
     AS_GIVEN(0.150000006, 0.540000021, -0.209999993, 0.920000017, 0.959999979, -0.589999974),
     AS_WANT(1, 0, 0, 1, 0, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "below",
     .n_in = 1,
     .in = {AS_IN(I64, 3, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("k", -1)},
     AS_GIVEN(5, 2, 4, 7, 4, 1, 2, 8, 5),
     AS_WANT(0, 0, 0, 1, 0, 0, 0, 1, 0)},
};

const as_op as_op_eyelike = {
    .name = "EyeLike",
    .min_in = 1,
    .max_in = 1,
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
