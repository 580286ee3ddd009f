/* op_tanh.c - y = tanh(x), element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_FLOAT, out);
}

/* One special per element and nothing else. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.special = as_sat_count(&n->out[0].shape);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    (void)n;
    as_each(&in[0], &out[0], tanh);
    return ASSAY_OK;
}

/* dx = dy - dy * y * y. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)in;
    int t = as_b2(b, "Mul", d_out[0], out[0]);
#ifndef AS_PLANT_GRADIENT /* a planted fault: without this factor the finite-difference test must fail */
    t = as_b2(b, "Mul", t, out[0]);
#endif
    d_in[0] = as_b2(b, "Sub", d_out[0], t);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: tanh(ln 2) = (2 - 1/2) / (2 + 1/2) = 3/5; tanh(ln 3) = 4/5. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 4)},
     .given = (const double[]){0, 0.6931471805599453, -1.0986122886681098, 40},
     .want = (const double[]){0, 0.6, -0.8, 1},
     .n_want = 4},
    AS_CASES_ACTIVATION,
};

const as_op as_op_tanh = {
    .name = "Tanh",
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
    .n_cases = AS_COUNT(cases), /* a polynomial may be off by some f32 ulps */
};
