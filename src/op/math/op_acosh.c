/* op_acosh.c - y = acosh(x), element by element; below 1 it is NaN. */
#include <math.h>

#include "op/rules.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each(&in[0], &out[0], acosh);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)n, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    d_in[0] = as_b2(b, "Div", d_out[0], as_b1(b, "Sqrt", as_b_plus(b, as_b2(b, "Mul", in[0], in[0]), -1.0)));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 4)},
     .given = (const double[]){1.25, 1.5, 2, 10},
     .want = (const double[]){0.6931471805599453, 0.9624236501192069, 1.3169578969248166, 2.993222846126381},
     .n_want = 4},
    AS_CASES_ONE(1.25, 3),
};

const as_op as_op_acosh = {
    .name = "Acosh",
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
