/* op_abs.c - y = |x|, element by element; the lowest integer stays itself, as in numpy. */
#include <math.h>

#include "op/rules.h"

static uint64_t signed_abs(uint64_t x) { return (int64_t)x < 0 ? 0 - x : x; }

static uint64_t same(uint64_t x) { return x; }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each_any(&in[0], &out[0], fabs, out[0].dtype == AS_U64 ? same : signed_abs); /* a large u64 looks negative */
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    d_in[0] = as_b2(b, "Mul", d_out[0], as_b1(b, "Sign", in[0]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "given",
     .n_in = 1,
     .in = {AS_IN(F64, 7)},
     .given = (const double[]){0, 0.5, -0.75, 1, -1.5, 2.25, -3},
     .want = (const double[]){0, 0.5, 0.75, 1, 1.5, 2.25, 3},
     .n_want = 7,
     .no_grad = true},
    {.name = "i8 wraps",
     .n_in = 1,
     .in = {AS_IN(I8, 4)},
     .given = (const double[]){-128, -1, 0, 127},
     .want = (const double[]){-128, 1, 0, 127},
     .n_want = 4,
     .no_grad = true},
    {.name = "u64",
     .n_in = 1,
     .in = {AS_IN(U64, 4)},
     .given = (const double[]){0, 1000, 9.223372036854776e+18, 3},
     .want = (const double[]){0, 1000, 9.223372036854776e+18, 3},
     .n_want = 4,
     .no_grad = true},
    {.name = "i16",
     .n_in = 1,
     .in = {AS_IN(I16, 2)},
     .given = (const double[]){-32767, 5},
     .want = (const double[]){32767, 5},
     .n_want = 2,
     .no_grad = true},
    AS_CASES_ONE(-4, 4),
    {.name = "i64 3x37", .n_in = 1, .in = {AS_IN(I64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "i32 3x37", .n_in = 1, .in = {AS_IN(I32, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
    {.name = "f64 3x37", .n_in = 1, .in = {AS_IN(F64, 3, 37)}, .lo = -9, .hi = 9, .no_grad = true},
};

const as_op as_op_abs = {
    .name = "Abs",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_rule_number,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
