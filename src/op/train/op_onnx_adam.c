/* op_onnx_adam.c - one step of Adam, corrected for the first steps. */
#include "op/train/onnx_optimizer.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "beta", .kind = AS_ATTR_FLOAT},
    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
    {.name = "norm_coefficient", .kind = AS_ATTR_FLOAT},
    {.name = "norm_coefficient_post", .kind = AS_ATTR_FLOAT},
    {0},
};

/* 1 - base^t. */
static int missing(as_builder *b, int t, double base)
{
    return as_b_plus(b, AS_MAKE(b, "Neg", AS_MAKE(b, "Pow", as_b_like(b, t, base), t)), 1.0);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    double alpha = as_attr_float(n, "alpha", 0.9), beta = as_attr_float(n, "beta", 0.999),
           post = as_attr_float(n, "norm_coefficient_post", 0.0);
    int count = 0;
    AS_TRY(as_optimized_count(b->env, n, 4, &count));
    int t = as_b_cast(b, in[1], n->in[0].dtype),
        corrected = AS_MAKE(b, "Div", AS_MAKE(b, "Mul", in[0], AS_MAKE(b, "Sqrt", missing(b, t, beta))), missing(b, t, alpha));
    int rate = AS_MAKE(b, "Where", as_b_versus(b, "Greater", in[1], 0.0), corrected, in[0]);
    for (int i = 0; i < count; i++) {
        int x = in[2 + i], g = as_b_regularized(b, n, x, in[2 + count + i], 0.0);
        int v = AS_MAKE(b, "Add", as_b_times(b, in[2 + 2 * count + i], alpha), as_b_times(b, g, 1.0 - alpha));
        int h = AS_MAKE(b, "Add", as_b_times(b, in[2 + 3 * count + i], beta), as_b_times(b, AS_MAKE(b, "Mul", g, g), 1.0 - beta));
        int scaled = AS_MAKE(b, "Div", v, as_b_plus(b, AS_MAKE(b, "Sqrt", h), as_attr_float(n, "epsilon", 0.0)));
        int y = AS_MAKE(b, "Sub", x, AS_MAKE(b, "Mul", scaled, rate));
        out[i] = post == 0.0 ? y : as_b_times(b, y, 1.0 - post);
        out[count + i] = v;
        out[2 * count + i] = h;
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "corrected",
     .n_in = 6,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64}, AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_F("alpha", 0.9), AS_ATTR_F("beta", 0.99), AS_ATTR_F("epsilon", 0.001), AS_ATTR_F("norm_coefficient", 0.01),
               AS_ATTR_F("norm_coefficient_post", 0.02)},
     AS_GIVEN(0.100000001, 2, -0.819999993, 0.810000002, 0.180000007, 0.779999971, -0.0700000003, 0.430000007, 0.529999971,
              -0.0299999993, -0.469999999, 0.639999986, 0.280000001, 0.769999981),
     AS_WANT(-0.853957873, 0.798377802, 0.207978149)},
    /* By the ONNX reference evaluator. */
    {.name = "first step",
     .n_in = 6,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64}, AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 5,
     .attrs = {AS_ATTR_F("alpha", 0.9), AS_ATTR_F("beta", 0.99), AS_ATTR_F("epsilon", 0.001), AS_ATTR_F("norm_coefficient", 0),
               AS_ATTR_F("norm_coefficient_post", 0)},
     AS_GIVEN(0.100000001, 0, -0.939999998, 0.0900000036, -0.0599999987, 0.449999988, 0.600000024, 0.800000012, -0.610000014,
              0.730000019, 0.560000002, 0.600000024, 0.779999971, 0.25999999),
     AS_WANT(-0.874801695, 0.00868859142, -0.173482984)},
};

const as_op as_op_onnx_adam = {
    .name = "ai.onnx.preview.training.Adam",
    .min_in = 6,
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
