/* op_mish.c - y = x * tanh(softplus(x)), element by element. */
#include <math.h>

#include "op/rules.h"

/* One addition and one product per element, and three special. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.special = as_sat_mul(3, cost.flops);
    cost.flops = as_sat_mul(2, cost.flops);
    return cost;
}

static double real(double x) { return x * tanh((x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)))); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

/* dx = dy * (t + x * sigmoid(x) * (1 - t * t)), t = tanh(softplus(x)) */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int t = as_b1(b, "Tanh", as_b1(b, "Softplus", in[0]));
    int rest = as_b_plus(b, as_b1(b, "Neg", as_b2(b, "Mul", t, t)), 1.0);
    int slope = as_b2(b, "Mul", as_b2(b, "Mul", in[0], as_b1(b, "Sigmoid", in[0])), rest);
    d_in[0] = as_b2(b, "Mul", d_out[0], as_b2(b, "Add", t, slope));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.3752452113048951, -0.2764947145054652, 0.8650983882673103, -0.29809974216680674,
                              2.2094567576626254, -0.1456474612756246},
     .n_want = 7},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_mish = {
    .name = "Mish",
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
    .n_cases = AS_COUNT(cases), /* a library function or a polynomial may be off by some f32 ulps */
};
