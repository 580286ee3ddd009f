/* op_elu.c - y = x for x >= 0 and alpha * (exp(x) - 1) below, element by element. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {0},
};

static double real(double x, double alpha, double unused)
{
    (void)unused;
    return x < 0.0 ? alpha * expm1(x) : x;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each_with(&in[0], &out[0], real, as_attr_float(n, "alpha", 1.0), 0.0);
    return ASSAY_OK;
}

/* Below 0: alpha * exp(x) is y + alpha. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    double alpha = as_attr_float(n, "alpha", 1.0);
    int    above = as_b2(b, "assay.ReluGrad", alpha > 0.0 ? out[0] : in[0], d_out[0]); /* y has the sign of x */
    d_in[0] = as_b2(b, "Add", above, as_b2(b, "Mul", as_b2(b, "Sub", d_out[0], above), as_b_plus(b, out[0], alpha)));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5, -0.5276334472589853, 1, -0.7768698398515702, 2.25, -0.950212931632136},
     .n_want = 7,
     .no_grad = true},
    {.name = "with attributes",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 2.5)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5, -1.3190836181474632, 1, -1.9421745996289255, 2.25, -2.37553232908034},
     .n_want = 7,
     .no_grad = true},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_elu = {
    .name = "Elu",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_rule_float,
    .cost = as_cost_special,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a library function or a polynomial may be off by some f32 ulps */
};
