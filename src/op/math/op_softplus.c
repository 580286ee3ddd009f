/* op_softplus.c - y = log(1 + exp(x)), element by element. */
#include <math.h>

#include "op/rules.h"

/* One addition per element, and two special: the exponential and the logarithm. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.special = as_sat_mul(2, cost.flops);
    return cost;
}

/* Takes exp only of values <= 0, so that it never overflows. */
static double real(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    d_in[0] = as_b2(b, "Mul", d_out[0], as_b1(b, "Sigmoid", in[0]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 8)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3, 40},
     .want = (const double[]){0.6931471805599453, 0.9740769841801067, 0.38687100611489994, 1.3132616875182228, 0.2014132779827524,
                              2.350206558916747, 0.04858735157374206, 40},
     .n_want = 8},
    AS_CASES_ONE(-4, 4),
};

const as_op as_op_softplus = {
    .name = "Softplus",
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
