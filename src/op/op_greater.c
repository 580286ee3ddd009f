/* op_greater.c - whether A > B: element by element, with broadcasting; never of a NaN, exact for integers. */
#include "op/rules.h"

static bool holds(as_order order)
{
    return order == AS_GREATER;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_compare(in, &out[0], holds);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* The values of onnx's reference evaluator. */
    { .name = "f32", .n_in = 2, .in = { AS_IN(F32, 2, 3), AS_IN(F32, 3) },
      .given = (const double[]){ 1, -2, 3.5, 0, -5, 6, 1, 2, -5 },
      .want = (const double[]){ 0, 0, 1, 0, 0, 1 }, .n_want = 6 },
    { .name = "i8", .n_in = 2, .in = { AS_IN(I8, 3), AS_IN(I8, 3) },
      .given = (const double[]){ -128, 127, 5, 127, -128, 5 },
      .want = (const double[]){ 0, 1, 0 }, .n_want = 3 },
    { .name = "u64 beyond i64", .n_in = 2, .in = { AS_IN(U64, 3), AS_IN(U64, 3) },
      .given = (const double[]){ 9.223372036854776e+18, 3, 9.223372036854776e+18, 1, 9.223372036854776e+18, 9.223372036854776e+18 },
      .want = (const double[]){ 1, 0, 0 }, .n_want = 3 },
    AS_CASES_TWO(F32, -2, 2),
    { .name = "i64", .n_in = 2, .in = { AS_IN(I64, 3, 9), AS_IN(I64, 9) }, .lo = -3, .hi = 3 },
    { .name = "u16", .n_in = 2, .in = { AS_IN(U16, 17), AS_IN(U16, 17) }, .lo = 0, .hi = 4 },
    { .name = "bf16", .n_in = 2, .in = { AS_IN(BF16, 17), AS_IN(BF16, 1) } },
};

const as_op as_op_greater = {
    .name = "Greater", .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = as_rule_compare, .cost = as_cost_each, .eval = eval, /* no gradient: the output is no number */
    .tolerance = 0.0, .cases = cases, .n_cases = AS_COUNT(cases),
};
