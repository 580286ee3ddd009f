/* op_sigmoid.c - y = 1 / (1 + exp(-x)), element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_FLOAT, out);
}

/* An addition and a division per element; special: the exponential. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.special = cost.flops;
    cost.flops = as_sat_mul(2, cost.flops);
    return cost;
}

/* Takes exp only of values <= 0, so that it never overflows and a small y keeps all its digits. */
static double real(double x)
{
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

/* dx = dy * y * (1 - y), written as t - t * y with t = dy * y, so that it needs no constant. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)in;
    int t = as_b2(b, "Mul", d_out[0], out[0]);
    d_in[0] = as_b2(b, "Sub", t, as_b2(b, "Mul", t, out[0]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: ln 3 gives 3/4, -ln 3 gives 1/4; numpy 1/(1+exp(-x)) for the last two. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 5)},
     .given = (const double[]){0, 1.0986122886681098, -1.0986122886681098, 2, -30},
     .want = (const double[]){0.5, 0.75, 0.25, 0.8807970779778823, 9.357622968839299e-14},
     .n_want = 5},
    AS_CASES_ACTIVATION,
};

const as_op as_op_sigmoid = {
    .name = "Sigmoid",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a polynomial exp may be off by some f32 ulps */
};
