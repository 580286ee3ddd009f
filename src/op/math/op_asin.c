/* op_asin.c - y = asin(x), element by element; outside of [-1, 1] it is NaN. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], asin);
    return ASSAY_OK;
}

/* dx = dy / sqrt(1 - x * x) */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int rest = as_b_plus(b, as_b1(b, "Neg", as_b2(b, "Mul", in[0], in[0])), 1.0);
    d_in[0] = as_b2(b, "Div", d_out[0], as_b1(b, "Sqrt", rest));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 5)},
     .given = (const double[]){0, 0.5, -0.75, 0.9, -0.9},
     .want = (const double[]){0, 0.5235987755982989, -0.848062078981481, 1.1197695149986342, -1.1197695149986342},
     .n_want = 5},
    AS_CASES_ONE(-0.9, 0.9),
};

const as_op as_op_asin = {
    .name = "Asin",
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
