/* op_softsign.c - y = x / (1 + |x|), element by element. */
#include <math.h>

#include "op/rules.h"

/* One addition and one division per element. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul(2, cost.flops);
    return cost;
}

static double real(double x) { return x / (1.0 + fabs(x)); }

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
    int t = as_b_plus(b, as_b1(b, "Abs", in[0]), 1.0);
    d_in[0] = as_b2(b, "Div", d_out[0], as_b2(b, "Mul", t, t));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.3333333333333333, -0.42857142857142855, 0.5, -0.6, 0.6923076923076923, -0.75},
     .n_want = 7},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_softsign = {
    .name = "Softsign",
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
    .n_cases = AS_COUNT(cases), /* two f32 roundings */
};
