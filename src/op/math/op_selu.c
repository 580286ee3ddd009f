/* op_selu.c - y = gamma * x for x > 0 and gamma * alpha * (exp(x) - 1) otherwise, element by element. */
#include <math.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "gamma", .kind = AS_ATTR_FLOAT},
    {0},
};

/* The defaults of ONNX, which are floats. */
#define ALPHA ((double)1.67326319217681884765625f)
#define GAMMA ((double)1.05070102214813232421875f)

static double real(double x, double alpha, double gamma) { return x > 0.0 ? gamma * x : gamma * alpha * expm1(x); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each_with(&in[0], &out[0], real, as_attr_float(n, "alpha", ALPHA), as_attr_float(n, "gamma", GAMMA));
    return ASSAY_OK;
}

/* For x <= 0: gamma * alpha * exp(x) is y + gamma * alpha. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    double alpha = as_attr_float(n, "alpha", ALPHA), gamma = as_attr_float(n, "gamma", GAMMA);
    int    above = as_b2(b, "assay.ReluGrad", in[0], d_out[0]);
    int    below = as_b2(b, "Mul", as_b2(b, "Sub", d_out[0], above), as_b_plus(b, out[0], alpha * gamma));
    d_in[0] = as_b2(b, "Add", as_b_times(b, above, gamma), below);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5253505110740662, -0.9276320187347418, 1.0507010221481323, -1.3658143576366604,
                              2.3640772998332977, -1.6705687339891528},
     .n_want = 7,
     .no_grad = true},
    {.name = "with attributes",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("alpha", 2.0), AS_ATTR_F("gamma", 3.0)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 1.5, -3.165800683553912, 3, -4.6612190391094215, 6.75, -5.7012775897928165},
     .n_want = 7,
     .no_grad = true},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_selu = {
    .name = "Selu",
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
