/* op_tan.c - y = tan(x), element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], tan);
    return ASSAY_OK;
}

/* dx = dy * (1 + y * y) */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int t = as_b2(b, "Mul", d_out[0], out[0]);
    d_in[0] = as_b2(b, "Add", d_out[0], as_b2(b, "Mul", t, out[0]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 4)},
     .given = (const double[]){0, 0.5, -0.75, 1},
     .want = (const double[]){0, 0.5463024898437905, -0.9315964599440725, 1.5574077246549023},
     .n_want = 4},
    AS_CASES_ONE(-1, 1),
};

const as_op as_op_tan = {
    .name = "Tan",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_float,
    .cost = as_cost_special,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a library function or a polynomial may be off by some f32 ulps */
};
