/* op_sign.c - y = -1, 0 or 1, the sign of x, element by element; NaN stays NaN. */
#include "op/rules.h"

static double real(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; /* returns x, so that a NaN passes */ }

static uint64_t signed_sign(uint64_t x) { return (int64_t)x < 0 ? UINT64_MAX : x > 0; }

static uint64_t unsigned_sign(uint64_t x) { return x > 0; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_any(&in[0], &out[0], real, out[0].dtype == AS_U64 ? unsigned_sign : signed_sign); /* a large u64 looks negative */
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 1, -1, 1, -1, 1, -1},
     .n_want = 7,
     .no_grad = true},
    {.name = "i8",
     .n_in = 1,
     .in = {AS_IN(I8, 4)},
     .given = (const double[]){-128, -1, 0, 127},
     .want = (const double[]){-1, -1, 0, 1},
     .n_want = 4,
     .no_grad = true},
    {.name = "u64",
     .n_in = 1,
     .in = {AS_IN(U64, 4)},
     .given = (const double[]){0, 1000, 9.223372036854776e+18, 3},
     .want = (const double[]){0, 1, 1, 1},
     .n_want = 4,
     .no_grad = true},
    AS_CASES_ONE(-4, 4),
    {.name = "i32 3x37", .n_in = 1, .in = {AS_IN(I32, 3, 37)}, .lo = -2, .hi = 2, .no_grad = true},
    {.name = "u8 3x37", .n_in = 1, .in = {AS_IN(U8, 3, 37)}, .lo = 0, .hi = 2, .no_grad = true},
    {.name = "f64 3x37", .n_in = 1, .in = {AS_IN(F64, 3, 37)}, .lo = -1, .hi = 1, .no_grad = true},
};

const as_op as_op_sign = {
    .name = "Sign",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_number,
    .cost = as_cost_each,
    .eval = eval,
    .grad = as_step_grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
