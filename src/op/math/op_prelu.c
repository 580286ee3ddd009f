/* op_prelu.c - y = x for x >= 0 and slope * x below, element by element; the slope broadcasts to X, never X to the slope. */
#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_WIDE));
    as_shape shape;
    if (!as_shape_broadcast(&n->in[0].shape, &n->in[1].shape, &shape) || !as_shape_same(&shape, &n->in[0].shape))
        return as_refuse(env, n, "slope is %s and cannot be broadcast to X, which is %s", AS_SHOW(&n->in[1].shape),
                         AS_SHOW(&n->in[0].shape));
    out[0] = as_info(n->in[0].dtype, &shape);
    return ASSAY_OK;
}

static double real(double x, double slope) { return x < 0.0 ? x * slope : x; }

static uint64_t of_signed(uint64_t x, uint64_t slope) { return (int64_t)x < 0 ? x * slope : x; }

static uint64_t of_unsigned(uint64_t x, uint64_t slope)
{
    (void)slope;
    return x;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_each2(&in[0], &in[1], &out[0], real, out[0].dtype == AS_U64 ? of_unsigned : of_signed); /* a large u64 looks negative */
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int below = as_b_versus(b, "Less", in[0], 0.0);
    d_in[0] = as_b_where(b, below, as_b2(b, "Mul", d_out[0], in[1]), d_out[0]);
    d_in[1] = as_b_sum_to(b, as_b_only(b, below, as_b2(b, "Mul", d_out[0], in[0])), &n->in[1].shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f32",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     .given = (const double[]){1, -2, 3.5, 0, -5, 6, 0.5, 0.25, -2},
     .want = (const double[]){1, -0.5, 3.5, 0, -1.25, 6},
     .n_want = 6,
     .no_grad = true},
    {.name = "i32",
     .n_in = 2,
     .in = {AS_IN(I32, 4), {.dtype = AS_I32}},
     .given = (const double[]){1, -2, 3, -7, 3},
     .want = (const double[]){1, -6, 3, -21},
     .n_want = 4,
     .no_grad = true},
    {.name = "u64",
     .n_in = 2,
     .in = {AS_IN(U64, 2), {.dtype = AS_U64}},
     .given = (const double[]){9.223372036854776e+18, 4, 3},
     .want = (const double[]){9.223372036854776e+18, 4},
     .n_want = 2,
     .no_grad = true},
    {.name = "one element", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN(F32, 1)}},
    {.name = "15x17", .n_in = 2, .in = {AS_IN(F32, 15, 17), AS_IN(F32, 15, 17)}},
    {.name = "channels", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5, 7), AS_IN(F32, 3, 1, 1)}},
    {.name = "a scalar", .n_in = 2, .in = {AS_IN(F64, 3, 5), {.dtype = AS_F64}}},
    {.name = "bf16", .n_in = 2, .in = {AS_IN(BF16, 17), AS_IN(BF16, 1)}},
    {.name = "empty", .n_in = 2, .in = {AS_IN(F32, 0, 3), AS_IN(F32, 1, 3)}},
};

const as_op as_op_prelu = {
    .name = "PRelu",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_each,
    .eval = eval,
    .grad = grad,
    /* One rounding: double holds the exact product of two f32. */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
