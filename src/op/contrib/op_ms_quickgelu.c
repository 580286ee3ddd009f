/* op_ms_quickgelu.c - x * sigmoid(alpha * x), alpha 1.702. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{.name = "alpha", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    out[0] = AS_MAKE(b, "Mul", in[0], AS_MAKE(b, "Sigmoid", as_b_times(b, in[0], as_attr_float(n, "alpha", 1.702))));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "plain",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     AS_GIVEN(-0.560000002, -0.25999999, 0.540000021, -0.529999971, -0.349999994),
     AS_WANT(-0.155824363, -0.101696573, 0.386021495, -0.152972504, -0.124364831)},
    /* By ONNX Runtime. */
    {.name = "alpha",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 1)},
     AS_GIVEN(-0.860000014, 0.660000026, 0, 0.239999995, -0.49000001),
     AS_WANT(-0.255711854, 0.43511188, 0, 0.134331271, -0.186147854)},
};

const as_op as_op_ms_quickgelu = {
    .name = "com.microsoft.QuickGelu",
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
