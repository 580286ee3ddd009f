/* op_swish.c - x * sigmoid(alpha * x). */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "alpha", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    double alpha = as_attr_float(n, "alpha", 1.0);
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    out[0] = AS_MAKE(b, "Mul", in[0], AS_MAKE(b, "Sigmoid", alpha == 1.0 ? in[0] : as_b_with(b, "Mul", in[0], alpha)));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "by alpha",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 0.5)},
     AS_GIVEN(0.400000006, 0.709999979, -0.100000001, 0.0399999991, -0.610000014, -0.370000005),
     AS_WANT(0.219933614, 0.417358965, -0.0487502627, 0.0201999955, -0.258844733, -0.167936131)},
    /* By the ONNX reference evaluator. */
    {.name = "plain",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     AS_GIVEN(0.460000008, 0.920000017, -0.699999988, -0.899999976, -0.870000005),
     AS_WANT(0.281986505, 0.657838762, -0.232268557, -0.260145426, -0.256871223)},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 7)}},
    {.name = "empty", .n_in = 1, .in = {AS_IN(F32, 0, 3)}},
};

const as_op as_op_swish = {
    .name = "Swish",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
