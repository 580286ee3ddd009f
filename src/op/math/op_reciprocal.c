/* op_reciprocal.c - y = 1 / x, element by element. */
#include "op/rules.h"

static double real(double x) { return 1.0 / x; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], real);
    return ASSAY_OK;
}

/* dx = -dy * y * y */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)in;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    d_in[0] = as_b1(b, "Neg", as_b2(b, "Mul", d_out[0], as_b2(b, "Mul", out[0], out[0])));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0.25, 0.5, 1, 2, 3.5, 10, -4},
     .want = (const double[]){4, 2, 1, 0.5, 0.2857142857142857, 0.1, -0.25},
     .n_want = 7},
    AS_CASES_ONE(0.5, 3),
};

const as_op as_op_reciprocal = {
    .name = "Reciprocal",
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
    .n_cases = AS_COUNT(cases), /* a fast reciprocal may be off by an f32 ulp */
};
