/* op_ms_skiplayernormalization.c - LayerNormalization of input + skip + bias, and that sum. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "epsilon", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int sum = AS_MAKE(b, "Add", in[0], in[1]), mean, inverse;
    sum = as_in_has(n, 4) ? AS_MAKE(b, "Add", sum, in[4]) : sum;
    out[0] = as_b_layernorm(b, sum, in[2], as_in_or_none(n, in, 3), as_attr_float(n, "epsilon", 1e-12), &mean, &inverse);
    const int more[] = {mean, inverse, sum};
    for (int i = 1; i < n->n_out; i++)
        out[i] = more[i - 1];
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "all",
     .n_in = 5,
     .in = {AS_IN(F32, 1, 2, 4), AS_IN(F32, 1, 2, 4), AS_IN(F32, 4), AS_IN(F32, 4), AS_IN(F32, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.001)},
     AS_GIVEN(0.370000005, -0.930000007, -0.50999999, -0.0199999996, 0.899999976, 0.0599999987, -0.330000013, 0.879999995,
              -0.170000002, 0.800000012, -0.870000005, 0.870000005, 0.349999994, -0.469999999, 0.829999983, -0.670000017,
              -0.370000005, -0.730000019, 0.709999979, 0.730000019, -0.629999995, 0.49000001, -0.349999994, -0.400000006,
              0.239999995, 0.230000004, -0.219999999, -0.699999988),
     AS_WANT(-0.937336743, 0.192494065, -1.56264079, -0.0570732951, -1.22642529, 0.930668831, -0.345290214, -1.14090478)},
    /* By ONNX Runtime. */
    {.name = "without beta and bias",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 4), AS_IN(F32, 2, 4), AS_IN(F32, 4)},
     AS_GIVEN(-0.230000004, -0.370000005, 0.150000006, 0.400000006, 0.879999995, 0.460000008, 0.560000002, -0.5, 0.389999986,
              -0.879999995, 0.0500000007, 0.870000005, -0.75999999, 0.589999974, -0.670000017, -0.879999995, 0.629999995,
              0.699999988, 0.270000011, -0.629999995),
     AS_WANT(0.0457484908, -1.05182409, 0.0316720344, -0.826991677, 0.145303532, 0.912183106, -0.00934093073, 0.94447273)},
};

const as_op as_op_ms_skiplayernormalization = {
    .name = "com.microsoft.SkipLayerNormalization",
    .min_in = 3,
    .max_in = 5,
    .min_out = 1,
    .max_out = 4,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
