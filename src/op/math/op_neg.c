/* op_neg.c - y = -x, element by element; the lowest integer stays itself, as in numpy. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_FLOAT | AS_SET_SIGNED, out);
}

static double real(double x) { return -x; }

static uint64_t whole(uint64_t x) { return 0 - x; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_any(&in[0], &out[0], real, whole);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    d_in[0] = as_b1(b, "Neg", d_out[0]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, -0.5, 0.75, -1, 1.5, -2.25, 3},
     .n_want = 7},
    {.name = "i8 wraps",
     .n_in = 1,
     .in = {AS_IN(I8, 4)},
     .given = (const double[]){-128, -1, 0, 127},
     .want = (const double[]){-128, 1, 0, -127},
     .n_want = 4,
     .no_grad = true},
    {.name = "i64",
     .n_in = 1,
     .in = {AS_IN(I64, 3)},
     .given = (const double[]){-7, 0, 1000000000},
     .want = (const double[]){7, 0, -1000000000},
     .n_want = 3,
     .no_grad = true},
    AS_CASES_ONE(-4, 4),
    {.name = "i64 3x37", .n_in = 1, .in = {AS_IN(I64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i8 3x37", .n_in = 1, .in = {AS_IN(I8, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
};

const as_op as_op_neg = {
    .name = "Neg",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
