/* op_pow.c - X to the power of Y: element by element, with broadcasting; the two may differ in dtype, the output is like X. */
#include <math.h>

#include "op/rules.h"

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    AS_TRY(as_rule_dtype(env, n, 1, 1, AS_SET_NUMBER));
    as_shape shape;
    if (!as_shape_broadcast(&n->in[0].shape, &n->in[1].shape, &shape))
        return as_refuse(env, n, "X is %s and Y is %s: they do not broadcast to one shape in range", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    out[0] = as_info(n->in[0].dtype, &shape);
    return ASSAY_OK;
}

/* Repeated squaring; wraps as a product of integers does.  A negative exponent gives 1 / x^|y| rounded towards zero, and 0 for x =
 * 0. */
static uint64_t whole_pow(int64_t x, int64_t y, bool y_is_negative)
{
    uint64_t power = 1, square = (uint64_t)x;
    if (y_is_negative)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? UINT64_MAX : 1) : 0;
    for (uint64_t bits = (uint64_t)y; bits; bits >>= 1, square *= square)
        if (bits & 1)
            power *= square;
    return power;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_view x = as_view_broadcast(&in[0], &out[0].shape), y = as_view_broadcast(&in[1], &out[0].shape);
    bool    is_whole = !as_dtype_is_float(x.dtype) && !as_dtype_is_float(y.dtype);
    int64_t count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        if (is_whole) {
            int64_t e = as_view_get_i64(&y, i);
            as_view_set_i64(&out[0], i,
                            as_int_wrap(out[0].dtype, whole_pow(as_view_get_i64(&x, i), e, e < 0 && y.dtype != AS_U64)));
        } else {
            as_view_set(&out[0], i, pow(as_view_get(&x, i), as_view_get(&y, i)));
        }
    }
    return ASSAY_OK;
}

/* dX = dy * Y * X^(Y - 1), and 0 where Y is 0; dY = dy * y * log(X), and 0 where X is 0. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    d_in[0] = d_in[1] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    int y = in[1];
    if (n->in[1].dtype != n->in[0].dtype)
        y = as_b2(b, "CastLike", y, in[0]);
    int dx = as_b2(b, "Mul", d_out[0], as_b2(b, "Mul", y, as_b2(b, "Pow", in[0], as_b_plus(b, y, -1.0))));
    d_in[0] = as_b_sum_to(b, as_b_except(b, as_b_versus(b, "Equal", y, 0.0), dx), &n->in[0].shape);
    if (!as_dtype_is_float(n->in[1].dtype))
        return ASSAY_OK;
    int dy = as_b2(b, "Mul", d_out[0], as_b2(b, "Mul", out[0], as_b1(b, "Log", in[0])));
    dy = as_b_sum_to(b, as_b_except(b, as_b_versus(b, "Equal", in[0], 0.0), dy), &n->in[1].shape);
    d_in[1] = n->in[1].dtype == n->in[0].dtype ? dy : as_b2(b, "CastLike", dy, in[1]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* Values from onnx's reference evaluator. */
    {.name = "f64",
     .n_in = 2,
     .in = {AS_IN(F64, 5), AS_IN(F64, 5)},
     .given = (const double[]){1, 2, 3.5, 0.25, 9, 4, -2, 2.5, 0, 0.5},
     .want = (const double[]){1, 0.25, 22.91765149399039, 1, 3},
     .n_want = 5},
    {.name = "f32 and i64",
     .n_in = 2,
     .in = {AS_IN(F32, 4), AS_IN(I64, 4)},
     .given = (const double[]){1, -2, 3, 0.5, 4, 5, -1, 2},
     .want = (const double[]){1, -32, 0.3333333432674408, 0.25},
     .n_want = 4},
    {.name = "i32 and f32",
     .n_in = 2,
     .in = {AS_IN(I32, 3), AS_IN(F32, 3)},
     .given = (const double[]){1, 2, 3, 4, 5, 0.5},
     .want = (const double[]){1, 32, 1},
     .n_want = 3,
     .no_grad = true},
    {.name = "i64 and u8",
     .n_in = 2,
     .in = {AS_IN(I64, 3), AS_IN(U8, 3)},
     .given = (const double[]){-3, 2, 10, 3, 40, 0},
     .want = (const double[]){-27, 1099511627776, 1},
     .n_want = 3,
     .no_grad = true},
    /* By hand: 65536 squared is 2^32; with a negative exponent only 1 and -1 give something other than 0. */
    {.name = "i32 wraps",
     .n_in = 2,
     .in = {AS_IN(I32, 2), {.dtype = AS_I32}},
     .given = (const double[]){65536, 3, 2},
     .want = (const double[]){0, 9},
     .n_want = 2,
     .no_grad = true},
    {.name = "i32 below zero",
     .n_in = 2,
     .in = {AS_IN(I32, 4), {.dtype = AS_I32}},
     .given = (const double[]){1, -1, 2, 0, -3},
     .want = (const double[]){1, -1, 0, 0},
     .n_want = 4,
     .no_grad = true},
    AS_CASES_TWO(F32, 0.5, 2),
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 17), AS_IN(F16, 17)}, .lo = 0.5, .hi = 2},
    {.name = "a square", .n_in = 2, .in = {AS_IN(F32, 7, 9), {.dtype = AS_I64, .ints = (const int64_t[]){2}}}, .lo = -2, .hi = 2},
};

const as_op as_op_pow = {
    .name = "Pow",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .infer = infer,
    .cost = as_cost_special,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* exp(y * log(x)) in f32 loses a digit */
};
