/* op_erf.c - y = erf(x), the error function, element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], erf);
    return ASSAY_OK;
}

/* dx = dy * 2 / sqrt(pi) * exp(-x * x) */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int e = as_b1(b, "Exp", as_b1(b, "Neg", as_b2(b, "Mul", in[0], in[0])));
    d_in[0] = as_b_times(b, as_b2(b, "Mul", d_out[0], e), 1.1283791670955126);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5204998850822449, -0.7111556529998779, 0.8427007794380188, -0.9661051630973816,
                              0.9985373020172119, -0.9999778866767883},
     .n_want = 7},
    AS_CASES_ONE(-2, 2),
};

const as_op as_op_erf = {
    .name = "Erf",
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
