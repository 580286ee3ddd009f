/* op_hardswish.c - y = x * max(0, min(1, x / 6 + 1/2)), element by element. */
#include <math.h>

#include "op/rules.h"

/* A multiply-add, two comparisons and a product per element; 1/6 is a constant. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul(5, cost.flops);
    return cost;
}

static double real(double x)
{
    double gate = x / 6.0 + 0.5;
    return x * (gate < 0.0 ? 0.0 : gate > 1.0 ? 1.0 : gate);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

/* x / 3 + 1/2 between -3 and 3; 0 below, 1 above. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int slope = as_b_plus(b, as_b_times(b, in[0], 1.0 / 3.0), 0.5);
    int below = as_b2(b, "assay.ReluGrad", as_b_plus(b, as_b1(b, "Neg", in[0]), 3.0), d_out[0]);
    int inner = as_b2(b, "Add", as_b2(b, "Mul", below, slope), as_b2(b, "Sub", d_out[0], below));
    d_in[0] = as_b2(b, "assay.ReluGrad", as_b_plus(b, in[0], 3.0), inner);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 9)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3, 4, -5},
     .want = (const double[]){0, 0.2916666679084301, -0.2812499972060323, 0.6666666716337204, -0.3749999888241291,
                              1.9687500251457095, 0, 4, 0},
     .n_want = 9,
     .no_grad = true},
    AS_CASES_ONE(-5, 5),
};

const as_op as_op_hardswish = {
    .name = "HardSwish",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_float,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* an f32 multiply-add rounds */
};
