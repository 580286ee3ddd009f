/* op_atan.c - y = atan(x), element by element. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], atan);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    d_in[0] = as_b2(b, "Div", d_out[0], as_b_plus(b, as_b2(b, "Mul", in[0], in[0]), 1.0));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.4636476090008061, -0.6435011087932844, 0.7853981633974483, -0.982793723247329,
                              1.1525719972156676, -1.2490457723982544},
     .n_want = 7},
    AS_CASES_ONE(-4, 4),
};

const as_op as_op_atan = {
    .name = "Atan",
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
