/* op_ms_fastgelu.c - Gelu by tanh, of X plus a bias. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int x = as_in_has(n, 1) ? AS_MAKE(b, "Add", in[0], in[1]) : in[0];
    out[0] = AS_MAKE_WITH(b, "Gelu", AS_WITH(AS_ATTR_S("approximate", "tanh")), x);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "bias",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     AS_GIVEN(-0.340000004, -0.209999993, 0.670000017, 0.970000029, 0.860000014, -0.550000012, -0.769999981, 0.400000006,
              -0.270000011),
     AS_WANT(-0.148373798, 0.109315224, 0.262161195, 0.115851469, 1.12894309, -0.169098943)},
    /* By ONNX Runtime. */
    {.name = "plain",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     AS_GIVEN(0.75999999, -0.0799999982, -0.100000001, -0.560000002, 0.5),
     AS_WANT(0.589971423, -0.0374495015, -0.0460172519, -0.161160097, 0.345714003)},
};

const as_op as_op_ms_fastgelu = {
    .name = "com.microsoft.FastGelu",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
