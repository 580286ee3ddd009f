/* op_ms_skipsimplifiedlayernormalization.c - RMSNormalization of input + skip + bias, and that sum. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "epsilon", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int sum = AS_MAKE(b, "Add", in[0], in[1]), inverse = -1;
    sum = as_in_has(n, 3) ? AS_MAKE(b, "Add", sum, in[3]) : sum;
    out[0] = as_b_rmsnorm(b, sum, in[2], as_attr_float(n, "epsilon", 1e-12), n->n_out > 2 ? &inverse : NULL);
    if (n->n_out > 1)
        out[1] = as_b_cast(b, as_b_reduce(b, "ReduceMean", sum, as_b_info(b, sum).shape.rank - 1, true), AS_F32);
    if (n->n_out > 2)
        out[2] = inverse;
    if (n->n_out > 3)
        out[3] = sum;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "all",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 4), AS_IN(F32, 4), AS_IN(F32, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.001)},
     AS_GIVEN(0.569999993, 0.74000001, 0.600000024, 0.300000012, 0.939999998, -0.270000011, -0.779999971, -0.219999999, 0.829999983,
              0.959999979, -0.860000014, -0.850000024, 0.109999999, -0.5, 0.860000014, 0.200000003, 0.25, -0.150000006, 0.119999997,
              -0.720000029, -0.660000026, 0.409999996, 0.620000005, 0.280000001),
     AS_WANT(0.162159085, -0.277423561, 0.0378663391, 0.170398533, 0.212345704, 0.117606871, 0.18294403, -0.407703817)},
};

const as_op as_op_ms_skipsimplifiedlayernormalization = {
    .name = "com.microsoft.SkipSimplifiedLayerNormalization",
    .min_in = 3,
    .max_in = 4,
    .min_out = 1,
    .max_out = 4,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
