/* op_gelu.c - y = x * P(N < x) for a normal N, element by element; by erf, or by tanh when `approximate` says so. */
#include <math.h>
#include <string.h>

#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "approximate", .kind = AS_ATTR_TEXT},
    {0},
};

#define ROOT_HALF 0.70710678118654752
#define ROOT_2_PI 0.79788456080286536 /* of 2 / pi */
#define CUBE      0.044715

static bool is_tanh(const as_node_ctx *n) { return !strcmp(as_attr_text(n, "approximate", "none"), "tanh"); }

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const char *mode = as_attr_text(n, "approximate", "none");
    if (strcmp(mode, "none") && strcmp(mode, "tanh"))
        return as_refuse(env, n, "approximate is '%s' and must be none or tanh", mode);
    return as_rule_float(env, n, out);
}

/* Four flops and one special; the cubic term of the approximation is not counted. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.special = cost.flops;
    cost.flops = as_sat_mul(4, cost.flops);
    return cost;
}

/* erfc, because 1 + erf(x) loses all digits for x far below 0. */
static double by_erf(double x) { return 0.5 * x * erfc(-x * ROOT_HALF); }

static double by_tanh(double x) { return 0.5 * x * (1.0 + tanh(ROOT_2_PI * (x + CUBE * x * x * x))); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    as_each(&in[0], &out[0], is_tanh(n) ? by_tanh : by_erf);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int x = in[0], slope;
    if (is_tanh(n)) {
        int xx = as_b2(b, "Mul", x, x),
            u = as_b_times(b, as_b2(b, "Mul", x, as_b_plus(b, as_b_times(b, xx, CUBE), 1.0)), ROOT_2_PI);
        int t = as_b1(b, "Tanh", u), du = as_b_times(b, as_b_plus(b, as_b_times(b, xx, 3.0 * CUBE), 1.0), ROOT_2_PI);
        int rest = as_b_plus(b, as_b1(b, "Neg", as_b2(b, "Mul", t, t)), 1.0);
        slope = as_b_times(b, as_b2(b, "Add", as_b_plus(b, t, 1.0), as_b2(b, "Mul", x, as_b2(b, "Mul", rest, du))), 0.5);
    } else {
        int below = as_b_times(b, as_b_plus(b, as_b1(b, "Erf", as_b_times(b, x, ROOT_HALF)), 1.0), 0.5);
        int e = as_b1(b, "Exp", as_b_times(b, as_b2(b, "Mul", x, x), -0.5));
        slope = as_b2(b, "Add", below, as_b_times(b, as_b2(b, "Mul", x, e), 0.5 * ROOT_2_PI));
    }
    d_in[0] = as_b2(b, "Mul", d_out[0], slope);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.3457312285900116, -0.16997051239013672, 0.8413447439670563, -0.10021081566810608,
                              2.222494952380657, -0.0040496885776519775},
     .n_want = 7},
    {.name = "tanh",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("approximate", "tanh")},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.3457140080561641, -0.17003944822537215, 0.8411919857864306, -0.10042842877952132,
                              2.222798666960722, -0.003637392815791174},
     .n_want = 7},
    AS_CASES_ONE(-3, 3),
};

const as_op as_op_gelu = {
    .name = "Gelu",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* a library function or a polynomial may be off by some f32 ulps */
};
