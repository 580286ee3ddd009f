/* op_leakyrelu.c - y = x for x >= 0 and alpha * x below, element by element. */
#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {0},
};

#define ALPHA ((double)0.01f) /* ONNX's defaults are floats */

static double real(double x, double alpha, double unused)
{
    (void)unused;
    return x < 0.0 ? alpha * x : x;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each_with(&in[0], &out[0], real, as_attr_float(n, "alpha", ALPHA), 0.0);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    double alpha = as_attr_float(n, "alpha", ALPHA);
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int above = as_b2(b, "assay.ReluGrad", alpha > 0.0 ? out[0] : in[0], d_out[0]); /* y has the sign of x */
    d_in[0] = as_b2(b, "Add", above, as_b_times(b, as_b2(b, "Sub", d_out[0], above), alpha));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5, -0.007499999832361937, 1, -0.014999999664723873, 2.25, -0.029999999329447746},
     .n_want = 7,
     .no_grad = true},
    {.name = "with attributes",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("alpha", 0.25)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5, -0.1875, 1, -0.375, 2.25, -0.75},
     .n_want = 7,
     .no_grad = true},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_leakyrelu = {
    .name = "LeakyRelu",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = as_rule_float,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-7,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* alpha may be rounded to f32 first */
};
