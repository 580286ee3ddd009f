/* op_ml_arrayfeatureextractor.c - the elements of the last axis that Y names. */
#include "op/ml/ml.h"

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape x = n->in[0].shape;
    int64_t  count = as_shape_count(&n->in[1].shape);
    AS_TRY(
        as_rule_dtype(b->env, n, 0, 1, AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    AS_TRY(as_rule_index(b->env, n, 1, "Y", false));
    if (x.rank < 1 || count < 1)
        return as_refuse(b->env, n, "X is %s and Y is %s: neither may be a scalar or empty", AS_SHOW(&x), AS_SHOW(&n->in[1].shape));
    int picked = AS_MAKE_WITH(b, "Gather", AS_WITH(AS_ATTR_I("axis", x.rank - 1)), in[0], AS_TO_SHAPE(b, in[1], count));
    x.dim[x.rank - 1] = count;
    out[0] = x.rank == 1 ? AS_TO_SHAPE(b, picked, 1, count) : picked;
    return ASSAY_OK;
}

static const as_attr_def attrs[] = {{0}};

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "columns",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4), AS_IN(I64, 3)},
     AS_GIVEN(-0.25999999, -0.0500000007, -0.270000011, 0.680000007, 0.540000021, -0.370000005, 0.150000006, -0.449999988, 3, 0, 3),
     AS_WANT(0.680000007, -0.25999999, 0.680000007, -0.449999988, 0.540000021, -0.449999988)},
    /* By ONNX Runtime. */
    {.name = "a vector",
     .n_in = 2,
     .in = {AS_IN(F32, 4), AS_IN(I64, 1, 2)},
     AS_GIVEN(-0.0900000036, -0.289999992, 0.310000002, -0.25999999, 1, 2),
     AS_WANT(-0.289999992, 0.310000002)},
};

const as_op as_op_ml_arrayfeatureextractor = {
    .name = "ai.onnx.ml.ArrayFeatureExtractor",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
