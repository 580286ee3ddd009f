/* op_onnx_momentum.c - one step of gradient descent with momentum, standard or Nesterov's. */
#include <string.h>

#include "op/train/onnx_optimizer.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT, .required = true},
    {.name = "beta", .kind = AS_ATTR_FLOAT, .required = true},
    {.name = "mode", .kind = AS_ATTR_TEXT, .required = true},
    {.name = "norm_coefficient", .kind = AS_ATTR_FLOAT, .required = true},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const char *mode = as_attr_text(n, "mode", "");
    double      alpha = as_attr_float(n, "alpha", 0.0);
    int         count = 0;
    AS_TRY(as_optimized_count(b->env, n, 3, &count));
    if (strcmp(mode, "standard") && strcmp(mode, "nesterov"))
        return as_refuse(b->env, n, "mode is '%.40s' and must be standard or nesterov", mode);
    /* In the first step the gradient counts in full. */
    int beta = AS_MAKE(b, "Where", as_b_versus(b, "Greater", in[1], 0.0), as_b_like(b, in[0], as_attr_float(n, "beta", 0.0)),
                       as_b_like(b, in[0], 1.0));
    for (int i = 0; i < count; i++) {
        int x = in[2 + i], g = as_b_regularized(b, n, x, in[2 + count + i], 0.0);
        int v = AS_MAKE(b, "Add", as_b_times(b, in[2 + 2 * count + i], alpha), AS_MAKE(b, "Mul", g, beta));
        int step = strcmp(mode, "standard") ? AS_MAKE(b, "Add", g, as_b_times(b, v, alpha)) : v;
        out[i] = AS_MAKE(b, "Sub", x, AS_MAKE(b, "Mul", step, in[0]));
        out[count + i] = v;
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "standard",
     .n_in = 5,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64}, AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_F("alpha", 0.9), AS_ATTR_F("beta", 0.5), AS_ATTR_S("mode", "standard"), AS_ATTR_F("norm_coefficient", 0.01)},
     AS_GIVEN(0.100000001, 2, 0.270000011, -0.620000005, -0.280000001, -0.150000006, 0.550000012, 0.860000014, -0.959999979,
              -0.409999996, 0.280000001),
     AS_WANT(0.363765001, -0.610289991, -0.348060012)},
    /* By the ONNX reference evaluator. */
    {.name = "nesterov, first step",
     .n_in = 5,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64}, AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_F("alpha", 0.9), AS_ATTR_F("beta", 0.5), AS_ATTR_S("mode", "nesterov"), AS_ATTR_F("norm_coefficient", 0)},
     AS_GIVEN(0.100000001, 0, -0.289999992, -0.0299999993, -0.800000012, -0.349999994, 0.980000019, -0.660000026, -0.389999986,
              -0.649999976, -0.330000013),
     AS_WANT(-0.191909999, -0.163550004, -0.647870004)},
};

const as_op as_op_onnx_momentum = {
    .name = "ai.onnx.preview.training.Momentum",
    .min_in = 5,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = AS_MAX_OUT,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
