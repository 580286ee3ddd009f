/* op_ml_linearregressor.c - X times coefficients plus intercepts, one column per target. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {
    {.name = "coefficients", .kind = AS_ATTR_FLOATS},
    {.name = "intercepts", .kind = AS_ATTR_FLOATS},
    {.name = "post_transform", .kind = AS_ATTR_TEXT},
    {.name = "targets", .kind = AS_ATTR_INT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape rows;
    as_post  post;
    int64_t  targets = as_attr_int(n, "targets", 1);
    int      w, bias;
    AS_TRY(as_ml_rows(b->env, n, &rows));
    AS_TRY(as_post_read(b->env, n, &post));
    if (targets < 1)
        return as_refuse(b->env, n, "targets is %lld and must be at least 1", (long long)targets);
    AS_TRY(as_ml_floats(b, n, "coefficients", AS_F32, &AS_SHAPE(targets, rows.dim[1]), &w));
    int y = AS_MAKE(b, "MatMul", as_b_cast(b, as_b_rows(b, n, in[0]), AS_F32), AS_TURN(b, w, 1, 0));
    if (as_ml_count(n, "intercepts")) {
        AS_TRY(as_ml_floats(b, n, "intercepts", AS_F32, &AS_SHAPE(targets), &bias));
        y = AS_MAKE(b, "Add", y, bias);
    }
    out[0] = as_b_post(b, y, post);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "two targets",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1, -2, 0.25), AS_ATTR_FLOAT_LIST("intercepts", 0.5, -0.5),
               AS_ATTR_I("targets", 2)},
     AS_GIVEN(-0.170000002, -1, -0.819999993, 0.419999987, 0.0500000007, 0.389999986),
     AS_WANT(-0.585000038, -0.409999996, 0.50999999, 1.245, 0.914999962, -0.502499998)},
    /* By ONNX Runtime. */
    {.name = "without intercepts",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1)},
     AS_GIVEN(0.910000026, 0.370000005, -0.889999986, -0.379999995, 0.189999998, -0.529999971),
     AS_WANT(0.825000048, -0.824999988, -0.434999973)},
};

const as_op as_op_ml_linearregressor = {
    .name = "ai.onnx.ml.LinearRegressor",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
