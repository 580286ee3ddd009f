/* op_ml_binarizer.c - 1 where X is above the threshold, else 0. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {{.name = "threshold", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(
        as_rule_dtype(b->env, n, 0, 1, AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    int x = as_dtype_is_float(n->in[0].dtype) ? in[0] : as_b_cast(b, in[0], AS_F64);
    out[0] = as_b_cast(b, as_b_with(b, "Greater", x, as_attr_float(n, "threshold", 0.0)), n->in[0].dtype);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "f32",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("threshold", 0.25)},
     AS_GIVEN(-0.649999976, 0.579999983, 0.879999995, -0.100000001, -0.230000004, -0.289999992),
     AS_WANT(0, 1, 1, 0, 0, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "i64",
     .n_in = 1,
     .in = {AS_IN(I64, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("threshold", 0)},
     AS_GIVEN(-1, -2, -2, 2),
     AS_WANT(0, 0, 0, 1)},
};

const as_op as_op_ml_binarizer = {
    .name = "ai.onnx.ml.Binarizer",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
