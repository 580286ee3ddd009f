/* op_relu.c - y = max(x, 0), element by element; NaN stays NaN. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_FLOAT | AS_SET_SIGNED, out);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&n->in[0].shape);
    for (int64_t i = 0; i < count; i++) {
        if (as_dtype_is_float(out[0].dtype)) {
            double x = as_view_get(&in[0], i);
            as_view_set(&out[0], i, x <= 0.0 ? 0.0 : x); /* not x > 0 ? x : 0, which would hide a NaN */
        } else {
            int64_t x = as_view_get_i64(&in[0], i);
            as_view_set_i64(&out[0], i, x > 0 ? x : 0);
        }
    }
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in; /* the result is positive or NaN where x is, so x need not be kept, and a product before it stays fused */
    d_in[0] = as_dtype_is_float(n->in[0].dtype) ? as_b2(b, "assay.ReluGrad", out[0], d_out[0]) : -1;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 5)},
     .no_grad = true, /* a kink at 0 */
     .given = (const double[]){-2, -0.5, 0, 0.5, 3},
     .want = (const double[]){0, 0, 0, 0.5, 3},
     .n_want = 5},
    {.name = "i8 by hand",
     .n_in = 1,
     .in = {AS_IN(I8, 4)},
     .no_grad = true,
     .given = (const double[]){-128, -1, 1, 127},
     .want = (const double[]){0, 0, 1, 127},
     .n_want = 4},
    AS_CASES_ACTIVATION,
};

/* One comparison per element counts as one flop. */
const as_op as_op_relu = {
    .name = "Relu",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
