/* op_sqrt.c - y = the square root of x, element by element; NaN for x < 0. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], sqrt);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    d_in[0] = as_b2(b, "Div", as_b_times(b, d_out[0], 0.5), out[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 6)},
     .given = (const double[]){0.25, 0.5, 1, 2, 3.5, 10},
     .want = (const double[]){0.5, 0.7071067811865476, 1, 1.4142135623730951, 1.8708286933869707, 3.1622776601683795},
     .n_want = 6},
    AS_CASES_ONE(0.5, 3),
};

const as_op as_op_sqrt = {
    .name = "Sqrt",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_float,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a fast inverse root may be off by an f32 ulp */
};
