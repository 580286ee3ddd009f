/* op_hardsigmoid.c - y = alpha * x + beta limited to [0, 1], element by element. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "beta", .kind = AS_ATTR_FLOAT},
    {0},
};

#define ALPHA ((double)0.2f) /* ONNX's defaults are floats */

/* A multiply-add and two comparisons per element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul(4, cost.flops);
    return cost;
}

static double real(double x, double alpha, double beta)
{
    double y = alpha * x + beta;
    return y < 0.0 ? 0.0 : y > 1.0 ? 1.0 : y;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each_with(&in[0], &out[0], real, as_attr_float(n, "alpha", ALPHA), as_attr_float(n, "beta", 0.5));
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int dx = as_b_times(b, d_out[0], as_attr_float(n, "alpha", ALPHA)), left = as_b_plus(b, as_b1(b, "Neg", out[0]), 1.0);
    d_in[0] = as_b2(b, "assay.ReluGrad", out[0], as_b2(b, "assay.ReluGrad", left, dx));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0.5, 0.6000000014901161, 0.3499999977648258, 0.7000000029802322, 0.19999999552965164,
                              0.9500000067055225, 0},
     .n_want = 7,
     .no_grad = true},
    {.name = "with attributes",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("alpha", 0.5), AS_ATTR_F("beta", 0.6)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0.6000000238418579, 0.8500000238418579, 0.2250000238418579, 1, 0, 1, 0},
     .n_want = 7,
     .no_grad = true},
    AS_CASES_ONE(-4, 4),
};

const as_op as_op_hardsigmoid = {
    .name = "HardSigmoid",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_rule_float,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* an f32 multiply-add rounds */
};
